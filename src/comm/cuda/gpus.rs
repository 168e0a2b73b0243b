//! Which GPUs the ranks use.

use crate::Result;
use crate::comm::Communicator;
use crate::space::Cuda;

/// Whether every rank has a GPU for itself, and whether all of them share one host. All ranks call it together.
pub(super) fn one_gpu_each(space: &Cuda, comm: &dyn Communicator) -> Result<(bool, bool)> {
    // A rank whose driver fails joins the collectives too.
    let id = space.device().id();
    // Ids are compared in 52 bits, which are exact in f64.
    let mine = id.as_ref().map_or(-1.0, |id| (id >> 12) as f64);
    let ids = comm.all_gather(&[mine])?;
    id?;
    let is_alone = ids.iter().filter(|&&other| other == mine).count() == 1;
    let mut spread = [if is_alone { 0.0 } else { 1.0 }, (comm.size() - comm.ranks_on_node()) as f64];
    comm.all_max(&mut spread);
    Ok((spread[0] == 0.0, spread[1] == 0.0))
}
