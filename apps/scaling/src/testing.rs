//! Reports for tests, made from a few numbers.

use crate::study::plan::{Point, file};
use crate::study::record::{PlacementRecord, Record};
use crate::study::text::Text;
use crate::study::{Kind, Study, Table};
use serde_json::json;

/// What a made-up report says.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub ranks: usize,
    pub threads: usize,
    /// Per cent.
    pub imbalance: u32,
    pub nodes: [u64; 3],
    pub iterations: usize,
    /// Seconds of an iteration of CG.
    pub iteration: f64,
    /// Seconds of it in the halo exchange.
    pub halo: f64,
    /// GB/s of all ranks.
    pub triad: f64,
    /// Bytes of an iteration of CG, all ranks.
    pub bytes: f64,
    /// Hardware threads of the host.
    pub cores: usize,
}

impl Default for Sample {
    fn default() -> Self {
        Sample {
            ranks: 1,
            threads: 1,
            imbalance: 0,
            nodes: [8; 3],
            iterations: 10,
            iteration: 1e-3,
            halo: 0.0,
            triad: 10.0,
            bytes: 2e5,
            cores: 2,
        }
    }
}

impl Sample {
    /// Its point.
    pub fn point(&self) -> Point {
        Point { ranks: self.ranks, threads: self.threads, imbalance: self.imbalance }
    }

    /// The report as JSON, with what a study reads.
    pub fn json(&self) -> serde_json::Value {
        let nodes: u64 = self.nodes.iter().product();
        let calls = self.iterations as f64;
        let phase = |name: &str, calls: f64, seconds: f64, bytes: f64| json!({"name": name, "calls": calls as u64, "seconds": seconds * calls, "bytes": bytes * calls, "imbalance": 1.25});
        json!({
            "schema_version": 1, "problem": {"name": "heat"}, "mesh": {"element": "hex8", "nodes": self.nodes}, "nodes": nodes,
            "elements": self.nodes.map(|nodes| nodes - 1).iter().product::<u64>(),
            "version": "0.1.0", "date": "2026-11-22T13:00:05Z",
            "ranks": self.ranks, "threads": self.threads, "device": "cpu",
            "cg_iterations": self.iterations, "cg_reductions": 2 * self.iterations, "total_seconds": calls * self.iteration + 1.0,
            "verified": true, "verdict": [], "triad_gb_per_s": self.triad,
            "partition": {
                "imbalance_asked_percent": self.imbalance, "imbalance_percent": self.imbalance,
                "owned_max": nodes / self.ranks as u64 * (100 + u64::from(self.imbalance)) / 100
            },
            "provenance": {
                "machine": {"host": "a", "cpu": "Made Up 9", "cores": self.cores, "hardware_threads": self.cores},
                "mpi": "Open MPI v4.1.4, package: x", "build": {"commit": "abc", "profile": "release"},
                "placement": [{"first_rank": 0, "last_rank": self.ranks - 1, "host": "a", "threads": self.threads,
                    "affinity": format!("0-{}", self.cores - 1), "gpu": null}]
            },
            "phases": [
                phase("graph", 1.0, 0.2, 1e6), phase("fill", 2.0, 0.1, 1e6),
                phase("cg", calls, self.iteration, self.bytes), phase("spmv", calls, 0.7 * self.iteration, 0.7 * self.bytes),
                phase("halo", calls, self.halo, 0.0), phase("total", 1.0, calls * self.iteration + 1.0, 0.0)
            ]
        })
    }

    /// The report as a study reads it.
    pub fn record(&self) -> Record {
        serde_json::from_value(self.json()).unwrap()
    }
}

fn text(text: &str) -> Text {
    text.to_string().try_into().unwrap()
}

/// The place of a range of ranks.
pub fn place([first_rank, last_rank]: [usize; 2], host: &str, threads: usize, affinity: &str) -> PlacementRecord {
    PlacementRecord { first_rank, last_rank, host: text(host), threads, affinity: text(affinity), gpu: None }
}

/// A report of a time of an iteration.
pub fn sample(ranks: usize, nodes: [u64; 3], iteration: f64) -> Sample {
    Sample { ranks, nodes, iteration, ..Sample::default() }
}

/// A study with these ranks and imbalances.
pub fn study(kind: Kind, ranks: Vec<usize>, imbalance: Vec<u32>, repeats: usize) -> Study {
    let (nodes, device, flags, threads) = ([8; 3], "cpu".into(), vec![], vec![1]);
    Study { kind, nodes, device, flags, ranks, threads, workers: None, imbalance, repeats }
}

/// The table of reports, each with the number of its repeat.
pub fn table(kind: Kind, samples: &[(Sample, usize)]) -> Table {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    for (sample, repeat) in samples {
        std::fs::write(folder.path().join(file(sample.point(), *repeat)), sample.json().to_string()).unwrap();
    }
    let mut ranks: Vec<usize> = samples.iter().map(|(sample, _)| sample.ranks).collect();
    let mut imbalance: Vec<u32> = samples.iter().map(|(sample, _)| sample.imbalance).collect();
    let mut threads: Vec<usize> = samples.iter().map(|(sample, _)| sample.threads).collect();
    ranks.dedup();
    imbalance.sort_unstable();
    imbalance.dedup();
    threads.sort_unstable();
    threads.dedup();
    let repeats = samples.iter().map(|(_, repeat)| *repeat).max().unwrap();
    let study = Study { threads, ..study(kind, ranks, imbalance, repeats) };
    Table::read(&study, folder.path()).unwrap()
}
