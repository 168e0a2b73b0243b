//! minifenl: the main job, nonlinear heat conduction on a box of hexahedra, on threads, a GPU and MPI ranks.
//!
//! Build:        `make` or `cargo build --release` (one process) or `cargo build --release --features mpi`
//!
//! Sample runs:  `minifenl`
//!               `minifenl --nodes 64x48x32 --map twist:0.5 --threads 2`
//!               `minifenl --preset fast --nodes 100 --triad --report report.json`
//!               `minifenl --nodes 256 --device cuda:1`
//!               `minifenl verify --device cuda`
//!               `minifenl strategies --nodes 64`
//!               `minifenl sweep --nodes 16,32,64 --trials 5 --compare fill=scatter,gather --figure sweep.svg`
//!               `minifenl compare a.json b.json --fail-above 1.1`
//!               `mpirun -n 4 minifenl --nodes 64`
//!               `mpirun -n 8 minifenl --nodes-per-rank 48`
//!
//! Solves -K laplace(T) + T^2 = 0 with T given at zmin and zmax and no flux elsewhere, by Newton's method on trilinear
//! hexahedra; each step assembles residual and Jacobian and solves with conjugate gradients. The answer is compared with
//! the analytic one. Exit codes: 0 solved and verified (or not judged), 2 bad usage or input, 3 not converged or not verified, 4
//! a phase slower than `compare --fail-above` allows, 1 else.

mod args;
mod colour;
mod compare;
mod comparison;
mod kernels;
mod look;
mod output;
mod progress;
mod report_file;
mod startup;
mod strategies;
mod sweep;
mod time_left;
mod verify;

use args::Args;
use args::commands::{Command, Compare};
use colour::Tone;
use look::{Look, Volume};
use minifenl::Error;
use minifenl::comm::{self, Communicator, Solo};
use minifenl::error::count;
use minifenl::files::NamedFile;
use minifenl::run::program::{self, Exit};
use minifenl::run::{Deck, Device, Event, ReportFormat, dry_run, same_settings, solution, solve};
use output::{RunFiles, of_flag, of_table, of_vtk};
use progress::Terminal;
use startup::Startup;
use std::io::{IsTerminal, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use sweep::Plan;

/// The file of the deck, if there is one.
type Input = Option<NamedFile>;

/// What the command line asks for.
enum Task {
    Solve(Box<Deck>, Input),
    Forecast(Box<Deck>, Input),
    /// Rounds of each strategy.
    Strategies(Box<Deck>, usize),
    Sweep(Plan),
    /// Help, version, completions, the deck.
    Show(String),
    KernelInfo(Device),
    Verify(Box<Deck>),
    Compare(Compare),
}

impl Task {
    /// The decks of the runs of all ranks; none for a task that needs no other rank.
    fn decks(&self) -> Vec<&Deck> {
        match self {
            Task::Solve(deck, _) | Task::Forecast(deck, _) => vec![&**deck],
            Task::Strategies(deck, _) => vec![&**deck],
            Task::Sweep(plan) => plan.sizes.iter().flatten().collect(),
            _ => vec![],
        }
    }

    /// The limit of waits, for tasks of all ranks.
    fn timeout(&self) -> Option<f64> {
        self.decks().first()?.run.timeout
    }
}

fn main() -> ExitCode {
    // 1. Command line and deck. A mistake waits until the ranks are there, since one rank may make it alone.
    let task = task();
    let limit = task.as_ref().ok().and_then(Task::timeout).map(Duration::from_secs_f64);
    // 2. The ranks: those of mpirun, or this process alone.
    let startup = Startup::watch(limit);
    let exit = match comm::world() {
        Ok(comm) => start(&*comm, task, startup),
        Err(error) => {
            startup.over();
            let done = task.and_then(|task| match task.decks()[..] {
                [] => work(task, &Solo),
                _ => Err(error.into()),
            });
            done.unwrap_or_else(|error| without_ranks(&error))
        }
    };
    exit.into()
}

/// Reads the command line and the deck.
fn task() -> anyhow::Result<Task> {
    let args = match program::parse::<Args>() {
        Ok(args) => args,
        Err(error) => {
            let look = Look { volume: Volume::Normal, colour: look::colour_of(std::env::args_os()) };
            look.keep();
            let text = program::said(&error)?;
            let text = if look.colours_output() { error.render().ansi().to_string() } else { text };
            return Ok(Task::Show(text));
        }
    };
    let flags = match &args.command {
        Some(Command::Sweep(sweep)) => &sweep.flags,
        _ => &args.flags,
    };
    let volume = match () {
        () if flags.quiet => Volume::Quiet,
        () if flags.verbose => Volume::Verbose,
        () => Volume::Normal,
    };
    Look { volume, colour: flags.color }.keep();
    if args.man {
        return Ok(Task::Show(program::man_page::<Args>()));
    }
    if let Some(shell) = args.completions {
        return Ok(Task::Show(program::completions::<Args>(shell)));
    }
    match args.command {
        Some(Command::Strategies(flags)) => return Ok(Task::Strategies(Box::new(flags.deck()?), flags.rounds.into())),
        Some(Command::Sweep(sweep)) => return Ok(Task::Sweep(Plan::new(&sweep)?)),
        Some(Command::Verify(flags)) => return Ok(Task::Verify(Box::new(flags.deck()?))),
        Some(Command::Compare(flags)) => return Ok(Task::Compare(flags)),
        None => {}
    }
    // Flags over deck.
    let deck = args.flags.deck().map_err(|error| of_flag("--input", error))?;
    Ok(match () {
        () if args.dump_deck => Task::Show(deck.to_toml()?),
        () if args.kernel_info => Task::KernelInfo(deck.run.device),
        () if args.dry_run => Task::Forecast(Box::new(deck), args.flags.input()),
        () => Task::Solve(Box::new(deck), args.flags.input()),
    })
}

/// Makes sure that all ranks have a task, and the same, and does it.
fn start(comm: &dyn Communicator, task: anyhow::Result<Task>, startup: Startup) -> Exit {
    comm.abort_on_panic();
    // 3. The same work on all ranks.
    let task = match together(comm, task) {
        Ok(task) => task,
        Err(exit) => return exit,
    };
    let name = match &task {
        Task::Solve(..) => "a solution",
        Task::Forecast(..) => "--dry-run",
        Task::Strategies(_, rounds) => &format!("strategies, {}", count(*rounds, "round")),
        Task::Sweep(plan) => &plan.to_string(),
        Task::Show(_) => "text",
        Task::KernelInfo(_) => "--kernel-info",
        Task::Verify(_) => "verify",
        Task::Compare(_) => "compare",
    };
    let limit = task.timeout();
    let limit_text = limit.map_or("not given".into(), |seconds| format!("{seconds:?}"));
    let settings = [("what to do".into(), name.into()), ("run.timeout (--timeout)".into(), limit_text)];
    // Before any collective call that depends on the decks. All ranks have equally many.
    let agreed = comm::same(comm, &settings)
        .and_then(|()| task.decks().into_iter().try_for_each(|deck| same_settings(deck, comm)));
    if let Err(error) = agreed {
        return end_all(comm, &error.into());
    }
    startup.over();
    if let Some(seconds) = limit {
        let tell = |text: &str| {
            // A status line may be open.
            let start = if stderr().is_terminal() { "\n" } else { "" };
            let limit = "(run.timeout, --timeout)";
            look::say(&format!("{start}{} {text} {limit}", look::word("error:", Tone::Bad)));
        };
        comm.limit_waits(Duration::from_secs_f64(seconds), Box::new(tell));
    }
    match task.decks()[..] {
        [] => together(comm, work(task, comm)).unwrap_or_else(|exit| exit),
        _ => work(task, comm).unwrap_or_else(|error| end_all(comm, &error)),
    }
}

/// Does a task.
fn work(task: Task, comm: &dyn Communicator) -> anyhow::Result<Exit> {
    match task {
        Task::Solve(deck, input) => job(&deck, input, comm),
        Task::Forecast(deck, input) => forecast(&deck, input, comm),
        Task::Strategies(deck, rounds) => strategies::run(&deck, rounds, comm),
        Task::Sweep(plan) => sweep::run(&plan, comm),
        Task::Show(text) => show(&text),
        Task::KernelInfo(device) => show(&kernels::table(device)?),
        Task::Verify(_) if comm.size() > 1 => {
            let one = "verify: checks the device of one process; start it without mpirun";
            Err(Error::Invalid(one.into()).into())
        }
        Task::Verify(deck) => verify::run(&deck),
        Task::Compare(flags) => compare::run(&flags),
    }
}

/// Prints on the first rank.
fn show(text: &str) -> anyhow::Result<Exit> {
    Ok(program::show(&mut stdout(), text).map(|()| Exit::Done)?)
}

/// Ends all ranks in order if one of them failed before the work began: the lowest prints its error.
fn together<T>(comm: &dyn Communicator, result: anyhow::Result<T>) -> Result<T, Exit> {
    let Some(failing) = comm::failing(comm, result.is_err()) else { return result.map_err(|_| Exit::Failed) };
    match result {
        Err(error) if failing.lowest == comm.rank() => {
            let rank = if failing.all { String::new() } else { format!("rank {}: ", comm.rank()) };
            look::fail(&format!("{rank}{error:#}"));
            Err(Exit::before_work(error.as_ref()))
        }
        // The others end with 0, so that the launcher neither ends the rank that speaks nor hides its code.
        _ => Err(Exit::Done),
    }
}

/// Ends a process whose MPI did not start, so that ranks cannot agree on who speaks. The launcher ends all ranks when the
/// first one fails; the others wait for that before they speak.
fn without_ranks(error: &anyhow::Error) -> Exit {
    let rank = comm::launched_rank().unwrap_or(0);
    thread::sleep(Duration::from_secs(2 * rank.min(10) as u64));
    let name = if rank == 0 { String::new() } else { format!("rank {rank}: ") };
    look::fail(&format!("{name}{error:#}"));
    Exit::before_work(error.as_ref())
}

fn job(deck: &Deck, input: Input, comm: &dyn Communicator) -> anyhow::Result<Exit> {
    // 4. Know that the files can be written before the work is done.
    let RunFiles { report: file, table } = RunFiles::open(deck, input, comm)?;
    let to_stdout = deck.run.report.as_deref() == Some(Path::new("-"));

    // 5. Solve.
    let terminal = Terminal::new(comm.rank() == 0, deck);
    let progress = |event: Event<'_>| terminal.see(event);
    let (report, field) = match &deck.run.vtk {
        None => (solve(deck, comm, &progress)?, None),
        Some(path) => {
            let solution = solution(deck, comm, &progress)?;
            (solution.report.clone(), Some(solution.write_vtu(path, deck, comm)))
        }
    };

    // 6. The table first, which needs no disk; then the report. What fails now ends this rank alone.
    let shown = if to_stdout {
        let told = colour::paint_verdict(&told(&report.table()), false, program::columns_of(stderr()));
        let _ = program::show(&mut stderr(), &told);
        show(&ReportFormat::Json.text(&report)?)
    } else {
        show(&result(&report.table()))
    };
    // Each file that fails is named. Ranks that heard of the failure of another one are quiet.
    let mut written = true;
    match field.unwrap_or(Ok(())).map_err(of_vtk) {
        Ok(()) | Err(Error::Elsewhere { .. }) => {}
        Err(error) => {
            written = false;
            look::fail(&format!("{}{error}", rank_of(comm, Some(&error))));
        }
    }
    if let Err(error) = table.map_or(Ok(()), |table| table.append(&report.csv_row()).map_err(of_table)) {
        written = false;
        look::fail(&error.to_string());
        // The row is on stderr, so that it can be added by hand.
        look::say(&report.csv_row());
    }
    written &= file.map_or(Ok(true), |file| file.report(&report))?;
    shown.map(|_| if written { Exit::verdict(report.is_good()) } else { Exit::Failed })
}

/// The table, or its last line with --quiet.
fn told(table: &str) -> String {
    match Look::get().volume {
        Volume::Quiet => table.lines().last().map_or(String::new(), |line| format!("{line}\n")),
        Volume::Normal | Volume::Verbose => table.to_string(),
    }
}

/// The same with the verdict in colours, broken to the width of the screen.
fn result(table: &str) -> String {
    colour::paint_verdict(&told(table), Look::get().colours_output(), program::columns_of(stdout()))
}

/// Prints the forecast; a run that does not fit ends as the run itself would.
fn forecast(deck: &Deck, input: Input, comm: &dyn Communicator) -> anyhow::Result<Exit> {
    RunFiles::open(deck, input, comm)?;
    let terminal = Terminal::new(comm.rank() == 0, deck);
    let files: Vec<String> = deck.outputs(1).into_iter().map(|(name, _)| name).collect();
    if !files.is_empty() {
        terminal.see(Event::Notice(&format!("no effect: {}: a forecast writes no file", files.join(", "))))?;
    }
    let dry = dry_run(deck, comm, &|event| terminal.see(event))?;
    let shown = show(&result(&dry.table()));
    dry.check(comm)?;
    shown
}

/// Ends a job that failed: the rank that has the error prints it. Ranks that heard of the error end quietly with 0, so that
/// the launcher passes on the code of the rank that failed. An error that only one rank can know of aborts all ranks.
fn end_all(comm: &dyn Communicator, error: &anyhow::Error) -> Exit {
    if let Some(Error::Elsewhere { .. }) = error.downcast_ref() {
        return Exit::Done;
    }
    look::fail(&format!("{}{error:#}", rank_of(comm, error.downcast_ref())));
    match Exit::during_work(error.root_cause()) {
        Exit::Failed if comm.size() > 1 => comm.abort(1),
        exit => exit,
    }
}

/// Names the rank before an error that this rank alone may have met; those of input and of an iteration are everyone's.
fn rank_of(comm: &dyn Communicator, error: Option<&Error>) -> String {
    match error {
        Some(Error::Invalid(_)) => String::new(),
        Some(error) if error.is_collective() || error.names_rank() => String::new(),
        _ if comm.size() == 1 => String::new(),
        _ => format!("rank {}: ", comm.rank()),
    }
}
