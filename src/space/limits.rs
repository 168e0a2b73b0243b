//! Memory that this process can still allocate: the smallest of what the machine, its control groups and its resource
//! limits leave.
//!
//! ```text
//! machine          MemAvailable                                       shared by all processes of the host
//! control groups   min over the own group and its parents of          shared by all processes of the group
//!                  limit - (usage - reclaimable file pages)           (version 1 and version 2)
//! RLIMIT_AS        limit - VmSize                                     of this process alone
//! RLIMIT_DATA      limit - VmData                                     of this process alone
//! ```
//! All numbers come from files below `/proc` and from the mount points that they name. Each function takes the root
//! folder, so that tests pass a made-up tree.

use std::fs::read_to_string;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// Bytes that can still be allocated; `u64::MAX` means without limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeMemory {
    /// By this process together with all others of its host and its control groups.
    pub shared: u64,
    /// By this process alone.
    pub own: u64,
}

impl FreeMemory {
    /// Returns the free memory of this process now. Linux only; elsewhere there is no limit.
    pub fn now() -> Self {
        static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
        let root = Path::new("/");
        Self::read(root, GROUPS.get_or_init(|| groups(root)))
    }

    fn read(root: &Path, groups: &[Group]) -> Self {
        let machine = kib(&root.join("proc/meminfo"), "MemAvailable:").unwrap_or(u64::MAX);
        let shared = groups.iter().filter_map(Group::free).fold(machine, u64::min);
        let limits = read_to_string(root.join("proc/self/limits")).unwrap_or_default();
        let own = [("Max address space", "VmSize:"), ("Max data size", "VmData:")].map(|(limit, used)| {
            let limit = limits.lines().find_map(|line| line.strip_prefix(limit));
            // "unlimited" is no number.
            let limit: Option<u64> = limit.and_then(|values| values.split_whitespace().next()?.parse().ok());
            let used = || kib(&root.join("proc/self/status"), used).unwrap_or(0);
            limit.map_or(u64::MAX, |limit| limit.saturating_sub(used()))
        });
        FreeMemory { shared, own: own[0].min(own[1]) }
    }

    /// Returns the part of one of `sharing` processes that use the same memory. A limit of its own stays whole.
    pub fn share(self, sharing: u64) -> u64 {
        (self.shared / sharing.max(1)).min(self.own)
    }
}

/// A control group with a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    folder: PathBuf,
    names: &'static Names,
}

/// Names of the files of a version of control groups, and the key of reclaimable file pages in `memory.stat`.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    limit: &'static str,
    usage: &'static str,
    reclaimable: &'static str,
}

const V1: Names =
    Names { limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", reclaimable: "total_inactive_file " };
const V2: Names = Names { limit: "memory.max", usage: "memory.current", reclaimable: "inactive_file " };

impl Group {
    /// Returns what the group's limit leaves; `None` without a limit.
    fn free(&self) -> Option<u64> {
        let number = |name| read_to_string(self.folder.join(name)).ok()?.trim().parse::<u64>().ok();
        // Version 2 says "max" for no limit, version 1 a number that is larger than any memory.
        let limit = number(self.names.limit)?;
        let stat = read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let key = self.names.reclaimable;
        let reclaimable = stat.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
        let used = number(self.names.usage)?.saturating_sub(reclaimable.unwrap_or(0));
        Some(limit.saturating_sub(used))
    }
}

/// Returns the folders of this process's memory group and of its parents, in both versions.
fn groups(root: &Path) -> Vec<Group> {
    let own = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mounts = read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let mut found = Vec::new();
    for line in own.lines() {
        // "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
        let mut fields = line.splitn(3, ':');
        let (Some(hierarchy), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let names: &'static Names = match () {
            () if controllers.split(',').any(|name| name == "memory") => &V1,
            () if hierarchy == "0" && controllers.is_empty() => &V2,
            () => continue,
        };
        for (mounted, mount_point) in mounts.lines().filter_map(|line| mount(line, names == &V1)) {
            let top = root.join(mount_point.trim_start_matches('/'));
            // A container sees its group as the top of the mount, under a path that may lie outside of it.
            let below = Path::new(path).strip_prefix(mounted).unwrap_or(Path::new(""));
            let is_outside = Path::new(path).components().any(|part| part == Component::ParentDir);
            let below = if is_outside { Path::new("") } else { below };
            let folders = below.ancestors().map(|folder| top.join(folder));
            found.extend(folders.map(|folder| Group { folder, names }));
        }
    }
    found.retain(|group| group.folder.join(group.names.limit).is_file());
    found
}

/// Returns the mounted folder and the mount point of a line of mountinfo that mounts memory groups.
fn mount(line: &str, is_v1: bool) -> Option<(&str, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(3);
    let place = (fields.next()?, fields.next()?);
    let (kind, options) = (after.split(' ').next()?, after.split(' ').next_back()?);
    let is_it = if is_v1 { kind == "cgroup" && options.split(',').any(|o| o == "memory") } else { kind == "cgroup2" };
    is_it.then_some(place)
}

/// Returns the bytes that a line `KEY N kB` of a file states.
pub(super) fn kib(file: &Path, key: &str) -> Option<u64> {
    let text = read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with 64 GiB available and the given files.
    fn machine(files: &[(&str, &str)]) -> FreeMemory {
        let root = tempfile::tempdir().unwrap();
        let meminfo = ("proc/meminfo", "MemTotal: 99999999 kB\nMemAvailable:   67108864 kB\n");
        for (name, text) in [meminfo].iter().chain(files) {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        FreeMemory::read(root.path(), &groups(root.path()))
    }

    const V2_MOUNT: (&str, &str) = (
        "proc/self/mountinfo",
        "22 1 0:5 / /proc rw - proc proc rw\n30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup rw\n",
    );

    #[test]
    fn without_limits_the_machine_decides() {
        assert_eq!(machine(&[]), FreeMemory { shared: 64 << 30, own: u64::MAX });
        let unlimited = [
            V2_MOUNT,
            ("proc/self/cgroup", "0::/user\n"),
            ("sys/fs/cgroup/user/memory.max", "max\n"),
            ("sys/fs/cgroup/user/memory.current", "5\n"),
            (
                "proc/self/limits",
                "Limit  Soft Limit  Hard Limit  Units\nMax address space   unlimited   unlimited   bytes\n",
            ),
        ];
        assert_eq!(machine(&unlimited), FreeMemory { shared: 64 << 30, own: u64::MAX });
        assert_eq!(FreeMemory::read(Path::new("/nowhere"), &[]), FreeMemory { shared: u64::MAX, own: u64::MAX });
    }

    #[test]
    fn the_tightest_group_of_version_2_decides_wherever_it_is() {
        let tree = |job: &'static str, user: &'static str| {
            machine(&[
                V2_MOUNT,
                ("proc/self/cgroup", "0::/user/job\n"),
                ("sys/fs/cgroup/user/job/memory.max", job),
                ("sys/fs/cgroup/user/job/memory.current", "40000000\n"),
                ("sys/fs/cgroup/user/memory.max", user),
                ("sys/fs/cgroup/user/memory.current", "70000000\n"),
                ("sys/fs/cgroup/user/memory.stat", "anon 1\ninactive_file 20000000\nactive_file 7\n"),
            ])
            .shared
        };
        assert_eq!(tree("100000000\n", "max\n"), 60_000_000);
        // The parent's file pages can be reclaimed.
        assert_eq!(tree("100000000\n", "90000000\n"), 40_000_000);
        assert_eq!(tree("max\n", "1000\n"), 0, "more is used than allowed");
    }

    #[test]
    fn groups_of_version_1_and_of_containers_are_found() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      31 23 0:27 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let tree = |path: &'static str, folder: &str| {
            machine(
                &[
                    ("proc/self/mountinfo", mounts),
                    ("proc/self/cgroup", path),
                    (&format!("sys/fs/cgroup/memory/{folder}memory.limit_in_bytes"), "104857600\n"),
                    (&format!("sys/fs/cgroup/memory/{folder}memory.usage_in_bytes"), "4857600\n"),
                    (
                        &format!("sys/fs/cgroup/memory/{folder}memory.stat"),
                        "inactive_file 5\ntotal_inactive_file 600\n",
                    ),
                    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                    ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n"),
                ][..if folder.is_empty() { 5 } else { 7 }],
            )
            .shared
        };
        assert_eq!(tree("4:memory:/docker/abc\n3:cpu:/x\n", ""), 100_000_600);
        assert_eq!(tree("4:hugetlb,memory:/docker/abc/inner\n", "inner/"), 100_000_600);
        assert_eq!(tree("4:memory:/../../elsewhere\n", ""), 100_000_600);
    }

    #[test]
    fn limits_of_the_process_are_not_shared_with_other_ranks() {
        let free = machine(&[
            (
                "proc/self/limits",
                "Max data size  unlimited  unlimited  bytes\nMax address space    2147483648   unlimited    bytes\n",
            ),
            ("proc/self/status", "Name:\tx\nVmSize:\t 1048576 kB\nVmData:\t 5 kB\n"),
        ]);
        assert_eq!(free, FreeMemory { shared: 64 << 30, own: 1 << 30 });
        assert_eq!([1, 4, 128].map(|ranks| free.share(ranks)), [1 << 30, 1 << 30, 512 << 20]);
        assert_eq!(FreeMemory { shared: 900, own: u64::MAX }.share(3), 300);
        let data = machine(&[
            ("proc/self/limits", "Max data size  1048576  unlimited  bytes\n"),
            ("proc/self/status", "VmSize: 9999 kB\nVmData:  1000 kB\n"),
        ]);
        assert_eq!(data.own, 24 << 10);
    }
}
