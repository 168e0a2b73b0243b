//! Other programs beside minifenl: run on the same boxes with the same launcher, their output read.
//!
//! Compared are times of the graph, of the fill (without boundary conditions), of one iteration of CG and of one product.

mod fenl;
mod minife;

use super::guarded::output;
use super::launch::{Launcher, message};
use super::plan::{Point, Study};
use minifenl::run::report::SpreadReport;
use minifenl::{Error, Result, files};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A program that a study can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    MiniFe,
    Fenl,
}

/// A program and where it is, `minife=PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    program: Program,
    path: PathBuf,
}

impl FromStr for Peer {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let peer = text.split_once('=').filter(|(_, path)| !path.is_empty()).and_then(|(name, path)| {
            let program = Program::ALL.into_iter().find(|program| program.key() == name)?;
            Some(Peer { program, path: path.into() })
        });
        peer.ok_or_else(|| "expected minife=PATH or fenl=PATH".into())
    }
}

/// A program at one point.
#[derive(Clone, Debug, Serialize)]
pub struct PeerRow {
    /// Which.
    #[serde(skip)]
    pub program: Program,
    /// Ranks, threads and imbalance.
    #[serde(flatten)]
    pub point: Point,
    /// Runs that count.
    pub runs: usize,
    /// Seconds of the graph, the fill, an iteration of CG, a product, over the runs.
    pub seconds: [SpreadReport; 4],
}

impl Program {
    /// All of them.
    pub const ALL: [Program; 2] = [Program::MiniFe, Program::Fenl];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Program::MiniFe => "miniFE",
            Program::Fenl => "FENL",
        }
    }

    /// Name on the command line, of its folder and in `results.json`.
    pub fn key(self) -> &'static str {
        match self {
            Program::MiniFe => "minife",
            Program::Fenl => "fenl",
        }
    }

    fn words(self, nodes: [u64; 3], point: Point) -> Vec<String> {
        match self {
            Program::MiniFe => minife::words(nodes, point),
            Program::Fenl => fenl::words(nodes),
        }
    }

    /// The times of a run.
    ///
    /// # Errors
    /// [`Error::File`] or [`Error::Invalid`] if there is none, or not of this study.
    fn read(self, study: &Study, root: &Path, point: Point, repeat: usize) -> Result<[f64; 4]> {
        let (folder, nodes) = (self.folder(root, point, repeat), study.nodes_of(point.ranks)?);
        match self {
            Program::MiniFe => minife::read(&folder, nodes, point),
            Program::Fenl => fenl::read(&folder, nodes),
        }
    }

    /// The folder of a run.
    fn folder(self, root: &Path, point: Point, repeat: usize) -> PathBuf {
        root.join(format!("peers/{}/{}-{repeat}", self.key(), point.stem()))
    }
}

/// Runs what is missing; returns what failed, in words.
///
/// # Errors
/// [`Error::File`] if a folder cannot be made, [`Error::Invalid`] if the launcher cannot be started.
pub fn run(study: &Study, launcher: &Launcher, peer: &Peer, root: &Path) -> Result<Vec<String>> {
    let program = peer.path.canonicalize().unwrap_or_else(|_| peer.path.clone());
    let (launcher, peer) = (Launcher { program, ..launcher.clone() }, peer.program);
    let mut failures = Vec::new();
    for (point, repeat) in study.runs() {
        if peer.read(study, root, point, repeat).is_ok() {
            continue;
        }
        let folder = peer.folder(root, point, repeat);
        let failed =
            |error: std::io::Error| Error::File { path: folder.display().to_string(), reason: error.to_string() };
        // The output of another run must not be taken for the new one.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let mut command = launcher.command(point);
        command.args(peer.words(study.nodes_of(point.ranks)?, point)).current_dir(&folder);
        // Threads on cores of their own, within those of the rank.
        command.envs([("OMP_PROC_BIND", "spread"), ("OMP_PLACES", "threads")]);
        command.env("OMP_NUM_THREADS", point.threads.to_string());
        let output = output(&mut command)?;
        if peer == Program::Fenl {
            files::write(&folder.join(fenl::OUTPUT), &output.stdout)?;
        }
        if let Err(reason) = peer.read(study, root, point, repeat) {
            let said = message(&output.stderr);
            let (name, status) = (peer.name(), output.status);
            failures.push(format!("{name}, {point}, run {repeat}: no times, {status}: {said}; {reason}"));
        }
    }
    Ok(failures)
}

/// The rows of what is on disk.
pub fn rows(study: &Study, root: &Path) -> Vec<PeerRow> {
    let points = study.points();
    let all = Program::ALL.into_iter().flat_map(|program| points.iter().map(move |&point| (program, point)));
    let row = |(program, point): (Program, Point)| {
        let times = (1..=study.repeats).filter_map(|repeat| program.read(study, root, point, repeat).ok());
        let times: Vec<[f64; 4]> = times.collect();
        let spread = |time: usize| SpreadReport::new(&times.iter().map(|run| run[time]).collect::<Vec<_>>());
        (!times.is_empty()).then(|| PeerRow { program, point, runs: times.len(), seconds: [0, 1, 2, 3].map(spread) })
    };
    all.filter_map(row).collect()
}

#[test]
fn peers_are_named_with_their_paths() {
    let peer = |program, path: &str| Ok(Peer { program, path: path.into() });
    assert_eq!("minife=/a/b".parse(), peer(Program::MiniFe, "/a/b"));
    assert_eq!("fenl=c=d".parse(), peer(Program::Fenl, "c=d"));
    for text in ["hpcg=/a", "minife=", "minife"] {
        assert_eq!(text.parse::<Peer>(), Err("expected minife=PATH or fenl=PATH".into()));
    }
}
