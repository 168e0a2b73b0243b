//! Faults on purpose: makes the nth allocation, file operation, driver call or MPI call of a process fail.
//!
//! ```text
//! MINIFENL_FAULT=KIND:N[+|!][@RANK]   KIND  alloc, file, driver or mpi
//!                                     N     the call that fails, counted from 1 for each kind
//!                                     +     all later calls of this kind fail too, as on a lost device
//!                                     !     the process is killed at that call (SIGKILL), as by the system when memory is short
//!                                     RANK  the rank that fails; without it every rank does
//! MINIFENL_FAULT_LOG=FILE             a fault appends the line `KIND N WHAT` to this file
//! ```
//! Only builds with the feature `faults` read these variables. In all other builds a hook is a constant, which the
//! compiler removes. A hook stands before the call that it stands for; those of persistent MPI requests stand after it.

use std::io;

/// Kinds of calls that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A large allocation of host memory.
    Alloc,
    /// An operation on a file or a folder.
    File,
    /// A call into the driver of a GPU, and an allocation of its memory.
    Driver,
    /// A call into MPI.
    Mpi,
}

impl Kind {
    /// All kinds with their names.
    pub const ALL: [(Kind, &'static str); 4] =
        [(Kind::Alloc, "alloc"), (Kind::File, "file"), (Kind::Driver, "driver"), (Kind::Mpi, "mpi")];
}

/// Counts a call and returns whether it has to fail. `what` names the call in the log.
#[inline(always)]
pub fn fails(kind: Kind, what: &str) -> bool {
    #[cfg(feature = "faults")]
    return armed::fails(kind, what);
    #[cfg(not(feature = "faults"))]
    {
        let _ = (kind, what);
        false
    }
}

/// Counts an operation on a file: an error of the operating system if it has to fail.
///
/// # Errors
/// "No space left on device" or "Input/output error", in turn.
#[inline(always)]
pub fn file(what: &str) -> io::Result<()> {
    if fails(Kind::File, what) {
        const CODES: [i32; 2] = [libc::ENOSPC, libc::EIO];
        return Err(io::Error::from_raw_os_error(CODES[what.len() % 2]));
    }
    Ok(())
}

#[cfg(feature = "faults")]
pub use armed::{Plan, set};

#[cfg(feature = "faults")]
mod armed {
    use super::Kind;
    use std::io::Write;
    use std::sync::Mutex;

    /// The calls that fail.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Plan {
        /// Kind of the calls.
        pub kind: Kind,
        /// Number of the first call that fails, from 1.
        pub call: u64,
        /// Whether all later calls fail too.
        pub lasts: bool,
    }

    /// The plan and the calls counted so far.
    struct State {
        plan: Option<Plan>,
        /// Whether the process is killed instead.
        kills: bool,
        counted: [u64; Kind::ALL.len()],
        fired: u64,
    }

    static STATE: Mutex<Option<State>> = Mutex::new(None);

    /// Replaces the plan, resets all counts, and returns the calls that failed before.
    pub fn set(plan: Option<Plan>) -> u64 {
        let new = State { plan, kills: false, counted: [0; Kind::ALL.len()], fired: 0 };
        let mut state = STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.replace(new).map_or(0, |old| old.fired)
    }

    pub(super) fn fails(kind: Kind, what: &str) -> bool {
        let mut state = STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let state = state.get_or_insert_with(|| {
            let parsed = std::env::var("MINIFENL_FAULT").ok().and_then(|text| parse(&text, rank().as_deref()));
            let (plan, kills) = parsed.map_or((None, false), |(plan, kills)| (Some(plan), kills));
            State { plan, kills, counted: [0; Kind::ALL.len()], fired: 0 }
        });
        state.counted[kind as usize] += 1;
        let Some(plan) = state.plan.filter(|plan| plan.kind == kind) else { return false };
        let count = state.counted[kind as usize];
        let hit = count == plan.call || plan.lasts && count > plan.call;
        if hit {
            state.fired += 1;
            log(kind, count, what);
            if state.kills {
                kill();
            }
        }
        hit
    }

    /// Ends this process without a chance to say anything.
    fn kill() -> ! {
        let id = std::process::id().to_string();
        let _ = std::process::Command::new("kill").args(["-s", "KILL", &id]).status();
        std::process::abort()
    }

    fn log(kind: Kind, count: u64, what: &str) {
        let Some(path) = std::env::var_os("MINIFENL_FAULT_LOG") else { return };
        let name = Kind::ALL[kind as usize].1;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(format!("{name} {count} {what}\n").as_bytes()));
    }

    /// Reads `KIND:N[+|!][@RANK]`: the plan, and whether the process is killed; `None` also for the plan of another rank.
    fn parse(text: &str, own: Option<&str>) -> Option<(Plan, bool)> {
        let (calls, rank) = text.split_once('@').map_or((text, None), |(calls, rank)| (calls, Some(rank)));
        if rank.is_some_and(|rank| rank != own.unwrap_or("0")) {
            return None;
        }
        let (kind, number) = calls.split_once(':')?;
        let kind = Kind::ALL.iter().find(|(_, name)| *name == kind)?.0;
        let call = number.trim_end_matches(['+', '!']).parse().ok()?;
        Some((Plan { kind, call, lasts: number.ends_with('+') }, number.ends_with('!')))
    }

    /// The rank as launchers say it, before MPI starts.
    fn rank() -> Option<String> {
        ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"].iter().find_map(|name| std::env::var(name).ok())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn plans_are_read_as_they_are_documented() {
            let plan = |kind, call, lasts| Some((Plan { kind, call, lasts }, false));
            assert_eq!(parse("alloc:17", None), plan(Kind::Alloc, 17, false));
            assert_eq!(parse("driver:4+@1", Some("1")), plan(Kind::Driver, 4, true));
            assert_eq!(parse("mpi:2@0", None), plan(Kind::Mpi, 2, false));
            let killed = (Plan { kind: Kind::Alloc, call: 3, lasts: false }, true);
            assert_eq!(parse("alloc:3!@2", Some("2")), Some(killed));
            for (text, rank) in
                [("file:3@1", Some("0")), ("file:3@1", None), ("disk:1", None), ("file", None), ("", None)]
            {
                assert_eq!(parse(text, rank), None, "{text}");
            }
            assert!(Kind::ALL.iter().enumerate().all(|(at, (kind, _))| *kind as usize == at));
        }
    }
}
