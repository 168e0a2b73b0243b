//! Queries over the ranks of one node.

use super::Communicator;

/// Returns how many ranks of this node have this value, such as a GPU id, which is not 0; 1 for a rank without a value. Each rank of
/// the node tells its value in turn, in one sum over the node: no rank holds a table of all ranks. All ranks call it
/// together.
pub fn equal_on_node(comm: &dyn Communicator, value: Option<u64>) -> usize {
    let told = |by: usize| comm.node_sum(if by == comm.rank_on_node() { value.unwrap_or(0) } else { 0 });
    let equal = (0..comm.ranks_on_node()).map(told).filter(|&other| Some(other) == value);
    equal.count().max(1)
}

/// Returns whether every rank has a GPU for itself, and whether all ranks share one host; `gpu` is the id of this rank's.
/// Collective.
#[cfg(feature = "cuda")]
pub(super) fn one_gpu_each(comm: &dyn Communicator, gpu: Option<u64>) -> (bool, bool) {
    // Only ranks of one node can have the same GPU.
    let is_alone = equal_on_node(comm, gpu) == 1;
    let mut spread = [if is_alone { 0.0 } else { 1.0 }, (comm.size() - comm.ranks_on_node()) as f64];
    comm.all_max(&mut spread);
    (spread[0] == 0.0, spread[1] == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ranks::{on_hosts, on_ranks};

    #[test]
    fn ranks_count_those_that_bring_the_same_value() {
        let shares = |values: &[Option<u64>]| on_ranks(values.len(), |comm| equal_on_node(comm, values[comm.rank()]));
        // `--device cuda:0` on four ranks, one GPU per rank, two GPUs for five ranks, and drivers that fail.
        assert_eq!(shares(&[Some(7); 4]), [4; 4]);
        assert_eq!(shares(&[Some(1), Some(2), Some(u64::MAX)]), [1; 3]);
        assert_eq!(shares(&[5, 9, 5, 9, 5].map(Some)), [3, 2, 3, 2, 3]);
        assert_eq!(shares(&[None, Some(4), None, Some(4)]), [1, 2, 1, 2]);
        // Ids of two hosts may be equal.
        let values = [7, 7, 7, 9].map(Some);
        assert_eq!(on_hosts(0, [2, 2], |comm| equal_on_node(comm, values[comm.rank()])), [2, 2, 1, 1]);
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn all_ranks_know_whether_each_has_a_gpu_and_whether_all_share_a_host() {
        for (hosts, gpus, expected) in [
            ([1, 4], [1, 2, 3, 4], (true, true)),
            ([1, 4], [1, 2, 3, 3], (false, true)),
            ([2, 2], [1, 2, 1, 2], (true, false)),
            ([2, 2], [1, 2, 2, 2], (false, false)),
            ([4, 1], [1, 1, 1, 1], (true, false)),
        ] {
            let found = on_hosts(0, hosts, |comm| one_gpu_each(comm, Some(gpus[comm.rank()])));
            assert_eq!(found, [expected; 4], "{hosts:?} {gpus:?}");
        }
    }
}
