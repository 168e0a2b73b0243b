//! Makes a map where the owners of the ghosts are known; each owner receives the ids that other ranks read.

use super::map::local;
use super::{Communicator, Map, Message, Neighbour, agree};
use crate::space::{try_collect, try_with_capacity};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};
use std::collections::BTreeMap;

/// Makes the map of `owned` items and of ghosts, given as (owner, id), lowest first. `of_owned` numbers the ids that this rank owns.
/// Collective.
///
/// # Errors
/// [`Error::Mpi`] if a rank asks for an id that this one does not own; [`Error::TooLarge`], [`Error::OutOfMemory`].
pub(crate) fn map_of_ghosts(
    comm: &dyn Communicator,
    global: GlobalOrdinal,
    owned: usize,
    ghosts: &[(usize, GlobalOrdinal)],
    of_owned: &dyn Fn(GlobalOrdinal) -> Option<LocalOrdinal>,
) -> Result<Map> {
    let of_ranks = || ghosts.chunk_by(|a, b| a.0 == b.0);
    let request = |group: &[(usize, GlobalOrdinal)]| {
        Ok((group[0].0, try_collect("ghost ids", group.iter().map(|ghost| ghost.1))?))
    };
    let requests = agree(comm, of_ranks().map(request).collect::<Result<Vec<Message>>>())?;
    let readers = comm.send_all(requests)?;
    let mut ranks: BTreeMap<usize, (usize, &[u64])> = BTreeMap::new();
    of_ranks().for_each(|group| ranks.entry(group[0].0).or_default().0 = group.len());
    readers.iter().for_each(|(rank, ids)| ranks.entry(*rank).or_default().1 = ids);
    let neighbours = || {
        let (mut end, mut neighbours) = (local(owned)?, Vec::with_capacity(ranks.len()));
        for (rank, (count, ids)) in ranks {
            let mut send = try_with_capacity("values to send", ids.len())?;
            for &id in ids {
                let unknown = || Error::Mpi(format!("rank {rank} wants global id {id} of a rank without it"));
                send.push(of_owned(id).ok_or_else(unknown)?);
            }
            let receive = end..end + count as LocalOrdinal;
            end = receive.end;
            neighbours.push(Neighbour { rank, send, receive });
        }
        Map::new(global, owned, neighbours)
    };
    agree(comm, neighbours())
}
