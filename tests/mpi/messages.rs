//! Messages that nobody expects, and parts of meshes numbered by them.

use super::halos::{check_ring, ring_map, value};
use super::{PATIENCE, all_well, limit, partitioned};
#[cfg(feature = "faults")]
use minifenl::Error;
use minifenl::Result;
use minifenl::comm::{Communicator, GlobalMap, Halo, Message};
use minifenl::space::Serial;
use std::process::Output;
use std::time::Duration;

/// The list of a round that a rank sends to another: rounds differ in senders, lengths, and values.
pub(super) fn message(round: usize, from: usize, to: usize) -> Vec<Vec<u64>> {
    let mut random = support::Random::new((1 + round * 10_007 + from * 101 + to) as u64);
    // Long lists need the receiver's buffer before they travel.
    let lengths = [0, 1, 20, 100_000 / (1 + from)];
    let lists = random.below(4).saturating_sub(1);
    (0..lists).map(|_| (0..random.pick(&lengths)).map(|_| random.below(1 << 30) as u64).collect()).collect()
}

/// Messages that nobody expects: ragged, to itself, several to one rank, none; round after round without a barrier between, while
/// halo messages are under way.
pub(super) fn messages(comm: &dyn Communicator) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    if size > 1 {
        let mut halo = Halo::new(&Serial, comm, &ring_map(comm))?;
        let mut x: Vec<f64> = (0..6).map(|i| value(rank, i, 1)).collect();
        let sparse = || comm.send_all(vec![(0, vec![rank as u64])]).map(|received| received.len());
        let received = if rank.is_multiple_of(2) {
            let in_flight = halo.begin(&Serial, &mut x)?;
            let received = sparse()?;
            in_flight.finish(&Serial, &mut x)?;
            received
        } else {
            let received = sparse()?;
            halo.update(&Serial, &mut x)?;
            received
        };
        assert_eq!(received, if rank == 0 { size } else { 0 });
        check_ring(comm, &x, 1);
    }
    for round in 0..40 {
        // Ranks are at different places when a round begins.
        std::thread::sleep(Duration::from_micros((rank * 7 + round * 13) as u64 % 5 * 100));
        let lists = |from: usize, to: usize| message(round, from, to).into_iter();
        // Highest receiver first, so that order is not that of the ranks.
        let sent = (0..size).rev().flat_map(|to| lists(rank, to).map(move |list| (to, list))).collect();
        let expected: Vec<Message> =
            (0..size).flat_map(|from| lists(from, rank).map(move |list| (from, list))).collect();
        let received = comm.send_all(sent)?;
        assert!(received == expected, "round {round}");
    }
    // All ranks refuse what one must not send, and the next round works.
    let wrong = if rank == 0 { vec![(size, vec![1])] } else { Vec::new() };
    let error = comm.send_all(wrong).expect_err("no such rank").to_string();
    let expected = if rank == 0 { format!("a message goes to rank {size}, expected") } else { "rank 0 failed".into() };
    assert!(error.contains(&expected) || size == 1, "{error}");
    assert_eq!(
        comm.send_all(vec![((rank + 1) % size, vec![rank as u64])])?,
        [((rank + size - 1) % size, vec![((rank + size - 1) % size) as u64])]
    );
    Ok(())
}

/// Meshes in random parts give the matrix, halo and solution of the whole problem.
pub(super) fn parts(comm: &dyn Communicator) -> Result<()> {
    partitioned::check_many(comm, 1000 * comm.size() as u64 + 1, 24)
}

pub(super) fn example_ended_well(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stdout);
    all_well(run) && text.starts_with("125 nodes on ") && text.contains("largest error ") && text.lines().count() == 2
}

/// Ranks 0 and the last own the same node.
pub(super) fn two_owners(comm: &dyn Communicator) -> Result<()> {
    let other = if comm.rank() + 1 == comm.size() { 7 } else { 100 + comm.rank() as u64 };
    let own = if comm.rank() == 0 { [7, 8] } else { [10 * comm.rank() as u64, other] };
    GlobalMap::new(comm, &own, &[8]).map(drop)
}

pub(super) fn two_owners_named(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("error:")).collect();
    let is_named = |last| format!("error: global id 7 is owned by ranks 0 and {last}, expected one owner");
    run.status.code() == Some(1) && lines.len() == 1 && [1, 2].iter().any(|&last| lines[0] == is_named(last))
}

/// Rank 1 takes part in the check of the messages, which is an all-reduce of two numbers, but never receives.
pub(super) fn message_without_partner(comm: &dyn Communicator) -> Result<()> {
    limit(comm);
    if comm.rank() == 0 {
        return comm.send_all(vec![(1, vec![1, 2])]).map(drop);
    }
    comm.all_max(&mut [f64::NEG_INFINITY, 0.0]);
    std::thread::sleep(10 * PATIENCE);
    Ok(())
}

pub(super) fn unreceived(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    let words = "rank 1 missing; rank 0 waits at a sparse exchange, phase test";
    let told = text.lines().filter(|line| line.starts_with("error:") && line.ends_with(words)).count();
    run.status.code() == Some(1) && told == 1
}

/// On two ranks a send of the last rank fails, on three its memory for a message from rank 0. It ends the others.
#[cfg(feature = "faults")]
pub(super) fn message_fails(comm: &dyn Communicator) -> Result<()> {
    use minifenl::faults::{Kind, Plan, set};
    let last = comm.size() - 1;
    if comm.rank() == last {
        // The first call of MPI checks the messages.
        let (kind, call) = if last == 1 { (Kind::Mpi, 2) } else { (Kind::Alloc, 1) };
        set(Some(Plan { kind, call, lasts: false }));
    }
    match comm.send_all(vec![(last - comm.rank(), vec![1, 2, 3])]) {
        Err(Error::Alone(error)) => {
            eprintln!("error: {error}");
            comm.abort(1)
        }
        result => result.map(drop),
    }
}

#[cfg(feature = "faults")]
pub(super) fn ended_by_one(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("error:")).collect();
    let [line] = lines[..] else { return false };
    let words = ["error: MPI: MPI_Issend failed with code", "error: array `received message` needs 0.0 MiB (24 bytes)"];
    run.status.code() == Some(1) && words.iter().any(|words| line.starts_with(words))
}
