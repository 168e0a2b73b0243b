//! Recursive cut of a box of nodes among ranks.
//!
//! ```text
//! cut(box, p ranks): into 5 parts where 5 divides p, else 3 where 3 does, else 2 (floor(p/2) and the rest), across the
//!                    longest axis (z before y before x); a part that starts at rank j of p starts at node floor(n j/p)
//! ```
//! The rule of MiniFENL (its BoxElemPart) in integers, but for equally long axes: MiniFENL cuts x first. Lines along x stay whole
//! here as long as possible: faces between ranks are then runs of neighbouring nodes, and slices of 32 rows share their pattern (an
//! iteration of CG on two H200s takes 662 us instead of 701 us at 256^3 nodes). A rank follows the branch that contains it and visits others
//! only where they touch its own box: O(log p) time, whereas the original visits all ranks.

use super::IndexBox;
use crate::{Error, Result};
use std::collections::HashSet;

/// A box to be shared by the ranks `first..first + ranks`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) nodes: IndexBox,
    pub(super) first: u64,
    pub(super) ranks: u64,
}

impl Share {
    /// Returns the parts of one cut, lowest rank first. Requires 2 ranks or more.
    fn cut(self) -> impl Iterator<Item = Share> {
        let Share { nodes, first, ranks } = self;
        let axis = self.axis();
        let (low, length) = (nodes.low[axis], nodes.counts()[axis]);
        let parts = self.parts();
        // First rank of part j, counted from `first`, and its first node.
        let start = move |j: u64| j * ranks / parts;
        // 128 bits: the product of a length and a rank may exceed 64.
        let node = move |rank: u64| low + (u128::from(length) * u128::from(rank) / u128::from(ranks)) as u64;
        (0..parts).map(move |j| {
            let mut part = nodes;
            (part.low[axis], part.high[axis]) = (node(start(j)), node(start(j + 1)));
            Share { nodes: part, first: first + start(j), ranks: start(j + 1) - start(j) }
        })
    }

    fn parts(&self) -> u64 {
        [5, 3].into_iter().find(|parts| self.ranks.is_multiple_of(*parts)).unwrap_or(2)
    }

    /// Returns the longest axis; of equally long axes the last.
    fn axis(&self) -> usize {
        let counts = self.nodes.counts();
        (1..3).fold(0, |longest, axis| if counts[axis] >= counts[longest] { axis } else { longest })
    }

    /// Returns the box of one rank.
    pub(super) fn of_rank(self, rank: u64) -> IndexBox {
        let mut share = self;
        while share.ranks > 1 {
            share = share.cut().find(|part| rank < part.first + part.ranks).unwrap_or(Share { ranks: 1, ..share });
        }
        share.nodes
    }

    /// Calls `visit` for each rank whose nodes intersect `target`, in order, with the rank and its nodes.
    pub(super) fn for_each_touching(self, target: &IndexBox, visit: &mut impl FnMut(u64, IndexBox)) {
        // Prunes the branch: this test makes the search O(log p).
        if self.nodes.intersection(target).count() == 0 {
            return;
        }
        if self.ranks == 1 {
            visit(self.first, self.nodes);
        } else {
            self.cut().for_each(|part| part.for_each_touching(target, visit));
        }
    }

    /// Rejects a box in which some rank would own no node. All ranks return the same error.
    ///
    /// Parts of one cut differ by about one node, so only a few pairs (ranks, counts) occur among p ranks. Each pair is
    /// checked once.
    pub(super) fn check(self) -> Result<()> {
        self.check_unseen(&mut HashSet::new())
    }

    fn check_unseen(self, seen: &mut HashSet<(u64, [u64; 3])>) -> Result<()> {
        if self.ranks <= 1 || !seen.insert((self.ranks, self.nodes.counts())) {
            return Ok(());
        }
        for part in self.cut() {
            if part.nodes.count() == 0 {
                let ([nx, ny, nz], ranks, parts) = (self.nodes.counts(), self.ranks, self.parts());
                return Err(Error::Invalid(format!(
                    "too many ranks: {ranks} ranks share {nx}x{ny}x{nz} nodes, which cannot be cut into {parts} parts \
                     across {}; use more nodes or fewer ranks",
                    ["x", "y", "z"][self.axis()]
                )));
            }
            part.check_unseen(seen)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(nodes: [u64; 3], ranks: u64) -> Share {
        Share { nodes: IndexBox::whole(nodes), first: 0, ranks }
    }

    #[test]
    fn cuts_equal_those_by_hand() {
        let lows = |nodes, ranks| (0..ranks).map(|rank| share(nodes, ranks).of_rank(rank).low).collect::<Vec<_>>();
        assert_eq!(lows([4, 4, 4], 2), [[0, 0, 0], [0, 0, 2]]);
        assert_eq!(lows([4, 4, 2], 2), [[0, 0, 0], [0, 2, 0]]);
        // 15 ranks: five parts across x, then three across y.
        let fifteen: Vec<[u64; 3]> = [0, 6, 12, 18, 24].iter().flat_map(|&x| [0, 6, 13].map(|y| [x, y, 0])).collect();
        assert_eq!(lows([30, 20, 10], 15), fifteen);
        assert_eq!(lows([4, 4, 5], 2), [[0, 0, 0], [0, 0, 2]]);
        assert_eq!(lows([8, 4, 4], 3), [[0, 0, 0], [2, 0, 0], [5, 0, 0]]);
        // 7 = 3 + 4: node floor(14 * 3 / 7) = 6, then 3 x 2 and 2 x 4 nodes along x.
        assert_eq!(lows([14, 1, 1], 7).iter().map(|low| low[0]).collect::<Vec<_>>(), [0, 2, 4, 6, 8, 10, 12]);
    }

    #[test]
    fn slabs_have_the_sizes_of_the_original() {
        let sizes = |ranks| {
            let sizes: Vec<u64> = (0..ranks).map(|rank| share([64; 3], ranks).of_rank(rank).count()).collect();
            (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap())
        };
        assert_eq!(sizes(3), (86016, 90112));
        assert_eq!(sizes(5), (49152, 53248));
        assert_eq!(sizes(60), (4032, 4576));
    }

    #[test]
    fn too_many_ranks_are_named_and_huge_runs_are_quick() {
        let error = share([2, 2, 2], 9).check().unwrap_err().to_string();
        assert!(error.contains("cannot be cut into 3 parts across z"), "{error}");
        assert!(share([2, 2, 2], 8).check().is_ok());
        let huge = share([1 << 21; 3], 999_983);
        huge.check().unwrap();
        let mine = huge.of_rank(999_982);
        let mut found = Vec::new();
        huge.for_each_touching(&mine, &mut |rank, nodes| found.push((rank, nodes)));
        assert_eq!(found, [(999_982, mine)]);
    }
}
