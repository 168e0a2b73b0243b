//! Parts of a vector on the ranks, added: afterwards every rank has the whole vector.
//!
//! ```text
//! y[first + i] = sum over the ranks, in their order, of x[i]        each rank has its `first`
//! ```
//! One exchange, in which each rank sends the items that it has to all others, and a product with a matrix of ones: 8 bytes per item and
//! rank on the wire. All ranks get the same bits.

use crate::comm::{Halo, Links, Map, Neighbour, Staging, agree, local};
use crate::solve::numbering::to_all;
use crate::space::{Array, MemorySpace, Slice, try_collect, try_with_capacity};
use crate::sparse::{CrsGraph, CrsMatrix, MatrixOf, Operator, Spmv};
use crate::{GlobalOrdinal, LocalOrdinal, Result, RowOffset};
use std::sync::Arc;

/// Most unknowns of a coarse level that every rank computes alone: an estimate from the times in
/// docs/results/2026-11-26-multigrid-ranks.md.
pub(in crate::solve) const MOST_GATHERED: u64 = 2048;

/// Most ranks that gather a level. Each sends its part to all others; a shared level takes some messages to neighbours only.
const MOST_RANKS: usize = 64;

/// Returns whether a coarse level with so many unknowns is gathered on every one of these ranks.
pub fn gathers(unknowns: u64, ranks: usize) -> bool {
    unknowns <= MOST_GATHERED && ranks <= MOST_RANKS
}

/// The exchange and the sum.
#[derive(Debug)]
pub(super) struct Gather<S: Staging> {
    /// Own items, then those of the other ranks.
    parts: Array<S, f64>,
    halo: Halo<S>,
    ones: MatrixOf<S>,
}

impl<S: Staging + Spmv> Gather<S> {
    /// Plans the sum of all ranks' items to a vector of `whole` items. This rank has `own` items, zero except at `used`. Collective.
    pub fn new(
        space: &S,
        links: &Links<'_, S>,
        [own, whole]: [usize; 2],
        first: GlobalOrdinal,
        used: Vec<LocalOrdinal>,
    ) -> Result<Self> {
        let (comm, rank) = (links.comm(), links.comm().rank());
        let ids = try_collect("gathered items", used.iter().map(|&at| first + GlobalOrdinal::from(at)));
        let came = to_all(comm, agree(comm, ids)?)?;
        let planned = || {
            // Whole item, rank, place in `parts`.
            let mut places = try_with_capacity("gathered items", came.iter().map(|(_, ids)| ids.len()).sum())?;
            let (mut end, mut neighbours) = (local(own)?, Vec::new());
            for (other, ids) in &came {
                if *other == rank {
                    places.extend(ids.iter().zip(&used).map(|(&id, &at)| (id, rank, at)));
                    continue;
                }
                let receive = end..local(end as usize + ids.len())?;
                places.extend(ids.iter().zip(receive.clone()).map(|(&id, at)| (id, *other, at)));
                end = receive.end;
                neighbours.push(Neighbour { rank: *other, send: used.clone(), receive });
            }
            places.sort_unstable();
            let before = |id: usize| places.partition_point(|place| place.0 < id as GlobalOrdinal) as RowOffset;
            let row_map = try_collect("gathered items", (0..whole + 1).map(before))?;
            let entries = try_collect("gathered items", places.iter().map(|place| place.2))?;
            let graph = CrsGraph::trusted(row_map, entries, end as usize);
            let ones = CrsMatrix::new(Arc::new(graph), vec![1.0; places.len()])?.upload(space)?;
            Ok((ones, space.zeros(end as usize)?, Map::new(GlobalOrdinal::MAX, own, neighbours)?))
        };
        let (ones, parts, map) = agree(comm, planned())?;
        Ok(Gather { parts, halo: agree(comm, links.halo(space, &map))?, ones })
    }

    /// The items of this rank, to be written.
    pub fn own(&mut self) -> &mut Slice<S, f64> {
        S::Memory::slice_mut(&mut self.parts)
    }

    /// Adds the parts of all ranks. Collective.
    pub fn sum(&mut self, space: &S, y: &mut Slice<S, f64>) -> Result<()> {
        let Gather { parts, halo, ones } = self;
        halo.update(space, S::Memory::slice_mut(parts))?;
        space.spmv(ones, S::Memory::slice_mut(parts), y)
    }

    /// Returns the bytes that the sum moves.
    pub fn bytes(&self) -> usize {
        Operator::<S>::bytes(&self.ones)
    }

    /// Returns whether the exchange only enqueues work.
    pub fn is_recordable(&self) -> bool {
        self.halo.is_recordable()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Communicator;
    use crate::comm::ranks::on_ranks;
    use crate::space::{Serial, Threads};

    /// Parts overlap, one rank has none, nobody has items 2 and 5, and items that are not used are not read.
    #[test]
    fn every_rank_gets_the_sum_of_all_parts() {
        let (first, used): ([u64; 3], [&[u32]; 3]) = ([0, 4, 1], [&[0, 1, 3], &[], &[0, 2, 3]]);
        let found = on_ranks(3, |comm| {
            let (links, rank) = (Links::<Threads>::staged(comm), comm.rank());
            let mut gather = Gather::new(&Serial, &links, [4, 6], first[rank], used[rank].to_vec()).unwrap();
            gather.own().fill(f64::NAN);
            used[rank].iter().for_each(|&at| gather.own()[at as usize] = [100.0, 0.0, 1.0][rank] * (1 + at) as f64);
            let mut whole = vec![f64::NAN; 6];
            gather.sum(&Serial, &mut whole).unwrap();
            (whole, gather.bytes())
        });
        // Six entries of 12 bytes, seven offsets, an item of each row and of each column: four own ones, and those of the others.
        let bytes = [3, 6, 3].map(|ghosts| 6 * 12 + 7 * 8 + 8 * (6 + 4 + ghosts));
        let expected = vec![100.0, 201.0, 0.0, 403.0, 4.0, 0.0];
        assert_eq!(found, bytes.map(|bytes| (expected.clone(), bytes)));
    }

    #[test]
    fn limits_are_inclusive() {
        let cases = [(2048, 64), (2049, 64), (2048, 65)];
        assert_eq!(cases.map(|(unknowns, ranks)| gathers(unknowns, ranks)), [true, false, false]);
    }
}
