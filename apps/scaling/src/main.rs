//! minifenl-scaling: weak- and strong-scaling studies of minifenl.
//!
//! Build:        `cargo build --release --features mpi && cargo build --release -p minifenl-scaling`
//!
//! Sample runs:  `minifenl-scaling weak --ranks 1,2,4 --nodes-per-rank 64 --out weak`
//!               `minifenl-scaling strong --ranks 1,2 --threads 1,2 --nodes 96 --out strong`
//!               `minifenl-scaling weak --ranks 1,64,512 --nodes-per-rank 64 --emit slurm --out weak`
//!               `minifenl-scaling report weak`
//!               `minifenl-scaling compare old new`
//!               `minifenl-scaling model --bandwidth 10 --latency 2 --link 5 --flops 30 --nodes-per-rank 64`
//!
//! A study is a folder: `study.json` says what is run, `runs/` has a report per run, and everything else is made from these. Exit
//! codes: 0 done, 2 bad usage or input, 3 a run failed or is missing, 1 any other failure.

mod args;
mod model;
mod output;
mod study;
#[cfg(test)]
mod testing;

use args::{Args, Command, Emit, Model, Runs};
use minifenl::files::{check_distinct, create_folder};
use minifenl::mesh::nodes_for_ranks;
use minifenl::run::program::{self, Exit};
use minifenl::{Error, Result, files};
use model::{Machine, Partition};
use std::io::{Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;
use study::{Kind, Launcher, Study, Table};

fn main() -> ExitCode {
    let exit = match program::parse::<Args>() {
        Ok(args) => run(&args).unwrap_or_else(|error| program::failure(error.as_ref(), &mut stderr())),
        Err(error) => program::usage(&error, &mut stdout(), &mut stderr()),
    };
    exit.into()
}

fn show(text: &str) -> anyhow::Result<()> {
    Ok(program::show(&mut stdout(), text)?)
}

fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Weak { nodes_per_rank, runs } => study(Kind::Weak, nodes_per_rank.edges(), runs),
        Command::Strong { nodes, runs } => study(Kind::Strong, nodes.edges(), runs),
        Command::Report { folder } => report(&existing(folder)?, folder),
        Command::Model(machine) => predict(machine),
        Command::Compare { a, b, figure } => compare([a, b], figure.as_deref()),
    }
}

/// Prints what a machine would need for an iteration.
fn predict(args: &args::Model) -> anyhow::Result<Exit> {
    let Model { bandwidth, latency, link, flops, .. } = *args;
    let machine = Machine { bandwidth: 1e9 * bandwidth, latency: 1e-6 * latency, link: 1e9 * link, flops: 1e9 * flops };
    let ranks = if args.ranks.is_empty() { &model::DRAWN[..] } else { &args.ranks };
    let share = args.nodes_per_rank.map_or([64; 3], |share| share.edges());
    let points = ranks.iter().map(|&ranks| {
        let nodes = args.nodes.map_or_else(|| nodes_for_ranks(share, ranks as u64), |nodes| Ok(nodes.edges()))?;
        let partition = Partition::uneven(nodes, ranks, f64::from(args.imbalance))?;
        Ok((partition, machine.terms(&partition, args.reductions as f64)))
    });
    let points = points.collect::<Result<Vec<_>>>()?;
    show(&output::report::of_machine(&machine, &points))?;
    Ok(Exit::Done)
}

/// Prints two studies side by side, and draws them.
fn compare(folders: [&Path; 2], figure: Option<&Path>) -> anyhow::Result<Exit> {
    let [a, b] = folders;
    let [first, second] = [existing(a)?, existing(b)?];
    let tables = [Table::read(&first, a)?, Table::read(&second, b)?];
    let names = folders.map(|folder| folder.display().to_string());
    let (names, tables) = ([names[0].as_str(), names[1].as_str()], [&tables[0], &tables[1]]);
    if let Some(path) = figure {
        files::write(path, output::figures::of_two(names, tables).as_bytes())?;
    }
    show(&output::report::of_two(names, [&first, &second], tables))?;
    Ok(Exit::Done)
}

/// The study that a folder holds.
fn existing(folder: &Path) -> Result<Study> {
    Study::read(folder)?.ok_or_else(|| Error::File {
        path: folder.display().to_string(),
        reason: "no study.json: expected the folder of a study (minifenl-scaling weak or strong --out)".into(),
    })
}

/// Runs what is missing, or writes job scripts, and reports.
fn study(kind: Kind, nodes: [u64; 3], runs: &Runs) -> anyhow::Result<Exit> {
    let folder = &runs.out;
    let program = runs.program();
    for (flag, path) in [("--out", folder), ("--program", &program)] {
        study::text::check(flag, &path.to_string_lossy())?;
    }
    let Runs { ranks, threads, repeats, device, flags, .. } = runs;
    let (ranks, threads, repeats) = (ranks.clone(), threads.clone(), *repeats);
    let mut imbalance = [&[0], &runs.imbalance[..]].concat();
    imbalance.sort_unstable();
    imbalance.dedup();
    let study = Study {
        kind,
        nodes,
        device: device.clone(),
        flags: flags.clone(),
        ranks,
        threads,
        workers: runs.workers,
        imbalance,
        repeats,
    };
    study.check()?;
    check_distinct(&study.files(folder))?;
    create_folder(folder)?;
    let _lock = study::lock(folder)?;
    let study = study.resume(folder)?;
    if runs.emit == Some(Emit::Slurm) {
        let paths = study::slurm::emit(&study, &program, folder, runs.minutes)?;
        show(&paths.iter().map(|path| format!("{}\n", path.display())).collect::<String>())?;
        return Ok(Exit::Done);
    }
    let launcher = Launcher::new(runs.launcher.clone(), program);
    for failure in study::run(&study, &launcher, folder)? {
        let _ = writeln!(stderr(), "failed: {}, run {}: {}", failure.point, failure.repeat, failure.reason);
    }
    let mut failed = Vec::new();
    for peer in &runs.peer {
        failed.extend(study::peer::run(&study, &launcher, peer, folder)?);
    }
    failed.iter().for_each(|failure| drop(writeln!(stderr(), "failed: {failure}")));
    let exit = report(&study, folder)?;
    Ok(if failed.is_empty() { exit } else { Exit::NotVerified })
}

/// Makes tables and report from what is on disk.
fn report(study: &Study, folder: &Path) -> anyhow::Result<Exit> {
    let table = Table::read(study, folder)?;
    let text = output::write(study, &table, folder)?;
    show(&text)?;
    Ok(Exit::verdict(table.missing.is_empty()))
}
