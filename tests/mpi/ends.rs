//! Ranks that are missing, fail, panic or abort: how the job ends.

use super::halos::ring_map;
use super::{PATIENCE, limit};
use minifenl::comm::{Communicator, Halo, Map, Neighbour, agree};
use minifenl::space::Serial;
use minifenl::{Error, Result};
use std::process::Output;

/// The last rank is stuck outside MPI; the others wait for it in an all-reduce or, on three ranks, in a barrier and a halo
/// exchange.
pub(super) fn missing_rank(comm: &dyn Communicator) -> Result<()> {
    limit(comm);
    let mut halo = Halo::new(&Serial, comm, &ring_map(comm))?;
    comm.barrier();
    match comm.rank() {
        rank if rank + 1 == comm.size() => std::thread::sleep(10 * PATIENCE),
        1 => halo.update(&Serial, &mut [0.0; 6])?,
        _ if comm.size() == 2 => comm.all_sum(&mut [1.0]),
        _ => comm.barrier(),
    }
    Ok(())
}

/// The last rank never ends MPI.
pub(super) fn missing_at_the_end(comm: &dyn Communicator) -> Result<()> {
    limit(comm);
    if comm.rank() + 1 == comm.size() {
        std::thread::sleep(10 * PATIENCE);
    }
    Ok(())
}

/// One line: rank 0 misses the last rank.
pub(super) fn missed(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("error:")).collect();
    let [line] = lines[..] else { return false };
    run.status.code() == Some(1)
        && line.starts_with("error: rank 0 tells: a wait took longer than 1 s")
        && [
            ": rank 1 missing; rank 0 waits at all-reduce 2, phase test",
            ": rank 2 missing; rank 0 waits at barrier 2, phase test",
            ": rank 1 missing; rank 0 waits at end of MPI, collective 1, phase end",
        ]
        .iter()
        .any(|words| line.ends_with(words))
}

/// Ranks that wait for different things.
pub(super) fn halo_without_partner(comm: &dyn Communicator) -> Result<()> {
    limit(comm);
    let mut halo = Halo::new(&Serial, comm, &ring_map(comm))?;
    if comm.rank() == 0 {
        halo.update(&Serial, &mut [0.0; 6])?
    } else {
        comm.barrier()
    }
    Ok(())
}

pub(super) fn waiting_for_nobody(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    let words = "rank 0 at a halo exchange, phase test; rank 1 at barrier 1, phase test";
    let told = text.lines().filter(|line| line.starts_with("error:") && line.ends_with(words)).count();
    run.status.code() == Some(1) && told == 1
}

pub(super) fn bad_neighbour(comm: &dyn Communicator) -> Result<()> {
    for rank in [comm.rank(), 2] {
        let map = Map::new(9, 1, vec![Neighbour { rank, send: vec![0], receive: 1..2 }])?;
        let error = comm.exchange(&map).expect_err("no such neighbour").to_string();
        assert!(error.contains(&format!("rank {rank} as a neighbour")), "{error}");
    }
    Ok(())
}

/// Maps that do not match: rank 0 expects two values and gets one.
pub(super) fn short_message(comm: &dyn Communicator) -> Result<()> {
    let (send, ghosts) = if comm.rank() == 0 { (vec![0], 2) } else { (vec![0], 1) };
    let map = Map::new(9, 1, vec![Neighbour { rank: 1 - comm.rank(), send, receive: 1..1 + ghosts }])?;
    let mut x = vec![0.0; map.local_count()];
    let result = Halo::new(&Serial, comm, &map)?.update(&Serial, &mut x);
    match comm.rank() {
        0 => assert!(result.expect_err("too short").to_string().contains("rank 1 sent 1 values, the map expects 2")),
        _ => result?,
    }
    Ok(())
}

/// The last two ranks fail; the lower one tells.
pub(super) fn one_fails(comm: &dyn Communicator) -> Result<()> {
    let fails = comm.rank() + 2 >= comm.size();
    agree(comm, if fails { Err(Error::Invalid(format!("set-up of rank {}", comm.rank()))) } else { Ok(()) })
}

pub(super) fn one_message(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    run.status.code() == Some(1) && text.matches("error: set-up of rank").count() == 1
}

pub(super) fn panics(comm: &dyn Communicator) -> Result<()> {
    comm.barrier();
    assert_ne!(comm.rank(), comm.size() - 1, "on purpose");
    comm.barrier();
    comm.barrier();
    Ok(())
}

pub(super) fn panics_on_a_thread(comm: &dyn Communicator) -> Result<()> {
    comm.barrier();
    if comm.rank() == 1 {
        let _ = std::thread::spawn(|| panic!("on purpose")).join();
    }
    comm.barrier();
    comm.barrier();
    Ok(())
}

pub(super) fn panicked(run: &Output) -> bool {
    let text = String::from_utf8_lossy(&run.stderr);
    run.status.code() == Some(101) && text.matches("on purpose").count() == 1 && text.contains("rank ")
}

pub(super) fn aborts(comm: &dyn Communicator) -> Result<()> {
    if comm.rank() == 1 {
        comm.abort(7);
    }
    comm.barrier();
    Ok(())
}
