//! What a study runs: points (ranks x threads), repeats, and the file of each run.

use minifenl::mesh::nodes_for_ranks;
use minifenl::{Error, Result, files};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// Largest description of a study, in bytes.
const LARGEST: u64 = 1 << 20;

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
    /// Runs per point.
    pub repeats: usize,
}

/// Ranks and threads of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Point {
    /// Ranks.
    pub ranks: usize,
    /// Threads of each rank.
    pub threads: usize,
}

impl Point {
    /// Threads of all ranks.
    pub fn workers(self) -> usize {
        self.ranks * self.threads
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = |count| if count == 1 { "" } else { "s" };
        let Point { ranks, threads } = *self;
        write!(f, "{ranks} rank{} x {threads} thread{}", s(ranks), s(threads))
    }
}

impl Study {
    /// The command that runs the study.
    pub fn command(&self) -> String {
        let list = |counts: &[usize]| counts.iter().map(|count| count.to_string()).collect::<Vec<_>>().join(",");
        let ([x, y, z], kind) = (self.nodes, self.kind);
        let nodes = if kind == Kind::Weak { "nodes-per-rank" } else { "nodes" };
        let (ranks, threads, repeats) = (list(&self.ranks), list(&self.threads), self.repeats);
        let mut command = format!(
            "minifenl-scaling {kind} --{nodes} {x}x{y}x{z} --ranks {ranks} --threads {threads} --repeats {repeats} --device {} --out DIR",
            self.device
        );
        if !self.flags.is_empty() {
            command += &format!(" -- {}", self.flags.join(" "));
        }
        command
    }

    /// The points, fewest threads in all first.
    pub fn points(&self) -> Vec<Point> {
        let points =
            self.ranks.iter().flat_map(|&ranks| self.threads.iter().map(move |&threads| Point { ranks, threads }));
        let mut points: Vec<Point> = points.collect();
        points.sort_by_key(|point| (point.workers(), point.ranks));
        points.dedup();
        points
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
        let study = serde_json::from_str(&text).map_err(|error| Error::File {
            path: path.display().to_string(),
            reason: format!("not a study: {error}"),
        })?;
        Ok(Some(study))
    }

    /// Joins the study in a folder, if there is one, with this one, and writes it. Ranks, threads and repeats may grow.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the folder holds a study with other settings.
    pub fn resume(mut self, folder: &Path) -> Result<Self> {
        if let Some(old) = Study::read(folder)? {
            let fixed = |study: &Study| (study.kind, study.nodes, study.device.clone(), study.flags.clone());
            if fixed(&old) != fixed(&self) {
                return Err(Error::Invalid(format!(
                    "{}: this folder holds a study with other settings ({old}): expected the same, or another folder with --out",
                    folder.display()
                )));
            }
            let join = |new: &mut Vec<usize>, old: Vec<usize>| {
                new.extend(old);
                new.sort_unstable();
                new.dedup();
            };
            join(&mut self.ranks, old.ranks);
            join(&mut self.threads, old.threads);
            self.repeats = self.repeats.max(old.repeats);
        }
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
        if !self.flags.is_empty() {
            write!(f, ", {}", self.flags.join(" "))?;
        }
        Ok(())
    }
}

/// The report of a run, below the folder of the study.
pub fn file(point: Point, repeat: usize) -> PathBuf {
    PathBuf::from("runs").join(format!("ranks-{:06}-threads-{:03}-{repeat}.json", point.ranks, point.threads))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn study() -> Study {
        Study {
            kind: Kind::Weak,
            nodes: [8; 3],
            device: "cpu".into(),
            flags: vec![],
            ranks: vec![1, 2],
            threads: vec![1, 2],
            repeats: 2,
        }
    }

    #[test]
    fn runs_are_interleaved_and_points_are_in_the_order_of_their_size() {
        let point = |ranks, threads| Point { ranks, threads };
        let points = [point(1, 1), point(1, 2), point(2, 1), point(2, 2)];
        assert_eq!(study().points(), points);
        let runs: Vec<_> = [1, 2].iter().flat_map(|&repeat| points.map(|point| (point, repeat))).collect();
        assert_eq!(study().runs(), runs);
        assert_eq!(study().nodes_of(2).unwrap(), [8, 16, 8]);
        assert_eq!(Study { kind: Kind::Strong, ..study() }.nodes_of(2).unwrap(), [8; 3]);
        assert_eq!(point(1, 2).to_string(), "1 rank x 2 threads");
    }

    #[test]
    fn a_study_grows_and_refuses_other_settings() {
        let folder = tempfile::tempdir().unwrap();
        study().resume(folder.path()).unwrap();
        let more = Study { ranks: vec![4], repeats: 1, ..study() }.resume(folder.path()).unwrap();
        assert_eq!((more.ranks.as_slice(), more.repeats), (&[1, 2, 4][..], 2));
        assert_eq!(Study::read(folder.path()).unwrap(), Some(more));
        let error = Study { nodes: [9; 3], ..study() }.resume(folder.path()).unwrap_err().to_string();
        assert!(error.contains("other settings (weak scaling, 8x8x8 nodes per rank, device cpu)"), "{error}");
        std::fs::write(folder.path().join("study.json"), "{}").unwrap();
        assert!(study().resume(folder.path()).unwrap_err().to_string().contains("not a study"));
    }
}
