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

mod args;
mod kernels;
mod progress;
mod self_test;

use args::Args;
use minifenl::Error;
use minifenl::comm::{self, Communicator};
use minifenl::error::printable;
use minifenl::run::program::{self, Exit};
use minifenl::run::{Deck, ReportFile, solve};
use progress::Terminal;
use std::io::{Write, stderr, stdout};
use std::ops::ControlFlow::{self, Break, Continue};
use std::process::ExitCode;

fn main() -> ExitCode {
    // 1. Read the command line; every rank does, the first one speaks.
    let args = match program::parse::<Args>() {
        Ok(args) => args,
        Err(error) => return program::usage(&error, &mut stdout(), &mut stderr()).into(),
    };
    let exit = match prepare(&args) {
        Ok(Continue((deck, comm))) => job(&deck, &*comm).unwrap_or_else(|error| end_all(&*comm, &error)),
        Ok(Break(exit)) => exit,
        Err(error) => program::failure(error.as_ref(), &mut stderr()),
    };
    exit.into()
}

/// A job to do, or the end of a program that has none.
type Prepared = ControlFlow<Exit, (Deck, Box<dyn Communicator>)>;

/// Prints on the first rank.
fn show(text: &str) -> anyhow::Result<Exit> {
    Ok(program::show(&mut stdout(), text).map(|()| Exit::Done)?)
}

/// Returns the deck and the ranks, or the end of the program where the flags ask for something that needs no run.
fn prepare(args: &Args) -> anyhow::Result<Prepared> {
    if let Some(shell) = args.completions {
        return Ok(Break(show(&program::completions::<Args>(shell))?));
    }
    // 2. Flags over deck.
    let deck = args.deck()?;
    if args.dump_deck {
        return Ok(Break(show(&deck.to_toml()?)?));
    }
    if args.kernel_info {
        return Ok(Break(show(&kernels::table(deck.run.device)?)?));
    }
    if args.self_test {
        return self_test::run(deck.run.device, deck.run.threads).map(Break);
    }
    // 3. The ranks: those of mpirun, or this process alone; and a device that is there.
    let comm = comm::world()?;
    comm.abort_on_panic();
    Ok(Continue((deck, comm)))
}

fn job(deck: &Deck, comm: &dyn Communicator) -> anyhow::Result<Exit> {
    // 4. Know that the report can be written before the work is done.
    let path = deck.run.report.as_deref().filter(|_| comm.rank() == 0);
    let file = comm::agree(comm, path.map(ReportFile::create).transpose())?;

    // 5. Solve.
    let report = solve(deck, comm, &Terminal::new(comm.rank() == 0))?;

    // 6. The table first, which needs no disk; then the report. What fails now ends this rank alone.
    let shown = show(&report.table());
    if let Some(Err(lost)) = file.map(|file| file.write(&report)) {
        let _ = writeln!(stderr(), "error: {lost}");
        if lost.copy.is_none() {
            // The last place that is left: the log of the job.
            let _ = writeln!(stderr(), "{}", serde_json::to_string(&report)?);
        }
        return Ok(Exit::Failed);
    }
    shown.map(|_| Exit::verdict(report.verified))
}

/// Ends a job that failed: the rank that has the error prints it. Ranks that heard of the error end quietly with 0, so that
/// the launcher passes on the code of the rank that failed. An error that only one rank can know of aborts all ranks.
fn end_all(comm: &dyn Communicator, error: &anyhow::Error) -> Exit {
    if let Some(Error::Elsewhere { .. }) = error.downcast_ref() {
        return Exit::Done;
    }
    let _ = writeln!(stderr(), "error: {}", printable(&format!("{error:#}")));
    match Exit::during_work(error.as_ref()) {
        Exit::Failed if comm.size() > 1 => comm.abort(1),
        exit => exit,
    }
}
