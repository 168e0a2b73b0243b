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
mod output;
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
use output::Output;
use report::{HEAD, Report};
use std::io::{Write, stderr};
use std::path::Path;
use std::process::ExitCode;

/// What the command line asks for.
enum Task {
    Run(Box<Args>),
    /// Help or version.
    Show(String),
}

fn main() -> ExitCode {
    // A mistake waits until the ranks are there, since one rank may make it alone.
    let task = match program::parse::<Args>() {
        Ok(args) => Ok(Task::Run(Box::new(args))),
        Err(error) => program::said(&error).map(Task::Show),
    };
    let exit = match (comm::world(), task) {
        (Ok(comm), task) => start(&*comm, task),
        (Err(_), Ok(Task::Show(text))) => {
            let output = Output::default();
            output.end(&output.show(&text))
        }
        (Err(error), Ok(Task::Run(_))) | (Err(_), Err(error)) => program::failure(&error, &mut stderr()),
    };
    exit.into()
}

/// Makes sure that all ranks have a task, and the same, and does it.
fn start(comm: &dyn Communicator, task: Result<Task>) -> Exit {
    comm.abort_on_panic();
    let failing = comm::failing(comm, task.is_err());
    let task = match (task, failing) {
        (Ok(task), None) => task,
        (Err(error), Some(failing)) if failing.lowest == comm.rank() => {
            let rank = if failing.all { String::new() } else { format!("rank {}: ", comm.rank()) };
            let _ = writeln!(stderr(), "error: {rank}{error}");
            return Exit::before_work(&error);
        }
        // The others end with 0, so that a launcher neither ends the rank that speaks nor hides its code.
        _ => return Exit::Done,
    };
    let name = if matches!(task, Task::Run(_)) { "a run" } else { "text" };
    let mut output = Output::default();
    let done = comm::same(comm, &[("what to do".into(), name.into())]).and_then(|()| match &task {
        Task::Show(text) => agree(comm, output.show(text)).map(|()| Exit::Done),
        Task::Run(args) => {
            output.is_json = args.json.as_deref() == Some(Path::new("-"));
            job(args, comm, &output).inspect_err(|error| end_ranks(comm, error))
        }
    });
    match agree(comm, done) {
        Ok(exit) => exit,
        Err(error) => output.end(&Err(error)),
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

fn job(args: &Args, comm: &dyn Communicator, output: &Output) -> Result<Exit> {
    comm::same(comm, &args.settings())?;
    let stdout = if output.is_json { program::check_stdout() } else { Ok(()) };
    agree(comm, stdout.map_err(|error| Error::Invalid(format!("--json: -: {error}"))))?;
    let path = args.json.as_ref().filter(|_| comm.rank() == 0 && !output.is_json);
    let file = agree(comm, path.map(|path| OutputFile::create(path)).transpose())?;
    let report = match agree(comm, args.device.choose(comm, false))? {
        Chosen::Cuda(ordinal) => {
            let space = Cuda::new(ordinal).map_err(|error| Error::Invalid(format!("--device: {error}")));
            on(&agree(comm, space)?, args, comm, output)?
        }
        Chosen::Cpu { notice } => {
            // Ranks may differ in notice and threads.
            agree(comm, notice.map_or(Ok(()), |notice| output.tell(&format!("# {notice}\n"))))?;
            let space = match args.threads.map_or_else(|| default_threads(comm), usize::from) {
                1 => Ok(Serial),
                threads => Threads::with_current(threads),
            };
            on(&agree(comm, space)?, args, comm, output)?
        }
    };
    let json = || if output.is_json { output.show(&report.json()) } else { Ok(()) };
    let shown = output.tell(&report.summary()).and_then(|()| json());
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
fn on<S: space::Space>(space: &S, args: &Args, comm: &dyn Communicator, output: &Output) -> Result<Report> {
    let head = format!("# {} atoms on {} x {}\n{HEAD}", args.atoms(), comm.size(), space.label());
    agree(comm, output.tell(&head))?;
    run::run(space, comm, args, &mut |line| output.tell(&line.text()))
}
