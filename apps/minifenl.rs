//! minifenl: the main job, nonlinear heat conduction on a box of hexahedra, on threads, a GPU and MPI ranks.
//!
//! Build:        `make` or `cargo build --release` (one process) or `cargo build --release --features mpi`
//!
//! Sample runs:  `minifenl`
//!               `minifenl --nodes 64x48x32 --map twist:0.5 --threads 2`
//!               `minifenl --input inputs/original.toml --nodes 100 --triad --report report.json`
//!               `minifenl --nodes 256 --device cuda:1`
//!               `minifenl --self-test`
//!               `mpirun -n 4 minifenl --nodes 64`
//!               `mpirun -n 8 minifenl --nodes-per-rank 48`
//!
//! Solves -K laplace(T) + T^2 = 0 with T given at zmin and zmax and no flux elsewhere, by Newton's method on trilinear
//! hexahedra; each step assembles residual and Jacobian and solves with conjugate gradients. The answer is compared with
//! the analytic one. Exit codes: 0 solved and verified, 2 bad usage or input, 3 not converged or not verified, 1 else.

mod cli;

use clap::Parser;
use cli::{args::Args, exit, progress::Terminal};
use minifenl::comm::{self, Communicator};
use minifenl::run::{Deck, ReportFile, solve};
use std::ops::ControlFlow::{self, Break, Continue};
use std::process::ExitCode;

fn main() -> ExitCode {
    // 1. Read the command line; every rank does, the first one speaks.
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::usage(&error),
    };
    match prepare(&args) {
        Ok(Continue((deck, comm))) => job(&deck, &*comm).unwrap_or_else(|error| exit::end_all(&*comm, &error)),
        Ok(Break(code)) => code,
        Err(error) => exit::failure(&error),
    }
}

/// A job to do, or the exit code of what is done.
type Prepared = ControlFlow<ExitCode, (Deck, Box<dyn Communicator>)>;

/// The deck and the ranks, or the exit code where the flags ask for something that needs no run.
fn prepare(args: &Args) -> anyhow::Result<Prepared> {
    if let Some(shell) = args.completions {
        return exit::show(&cli::args::completions(shell)).map(Break);
    }
    // 2. Flags over deck.
    let deck = args.deck()?;
    if args.dump_deck {
        return exit::show(&deck.to_toml()?).map(Break);
    }
    if args.kernel_info {
        return exit::show(&cli::kernels::table(deck.run.device)?).map(Break);
    }
    if args.self_test {
        return cli::self_test::run(deck.run.device, deck.run.threads).map(Break);
    }
    // 3. The ranks: those of mpirun, or this process alone; and a device that is there.
    let comm = comm::world()?;
    comm.abort_on_panic();
    deck.run.device.choose(comm.size())?;
    Ok(Continue((deck, comm)))
}

fn job(deck: &Deck, comm: &dyn Communicator) -> anyhow::Result<ExitCode> {
    // 4. Know that the report can be written before the work is done.
    let path = deck.run.report.as_deref().filter(|_| comm.rank() == 0);
    let file = comm::agree(comm, path.map(ReportFile::create).transpose())?;

    // 5. Solve.
    let report = solve(deck, comm, &Terminal::new(comm.rank() == 0))?;

    // 6. Report and verdict.
    comm::agree(comm, file.map(|file| file.write(&report)).transpose())?;
    exit::show(&report.table())?;
    Ok(exit::verdict(report.verified))
}
