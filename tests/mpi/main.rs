//! Real ranks: this program starts itself under `mpirun` with 1, 2, 3, 4 and 8 ranks and checks results and how each run ends.
//!
//! ```text
//! cargo test --features mpi --test mpi            all cases
//! cargo test --features mpi --test mpi -- panic   those with "panic" in their name
//! ```
//! Without arguments from `mpirun` it is the runner; under `mpirun`, with a case's name in MINIFENL_MPI_CASE, a rank.

#[path = "../library/coo/on_ranks.rs"]
mod coo;
mod ends;
mod formats;
mod halos;
mod messages;
#[path = "../library/partition/partitioned.rs"]
mod partitioned;
#[allow(dead_code)]
#[path = "../../examples/partitioned_mesh.rs"]
mod partitioned_mesh;

use minifenl::comm::{Communicator, agree, default_threads, started_by_mpirun, world};
use minifenl::{Error, Result};
use std::process::{ExitCode, Output};
use std::time::Duration;

const CASE: &str = "MINIFENL_MPI_CASE";
/// A run that takes longer than this hangs: a rank waits for one that has gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Name, numbers of ranks, what each rank does, and whether the end of all ranks is right.
struct Case {
    name: &'static str,
    ranks: &'static [usize],
    rank: fn(&dyn Communicator) -> Result<()>,
    ended_well: fn(&Output) -> bool,
}

const CASES: &[Case] = &[
    Case { name: "collectives", ranks: &[1, 2, 3, 4, 8], rank: collectives, ended_well: all_well },
    Case { name: "ring", ranks: &[2, 3, 4, 8], rank: halos::ring, ended_well: all_well },
    Case { name: "messages_elsewhere", ranks: &[2, 3, 4, 8], rank: halos::messages_elsewhere, ended_well: all_well },
    Case { name: "halos_together", ranks: &[2, 3], rank: halos::halos_together, ended_well: all_well },
    Case { name: "mesh_halo", ranks: &[1, 2, 3, 4, 8], rank: halos::mesh_halo, ended_well: all_well },
    Case { name: "messages", ranks: &[1, 2, 3, 4, 8], rank: messages::messages, ended_well: all_well },
    Case { name: "parts", ranks: &[1, 2, 3, 4, 8], rank: messages::parts, ended_well: all_well },
    Case {
        name: "example",
        ranks: &[1, 2, 3, 4, 8],
        rank: partitioned_mesh::run,
        ended_well: messages::example_ended_well,
    },
    Case { name: "coo", ranks: &[1, 2, 3, 4, 8], rank: coo::sums_on_ranks, ended_well: all_well },
    Case { name: "coo_plans", ranks: &[1, 2, 3], rank: coo::plans_equal_those_of_one_rank, ended_well: all_well },
    Case { name: "storages", ranks: &[2, 4], rank: formats::storages, ended_well: all_well },
    Case { name: "two_owners", ranks: &[2, 3], rank: messages::two_owners, ended_well: messages::two_owners_named },
    Case { name: "limited", ranks: &[1, 2, 3, 4, 8], rank: limited, ended_well: all_well },
    Case { name: "rank_order", ranks: &[1, 2, 3, 4, 8], rank: rank_order, ended_well: all_well },
    Case { name: "missing_rank", ranks: &[2, 3], rank: ends::missing_rank, ended_well: ends::missed },
    Case { name: "missing_at_the_end", ranks: &[2], rank: ends::missing_at_the_end, ended_well: ends::missed },
    Case {
        name: "halo_without_partner",
        ranks: &[2],
        rank: ends::halo_without_partner,
        ended_well: ends::waiting_for_nobody,
    },
    Case {
        name: "message_without_partner",
        ranks: &[2],
        rank: messages::message_without_partner,
        ended_well: messages::unreceived,
    },
    #[cfg(feature = "faults")]
    Case { name: "message_fails", ranks: &[2, 3], rank: messages::message_fails, ended_well: messages::ended_by_one },
    Case { name: "bad_neighbour", ranks: &[2], rank: ends::bad_neighbour, ended_well: all_well },
    Case { name: "short_message", ranks: &[2], rank: ends::short_message, ended_well: all_well },
    Case { name: "agree", ranks: &[1, 2, 3, 8], rank: ends::one_fails, ended_well: ends::one_message },
    Case { name: "panic", ranks: &[1, 2, 4], rank: ends::panics, ended_well: ends::panicked },
    Case { name: "panic_on_a_thread", ranks: &[2], rank: ends::panics_on_a_thread, ended_well: ends::panicked },
    Case { name: "abort", ranks: &[2, 3], rank: ends::aborts, ended_well: |run| run.status.code() == Some(7) },
];

fn main() -> ExitCode {
    match std::env::var(CASE) {
        Ok(name) if started_by_mpirun().is_some() => run_rank(&name),
        _ => {
            let cases = CASES.iter().map(|case| (case.name, case.ranks.to_vec(), case.ended_well));
            support::run_cases(&cases.collect::<Vec<_>>(), CASE, PATIENCE)
        }
    }
}

/// What a program does: take the world, do the work, print an error that is its own, end with a code.
fn run_rank(name: &str) -> ExitCode {
    let comm = world().expect("MPI starts");
    comm.abort_on_panic();
    let case = CASES.iter().find(|case| case.name == name).expect("a case of this name");
    match (case.rank)(&*comm) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Elsewhere { .. }) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn all_well(run: &Output) -> bool {
    run.status.success() && run.stderr.is_empty()
}

fn collectives(comm: &dyn Communicator) -> Result<()> {
    let (rank, size) = (comm.rank() as f64, comm.size() as f64);
    let mut values: Vec<f64> = (0..130).map(|i| rank + f64::from(i)).collect();
    comm.all_sum(&mut values);
    assert!(values.iter().enumerate().all(|(i, &x)| x == size * (size - 1.0) / 2.0 + size * i as f64));
    let mut ends = [rank, -rank, f64::NEG_INFINITY];
    comm.all_max(&mut ends);
    assert_eq!(ends, [size - 1.0, 0.0, f64::NEG_INFINITY]);
    let mut exact = [(1u64 << 53) + 1];
    comm.all_sum_u64(&mut exact);
    assert_eq!(exact, [comm.size() as u64 * ((1 << 53) + 1)]);
    let gathered = comm.all_gather(&[rank, 10.0 * rank])?;
    let expected: Vec<f64> = (0..comm.size()).flat_map(|r| [r as f64, 10.0 * r as f64]).collect();
    assert_eq!(gathered, expected);
    assert_eq!(comm.ranks_on_node(), comm.size());
    assert_eq!(comm.rank_on_node(), comm.rank());
    assert_eq!(comm.node_sum(3), 3 * comm.size() as u64);
    let cores = minifenl::space::allowed_cores();
    assert!((1..=cores).contains(&default_threads(comm)));
    for len in [1, 3, 8, 9, 130] {
        let mut sums: Vec<f64> = (0..len).map(|i| rank + i as f64).collect();
        comm.all_sum(&mut sums);
        let expected = |i: usize| size * (size - 1.0) / 2.0 + size * i as f64;
        assert!(sums.iter().enumerate().all(|(i, &x)| x == expected(i)), "{len}: {sums:?}");
    }
    comm.barrier();
    assert_eq!(agree(comm, Ok(5))?, 5);
    Ok(())
}

/// The same results when waits have a limit.
fn limited(comm: &dyn Communicator) -> Result<()> {
    comm.limit_waits(Duration::from_secs(60), Box::new(|text| eprintln!("error: {text}")));
    collectives(comm)?;
    halos::mesh_halo(comm)?;
    messages::messages(comm)?;
    if comm.size() > 1 { halos::ring(comm) } else { Ok(()) }
}

/// Value `i` of a rank, of either sign and of sizes that differ, so that a sum depends on its order.
fn odd(rank: usize, i: usize) -> f64 {
    let bits = (rank as u64 * 1_000_003 + i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (bits >> 11) as f64 * 2f64.powi(-50 + (bits % 40) as i32) * if bits & 64 == 0 { 1.0 } else { -1.0 }
}

/// Sums in rank order have the bits of a loop over the ranks, with and without a limit. The lengths span several pieces.
fn rank_order(comm: &dyn Communicator) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let by_loop = |i: usize| (1..size).fold(odd(0, i), |sum, other| sum + odd(other, i));
    let check = || {
        for len in (0..20).chain([63, 64, 65, 200]) {
            let mut values: Vec<f64> = (0..len).map(|i| odd(rank, i)).collect();
            comm.all_sum(&mut values);
            for (i, &sum) in values.iter().enumerate() {
                assert_eq!(sum.to_bits(), by_loop(i).to_bits(), "value {i} of {len}");
            }
        }
    };
    assert_eq!(comm.sums_in_rank_order(), size == 1);
    comm.fix_order_of_sums();
    assert!(comm.sums_in_rank_order());
    check();
    comm.limit_waits(Duration::from_secs(60), Box::new(|text| eprintln!("error: {text}")));
    check();
    collectives(comm)
}

/// Limits waits to a second; each rank says so when it tells.
fn limit(comm: &dyn Communicator) {
    let rank = comm.rank();
    comm.limit_waits(Duration::from_secs(1), Box::new(move |text| eprintln!("error: rank {rank} tells: {text}")));
    comm.enter_phase("test");
}
