//! Distribution of indices among ranks: which ones a rank owns, which ones it only reads, and their owners.
//!
//! Local indices are `0..owned` (owned by this rank), then `owned..owned + ghosts` (copies of indices of other ranks),
//! with the ghosts grouped by owner, lowest rank first. Grouping lets a receive write directly behind the owned part of
//! a vector. Rows of a distributed matrix are the owned indices; its columns are the owned and ghost indices.

use crate::space::try_with_capacity;
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};
use std::ops::Range;

/// A rank with which this rank exchanges values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The other rank.
    pub rank: usize,
    /// Owned indices whose values the neighbour reads, in the order of its ghosts.
    pub send: Vec<LocalOrdinal>,
    /// Ghosts of this rank that the neighbour owns.
    pub receive: Range<LocalOrdinal>,
}

/// Owned and ghost indices of one rank, with the neighbouring ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    global: GlobalOrdinal,
    owned: usize,
    ghosts: usize,
    neighbours: Vec<Neighbour>,
}

impl Map {
    /// Makes a map that owns `owned` of `global` indices. The neighbours define the ghosts.
    ///
    /// # Errors
    /// [`Error::Invalid`], naming the neighbour, when ranks do not ascend, when ghosts do not follow the owned indices
    /// in the order of the neighbours, or when an index to send is not owned; also when there are more local than
    /// global indices. [`Error::TooLarge`] when local indices exceed 32 bits.
    pub fn new(global: GlobalOrdinal, owned: usize, neighbours: Vec<Neighbour>) -> Result<Self> {
        let mut end = local(owned)?;
        let mut previous = None;
        for Neighbour { rank, send, receive } in &neighbours {
            let refused = |why: String| Err(Error::Invalid(format!("map, neighbour {rank}: {why}")));
            if previous.is_some_and(|previous| previous >= *rank) {
                return refused("neighbours must ascend by rank".into());
            }
            if receive.start != end || receive.end < receive.start {
                return refused(format!("its ghosts are {receive:?}, expected to start at {end}"));
            }
            if let Some(index) = send.iter().find(|&&index| index as usize >= owned) {
                return refused(format!("index {index} to be sent is not owned, expected 0..{owned}"));
            }
            previous = Some(*rank);
            end = local(receive.end as usize)?;
        }
        if u64::from(end) > global {
            return Err(Error::Invalid(format!("map: {end} local indices exceed the {global} global ones")));
        }
        Ok(Map { global, owned, ghosts: end as usize - owned, neighbours })
    }

    /// Returns the map of `dofs` interleaved dofs per node of a map of nodes, as `Graph::with_dofs` numbers them: owners, order of
    /// messages and of ghosts are those of the nodes, with all dofs of a node in one message.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no dof per node; [`Error::TooLarge`] when there are 2^64 dofs or more, or more local ones than 32 bits number; [`Error::OutOfMemory`] when the
    /// memory is not available.
    pub fn expand(&self, dofs: usize) -> Result<Map> {
        if dofs == 0 {
            return Err(Error::Invalid("Map::expand: 0 dofs per node: expected 1 or more".into()));
        }
        let too_large = |nodes: u64, limit: String| Error::TooLarge {
            what: "map".into(),
            needed: format!("{dofs} dofs on each of {nodes} nodes"),
            limit,
        };
        let global = self.global.checked_mul(dofs as u64);
        let global = global.ok_or_else(|| too_large(self.global, format!("{} indices", GlobalOrdinal::MAX)))?;
        let (local, most) = (self.local_count(), LocalOrdinal::MAX as usize);
        if local.checked_mul(dofs).is_none_or(|count| count >= most) {
            return Err(too_large(local as u64, format!("{} local indices (32 bits)", most - 1)));
        }
        let dofs = dofs as LocalOrdinal;
        let mut neighbours = try_with_capacity("neighbours", self.neighbours.len())?;
        for Neighbour { rank, send, receive } in &self.neighbours {
            let mut list = try_with_capacity("dofs to send", dofs as usize * send.len())?;
            list.extend(send.iter().flat_map(|&node| (0..dofs).map(move |field| dofs * node + field)));
            neighbours.push(Neighbour { rank: *rank, send: list, receive: dofs * receive.start..dofs * receive.end });
        }
        Map::new(global, dofs as usize * self.owned, neighbours)
    }

    /// Renumbers the owned indices: index `i` becomes `new_of_old[i]`. Neighbours keep the order in which values travel.
    pub(super) fn reorder_owned(&mut self, new_of_old: &[LocalOrdinal]) {
        let send = self.neighbours.iter_mut().flat_map(|neighbour| &mut neighbour.send);
        send.for_each(|index| *index = new_of_old[*index as usize]);
    }

    /// Returns the number of indices over all ranks.
    pub fn global_count(&self) -> GlobalOrdinal {
        self.global
    }

    /// Returns the number of indices that this rank owns.
    pub fn owned_count(&self) -> usize {
        self.owned
    }

    /// Returns the number of indices that this rank reads and other ranks own.
    pub fn ghost_count(&self) -> usize {
        self.ghosts
    }

    /// Returns the number of owned and ghost indices: the length of a distributed vector.
    pub fn local_count(&self) -> usize {
        self.owned + self.ghosts
    }

    /// Returns the neighbours, lowest rank first.
    pub fn neighbours(&self) -> &[Neighbour] {
        &self.neighbours
    }
}

/// Returns a number of local indices in 32 bits.
pub(crate) fn local(count: usize) -> Result<LocalOrdinal> {
    LocalOrdinal::try_from(count).ok().filter(|&count| count < LocalOrdinal::MAX).ok_or_else(|| Error::TooLarge {
        what: "map".into(),
        needed: format!("{count} local indices"),
        limit: format!("{} (32 bits)", LocalOrdinal::MAX - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbour(rank: usize, send: &[u32], receive: Range<u32>) -> Neighbour {
        Neighbour { rank, send: send.to_vec(), receive }
    }

    #[test]
    fn counts_equal_those_by_hand() {
        let map = Map::new(100, 4, vec![neighbour(0, &[0, 3], 4..6), neighbour(2, &[3], 6..7)]).unwrap();
        assert_eq!((map.owned_count(), map.ghost_count(), map.local_count()), (4, 3, 7));
        assert_eq!((map.global_count(), map.neighbours().len()), (100, 2));
    }

    #[test]
    fn dofs_travel_with_their_nodes() {
        let map = Map::new(100, 4, vec![neighbour(0, &[3, 1], 4..6), neighbour(2, &[3], 6..7)]).unwrap();
        let wanted = Map::new(200, 8, vec![neighbour(0, &[6, 7, 2, 3], 8..12), neighbour(2, &[6, 7], 12..14)]).unwrap();
        assert_eq!(map.expand(2).unwrap(), wanted);
        assert!(map.expand(1 << 60).unwrap_err().to_string().contains("dofs on each of 100 nodes"));
        assert!(map.expand(1 << 40).unwrap_err().to_string().contains("dofs on each of 7 nodes"));
    }

    #[test]
    fn faults_of_a_map_are_named() {
        let refused = |owned, neighbours| Map::new(9, owned, neighbours).unwrap_err().to_string();
        assert!(refused(4, vec![neighbour(2, &[], 4..5), neighbour(1, &[], 5..6)]).contains("neighbour 1: neighbours"));
        assert!(refused(4, vec![neighbour(2, &[], 4..5), neighbour(2, &[], 5..6)]).contains("neighbour 2: neighbours"));
        assert!(refused(4, vec![neighbour(2, &[], 5..6)]).contains("are 5..6, expected to start at 4"));
        #[expect(clippy::reversed_empty_ranges)]
        let reversed = 4..3;
        assert!(refused(4, vec![neighbour(2, &[], reversed)]).contains("expected to start at 4"));
        assert!(refused(4, vec![neighbour(2, &[4], 4..5)]).contains("index 4 to be sent"));
        assert!(refused(10, vec![]).contains("10 local indices exceed the 9"));
        assert!(refused(usize::MAX, vec![]).contains("32 bits"));
    }
}
