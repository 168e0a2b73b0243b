//! miniFE beside minifenl: run on the same boxes with the same launcher, its YAML read.
//!
//! miniFE counts elements (`nx=N-1` for N nodes) and stops after 200 CG iterations; compared are its times of the matrix structure, of
//! the assembly (without boundary conditions) and of one iteration.

use super::launch::Launcher;
use super::plan::{Point, Study};
use minifenl::run::report::SpreadReport;
use minifenl::{Error, Result, files};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

/// Largest YAML of miniFE, in bytes.
const LARGEST: u64 = 1 << 20;

/// A peer and its program, `minife=PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer(pub PathBuf);

impl FromStr for Peer {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let path = text.strip_prefix("minife=").filter(|path| !path.is_empty());
        path.map(|path| Peer(path.into())).ok_or_else(|| "expected minife=PATH".into())
    }
}

/// One run of miniFE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeerRecord {
    /// Elements along each axis.
    pub elements: [u64; 3],
    /// Ranks.
    pub ranks: usize,
    /// Seconds of the matrix structure, the assembly, an iteration of CG, a product.
    pub seconds: [f64; 4],
}

/// miniFE at one point.
#[derive(Clone, Debug, Serialize)]
pub struct PeerRow {
    /// Ranks and threads.
    #[serde(flatten)]
    pub point: Point,
    /// Runs that count.
    pub runs: usize,
    /// Those of [`PeerRecord::seconds`], over the runs.
    pub seconds: [SpreadReport; 4],
}

impl PeerRecord {
    /// Reads the YAML that miniFE writes: lines of `key: value`, indented.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the key that is missing or no number.
    pub fn parse(text: &str) -> Result<Self> {
        let value = |key: &str| {
            let found = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(':'));
            let number = found.and_then(|value| value.trim().parse::<f64>().ok()).filter(|value| value.is_finite());
            number.ok_or_else(|| Error::Invalid(format!("miniFE's YAML: expected a number after `{key}:`")))
        };
        let iterations = value("Iterations")?.max(1.0);
        Ok(PeerRecord {
            elements: [value("nx")? as u64, value("ny")? as u64, value("nz")? as u64],
            ranks: value("number of processors")? as usize,
            seconds: [
                value("Mat-struc-gen Time")?,
                value("FE assembly Time")?,
                value("Total CG Time")? / iterations,
                value("MATVEC Time")? / iterations,
            ],
        })
    }

    /// The YAML in the folder of a run.
    fn read(folder: &Path) -> Option<Self> {
        let entries = std::fs::read_dir(folder).ok()?.flatten();
        let mut yaml =
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "yaml"));
        PeerRecord::parse(&files::read_text(&yaml.next()?, LARGEST).ok()?).ok()
    }

    /// Whether it is the run of this point.
    fn fits(&self, study: &Study, point: Point) -> bool {
        study.nodes_of(point.ranks).is_ok_and(|nodes| nodes.map(|nodes| nodes - 1) == self.elements)
            && self.ranks == point.ranks
    }
}

/// The folder of a run.
fn folder(study: &Path, point: Point, repeat: usize) -> PathBuf {
    study.join(format!("peers/minife/ranks-{:06}-threads-{:03}-{repeat}", point.ranks, point.threads))
}

/// Runs what is missing; returns what failed, in words.
///
/// # Errors
/// [`Error::File`] if a folder cannot be made, [`Error::Invalid`] if the launcher cannot be started.
pub fn run(study: &Study, launcher: &Launcher, peer: &Peer, root: &Path) -> Result<Vec<String>> {
    let program = peer.0.canonicalize().unwrap_or_else(|_| peer.0.clone());
    let launcher = Launcher { program, ..launcher.clone() };
    let mut failures = Vec::new();
    for (point, repeat) in study.runs() {
        let folder = folder(root, point, repeat);
        if PeerRecord::read(&folder).is_some_and(|record| record.fits(study, point)) {
            continue;
        }
        let failed =
            |error: std::io::Error| Error::File { path: folder.display().to_string(), reason: error.to_string() };
        // A YAML of another run must not be taken for the new one.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let [x, y, z] = study.nodes_of(point.ranks)?.map(|nodes| nodes - 1);
        let words = launcher.words(point);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args([format!("nx={x}"), format!("ny={y}"), format!("nz={z}")]);
        command.current_dir(&folder).env("OMP_NUM_THREADS", point.threads.to_string()).stdin(Stdio::null());
        let output =
            command.output().map_err(|error| Error::Invalid(format!("{}: cannot be started: {error}", words[0])))?;
        if !PeerRecord::read(&folder).is_some_and(|record| record.fits(study, point)) {
            failures.push(format!("miniFE, {point}, run {repeat}: no YAML of this run, {}", output.status));
        }
    }
    Ok(failures)
}

/// The rows of what is on disk.
pub fn rows(study: &Study, root: &Path) -> Vec<PeerRow> {
    let row = |point: Point| {
        let records = (1..=study.repeats).filter_map(|repeat| PeerRecord::read(&folder(root, point, repeat)));
        let records: Vec<PeerRecord> = records.filter(|record| record.fits(study, point)).collect();
        let spread =
            |time: usize| SpreadReport::new(&records.iter().map(|record| record.seconds[time]).collect::<Vec<_>>());
        (!records.is_empty()).then(|| PeerRow { point, runs: records.len(), seconds: [0, 1, 2, 3].map(spread) })
    };
    study.points().into_iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recorded run of miniFE 2.0 on 384 ranks, without its platform.
    const RECORDED: &str = "Mini-Application Version: 2.0\nGlobal Run Parameters: \n  dimensions: \n    nx: 230\n    ny: 230\n    nz: 230\n  \
load_imbalance: 0\n  OpenMP Max Threads:: 1\n  number of processors: 384\n  ScalarType: double\nMatrix structure generation: \n  \
Mat-struc-gen Time: 0.0331519\nFE assembly: \n  FE assembly Time: 0.061553\nMatrix attributes: \n  Global Nrows: 12326391\n\
CG solve: \n  Iterations: 200\n  Final Resid Norm: 0.00137808\n  MATVEC Time: 0.168564\n  MATVEC Flops: 1.32636e+11\n  Total: \n    \
Total CG Time: 0.36647\n  Time per iteration: 0.00183235\n";

    #[test]
    fn a_recorded_yaml_is_read() {
        let record = PeerRecord::parse(RECORDED).unwrap();
        assert_eq!((record.elements, record.ranks), ([230; 3], 384));
        let expected = [0.0331519, 0.061553, 0.00183235, 0.168564 / 200.0];
        assert!(
            record.seconds.iter().zip(expected).all(|(found, known)| (found / known - 1.0).abs() < 1e-5),
            "{record:?}"
        );
        let error = PeerRecord::parse(&RECORDED.replace("0.36647", "much")).unwrap_err().to_string();
        assert!(error.contains("expected a number after `Total CG Time:`"), "{error}");
        assert_eq!("minife=/a/b".parse(), Ok(Peer("/a/b".into())));
        assert_eq!("hpcg=/a".parse::<Peer>(), Err("expected minife=PATH".into()));
    }
}
