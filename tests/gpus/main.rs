//! Transports between GPUs: this program starts itself under `mpirun` with 2 ranks and more, up to the number of GPUs, and compares
//! halos, sums, products and solves of every transport with values by hand and with the CPU. Without two GPUs it is skipped.
//!
//! ```text
//! cargo test --features mpi --test gpus           all cases
//! cargo test --features mpi --test gpus -- sums   those with "sums" in their name
//! ```

mod messages;
mod solves;

use minifenl::blas::{Collective, Reductions};
use minifenl::comm::{Communicator, Links, Transport, agree, started_by_mpirun, world};
use minifenl::space::cuda::devices;
use minifenl::space::{Cuda, ExecutionSpace};
use minifenl::{Error, Result};
use std::process::{ExitCode, Output};
use std::time::{Duration, Instant};

const CASE: &str = "MINIFENL_GPUS_CASE";
/// All waits of a case are shorter; kernels are compiled in the first.
const PATIENCE: Duration = Duration::from_secs(120);
const TRANSPORTS: [Transport; 3] = [Transport::Peer, Transport::Nccl, Transport::Staged];

type Case = (&'static str, fn(&dyn Communicator, &Cuda) -> Result<()>);
const CASES: &[Case] = &[
    ("exchanges", messages::exchanges),
    ("sums", messages::sums),
    ("products", messages::products),
    ("jobs", solves::jobs),
    ("variants", solves::variants),
    ("direct_assembly", solves::direct_assembly),
    ("problems", solves::problems),
    ("multigrid", solves::multigrid),
    ("deterministic", solves::deterministic),
    ("choice", choice),
    ("lost_rank", lost_rank),
];

fn main() -> ExitCode {
    match std::env::var(CASE) {
        Ok(name) if started_by_mpirun().is_some() => run_rank(&name),
        _ => run_cases(),
    }
}

fn run_cases() -> ExitCode {
    let gpus = devices().map_or(0, |devices| devices.len());
    if gpus < 2 {
        for (name, _) in CASES {
            support::skip(&format!("gpus::{name}"), &format!("needs 2 GPUs, found {gpus}"), "MINIFENL_NEEDS_GPUS");
        }
        println!("\ntest result: ok. {} passed; 0 failed; 0 ignored", CASES.len());
        return ExitCode::SUCCESS;
    }
    let ranks: Vec<usize> = [2, 3, 4, 8].into_iter().filter(|&ranks| ranks <= gpus).collect();
    let ended_well = |run: &Output| run.status.success() && run.stderr.is_empty();
    let cases = CASES.iter().map(|(name, _)| (*name, ranks.clone(), ended_well as fn(&Output) -> bool));
    support::run_cases(&cases.collect::<Vec<_>>(), CASE, PATIENCE)
}

fn run_rank(name: &str) -> ExitCode {
    let comm = world().expect("MPI starts");
    comm.abort_on_panic();
    let (_, case) = CASES.iter().find(|case| case.0 == name).expect("a case of this name");
    let result = agree(&*comm, Cuda::new(comm.rank_on_node())).and_then(|space| case(&*comm, &space));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Elsewhere { .. }) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: rank {}: {error}", comm.rank());
            comm.abort(1)
        }
    }
}

fn connect<'a>(space: &Cuda, comm: &'a dyn Communicator, transport: Transport) -> Result<Links<'a, Cuda>> {
    let links = Links::connect(space, comm, Some(transport), Duration::from_secs(60))?;
    assert_eq!(links.transport(), transport);
    Ok(links)
}

/// By default, GPUs of one host with access to each other use peer memory; a transport of the CPU is refused.
fn choice(comm: &dyn Communicator, space: &Cuda) -> Result<()> {
    let links = Links::connect(space, comm, None, Duration::from_secs(60))?;
    assert_eq!(links.transport(), Transport::Peer);
    let refused = Links::connect(space, comm, Some(Transport::Mpi), Duration::from_secs(60)).unwrap_err().to_string();
    assert!(comm.rank() > 0 || refused.contains("transport mpi") && refused.contains("peer, nccl"), "{refused}");
    Ok(())
}

/// The last rank does not take part: the others report it after the limit, and their kernels end.
fn lost_rank(comm: &dyn Communicator, space: &Cuda) -> Result<()> {
    let last = comm.size() - 1;
    let links = Links::connect(space, comm, Some(Transport::Peer), Duration::from_millis(300))?;
    let map = messages::ragged(comm, 2);
    let mut halo = links.halo(space, &map)?;
    if comm.rank() != last {
        let (mut x, start) = (space.zeros(map.local_count())?, Instant::now());
        halo.update(space, &mut x)?;
        let mut sums = Reductions::new(space, messages::OWNED, 2)?;
        let _ = links.all_reduce(space, &mut sums, 0..2);
        space.fence()?;
        let error = links.check().unwrap_err().to_string();
        assert!(error.contains(&format!("rank {last}")) && error.contains("0.3 s"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }
    comm.barrier();
    Ok(())
}
