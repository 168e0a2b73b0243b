//! Transports of a GPU, and the choice among them: launches of `kernels/halo.cu`, NCCL, and copies through page-locked memory.
//!
//! Without a wish, ranks of one host that have a GPU each use `peer` if their GPUs reach each other's memory; otherwise ranks with
//! a GPU each use `nccl` if all of them have it, in one version; otherwise `staged`. All ranks decide together. `mpi-device` is
//! used only on request: an MPI without CUDA support crashes with addresses of a GPU, and not every MPI can be asked.

mod nccl;
mod peer;
mod staging;

use super::staged::Staged;
use super::transport::not_here;
use super::{Communicator, Connect, Link, Transport, agree};
use crate::space::Cuda;
use crate::{Error, Result};
use std::time::Duration;

impl Connect for Cuda {
    fn link(&self, comm: &dyn Communicator, wanted: Option<Transport>, limit: Duration) -> Result<Box<dyn Link<Self>>> {
        let known = [Transport::Peer, Transport::Nccl, Transport::Staged];
        let transports: &[Transport] = match &wanted {
            // Nothing is sent, so any will do.
            _ if comm.size() == 1 => &[Transport::Staged],
            None => &known,
            Some(wanted) if known.contains(wanted) => std::slice::from_ref(wanted),
            Some(wanted) => return agree(comm, Err(not_here(*wanted, "a GPU", &known))),
        };
        let mut refused = None;
        for &transport in transports {
            let link: Result<Box<dyn Link<Self>>> = match transport {
                Transport::Peer => peer::Peer::connect(self, comm, limit).map(|link| Box::new(link) as _),
                Transport::Nccl => nccl::NcclLink::connect(self, comm).map(|link| Box::new(link) as _),
                _ => Ok(Box::new(Staged)),
            };
            match agree(comm, link) {
                Ok(link) => return Ok(link),
                Err(error) => refused = Some((transport, error)),
            }
        }
        // Staged works everywhere, so a refusal is that of the transport that was asked for.
        Err(refused.map_or_else(
            || Error::Device("no transport between the ranks".into()),
            |(transport, error)| match error {
                error @ Error::Elsewhere { .. } => error,
                error => Error::Device(format!("transport {transport} (--halo): {error}")),
            },
        ))
    }
}

/// Whether every rank has a GPU for itself, and whether all of them share one host. All ranks call it together.
fn one_gpu_each(space: &Cuda, comm: &dyn Communicator) -> Result<(bool, bool)> {
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
