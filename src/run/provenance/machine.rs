//! Host, processor, memory and GPU of a rank, from files below `/proc` and `/sys`.

use crate::comm::core_list;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::path::Path;

/// The machine of a rank. In a container, cores and memory are those of the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineReport {
    /// Name of the host.
    pub host: String,
    /// Operating system and its release.
    pub system: String,
    /// Model of the processor.
    pub cpu: String,
    /// Processors; null if the system does not tell.
    pub sockets: Option<usize>,
    /// Cores of all processors; null if the system does not tell.
    pub cores: Option<usize>,
    /// Hardware threads of all cores.
    pub hardware_threads: usize,
    /// Memory in bytes; null if the system does not tell.
    pub memory_bytes: Option<u64>,
}

/// The GPU of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuReport {
    /// Product name.
    pub name: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Release of the driver; null if the system does not tell.
    pub driver: Option<String>,
    /// Version of CUDA that the driver supports.
    pub cuda: String,
    /// Version of the run-time compiler.
    pub nvrtc: Option<String>,
}

impl MachineReport {
    /// Describes the machine that this process runs on.
    pub fn here() -> Self {
        Self::read(Path::new("/"))
    }

    /// Reads the files below `root`.
    pub(super) fn read(root: &Path) -> Self {
        let text = |name: &str| read_to_string(root.join(name)).unwrap_or_default();
        let line = |name: &str| text(name).trim().to_string();
        let cpuinfo = text("proc/cpuinfo");
        let (sockets, cores) = topology(root).unzip();
        let names = ["model name", "Model", "cpu model", "cpu"];
        let model = names.iter().find_map(|name| value(&cpuinfo, name));
        MachineReport {
            host: known(line("proc/sys/kernel/hostname")),
            system: format!("{} {}", std::env::consts::OS, known(line("proc/sys/kernel/osrelease"))),
            cpu: model
                .map_or_else(|| known(String::new()), |model| model.split_whitespace().collect::<Vec<_>>().join(" ")),
            sockets,
            cores,
            hardware_threads: core_list(&line("sys/devices/system/cpu/online")).map_or_else(
                || cpuinfo.lines().filter(|line| line.starts_with("processor")).count(),
                |list| list.len(),
            ),
            memory_bytes: value(&text("proc/meminfo"), "MemTotal")
                .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
                .map(|kib| kib << 10),
        }
    }
}

fn known(text: String) -> String {
    if text.is_empty() { "unknown".into() } else { text }
}

/// Returns the value of the first line `key : value`.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// Number of sockets, and of cores on all of them.
fn topology(root: &Path) -> Option<(usize, usize)> {
    let folder = root.join("sys/devices/system/cpu");
    let online = core_list(read_to_string(folder.join("online")).ok()?.trim())?;
    let cores = online.iter().map(|cpu| {
        let id = |name: &str| {
            let text = read_to_string(folder.join(format!("cpu{cpu}/topology/{name}"))).ok()?;
            text.trim().parse::<i64>().ok()
        };
        Some((id("physical_package_id")?, id("core_id")?))
    });
    let cores: BTreeSet<(i64, i64)> = cores.collect::<Option<_>>()?;
    let sockets: BTreeSet<i64> = cores.iter().map(|(socket, _)| *socket).collect();
    Some((sockets.len(), cores.len()))
}

/// Release of NVIDIA's driver, from `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue ...`.
#[cfg(feature = "cuda")]
pub(in crate::run) fn driver_release(root: &Path) -> Option<String> {
    let text = read_to_string(root.join("proc/driver/nvidia/version")).ok()?;
    let is_release = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.lines().next()?.split_whitespace().find(is_release).map(String::from)
}

/// Instruction sets of this processor for which loops are compiled separately.
pub(super) fn detected_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let found = [
            ("avx", is_x86_feature_detected!("avx")),
            ("avx2", is_x86_feature_detected!("avx2")),
            ("fma", is_x86_feature_detected!("fma")),
            ("avx512f", is_x86_feature_detected!("avx512f")),
        ];
        found.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    #[test]
    fn a_made_up_machine_is_read_and_an_empty_one_is_unknown() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = root.path().join(name);
            create_dir_all(path.parent().unwrap()).unwrap();
            write(path, text).unwrap();
        };
        let nothing = MachineReport::read(root.path());
        assert_eq!((nothing.host.as_str(), nothing.cpu.as_str()), ("unknown", "unknown"));
        assert_eq!((nothing.sockets, nothing.cores, nothing.memory_bytes), (None, None, None));
        file("proc/sys/kernel/hostname", "node17\n");
        file("proc/sys/kernel/osrelease", "6.1.0\n");
        file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Made  Up 9\n\nprocessor\t: 1\nmodel name\t: Other\n");
        file("proc/meminfo", "MemFree: 5 kB\nMemTotal:       16 kB\n");
        file("sys/devices/system/cpu/online", "0-2,6-7\n");
        // Two sockets: cores 0 and 1 of the first, the second of them with two hardware threads, core 0 of the other.
        for (cpu, socket, core) in [(0, 0, 0), (1, 0, 1), (2, 0, 1), (6, 3, 0), (7, 3, 0)] {
            file(&format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"), &format!("{socket}\n"));
            file(&format!("sys/devices/system/cpu/cpu{cpu}/topology/core_id"), &format!("{core}\n"));
        }
        let found = MachineReport::read(root.path());
        let expected = MachineReport {
            host: "node17".into(),
            system: format!("{} 6.1.0", std::env::consts::OS),
            cpu: "Made Up 9".into(),
            sockets: Some(2),
            cores: Some(3),
            hardware_threads: 5,
            memory_bytes: Some(16384),
        };
        assert_eq!(found, expected);
        #[cfg(feature = "cuda")]
        {
            assert_eq!(driver_release(root.path()), None);
            file(
                "proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23\n",
            );
            assert_eq!(driver_release(root.path()).as_deref(), Some("580.95.05"));
        }
    }
}
