//! minifenl-contractions: the nine contractions measured and drawn, deck by deck, as the figures of the clinic report.
//!
//! Build:        `cargo build --release`
//!
//! Sample runs:  `minifenl-contractions inputs/contractions/figure-3.1.toml`
//!               `minifenl-contractions inputs/contractions/*.toml --device cuda --out docs/contractions`
//!               `minifenl-contractions inputs/contractions/figure-3.24.toml --device cpu --quick`
//!               `minifenl-contractions inputs/contractions/*.toml --redraw --out docs/contractions`
//!               `minifenl-contractions --claims docs/contractions/*.csv`
//!               `minifenl-contractions --learn docs/contractions/*.csv`
//!
//! A deck becomes NAME.csv, NAME.json and its figures as SVG and PNG. Each result is compared with a sum in f64 before it
//! is timed. Exit codes: 0 done, 2 bad usage or input (including a device that is not
//! available), 3 a result was wrong, 1 any other failure.

mod args;
mod decks;
#[cfg(feature = "cuda")]
mod learn;
mod output;
mod peers;
#[cfg(feature = "plot")]
mod plot;
mod progress;
mod sweep;
#[cfg(all(test, feature = "cuda"))]
mod testing;

use args::Args;
use clap::Parser;
use minifenl::comm::Solo;
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
    let exit = match Args::try_parse() {
        Ok(args) => run(&args).unwrap_or_else(|error| program::failure(error.as_ref(), &mut stderr())),
        Err(error) => program::usage(&error, &mut stdout(), &mut stderr()),
    };
    exit.into()
}

fn show(text: &str) -> anyhow::Result<Exit> {
    program::show(&mut stdout(), text)?;
    Ok(Exit::Done)
}

fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(shell) = args.completions {
        return show(&program::completions::<Args>(shell));
    }
    // 1. Claims need no device, nor does learning: tables that were made before answer them.
    if !args.claims.is_empty() {
        return show(&Claims::parse(CLAIMS)?.markdown(&args.claimed()?));
    }
    #[cfg(feature = "cuda")]
    if !args.learn.is_empty() {
        return show(&learn::tuning_table(&args.learn)?);
    }
    // 2. All decks, before any work is done.
    let peers = peers::Libraries::new();
    let decks = decks::read(args, &peers)?;
    if args.redraw {
        return redraw(args, &decks);
    }
    output::prepare(&args.out)?;
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
    // 4. A table and its figures for each deck.
    let mut wrong = 0;
    for deck in &decks {
        let mut bar = progress::Bar::new(&deck.name);
        let table = measure(deck, &setting, &peers, &mut |step| bar.step(step))?;
        bar.end();
        let files = output::write(deck, &table, &args.out)?;
        // From what was written, of fewer digits: `--redraw` makes the same to the byte.
        let figures = output::draw(deck, &Table::read(&files[0])?, &args.out)?;
        show(&output::summary(deck, &table, &files, &figures))?;
        wrong += table.wrong();
    }
    Ok(Exit::verdict(wrong == 0))
}

/// The figures from tables that are there; all are read before the first figure is drawn.
fn redraw(args: &Args, decks: &[SweepDeck]) -> anyhow::Result<Exit> {
    let tables = decks.iter().zip(&args.decks).map(|(deck, path)| output::read(deck, path, &args.out));
    let tables = tables.collect::<minifenl::Result<Vec<_>>>()?;
    for (deck, table) in decks.iter().zip(&tables) {
        let figures = output::draw(deck, table, &args.out)?;
        show(&format!("{}: {}\n", output::csv(&args.out, deck).display(), output::drawn(deck, &figures)))?;
    }
    Ok(Exit::Done)
}
