//! Reads the cores, hardware threads and NUMA domains that this program may use.

use super::placement::mask;
use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::Path;

/// What a launcher on this machine can give to ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// Cores.
    pub cores: usize,
    /// Hardware threads of them.
    pub threads: usize,
    /// NUMA domains that have such cores.
    pub domains: usize,
    /// Cores of the smallest of these domains.
    pub per_domain: usize,
}

impl Cores {
    /// Reads the files below `root`. `allowed` bounds the hardware threads, as a quota does. Missing
    /// information is taken as 1 thread per core and 1 NUMA domain.
    pub fn read(root: &Path, allowed: usize) -> Self {
        let text = |name: &str| read_to_string(root.join(name)).unwrap_or_default();
        let status = text("proc/self/status");
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).and_then(mask);
        let own = list.unwrap_or_else(|| (0..allowed).collect());
        let siblings = |cpu: &usize| {
            let list = mask(text(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")).trim());
            list.unwrap_or_else(|| BTreeSet::from([*cpu]))
        };
        let count = |cpus: &BTreeSet<usize>| cpus.iter().map(siblings).collect::<BTreeSet<_>>().len();
        // Domains of memory alone have an empty list, and numbers may be left out.
        let cpus = |node: &str| mask(text(&format!("sys/devices/system/node/{node}/cpulist")).trim());
        let domains = nodes(&root.join("sys/devices/system/node")).into_iter().filter_map(|node| cpus(&node));
        let domains = domains.map(|cpus| cpus.intersection(&own).copied().collect::<BTreeSet<usize>>());
        let domains: Vec<usize> = domains.map(|cpus| count(&cpus)).filter(|&cores| cores > 0).collect();
        let (cores, threads) = (count(&own), own.len());
        let limited = |count: usize| count.min(allowed).max(1);
        Cores {
            cores: limited(cores),
            threads: limited(threads),
            domains: domains.len().max(1),
            per_domain: domains.into_iter().min().unwrap_or(cores).max(1),
        }
    }

    /// Returns whether every domain can hold equally many ranks with all their threads.
    pub fn spreads(&self, ranks: usize, threads: usize) -> bool {
        self.domains > 1 && ranks.is_multiple_of(self.domains) && ranks / self.domains * threads <= self.per_domain
    }
}

/// Names of the folders of NUMA domains: `node` and a number.
fn nodes(folder: &Path) -> Vec<String> {
    let names = read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.strip_prefix("node").is_some_and(|number| number.parse::<usize>().is_ok())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 domains of 2 cores with 2 hardware threads each: cores 0 and 4, 1 and 5, ... Between them are a domain of memory alone and
    /// a number without a domain.
    fn machine(allowed: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/self/status", format!("Name:\tx\nCpus_allowed_list:\t{allowed}\n"));
        for cpu in 0..8 {
            let name = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            write(&name, format!("{},{}\n", cpu % 4, cpu % 4 + 4));
        }
        write("sys/devices/system/node/node0/cpulist", "0-1,4-5\n".into());
        write("sys/devices/system/node/node1/cpulist", "\n".into());
        write("sys/devices/system/node/node3/cpulist", "2-3,6-7\n".into());
        // Beside the folders of domains are files and other folders.
        write("sys/devices/system/node/online", "0-1,3\n".into());
        write("sys/devices/system/node/nodes/cpulist", "0\n".into());
        root
    }

    #[test]
    fn cores_threads_and_domains_equal_those_by_hand() {
        let read = |mask: &str, allowed| {
            let Cores { cores, threads, domains, per_domain } = Cores::read(machine(mask).path(), allowed);
            (cores, threads, domains, per_domain)
        };
        assert_eq!(read("0-7", 8), (4, 8, 2, 2));
        assert_eq!(read("0-3", 4), (4, 4, 2, 2));
        assert_eq!(read("0-1,4-6", 5), (3, 5, 2, 1));
        assert_eq!(read("0,4", 2), (1, 2, 1, 1));
        // A quota of 2 hardware threads.
        assert_eq!(read("0-7", 2), (2, 2, 2, 2));
        let unknown = Cores::read(tempfile::tempdir().unwrap().path(), 3);
        assert_eq!(unknown, Cores { cores: 3, threads: 3, domains: 1, per_domain: 3 });
    }

    #[test]
    fn ranks_are_spread_where_every_domain_gets_as_many() {
        let cores = Cores { cores: 32, threads: 32, domains: 2, per_domain: 16 };
        let spread = [(1, 1), (2, 1), (3, 1), (2, 16), (2, 17), (16, 2), (32, 1)].map(|(p, t)| cores.spreads(p, t));
        assert_eq!(spread, [false, true, false, true, false, true, true]);
        assert!(!Cores { domains: 1, ..cores }.spreads(2, 1));
    }
}
