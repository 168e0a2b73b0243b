//! Plan of a study: points (ranks x threads x imbalance), repeats, and the file of each run.

#[cfg(test)]
mod tests;

use super::text;
use minifenl::files::NamedFile;
use minifenl::mesh::{BoxParts, BoxSpec, CoordinateMap, nodes_for_ranks};
use minifenl::{Error, Result, files};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// Largest description of a study, in bytes.
const LARGEST: u64 = 1 << 20;
/// Most ranks of a point, so that the partition of all of them takes seconds.
pub const MOST_RANKS: usize = 1_000_000;
/// Most threads of a rank, and most hardware threads of a host.
pub const MOST_THREADS: usize = 1 << 16;
/// Most runs of a study.
const MOST_RUNS: usize = 100_000;

/// Files of a study beside its runs and figures.
const OUTPUTS: [&str; 5] = ["study.json", "study.csv", "results.json", "report.md", "report.html"];

/// What stays the same while the ranks grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The nodes per rank.
    Weak,
    /// The nodes of the whole box.
    Strong,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Weak => "weak",
            Kind::Strong => "strong",
        })
    }
}

/// A study as its folder describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Weak or strong.
    pub kind: Kind,
    /// Nodes per rank (weak) or of the box (strong), along each axis.
    pub nodes: [u64; 3],
    /// Device of each rank, as minifenl takes it.
    pub device: String,
    /// More flags of minifenl.
    pub flags: Vec<String>,
    /// Numbers of ranks.
    pub ranks: Vec<usize>,
    /// Numbers of threads per rank.
    pub threads: Vec<usize>,
    /// Threads of all ranks together; `threads` has no effect then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    /// Imbalances of the boxes, per cent; 0 is the even partition, with which the others are compared.
    #[serde(default = "even", skip_serializing_if = "is_even")]
    pub imbalance: Vec<u32>,
    /// Runs per point.
    pub repeats: usize,
}

/// Even boxes only.
fn even() -> Vec<u32> {
    vec![0]
}

fn is_even(imbalance: &[u32]) -> bool {
    imbalance == [0]
}

/// Ranks, threads and imbalance of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Point {
    /// Ranks.
    pub ranks: usize,
    /// Threads of each rank.
    pub threads: usize,
    /// Imbalance of the boxes that is asked for, per cent of the mean.
    #[serde(rename = "imbalance_asked_percent")]
    pub imbalance: u32,
}

impl Point {
    /// A point with even boxes.
    pub fn even(ranks: usize, threads: usize) -> Self {
        Point { ranks, threads, imbalance: 0 }
    }

    /// Whether rank 0 owns more nodes than others.
    pub fn is_uneven(self) -> bool {
        self.imbalance > 0
    }

    /// The beginning of the names of its files.
    pub fn stem(self) -> String {
        let uneven = if self.is_uneven() { format!("-imbalance-{:03}", self.imbalance) } else { String::new() };
        format!("ranks-{:06}-threads-{:03}{uneven}", self.ranks, self.threads)
    }

    /// Threads of all ranks.
    pub fn workers(self) -> usize {
        self.ranks * self.threads
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = |count| if count == 1 { "" } else { "s" };
        let Point { ranks, threads, imbalance } = *self;
        write!(f, "{ranks} rank{} x {threads} thread{}", s(ranks), s(threads))?;
        if self.is_uneven() {
            write!(f, ", {imbalance} % imbalance")?;
        }
        Ok(())
    }
}

impl Study {
    /// The command that runs the study.
    pub fn command(&self) -> String {
        let list = |counts: &[usize]| counts.iter().map(|count| count.to_string()).collect::<Vec<_>>().join(",");
        let ([x, y, z], kind) = (self.nodes, self.kind);
        let nodes = if kind == Kind::Weak { "nodes-per-rank" } else { "nodes" };
        let (ranks, repeats) = (list(&self.ranks), self.repeats);
        let threads = match self.workers {
            Some(workers) => format!("--workers {workers}"),
            None => format!("--threads {}", list(&self.threads)),
        };
        let mut command = format!(
            "minifenl-scaling {kind} --{nodes} {x}x{y}x{z} --ranks {ranks} {threads} --repeats {repeats} --device {} --out DIR",
            self.device
        );
        if !is_even(&self.imbalance) {
            let list = self.imbalance.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            command += &format!(" --imbalance {list}");
        }
        if !self.flags.is_empty() {
            command += &format!(" -- {}", self.flags.join(" "));
        }
        command
    }

    /// The points, fewest threads in all first. One rank has an even box.
    pub fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for &ranks in &self.ranks {
            for threads in self.threads_of(ranks) {
                let of_one = |imbalance: u32| if ranks == 1 { 0 } else { imbalance };
                let uneven =
                    self.imbalance.iter().map(|&imbalance| Point { ranks, threads, imbalance: of_one(imbalance) });
                points.extend(uneven);
            }
        }
        points.sort_by_key(|point| (point.workers(), point.ranks, point.imbalance));
        points.dedup();
        points
    }

    /// Threads of each rank, at this number of ranks.
    fn threads_of(&self, ranks: usize) -> Vec<usize> {
        match self.workers {
            Some(workers) => Some(workers / ranks).filter(|_| workers.is_multiple_of(ranks)).into_iter().collect(),
            None => self.threads.clone(),
        }
    }

    /// All runs. Repeats are the outer loop, so that a machine that slows down slows all points.
    pub fn runs(&self) -> Vec<(Point, usize)> {
        let points = self.points();
        (1..=self.repeats).flat_map(|repeat| points.iter().map(move |&point| (point, repeat))).collect()
    }

    /// Nodes of the whole box on a number of ranks.
    ///
    /// # Errors
    /// Those of [`nodes_for_ranks`].
    pub fn nodes_of(&self, ranks: usize) -> Result<[u64; 3]> {
        match self.kind {
            Kind::Weak => nodes_for_ranks(self.nodes, ranks as u64),
            Kind::Strong => Ok(self.nodes),
        }
    }

    /// Returns the value of a flag of minifenl, if the study gives it.
    pub fn given(&self, flag: &str) -> Option<&str> {
        let mut value = None;
        for (at, word) in self.flags.iter().enumerate() {
            value = match word.strip_prefix(flag) {
                Some("") => self.flags.get(at + 1).map(String::as_str),
                Some(rest) => rest.strip_prefix('=').or(value),
                None => value,
            };
        }
        value
    }

    /// Checks that words have no line breaks, that numbers are within limits, and that each point has a box with a node for each rank.
    ///
    /// # Errors
    /// Those of [`nodes_for_ranks`] and [`BoxParts::new`]; [`Error::Invalid`] for words and numbers that cannot be, and for ranks that
    /// cannot have equally many threads.
    pub fn check(&self) -> Result<()> {
        text::check("--device", &self.device)?;
        self.flags.iter().try_for_each(|flag| text::check("flags of minifenl", flag))?;
        for (what, counts, most) in [("--ranks", &self.ranks, MOST_RANKS), ("--threads", &self.threads, MOST_THREADS)] {
            if let Some(wrong) = counts.iter().find(|&&count| count == 0 || count > most) {
                return Err(Error::Invalid(format!("{what} {wrong}: expected 1 to {most}")));
            }
        }
        let runs = [self.threads.len(), self.imbalance.len(), self.repeats].into_iter();
        let runs = runs.fold(self.ranks.len(), usize::saturating_mul);
        if runs > MOST_RUNS {
            return Err(Error::Invalid(format!("{runs} runs (points times --repeats): expected at most {MOST_RUNS}")));
        }
        if let Some(ranks) = self.ranks.iter().find(|&&ranks| self.threads_of(ranks).is_empty()) {
            let workers = self.workers.unwrap_or(0);
            return Err(Error::Invalid(format!(
                "--workers {workers}: {ranks} ranks cannot share {workers} threads evenly; expected divisors of {workers} after --ranks"
            )));
        }
        self.points().into_iter().try_for_each(|point| {
            let spec = BoxSpec::unit(self.nodes_of(point.ranks)?, CoordinateMap::None)?;
            BoxParts::new(&spec.with_imbalance(f64::from(point.imbalance))?, point.ranks).map(drop)
        })
    }

    /// The description in a folder; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::File`] for one that cannot be read or is not a study.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join("study.json");
        if !path.exists() {
            return Ok(None);
        }
        let text = files::read_text(&path, LARGEST)?;
        let failed =
            |error: String| Error::File { path: path.display().to_string(), reason: format!("not a study: {error}") };
        let study: Study = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
        study.check().map_err(|error| failed(error.to_string()))?;
        Ok(Some(study))
    }

    /// The files of the study, and those that the flags of its runs name; `-` is the standard output.
    pub fn files(&self, folder: &Path) -> Vec<NamedFile> {
        let runs = self.runs().into_iter().map(|(point, repeat)| file(point, repeat).display().to_string());
        let own = OUTPUTS.map(String::from).into_iter().chain(runs);
        let own = own.map(|name| (format!("{name} of the study"), folder.join(name)));
        let named = |flag: &str| {
            let next = self
                .flags
                .iter()
                .zip(self.flags.iter().skip(1))
                .find(|(word, _)| *word == flag)
                .map(|(_, value)| &**value);
            let value = next.or_else(|| self.flags.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('=')));
            value.map(|value| (flag.to_string(), PathBuf::from(value)))
        };
        own.chain(["--input", "--append", "--vtk"].into_iter().filter_map(named)).collect()
    }

    /// Joins this study with the one in the folder, if any, and writes it. Ranks, threads, imbalances and repeats may
    /// grow.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the folder holds a study with other settings, or both together have too many runs.
    pub fn resume(mut self, folder: &Path) -> Result<Self> {
        if let Some(old) = Study::read(folder)? {
            let fixed =
                |study: &Study| (study.kind, study.nodes, study.device.clone(), study.flags.clone(), study.workers);
            if fixed(&old) != fixed(&self) {
                return Err(Error::Invalid(format!(
                    "{}: this folder holds a study with other settings ({old}): expected the same, or another folder with --out",
                    folder.display()
                )));
            }
            join(&mut self.ranks, old.ranks);
            join(&mut self.threads, old.threads);
            join(&mut self.imbalance, old.imbalance);
            self.repeats = self.repeats.max(old.repeats);
        }
        self.check()?;
        let text = serde_json::to_string_pretty(&self).unwrap_or_default() + "\n";
        files::write(&folder.join("study.json"), text.as_bytes())?;
        Ok(self)
    }
}

impl fmt::Display for Study {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.nodes;
        let of = if self.kind == Kind::Weak { " per rank" } else { "" };
        write!(f, "{} scaling, {x}x{y}x{z} nodes{of}, device {}", self.kind, self.device)?;
        if let Some(workers) = self.workers {
            write!(f, ", {workers} threads in all")?;
        }
        if !self.flags.is_empty() {
            write!(f, ", {}", self.flags.join(" "))?;
        }
        Ok(())
    }
}

/// Adds the values of an older list, in order, each once.
fn join<T: Ord>(new: &mut Vec<T>, old: Vec<T>) {
    new.extend(old);
    new.sort_unstable();
    new.dedup();
}

/// The report of a run, below the folder of the study.
pub fn file(point: Point, repeat: usize) -> PathBuf {
    PathBuf::from("runs").join(format!("{}-{repeat}.json", point.stem()))
}
