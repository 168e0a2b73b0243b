//! Waits with a limit: a rank that waits too long asks who else waits, names the ranks that do not answer, and ends the job.
//!
//! ```text
//! wait:     test the requests; after `limit`, or when another rank calls, give up
//! give up:  send "collective n, phase p" to all ranks; collect such texts for a second
//!           ranks without a text are missing; the lowest rank with a text prints the message, then all ranks abort
//! ```
//! With a limit, collectives run as nonblocking ones and exchanges are tested instead of waited for. Without one,
//! collectives block; sparse exchanges still wait here. The calls use a tag that no exchange has. A rank that computes or is stopped does not answer.

use super::call::{FREE_TAG, abort_all, probe, request, test};
use crate::Result;
use mpi::ffi;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

/// Tag of the calls.
const CALL: i32 = FREE_TAG;
/// Bytes of a call, padded with zeros.
const LEN: usize = 128;
/// Number of tests between two checks of the clock and of messages from other ranks.
const TESTS: u32 = 64;
/// How long a rank collects calls.
const COLLECT: Duration = Duration::from_secs(1);
/// How long a rank leaves the message to a lower one, which may have started to collect later.
const YIELD: Duration = Duration::from_secs(3);

/// Receives the line about a wait that took too long.
type Tell = Box<dyn Fn(&str)>;

/// What the waits of one rank have in common.
pub(super) struct Watch {
    comm: ffi::MPI_Comm,
    rank: usize,
    size: usize,
    limit: OnceCell<(Duration, Tell)>,
    phase: RefCell<String>,
    /// Collectives so far that waited here.
    collectives: Cell<u64>,
}

impl Watch {
    pub(super) fn new(comm: ffi::MPI_Comm, rank: usize, size: usize) -> Self {
        let phase = RefCell::new("start".into());
        Watch { comm, rank, size, limit: OnceCell::new(), phase, collectives: Cell::new(0) }
    }

    /// Limits all waits from now on; the first limit stays.
    pub(super) fn limit(&self, limit: Duration, tell: Tell) {
        let _ = self.limit.set((limit, tell));
    }

    pub(super) fn is_on(&self) -> bool {
        self.limit.get().is_some()
    }

    pub(super) fn enter_phase(&self, name: &str) {
        *self.phase.borrow_mut() = name.into();
    }

    /// Starts a nonblocking collective and waits for it. A failure ends all ranks.
    pub(super) fn collective(&self, name: &str, start: impl FnOnce(*mut ffi::MPI_Request) -> i32) {
        self.collectives.set(self.collectives.get() + 1);
        let at = || format!("{name} {}", self.collectives.get());
        let ended = request(name, start)
            .and_then(|mut request| self.poll(at, || test(std::slice::from_mut(&mut request), None)));
        ended.unwrap_or_else(|error| self.end(&error.to_string()));
    }

    /// Calls `is_done` until it returns true, at most as long as waits may take; `at` names the wait.
    pub(super) fn poll(&self, at: impl Fn() -> String, mut is_done: impl FnMut() -> Result<bool>) -> Result<()> {
        let limit = self.limit.get().map_or(Duration::MAX, |(limit, _)| *limit);
        let start = Instant::now();
        let mut tests = 0u32;
        while !is_done()? {
            tests = tests.wrapping_add(1);
            if tests.is_multiple_of(TESTS) {
                std::thread::yield_now();
                if start.elapsed() > limit || self.call_waiting()?.is_some() {
                    self.give_up(&at(), limit);
                }
            }
        }
        Ok(())
    }

    /// Asks who waits, names the missing ranks on one of those that wait, and ends all ranks.
    fn give_up(&self, at: &str, limit: Duration) -> ! {
        let at = format!("{at}, phase {}", self.phase.borrow());
        let mut text = [0u8; LEN];
        text.iter_mut().zip(at.bytes()).for_each(|(to, from)| *to = from);
        for other in (0..self.size).filter(|&other| other != self.rank) {
            // SAFETY: the buffer outlives the request, since this function does not return; the request is never tested.
            unsafe {
                let mut request = ffi::RSMPI_REQUEST_NULL;
                let start = text.as_ptr().cast();
                ffi::MPI_Isend(start, LEN as i32, ffi::RSMPI_UINT8_T, other as i32, CALL, self.comm, &mut request);
            }
        }
        let mut heard = BTreeMap::from([(self.rank, at)]);
        self.collect(&mut heard, COLLECT);
        if heard.first_key_value().is_some_and(|(&lowest, _)| lowest < self.rank) {
            // The lowest rank ends this one.
            std::thread::sleep(YIELD);
        }
        self.end(&message(self.rank, self.size, &heard, limit))
    }

    /// Collects the calls of other ranks for some time, all of it: `mpirun` continues a stopped rank before it ends it, and
    /// such a rank would otherwise find all calls at once and tell a second time.
    fn collect(&self, heard: &mut BTreeMap<usize, String>, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            match self.call_waiting() {
                Ok(Some(rank)) => {
                    let mut text = [0u8; LEN];
                    // SAFETY: the call that the probe found has this rank, tag and length.
                    unsafe {
                        let to = text.as_mut_ptr().cast();
                        let status = ffi::RSMPI_STATUS_IGNORE;
                        ffi::MPI_Recv(to, LEN as i32, ffi::RSMPI_UINT8_T, rank as i32, CALL, self.comm, status);
                    }
                    heard.insert(rank, String::from_utf8_lossy(&text).trim_end_matches('\0').into());
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => return,
            }
        }
    }

    /// The rank whose call can be received, if there is one.
    fn call_waiting(&self) -> Result<Option<usize>> {
        Ok(probe(self.comm, CALL)?.map(|status| status.MPI_SOURCE as usize))
    }

    /// Tells, and ends all ranks.
    fn end(&self, text: &str) -> ! {
        match self.limit.get() {
            Some((_, tell)) => tell(text),
            None => drop(writeln!(std::io::stderr(), "error: rank {}: {text}", self.rank)),
        }
        abort_all(1)
    }
}

/// One line about a wait of `rank`; `heard` holds where each rank waits that waits at all.
fn message(rank: usize, size: usize, heard: &BTreeMap<usize, String>, limit: Duration) -> String {
    let missing: Vec<usize> = (0..size).filter(|rank| !heard.contains_key(rank)).collect();
    let limit = limit.as_secs_f64();
    let start = format!("a wait took longer than {limit} s");
    if missing.is_empty() {
        let places: Vec<String> = heard.iter().take(4).map(|(rank, at)| format!("rank {rank} at {at}")).collect();
        return format!("{start}: all ranks wait, but not for each other: {}", places.join("; "));
    }
    let (noun, at) = (if missing.len() == 1 { "rank" } else { "ranks" }, &heard[&rank]);
    format!("{start}: {noun} {} missing; rank {rank} waits at {at}", ranges(&missing))
}

/// Sorted ranks as `1, 3-5`, at most eight ranges.
fn ranges(ranks: &[usize]) -> String {
    let chunks: Vec<&[usize]> = ranks.chunk_by(|a, b| a + 1 == *b).collect();
    let written = |chunk: &&[usize]| match chunk {
        [one] => one.to_string(),
        chunk => format!("{}-{}", chunk[0], chunk[chunk.len() - 1]),
    };
    let text = chunks.iter().take(8).map(written).collect::<Vec<_>>().join(", ");
    let left: usize = chunks.iter().skip(8).map(|chunk| chunk.len()).sum();
    if left == 0 { text } else { format!("{text} and {left} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_ranks_are_named_in_ranges() {
        assert_eq!(ranges(&[1]), "1");
        assert_eq!(ranges(&[0, 2, 3, 4, 9]), "0, 2-4, 9");
        let odd: Vec<usize> = (0..10).map(|i| 2 * i + 1).collect();
        assert_eq!(ranges(&odd), "1, 3, 5, 7, 9, 11, 13, 15 and 2 more");
        // Those left are ranks, not ranges.
        let pairs: Vec<usize> = (0..10).flat_map(|i| [3 * i, 3 * i + 1]).collect();
        assert_eq!(ranges(&pairs), "0-1, 3-4, 6-7, 9-10, 12-13, 15-16, 18-19, 21-22 and 4 more");
    }

    #[test]
    fn a_message_names_limit_phase_and_ranks() {
        let heard = |ranks: &[usize]| {
            ranks.iter().map(|&rank| (rank, format!("all-reduce {}, phase solution", 7 + rank))).collect()
        };
        let limit = Duration::from_millis(2500);
        assert_eq!(
            message(0, 4, &heard(&[0, 2]), limit),
            "a wait took longer than 2.5 s: ranks 1, 3 missing; rank 0 waits at all-reduce 7, phase solution"
        );
        assert_eq!(
            message(0, 2, &heard(&[0, 1]), limit),
            "a wait took longer than 2.5 s: all ranks wait, but not for each other: rank 0 at \
             all-reduce 7, phase solution; rank 1 at all-reduce 8, phase solution"
        );
    }
}
