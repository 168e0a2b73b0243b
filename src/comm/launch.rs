//! Detects whether a launcher started this process, and chooses the number of threads.

use super::Communicator;
use crate::space::allowed_cores;

/// Environment variables in which launchers state the rank of a process and the number of processes, innermost launcher
/// first: `mpirun` may itself start its helpers by `srun`. SLURM_NTASKS is not among them: batch scripts set it too, where
/// a program may run alone. `srun` sets the task count of the step.
const VARIABLES: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
];

/// Returns the number of processes that a launcher (`mpirun`, `srun`) started, if any.
///
/// Needs no MPI, so a build without the feature `mpi` can refuse to run the same computation several times.
pub fn started_by_mpirun() -> Option<usize> {
    rank_count(|name| std::env::var(name).ok())
}

fn rank_count(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    VARIABLES.iter().find_map(|(_, count)| number(variable(count)))
}

/// Returns the rank that a launcher gave this process, or `None` if it runs alone. Works before MPI starts.
///
/// A rank counts only beside a number of processes that is above it: batch scripts and interactive steps set SLURM_PROCID
/// for programs that run alone.
pub fn launched_rank() -> Option<usize> {
    rank(|name| std::env::var(name).ok())
}

fn rank(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    VARIABLES.iter().find_map(|(rank, count)| {
        let (rank, count) = (number(variable(rank))?, number(variable(count))?);
        (count > 1 && rank < count).then_some(rank)
    })
}

/// The number in a variable; text that is no number counts as not set.
fn number(text: Option<String>) -> Option<usize> {
    text?.trim().parse().ok()
}

/// Returns the threads per rank that fill a compute node once.
///
/// A rank bound to its own cores uses all of them. Ranks that may run on the same cores share them evenly. Launchers
/// differ here: Open MPI binds each of two ranks to one core but does not bind eight ranks at all. Collective.
pub fn default_threads(comm: &dyn Communicator) -> usize {
    let allowed = allowed_cores();
    let masked = cores_in("/proc/self/status", "Cpus_allowed_list:").unwrap_or(allowed);
    let online = cores_in("/sys/devices/system/cpu/online", "").unwrap_or(allowed);
    threads_on_node(comm, [allowed, masked, online].map(|cores| cores as u64))
}

/// Returns the threads of a rank whose cores are `allowed` by quota and mask, and `masked` by its mask, of `online` ones. Collective.
fn threads_on_node(comm: &dyn Communicator, [allowed, masked, online]: [u64; 3]) -> usize {
    // A control-group quota is below the affinity mask, and all ranks inside the group share it.
    threads_per_rank(allowed, comm.node_sum(allowed), if allowed < masked { allowed } else { online })
}

/// Returns `allowed` if the allowed cores of all ranks, `sum`, fit into `cores`; otherwise a fair share, rounded down.
fn threads_per_rank(allowed: u64, sum: u64, cores: u64) -> usize {
    let threads = if sum <= cores { allowed } else { (allowed * cores / sum).max(1) };
    threads as usize
}

/// Returns the number of cores in the list that follows `key` in a system file.
fn cores_in(file: &str, key: &str) -> Option<usize> {
    let text = std::fs::read_to_string(file).ok()?;
    let list = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(core_list(list.trim())?.len())
}

/// Returns the numbers of a list of cores such as `0-3,8,10-11`.
pub fn core_list(list: &str) -> Option<Vec<usize>> {
    let ranges = list.split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let range = first.parse().ok()?..=last.parse().ok()?;
        (!range.is_empty()).then_some(range)
    });
    Some(ranges.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::super::Solo;
    use super::*;
    use crate::comm::ranks::on_hosts;

    #[test]
    fn ranks_of_a_node_share_its_cores() {
        // (allowed, ranks with as many allowed cores, cores of the compute node) -> threads
        for (allowed, ranks, cores, threads) in
            [(2, 4, 2, 1), (8, 2, 16, 8), (16, 2, 16, 8), (1, 2, 2, 1), (16, 1, 16, 16), (12, 5, 12, 2), (1, 9, 1, 1)]
        {
            assert_eq!(threads_per_rank(allowed, allowed * ranks, cores), threads, "{allowed} {ranks} {cores}");
        }
        assert!((1..=allowed_cores()).contains(&default_threads(&Solo)));
    }

    /// Two hosts of two ranks.
    #[test]
    fn ranks_of_other_nodes_take_no_cores() {
        let threads = |cores| on_hosts(0, [2, 2], |comm| threads_on_node(comm, cores));
        // Bound to 4 of 8 cores each; unbound on 8; a quota of 6 below a mask of 8.
        assert_eq!([[4, 4, 8], [8, 8, 8], [6, 8, 16]].map(threads), [[4; 4], [4; 4], [3; 4]]);
        // Bound to 6 and to 2 cores of 8.
        let bound = |rank: usize| [6, 2][rank % 2];
        let own = on_hosts(0, [2, 2], |comm| threads_on_node(comm, [bound(comm.rank()), bound(comm.rank()), 8]));
        assert_eq!(own, [6, 2, 6, 2]);
    }

    #[test]
    fn core_lists_are_read() {
        assert_eq!(core_list("0-3,8,10-11"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(core_list("0"), Some(vec![0]));
        assert_eq!(core_list(""), None);
        assert_eq!(core_list("3-1"), None);
    }

    #[test]
    fn launchers_are_recognised() {
        let set = |name: &'static str, value: &'static str| rank_count(|n| (n == name).then(|| value.into()));
        assert_eq!(set("OMPI_COMM_WORLD_SIZE", "4"), Some(4));
        assert_eq!(set("PMI_SIZE", "1"), Some(1));
        // `mpirun -n 1` inside a step of four tasks.
        let nested = |name: &str| match name {
            "OMPI_COMM_WORLD_SIZE" => Some("1".into()),
            "SLURM_STEP_NUM_TASKS" => Some("4".into()),
            _ => None,
        };
        assert_eq!(rank_count(nested), Some(1));
        assert_eq!(set("SLURM_NTASKS", "8"), None);
        assert_eq!(set("PMI_SIZE", "many"), None);
    }

    #[test]
    fn a_rank_counts_only_beside_a_number_of_processes_above_it() {
        let of = |set: &[(&str, &str)]| {
            rank(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string()))
        };
        for (set, expected) in [
            (&[][..], None),
            // A batch script, and an interactive step of one task.
            (&[("SLURM_PROCID", "3")], None),
            (&[("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8")], None),
            (&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1")], None),
            (&[("SLURM_PROCID", "3"), ("SLURM_STEP_NUM_TASKS", "8")], Some(3)),
            (&[("OMPI_COMM_WORLD_RANK", "x"), ("OMPI_COMM_WORLD_SIZE", "2")], None),
            (&[("OMPI_COMM_WORLD_RANK", "1")], None),
            (&[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "2")], None),
            (&[("PMI_RANK", " 5 "), ("PMI_SIZE", "6")], Some(5)),
            // `mpirun` on two nodes of a Slurm job starts a helper per node by `srun`.
            (
                &[
                    ("SLURM_PROCID", "1"),
                    ("SLURM_STEP_NUM_TASKS", "2"),
                    ("OMPI_COMM_WORLD_RANK", "0"),
                    ("OMPI_COMM_WORLD_SIZE", "4"),
                ],
                Some(0),
            ),
        ] {
            assert_eq!(of(set), expected, "{set:?}");
        }
    }
}
