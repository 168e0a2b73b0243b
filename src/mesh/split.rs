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
//!
//! ```text
//! uneven by P %: w(0) = 1 + P / 100, w(r) = 1 - P / (100 (p - 1)) for all other ranks r
//!                the part with rank 0 is cut by weight: its j-th rank starts at node round(n w(0..j) / w(0..p))
//! ```
//! Rank 0 then owns about 1 + P / 100 times the mean, as near as whole layers of nodes allow. miniFE's `load_imbalance` states the same
//! number, the largest deviation from the mean, but moves whole planes between the fullest and the emptiest rank until it is reached.

use super::IndexBox;
use crate::{Error, Result};
use std::collections::HashSet;

/// The weight of a rank with the mean number of nodes.
const MEAN: u64 = 1 << 32;

/// Weights of the ranks of an uneven partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Weights {
    /// Of rank 0.
    heavy: u64,
    /// Of each other rank.
    light: u64,
}

impl Weights {
    /// Weight of the ranks `0..ranks`.
    fn of(self, ranks: u64) -> u128 {
        match ranks {
            0 => 0,
            _ => u128::from(self.heavy) + u128::from(ranks - 1) * u128::from(self.light),
        }
    }
}

/// A box to be shared by the ranks `first..first + ranks`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    nodes: IndexBox,
    first: u64,
    pub(super) ranks: u64,
    /// Given if rank 0 is one of several ranks here and owns more than the others.
    weights: Option<Weights>,
}

impl Share {
    /// Shares the whole box among `ranks` ranks; rank 0 owns `imbalance` per cent more nodes than the mean.
    ///
    /// # Errors
    /// [`Error::Invalid`] if that leaves nothing to the other ranks. On 1 rank the imbalance has no effect.
    pub(super) fn whole(nodes: [u64; 3], ranks: u64, imbalance: f64) -> Result<Self> {
        let share = Share { nodes: IndexBox::whole(nodes), first: 0, ranks, weights: None };
        if ranks <= 1 || imbalance == 0.0 {
            return Ok(share);
        }
        let others = (ranks - 1) as f64;
        if imbalance >= 100.0 * others {
            return Err(Error::Invalid(format!(
                "imbalance of {imbalance} %: nothing is left to the other ranks; expected less than {} % on {ranks} ranks",
                100.0 * others
            )));
        }
        let excess = imbalance / 100.0 * MEAN as f64;
        let weights = Weights { heavy: MEAN + excess as u64, light: MEAN - (excess / others) as u64 };
        Ok(Share { weights: Some(weights), ..share })
    }

    /// Returns the parts of one cut, lowest rank first. Requires 2 ranks or more.
    fn cut(self) -> impl Iterator<Item = Share> {
        let Share { nodes, first, ranks, weights } = self;
        let axis = self.axis();
        let (low, length) = (nodes.low[axis], nodes.counts()[axis]);
        let parts = self.parts();
        // First rank of part j, counted from `first`, and its first node.
        let start = move |j: u64| j * ranks / parts;
        // 128 bits: the product of a length and a rank may exceed 64.
        let node = move |rank: u64| match weights {
            None => low + (u128::from(length) * u128::from(rank) / u128::from(ranks)) as u64,
            Some(weights) => {
                let [part, whole] = [rank, ranks].map(|ranks| weights.of(ranks));
                low + ((2 * u128::from(length) * part + whole) / (2 * whole)) as u64
            }
        };
        (0..parts).map(move |j| {
            let mut part = nodes;
            (part.low[axis], part.high[axis]) = (node(start(j)), node(start(j + 1)));
            let ranks = start(j + 1) - start(j);
            // Ranks without rank 0 share evenly.
            let weights = weights.filter(|_| j == 0 && ranks > 1);
            Share { nodes: part, first: first + start(j), ranks, weights }
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

    /// Calls `visit` for each rank whose nodes intersect `target`, in order of ranks.
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
    /// Parts of one cut differ by about one node, so only a few pairs (ranks, counts) occur among p ranks, and few shares hold rank 0
    /// of an uneven partition. Each kind of share is checked once.
    pub(super) fn check(self) -> Result<()> {
        self.check_unseen(&mut HashSet::new())
    }

    fn check_unseen(self, seen: &mut HashSet<(u64, [u64; 3], bool)>) -> Result<()> {
        if self.ranks <= 1 || !seen.insert((self.ranks, self.nodes.counts(), self.weights.is_some())) {
            return Ok(());
        }
        for part in self.cut() {
            if part.nodes.count() == 0 {
                let ([nx, ny, nz], ranks, parts) = (self.nodes.counts(), self.ranks, self.parts());
                let less = if self.weights.is_some() { ", or a smaller imbalance" } else { "" };
                return Err(Error::Invalid(format!(
                    "too many ranks: {ranks} ranks share {nx}x{ny}x{nz} nodes, which cannot be cut into {parts} parts \
                     across {}; use more nodes or fewer ranks{less}",
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
        Share::whole(nodes, ranks, 0.0).unwrap()
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
    fn uneven_cuts_equal_those_by_hand() {
        let counts = |nodes, ranks, imbalance| {
            let share = Share::whole(nodes, ranks, imbalance).unwrap();
            share.check().unwrap();
            (0..ranks).map(|rank| share.of_rank(rank).counts()).collect::<Vec<_>>()
        };
        // 1.5 and 0.5 of half the nodes.
        assert_eq!(counts([4, 4, 8], 2, 50.0), [[4, 4, 6], [4, 4, 2]]);
        // Weights 1.6, 0.8, 0.8, 0.8: 2.4 / 4 of 20 layers along z, then 1.6 / 2.4 of 18 lines; the others share evenly.
        assert_eq!(counts([2, 18, 20], 4, 60.0), [[2, 12, 12], [2, 6, 12], [2, 9, 8], [2, 9, 8]]);
        // 5 parts across z: weights 2, 0.75, ...: layers 8, 3, 3, 3, 3.
        assert_eq!(counts([2, 2, 20], 5, 100.0).iter().map(|n| n[2]).collect::<Vec<_>>(), [8, 3, 3, 3, 3]);
        // Nearest layer: 1.25 / 2 of 7 layers are 4.375.
        assert_eq!(counts([2, 2, 7], 2, 25.0), [[2, 2, 4], [2, 2, 3]]);
        // 1 rank has no others, and 0 % is the even partition.
        assert_eq!(counts([4; 3], 1, 300.0), [[4; 3]]);
        for (nodes, ranks) in [([64, 31, 17], 60), ([9, 8, 7], 14)] {
            let even: Vec<_> = (0..ranks).map(|rank| share(nodes, ranks).of_rank(rank).counts()).collect();
            assert_eq!(counts(nodes, ranks, 0.0), even);
        }
    }

    #[test]
    fn the_heaviest_rank_has_about_what_was_asked_for() {
        for (ranks, imbalance) in [(2, 10.0), (7, 50.0), (16, 50.0), (60, 100.0), (997, 25.0)] {
            let nodes = [160, 170, 180];
            let share = Share::whole(nodes, ranks, imbalance).unwrap();
            share.check().unwrap();
            let counts: Vec<u64> = (0..ranks).map(|rank| share.of_rank(rank).count()).collect();
            assert_eq!(counts.iter().sum::<u64>(), nodes.iter().product::<u64>());
            let found = 100.0 * (counts[0] as f64 * ranks as f64 / nodes.iter().product::<u64>() as f64 - 1.0);
            assert!((found - imbalance).abs() < 0.05 * (100.0 + imbalance), "{ranks} ranks, {imbalance} %: {found}");
            assert!(counts.iter().all(|&count| count <= counts[0]), "{ranks} ranks: rank 0 owns most");
        }
    }

    #[test]
    fn an_imbalance_that_leaves_nothing_to_others_is_refused() {
        let error = Share::whole([8; 3], 3, 200.0).unwrap_err().to_string();
        assert!(error.contains("imbalance of 200 %") && error.contains("less than 200 % on 3 ranks"), "{error}");
        let error = Share::whole([4; 3], 2, 90.0).unwrap().check().unwrap_err().to_string();
        assert!(error.contains("cut into 2 parts across z") && error.contains("or a smaller imbalance"), "{error}");
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
