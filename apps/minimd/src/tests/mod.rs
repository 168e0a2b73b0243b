//! The fluid against all pairs, on hosts, ranks and, where there is one, a GPU.

mod fluid;
mod forces;
mod parts;
mod texts;
#[path = "../../../../tests/library/thread_ranks.rs"]
mod thread_ranks;

use crate::args::Args;
use crate::bins::Bins;
use crate::domain::Domain;
use crate::fluid::{Fluid, Method};
use crate::run::run;
use crate::space::Space;
use crate::start::{atoms, lattice};
use clap::Parser;
use minifenl::comm::Communicator;
use minifenl::space::Cuda;

/// A command line.
fn args(words: &[&str]) -> Args {
    Args::parse_from([&["minifenl-minimd"], words].concat())
}

fn gpu(test: &str) -> Option<Cuda> {
    support::or_skip(test, Cuda::new(0), "MINIFENL_NEEDS_GPU")
}

/// Step, temperature, energy and pressure of the lines of a run.
fn states<S: Space>(space: &S, comm: &dyn Communicator, words: &[&str]) -> minifenl::Result<Vec<[f64; 4]>> {
    let report = run(space, comm, &args(words), &mut |_| Ok(()))?;
    Ok(report
        .states
        .iter()
        .map(|at| [at.step as f64, at.state.temperature, at.state.energy, at.state.pressure])
        .collect())
}

/// A fluid after the steps of `words`, with its box.
fn moved<'a, S: Space>(space: &'a S, comm: &'a dyn Communicator, words: &[&str]) -> (Fluid<'a, S>, [f64; 3]) {
    let args = args(words);
    let edges = args.cells.0.map(|cells| cells as f64 * lattice(args.density));
    let domain = Domain::new(edges, args.cutoff + args.skin, comm.rank(), comm.size()).unwrap();
    let start = atoms(comm, &domain, args.cells.0, args.density, args.temperature);
    let method = Method { is_half: args.lists.is_half(true), sorts: args.sort.is_yes(), cutoff: args.cutoff };
    let bins = Bins::new(&domain).unwrap();
    let mut fluid = Fluid::new(space, comm, domain, bins, method, start).unwrap();
    for step in 1..=args.steps {
        fluid.start(args.dt).unwrap();
        if step % args.rebuild == 0 {
            fluid.migrate(step).unwrap();
            fluid.list().unwrap();
        } else {
            fluid.follow().unwrap();
        }
        fluid.push().unwrap();
        fluid.end(args.dt).unwrap();
    }
    (fluid, edges)
}
