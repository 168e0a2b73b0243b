//! minifenl-contractions: the nine contractions measured and drawn, deck by deck, as the figures of the clinic report.
//!
//! Build:        `cargo build --release`
//!
//! Sample runs:  `minifenl-contractions inputs/contractions/figure-3.1.toml`
//!               `minifenl-contractions inputs/contractions/*.toml --device cuda --out docs/contractions`
//!               `minifenl-contractions inputs/contractions/figure-3.24.toml --device cpu --quick`
//!               `minifenl-contractions inputs/contractions/*.toml --redraw --out docs/contractions`
//!               `minifenl-contractions --claims docs/contractions/*.csv --to docs/contractions/claims.md`
//!               `minifenl-contractions --learn docs/contractions/*.csv`
//!
//! A deck becomes NAME.csv, NAME.json and its figures as SVG and PNG. Each result is compared with a sum in f64 before it
//! is timed. Exit codes: 0 done, 2 bad usage or input (including a device that is not
//! available), 3 a result was wrong, 1 any other failure.

mod args;
mod decks;
#[cfg(feature = "cuda")]
mod learn;
mod lock;
mod output;
mod peers;
#[cfg(feature = "plot")]
mod plot;
mod progress;
mod sweep;
#[cfg(all(test, feature = "cuda"))]
mod testing;

use args::Args;
use minifenl::comm::Solo;
use minifenl::files::check_distinct;
use minifenl::run::Chosen;
use minifenl::run::program::{self, Exit};
use minifenl::space::{Threads, allowed_cores};
use std::io::{stderr, stdout};
use std::process::ExitCode;
use sweep::claims::Claims;
use sweep::{Setting, SweepDeck, Table, measure};

/// The claims in text, as the repository has them.
const CLAIMS: &str = include_str!("../../../docs/contractions/claims.toml");

fn main() -> ExitCode {
    let exit = match program::parse::<Args>() {
        Ok(args) => run(&args).unwrap_or_else(|error| program::failure(error.as_ref(), &mut stderr())),
        Err(error) => program::usage(&error, &mut stdout(), &mut stderr()),
    };
    exit.into()
}

fn show(text: &str) -> anyhow::Result<Exit> {
    program::show(&mut stdout(), text)?;
    Ok(Exit::Done)
}

/// Prints, or writes to the file that `--to` names.
fn answer(args: &Args, text: &str) -> anyhow::Result<Exit> {
    match &args.to {
        Some(path) => output::text(path, text).map(|()| Exit::Done).map_err(after_work),
        None => show(text),
    }
}

/// An error after the work is a failure, also where the same error before it would be bad input.
fn after_work(error: minifenl::Error) -> anyhow::Error {
    anyhow::Error::msg(error.to_string())
}

fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(shell) = args.completions {
        return show(&program::completions::<Args>(shell));
    }
    // 1. Claims need no device, nor does learning: tables that were made before answer them.
    check_distinct(&args.answered())?;
    if !args.claims.is_empty() {
        return answer(args, &Claims::parse(CLAIMS)?.markdown(&args.claimed()?));
    }
    #[cfg(feature = "cuda")]
    if !args.learn.is_empty() {
        return answer(args, &learn::tuning_table(&args.learn)?);
    }
    // 2. All decks, before any work is done.
    let peers = peers::Libraries::new();
    let decks = decks::read(args, &peers)?;
    if args.redraw {
        return redraw(args, &decks);
    }
    output::prepare(&args.out)?;
    let _lock = lock(args)?;
    // 3. The device.
    let host = Threads::with_current(args.threads.map_or_else(allowed_cores, usize::from))?;
    #[cfg(feature = "cuda")]
    let gpu = match args.device.choose(&Solo, false)? {
        Chosen::Cuda(ordinal) => Some(minifenl::space::Cuda::new(ordinal)?),
        Chosen::Cpu { notice } => progress::notice(notice),
    };
    #[cfg(not(feature = "cuda"))]
    let Chosen::Cpu { .. } = args.device.choose(&Solo, false)?;
    let setting = Setting {
        host: &host,
        #[cfg(feature = "cuda")]
        gpu: gpu.as_ref(),
        effort: args.effort(),
        copies: args.copies(),
    };
    #[cfg(feature = "cuda")]
    let has_gpu = gpu.is_some();
    #[cfg(not(feature = "cuda"))]
    let has_gpu = false;
    if !args.force {
        decks.iter().try_for_each(|deck| decks::spare(deck, args, has_gpu))?;
    }
    let files =
        decks.iter().map(|deck| output::Files::create(deck, &args.out)).collect::<minifenl::Result<Vec<_>>>()?;
    // 4. A table and its figures for each deck; an output that is full does not end the measurements.
    let (mut wrong, mut shown) = (0, Ok(Exit::Done));
    for (deck, files) in decks.iter().zip(&files) {
        let mut bar = progress::Bar::new(&deck.name);
        let table = measure(deck, &setting, &peers, &mut |step| bar.step(step))?;
        bar.end();
        let written = files.write(deck, &table)?;
        // From what was written, of fewer digits: `--redraw` makes the same to the byte.
        let read = Table::read(written[0]).map_err(after_work)?;
        let figures = output::draw(deck, &read, &args.out).map_err(after_work)?;
        shown = shown.and(show(&output::summary(deck, &table, written, &figures)));
        wrong += table.wrong();
    }
    shown.map(|_| Exit::verdict(wrong == 0))
}

/// Keeps other runs out of the folder.
fn lock(args: &Args) -> minifenl::Result<Option<lock::Lock>> {
    let lock = lock::Lock::new(&args.out)?;
    if lock.is_none() {
        progress::say("this file system has no locks: another run into the same folder will not be noticed");
    }
    Ok(lock)
}

/// The figures from tables that are there; all are read before the first figure is drawn.
fn redraw(args: &Args, decks: &[SweepDeck]) -> anyhow::Result<Exit> {
    let tables = decks.iter().zip(&args.decks).map(|(deck, path)| output::read(deck, path, &args.out));
    let tables = tables.collect::<minifenl::Result<Vec<_>>>()?;
    let _lock = lock(args)?;
    for (deck, table) in decks.iter().zip(&tables) {
        let figures = output::draw(deck, table, &args.out).map_err(after_work)?;
        show(&format!("{}: {}\n", output::csv(&args.out, deck).display(), output::drawn(deck, &figures)))?;
    }
    Ok(Exit::Done)
}
