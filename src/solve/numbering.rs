//! Global numbers of the unknowns of a coarse level, the columns that a rank reads of them, and messages to all ranks.
//!
//! Rank r numbers its unknowns from the sum of the counts of the ranks below it, so that an id names its owner and ghosts that ascend are
//! grouped by owner, as a [`Map`] wants them.

use crate::comm::{Communicator, Map, Message, agree, map_of_ghosts};
use crate::space::try_collect;
use crate::{GlobalOrdinal, LocalOrdinal, Result};

/// Consecutive ids of all ranks.
#[derive(Clone, Debug)]
pub(super) struct Numbering {
    /// First id of each rank; behind them the number of ids.
    starts: Vec<GlobalOrdinal>,
    rank: usize,
}

/// Items of a vector on this rank: owned ones and ghosts, with their ids.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    first: GlobalOrdinal,
    /// Ascending.
    ghosts: Vec<GlobalOrdinal>,
    pub map: Map,
}

impl Numbering {
    /// Numbers `owned` items of this rank. Collective.
    pub fn new(comm: &dyn Communicator, owned: usize) -> Result<Self> {
        let mut starts = vec![0];
        for count in comm.all_gather(&[owned as f64])? {
            starts.push(starts[starts.len() - 1] + count as GlobalOrdinal);
        }
        Ok(Numbering { starts, rank: comm.rank() })
    }

    /// Returns the first id of this rank.
    pub fn first(&self) -> GlobalOrdinal {
        self.starts[self.rank]
    }

    /// Returns the number of ids of each rank.
    pub fn counts(&self) -> impl Iterator<Item = usize> {
        self.starts.windows(2).map(|ends| (ends[1] - ends[0]) as usize)
    }

    /// Returns the number of ids of all ranks.
    pub fn total(&self) -> GlobalOrdinal {
        self.starts[self.starts.len() - 1]
    }

    /// Returns the rank of an id.
    pub fn owner(&self, id: GlobalOrdinal) -> usize {
        // Ranks without ids start where the next one does.
        self.starts.partition_point(|&start| start <= id) - 1
    }

    /// Makes the columns of a rank that reads the ids `used`, in any order, repeated ones and its own among them. Collective.
    pub fn columns(&self, comm: &dyn Communicator, mut used: Vec<GlobalOrdinal>) -> Result<Columns> {
        let own = self.starts[self.rank]..self.starts[self.rank + 1];
        used.retain(|id| !own.contains(id));
        used.sort_unstable();
        used.dedup();
        let ghosts: Vec<_> = used.iter().map(|&id| (self.owner(id), id)).collect();
        let owned = (own.end - own.start) as usize;
        let of_owned = |id| own.contains(&id).then(|| (id - own.start) as LocalOrdinal);
        let map = map_of_ghosts(comm, self.total(), owned, &ghosts, &of_owned)?;
        Ok(Columns { first: own.start, ghosts: used, map })
    }
}

impl Columns {
    /// Returns the id of a local item.
    pub fn id(&self, local: LocalOrdinal) -> GlobalOrdinal {
        match (local as usize).checked_sub(self.map.owned_count()) {
            None => self.first + GlobalOrdinal::from(local),
            Some(ghost) => self.ghosts[ghost],
        }
    }

    /// Returns the local number of an id that this rank owns or reads.
    pub fn local(&self, id: GlobalOrdinal) -> LocalOrdinal {
        let owned = self.map.owned_count();
        match id.checked_sub(self.first).filter(|&at| at < owned as GlobalOrdinal) {
            Some(at) => at as LocalOrdinal,
            None => (owned + self.ghosts.partition_point(|&ghost| ghost < id)) as LocalOrdinal,
        }
    }

    /// Returns the ids of the ghosts.
    pub fn ghosts(&self) -> Result<Vec<GlobalOrdinal>> {
        try_collect("ghosts", self.ghosts.iter().copied())
    }
}

/// Sends numbers to all ranks and returns those of all, rank 0 first. Collective.
pub(super) fn to_all(comm: &dyn Communicator, mine: Vec<u64>) -> Result<Vec<Message>> {
    let copy = |rank| Ok((rank, try_collect("messages to all ranks", mine.iter().copied())?));
    let letters = (0..comm.size()).map(copy).collect::<Result<Vec<_>>>();
    comm.send_all(agree(comm, letters)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ranks::on_ranks;

    #[test]
    fn ghosts_are_found_by_their_ids() {
        let owned = [3, 0, 2, 4];
        let read: [&[u64]; 4] = [&[8, 3, 0, 8], &[1], &[], &[4, 2, 1]];
        on_ranks(4, |comm| {
            let numbering = Numbering::new(comm, owned[comm.rank()]).unwrap();
            assert_eq!((numbering.first(), numbering.total()), ([0, 3, 3, 5][comm.rank()], 9));
            let columns = numbering.columns(comm, read[comm.rank()].to_vec()).unwrap();
            assert_eq!(columns.ghosts().unwrap(), [&[3, 8][..], &[1], &[], &[1, 2, 4]][comm.rank()]);
            for local in 0..columns.map.local_count() as u32 {
                assert_eq!(columns.local(columns.id(local)), local);
            }
            // Ghosts get the ids of their owners.
            let mut x: Vec<f64> = vec![f64::NAN; columns.map.local_count()];
            (0..owned[comm.rank()]).for_each(|at| x[at] = (numbering.first() + at as u64) as f64);
            let space = crate::space::Serial;
            crate::comm::Halo::new(&space, comm, &columns.map).unwrap().update(&space, &mut x).unwrap();
            assert!(x.iter().enumerate().all(|(at, &id)| id == columns.id(at as u32) as f64), "{x:?}");
        });
    }
}
