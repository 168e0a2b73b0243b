//! Host, cores, threads and device of every rank; neighbouring ranks with the same ones are one entry.
//!
//! Texts travel as numbers, 6 bytes in each, since 48 bits are exact in f64.

use super::{GpuReport, MachineReport};
use crate::Result;
use crate::comm::Communicator;
use crate::run::program::allowed;
use serde::{Deserialize, Serialize};
use std::fs::{read_dir, read_to_string};
use std::path::Path;

/// Bytes of text in a number.
const BYTES: usize = 6;

/// Where one rank computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Place {
    pub machine: MachineReport,
    pub gpu: Option<GpuReport>,
    pub threads: usize,
    pub affinity: String,
}

/// Cores of neighbouring ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlacementReport {
    /// First of these ranks.
    pub first_rank: usize,
    /// Last of them.
    pub last_rank: usize,
    /// Name of their host.
    pub host: String,
    /// Model of its processor.
    pub cpu: String,
    /// Threads of each rank.
    pub threads: usize,
    /// Hardware threads to which the threads of a rank are bound, such as `0-3`. Masks that differ are separated by ` | `.
    pub affinity: String,
    /// Name of their GPU.
    pub gpu: Option<String>,
}

/// The affinity masks of the threads of this process, each once.
pub(super) fn affinity(root: &Path) -> String {
    let tasks = read_dir(root.join("proc/self/task")).into_iter().flatten().flatten();
    let mask = |path: &Path| {
        let text = read_to_string(path.join("status")).ok()?;
        allowed(&text).map(String::from)
    };
    let mut masks: Vec<String> = tasks.filter_map(|task| mask(&task.path())).collect();
    masks.sort();
    masks.dedup();
    if masks.is_empty() { "unknown".into() } else { masks.join(" | ") }
}

/// The places of all ranks. Collective.
pub(super) fn gather(comm: &dyn Communicator, own: &Place) -> Result<Vec<Place>> {
    let texts = texts(comm, &serde_json::to_string(own).unwrap_or_default())?;
    Ok(texts.iter().map(|text| serde_json::from_str(text).unwrap_or_else(|_| own.clone())).collect())
}

/// Neighbouring ranks with the same host, processor, threads, cores and GPU as one entry.
pub(super) fn grouped(places: Vec<Place>) -> Vec<PlacementReport> {
    let mut groups: Vec<PlacementReport> = Vec::new();
    for (rank, Place { machine, gpu, threads, affinity }) in places.into_iter().enumerate() {
        let (host, cpu, gpu) = (machine.host, machine.cpu, gpu.map(|gpu| gpu.name));
        let new = PlacementReport { first_rank: rank, last_rank: rank, host, cpu, threads, affinity, gpu };
        match groups.last_mut() {
            Some(last) if (PlacementReport { first_rank: rank, last_rank: rank, ..last.clone() }) == new => {
                last.last_rank = rank;
            }
            _ => groups.push(new),
        }
    }
    groups
}

/// The texts of all ranks, with spaces at their ends up to a common length. Collective.
fn texts(comm: &dyn Communicator, own: &str) -> Result<Vec<String>> {
    let mut chunks = [own.len().div_ceil(BYTES).max(1) as f64];
    comm.all_max(&mut chunks);
    let chunks = chunks[0] as usize;
    let mut text = own.as_bytes().to_vec();
    text.resize(chunks * BYTES, b' ');
    let pack = |bytes: &[u8]| bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte)) as f64;
    let all = comm.all_gather(&text.chunks(BYTES).map(pack).collect::<Vec<_>>())?;
    let bytes = |number: &f64| (*number as u64).to_be_bytes().into_iter().skip(8 - BYTES);
    let unpacked = |numbers: &[f64]| numbers.iter().flat_map(bytes).collect::<Vec<u8>>();
    Ok(all.chunks_exact(chunks).map(|numbers| String::from_utf8_lossy(&unpacked(numbers)).into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::comm::ranks::on_ranks;

    #[test]
    fn texts_of_all_lengths_reach_all_ranks() {
        let text = |rank: usize| "rank é/\"x".chars().cycle().take(5 * rank % 17).collect::<String>();
        let expected: Vec<String> = (0..7).map(text).collect();
        for found in on_ranks(7, |comm| texts(comm, &text(comm.rank())).unwrap()) {
            assert!(found.iter().all(|text| text.len() == found[0].len()), "{found:?}");
            for (found, text) in found.iter().zip(&expected) {
                assert_eq!(found.strip_prefix(text.as_str()).map(str::trim), Some(""), "{found:?}");
            }
        }
        assert_eq!(texts(&Solo, "").unwrap(), [" ".repeat(BYTES)]);
    }

    #[test]
    fn neighbours_with_the_same_place_are_one_entry() {
        let groups = on_ranks(5, |comm| {
            let host = if comm.rank() < 2 { "a" } else { "b" };
            let affinity = if comm.rank() == 4 { "4" } else { "0-3" };
            let machine = MachineReport { host: host.into(), cpu: "c".into(), ..MachineReport::default() };
            let place = Place { machine, threads: 2, affinity: affinity.into(), gpu: None };
            grouped(gather(comm, &place).unwrap())
        });
        for groups in groups {
            let found: Vec<_> = groups
                .iter()
                .map(|group| (group.first_rank, group.last_rank, &*group.host, &*group.affinity))
                .collect();
            assert_eq!(found, [(0, 1, "a", "0-3"), (2, 3, "b", "0-3"), (4, 4, "b", "4")]);
        }
    }

    #[test]
    fn the_masks_of_threads_are_named_once() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(affinity(root.path()), "unknown");
        for (task, mask) in [(7, "0-1"), (8, "2"), (9, "0-1")] {
            let folder = root.path().join(format!("proc/self/task/{task}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("status"), format!("Name:\tx\nCpus_allowed_list:\t{mask}\n")).unwrap();
        }
        assert_eq!(affinity(root.path()), "0-1 | 2");
    }
}
