//! Which GPUs the ranks use.

use crate::Result;
use crate::comm::{Communicator, equal_on_node};
use crate::space::Cuda;

/// Returns whether every rank has its own GPU, and whether all share one host. All ranks call it together.
pub(super) fn one_gpu_each(space: &Cuda, comm: &dyn Communicator) -> Result<(bool, bool)> {
    // A rank whose driver fails joins the collectives too.
    let id = space.device().id();
    // Only ranks of one node can have the same GPU.
    let is_alone = equal_on_node(comm, id.as_ref().ok().copied()) == 1;
    let mut spread = [if is_alone { 0.0 } else { 1.0 }, (comm.size() - comm.ranks_on_node()) as f64];
    comm.all_max(&mut spread);
    id?;
    Ok((spread[0] == 0.0, spread[1] == 0.0))
}
