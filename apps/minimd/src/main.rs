//! minifenl-minimd: a Lennard-Jones fluid on the layer of minifenl.
//!
//! Build:        `cargo build --release -p minifenl-minimd`, with MPI `--features mpi`
//!
//! Sample runs:  `minifenl-minimd --cells 32 --steps 100`
//!               `minifenl-minimd -n 32 --lists full --threads 2 --json run.json`
//!               `minifenl-minimd -n 64 --device cuda`
//!               `mpirun -n 4 minifenl-minimd -n 32 --threads 1`
//!
//! ```text
//! 1. lattice and random velocities, a part of the box per rank
//! 2. each step:  v += dt/2 f,  x += dt v;  ghosts;  f;  v += dt/2 f
//! 3. every 20th step:  atoms change their rank, are sorted by bins, get new ghosts and neighbour lists
//! ```
//! Exit codes: 0 done, 2 bad usage or input, 1 any other failure.

mod alone;
mod args;
mod bins;
mod borders;
mod domain;
mod fluid;
mod forces;
mod functions;
mod neighbours;
mod owners;
mod report;
mod run;
mod space;
mod start;
#[cfg(test)]
mod tests;
mod thermo;

use args::Args;
use minifenl::comm::{self, Communicator, agree, default_threads};
use minifenl::files::OutputFile;
use minifenl::run::Chosen;
use minifenl::run::program::{self, Exit};
use minifenl::space::{Cuda, Serial, Threads};
use minifenl::{Error, Result};
use report::{HEAD, Report};
use std::io::{Write, stderr, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match program::parse::<Args>() {
        Ok(args) => args,
        Err(error) => return program::usage(&error, &mut stdout(), &mut stderr()).into(),
    };
    match comm::world() {
        Ok(comm) => {
            comm.abort_on_panic();
            let done = job(&args, &*comm).inspect_err(|error| end_ranks(&*comm, error));
            agree(&*comm, done).unwrap_or_else(|error| end(&error)).into()
        }
        Err(error) => program::failure(&error, &mut stderr()).into(),
    }
}

/// Ends all ranks at an error that this rank met alone, in the midst of the work: the others wait for it.
fn end_ranks(comm: &dyn Communicator, error: &Error) {
    if let Error::Alone(cause) = error {
        let rank = if error.names_rank() { String::new() } else { format!("rank {}: ", comm.rank()) };
        let _ = writeln!(stderr(), "error: {rank}{error}");
        comm.abort(Exit::during_work(&**cause) as i32);
    }
}

/// One rank reports an error of all; the others end with 0, so that a launcher neither ends that rank nor hides its code.
fn end(error: &Error) -> Exit {
    if matches!(error, Error::Elsewhere { .. }) {
        return Exit::Done;
    }
    let _ = writeln!(stderr(), "error: {error}");
    Exit::during_work(error)
}

fn job(args: &Args, comm: &dyn Communicator) -> Result<Exit> {
    comm::same(comm, &args.settings())?;
    let path = args.json.as_ref().filter(|_| comm.rank() == 0);
    let file = agree(comm, path.map(|path| OutputFile::create(path)).transpose())?;
    let report = match agree(comm, args.device.choose(comm, false))? {
        Chosen::Cuda(ordinal) => {
            let space = Cuda::new(ordinal).map_err(|error| Error::Invalid(format!("--device: {error}")));
            on(&agree(comm, space)?, args, comm)?
        }
        Chosen::Cpu { notice } => {
            // Ranks may differ in notice and threads.
            agree(comm, notice.map_or(Ok(()), |notice| show(&format!("# {notice}\n"))))?;
            let space = match args.threads.map_or_else(|| default_threads(comm), usize::from) {
                1 => Ok(Serial),
                threads => Threads::with_current(threads),
            };
            on(&agree(comm, space)?, args, comm)?
        }
    };
    let shown = show(&report.summary());
    let written = file.map_or(Ok(()), |file| file.write_or_copy(report.json().as_bytes()));
    agree(comm, shown)?;
    Ok(written.map_or_else(
        |lost| {
            let _ = writeln!(stderr(), "error: {lost}");
            Exit::Failed
        },
        |()| Exit::Done,
    ))
}

/// Runs on a space, and prints states.
fn on<S: space::Space>(space: &S, args: &Args, comm: &dyn Communicator) -> Result<Report> {
    let head = format!("# {} atoms on {} x {}\n{HEAD}", args.atoms(), comm.size(), space.label());
    agree(comm, show(&head))?;
    run::run(space, comm, args, &mut |line| show(&line.text()))
}

fn show(text: &str) -> Result<()> {
    program::show(&mut stdout(), text).map_err(|error| Error::Invalid(error.to_string()))
}
