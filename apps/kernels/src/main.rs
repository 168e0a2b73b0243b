//! minifenl-kernels: kernels on the layer of minifenl beside the same loops written by hand.
//!
//! Build:        `cargo build --release -p minifenl-kernels`
//!
//! Sample runs:  `minifenl-kernels`
//!               `minifenl-kernels vectors --most 1e6`
//!               `minifenl-kernels --device cuda --json kernels.json --figures figures`
//!
//! ```text
//! vectors        y = a x + b y,  z = x + a y,  x.y,  sums of (m x, m y, m z, m),  prefix sums
//! sparse         y = A x,  20 iterations of CG
//! gram-schmidt   16 vectors;  time = dispatches * D + bytes / B,  D and B fitted
//! lennard-jones  full lists, half lists with atomic additions, layouts left and right
//! streams        copies in chunks beside kernels, over 1, 2 and 4 streams
//! atomics        8 additions per cell: atomic, compare-and-swap, racy
//! ```
//! Under mpirun only the first rank measures. Exit codes: 0 done, 2 bad usage or input, 3 a result was wrong, 1 any other failure.

mod args;
mod figures;
mod functions;
mod kernels;
mod measure;
mod native;
mod peers;
mod report;
mod rows;
mod space;
mod suite;
#[cfg(test)]
mod tests;

use args::Args;
use minifenl::Error;
use minifenl::comm::Solo;
use minifenl::files::{check_distinct, create_folder, write};
use minifenl::run::Chosen;
use minifenl::run::program::{self, Exit, Others};
use minifenl::run::provenance::MachineReport;
use minifenl::space::{Cuda, Serial, Threads, allowed_cores};
use report::Report;
use std::io::{stderr, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Under mpirun the first rank measures: several at once would share what is measured.
    if !program::is_first() {
        return ExitCode::SUCCESS;
    }
    let exit = match program::parse::<Args>() {
        Ok(args) => run(&args).unwrap_or_else(|error| program::failure(error.as_ref(), &mut stderr())),
        Err(error) => program::usage(&error, &mut stdout(), &mut stderr()),
    };
    exit.into()
}

fn run(args: &Args) -> anyhow::Result<Exit> {
    check_distinct(&args.files())?;
    if args.has_json_on_stdout() {
        program::check_stdout().map_err(|error| Error::Invalid(format!("--json: -: {error}")))?;
    }
    if let Some(folder) = &args.figures {
        create_folder(folder).map_err(|error| match error {
            Error::File { path, reason } => Error::File { path: format!("--figures: {path}"), reason },
            error => error,
        })?;
    }
    let mut report =
        Report { schema_version: 1, command: command(), machine: Some(MachineReport::here()), ..Report::default() };
    let others = Others::on_allowed_cores();
    let host = Threads::new(allowed_cores())?;
    match args.device.choose(&Solo, false)? {
        Chosen::Cuda(ordinal) => suite::run(&Cuda::new(ordinal)?, &host, args, &mut report)?,
        Chosen::Cpu { notice } => {
            report.left_out.extend(notice);
            let mut threads = vec![1, allowed_cores()];
            if !args.threads.is_empty() {
                threads = args.threads.iter().map(|&threads| threads.into()).collect();
            }
            threads.dedup();
            for threads in threads {
                let space = if threads == 1 { Serial } else { Threads::new(threads)? };
                suite::run(&space, &host, args, &mut report)?;
            }
        }
    }
    if report.rows.is_empty() && report.left_out.is_empty() {
        let least = "vectors have 1000 items or more, boxes 1000 nodes, lattices 4000 atoms";
        return Err(Error::Invalid(format!("--most {}: nothing is so small: {least}", args.most)).into());
    }
    report.other_programs = others.and_then(|others| others.used());
    for (_, path) in args.files() {
        write(&path, report.json().as_bytes())?;
    }
    if let Some(folder) = &args.figures {
        for (name, figure) in figures::of(&report) {
            write(&folder.join(format!("{name}.svg")), figure.as_bytes())?;
        }
    }
    if args.has_json_on_stdout() {
        // What stderr does not take is nobody's.
        let _ = program::show(&mut stderr(), &report.table());
        program::show(&mut stdout(), &report.json())?;
    } else {
        program::show(&mut stdout(), &report.table())?;
    }
    Ok(Exit::verdict(report.rows.iter().all(report::Row::is_right)))
}

/// The words of the command line; the program without its folder.
fn command() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("minifenl-kernels".into()).chain(words).collect()
}
