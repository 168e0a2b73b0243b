//! minifenl: the main job, nonlinear heat conduction on a box of hexahedra, on threads and MPI ranks.
//!
//! Build:        `make` or `cargo build --release` (one process) or `cargo build --release --features mpi`
//!
//! Sample runs:  `minifenl`
//!               `minifenl --nodes 64x48x32 --map twist:0.5 --threads 2`
//!               `minifenl --input inputs/original.toml --nodes 100 --triad --report report.json`
//!               `mpirun -n 4 minifenl --nodes 64`
//!               `mpirun -n 8 minifenl --nodes-per-rank 48`
//!
//! Solves -K laplace(T) + T^2 = 0 with T given at zmin and zmax and no flux elsewhere, by Newton's method on trilinear
//! hexahedra; each step assembles residual and Jacobian and solves with conjugate gradients. The answer is compared with
//! the analytic one. Exit codes: 0 solved and verified, 2 bad usage or input, 3 not converged or not verified, 1 else.

mod cli;

use clap::Parser;
use cli::{args::Args, exit, progress::Terminal};
use minifenl::run::{ReportFile, solve};
use std::process::ExitCode;

fn main() -> ExitCode {
    // 1. Read the command line; every rank does, the first one speaks.
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::usage(&error),
    };
    match job(&args) {
        Ok(code) => code,
        Err(error) => exit::failure(&error),
    }
}

fn job(args: &Args) -> anyhow::Result<ExitCode> {
    // 2. Things that need no solve.
    if let Some(shell) = args.completions {
        return exit::show(&cli::args::completions(shell));
    }
    let deck = args.deck()?;
    if args.dump_deck {
        return exit::show(&deck.to_toml()?);
    }

    // 3. Know that the report can be written before the work is done.
    let file = deck.run.report.as_deref().filter(|_| exit::is_first()).map(ReportFile::create).transpose()?;

    // 4. Solve.
    let report = solve(&deck, &mut Terminal::new(exit::is_first()))?;

    // 5. Report and verdict.
    if let Some(file) = file {
        file.write(&report)?;
    }
    exit::show(&report.table())?;
    Ok(exit::verdict(report.verified))
}
