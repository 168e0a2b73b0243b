//! Which GPUs the ranks use.

use crate::Result;
use crate::comm::Communicator;
use crate::space::Cuda;

/// Whether every rank has a GPU for itself, and whether all ranks share one host. All ranks call it together. Ranks of a host tell
/// each other the ids of their GPUs one after the other, so that no rank holds a table of all ranks.
pub(super) fn one_gpu_each(space: &Cuda, comm: &dyn Communicator) -> Result<(bool, bool)> {
    // A rank whose driver fails joins the sums too, where the others wait for it.
    let id = space.device().id();
    let mine = id.as_ref().copied().unwrap_or(0);
    let ids = (0..comm.ranks_on_node()).map(|rank| comm.node_sum(if rank == comm.rank_on_node() { mine } else { 0 }));
    let same = ids.filter(|&other| other == mine).count();
    let mut spread = [same as f64, (comm.size() - comm.ranks_on_node()) as f64];
    comm.all_max(&mut spread);
    id?;
    Ok((spread[0] == 1.0, spread[1] == 0.0))
}
