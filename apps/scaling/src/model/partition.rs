//! The partition of a box among any number of ranks, without MPI: shares, ghosts, neighbours, and what an iteration costs.
//!
//! Every rank's part is computed as the rank itself would, in O(log p) time, and only sums and maxima are kept.

use minifenl::mesh::{BoxPart, BoxParts, BoxSpec, CoordinateMap};
use minifenl::run::cost::{self, Sizes};
use minifenl::{Error, Result};
use rayon::prelude::*;
use serde::Serialize;

/// Sums and maxima over the parts of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Partition {
    /// Ranks.
    pub ranks: usize,
    /// Nodes along each axis.
    pub nodes: [u64; 3],
    /// Owned nodes of all ranks: those of the box.
    pub owned: u64,
    /// Most owned nodes of a rank.
    pub owned_max: u64,
    /// Ghosts of all ranks.
    pub ghosts: u64,
    /// Most ghosts of a rank.
    pub ghosts_max: u64,
    /// Values sent by all ranks in an exchange; equal to `ghosts`.
    pub sent: u64,
    /// Most neighbours of a rank.
    pub neighbours_max: usize,
    /// Elements that all ranks compute.
    pub elements: u64,
    /// Bytes of a CG iteration, all ranks, by formula.
    pub bytes: u64,
    /// Bytes of a CG iteration on the rank with most of them.
    pub bytes_max: u64,
    /// Flops of a CG iteration on the rank with most of them.
    pub flops_max: u64,
    /// Hash sum of (sender, receiver, nodes) over what is sent minus what is expected: 0 if the lists of neighbours
    /// agree.
    #[serde(skip)]
    pub disagreement: u64,
}

impl Partition {
    /// Computes all parts of even boxes.
    ///
    /// # Errors
    /// Those of [`BoxParts::new`]: too many ranks for the box.
    pub fn new(nodes: [u64; 3], ranks: usize) -> Result<Self> {
        Self::uneven(nodes, ranks, 0.0)
    }

    /// Computes all parts; the first has `imbalance` per cent more nodes than the mean.
    ///
    /// # Errors
    /// Those of [`BoxParts::new`].
    pub fn uneven(nodes: [u64; 3], ranks: usize, imbalance: f64) -> Result<Self> {
        if ranks == 0 {
            return Err(Error::Invalid("invalid number of ranks 0: expected 1 or more".into()));
        }
        let spec = BoxSpec::unit(nodes, CoordinateMap::None)?.with_imbalance(imbalance)?;
        let parts = BoxParts::new(&spec, ranks)?;
        let part = |rank| Ok(Self::of_part(rank, &parts.part(rank)?));
        let whole = (0..ranks).into_par_iter().map(part).try_reduce(Self::default, |a, b| Ok(a.joined(b)))?;
        Ok(Partition { ranks, nodes, ..whole })
    }

    fn of_part(rank: usize, part: &BoxPart) -> Self {
        let (owned, used) = (part.owned(), part.used());
        // A row has 3 columns per axis, 2 at a border of the box.
        let whole = part.spec().nodes();
        let nnz = (0..3).map(|axis| {
            let borders = u64::from(owned.low[axis] == 0) + u64::from(owned.high[axis] == whole[axis]);
            3 * (owned.high[axis] - owned.low[axis]) - borders
        });
        let ghosts = used.count() - owned.count();
        let sizes = Sizes { owned: owned.count(), ghosts, elems: part.elements().count(), nnz: nnz.product() };
        let cost = cost::cg_iteration(sizes);
        let mut disagreement = 0u64;
        for neighbour in part.neighbours() {
            disagreement = disagreement
                .wrapping_add(hash(rank, neighbour.rank, &[neighbour.send.low, neighbour.send.high]))
                .wrapping_sub(hash(neighbour.rank, rank, &[neighbour.receive.low, neighbour.receive.high]));
        }
        Partition {
            owned: sizes.owned,
            owned_max: sizes.owned,
            ghosts,
            ghosts_max: ghosts,
            sent: part.neighbours().iter().map(|neighbour| neighbour.send.count()).sum(),
            neighbours_max: part.neighbours().len(),
            elements: sizes.elems,
            bytes: cost.bytes,
            bytes_max: cost.bytes,
            flops_max: cost.flops,
            disagreement,
            ..Partition::default()
        }
    }

    fn joined(self, other: Self) -> Self {
        Partition {
            owned: self.owned + other.owned,
            owned_max: self.owned_max.max(other.owned_max),
            ghosts: self.ghosts + other.ghosts,
            ghosts_max: self.ghosts_max.max(other.ghosts_max),
            sent: self.sent + other.sent,
            neighbours_max: self.neighbours_max.max(other.neighbours_max),
            elements: self.elements + other.elements,
            bytes: self.bytes + other.bytes,
            bytes_max: self.bytes_max.max(other.bytes_max),
            flops_max: self.flops_max.max(other.flops_max),
            disagreement: self.disagreement.wrapping_add(other.disagreement),
            ..self
        }
    }

    /// Most owned nodes over their mean.
    pub fn imbalance(&self) -> f64 {
        self.owned_max as f64 * self.ranks as f64 / self.owned as f64
    }

    /// Elements computed more than once, as a fraction of the mesh.
    pub fn duplicated(&self) -> f64 {
        let elements: f64 = self.nodes.iter().map(|&nodes| (nodes - 1) as f64).product();
        self.elements as f64 / elements - 1.0
    }
}

/// A hash of a list of nodes (a box) from one rank to another.
fn hash(from: usize, to: usize, nodes: &[[u64; 3]; 2]) -> u64 {
    let mix = |state: u64, number: u64| {
        let mixed = (state ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    [from as u64, to as u64].into_iter().chain(nodes.iter().flatten().copied()).fold(1, mix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use minifenl::mesh::nodes_for_ranks;

    #[test]
    fn two_halves_of_a_cube_equal_those_by_hand() {
        let two = Partition::new([4; 3], 2).unwrap();
        assert_eq!((two.owned, two.owned_max, two.ghosts, two.ghosts_max, two.sent), (64, 32, 32, 16, 32));
        assert_eq!((two.neighbours_max, two.elements, two.imbalance()), (1, 2 * 3 * 3 * 2, 1.0));
        // 10 x 10 x 5 entries: rows at z = 0 have two layers, those at z = 1 three.
        let sizes = Sizes { owned: 32, ghosts: 16, elems: 18, nnz: 500 };
        assert_eq!((two.bytes_max, two.flops_max), (cost::cg_iteration(sizes).bytes, cost::cg_iteration(sizes).flops));
        assert!((two.duplicated() - (36.0 / 27.0 - 1.0)).abs() < 1e-12);
        assert!(Partition::new([2; 3], 9).unwrap_err().to_string().contains("too many ranks"));
    }

    #[test]
    fn boxes_of_primes_are_whole_and_neighbours_agree() {
        let weak = nodes_for_ranks([8; 3], 4800).unwrap();
        for (nodes, ranks) in [(weak, 4800), ([201, 167, 133], 4999), ([101, 97, 103], 997)] {
            let found = Partition::new(nodes, ranks).unwrap();
            assert_eq!(found.owned, nodes.iter().product::<u64>(), "{nodes:?}");
            assert_eq!((found.sent, found.disagreement), (found.ghosts, 0), "{nodes:?}");
            assert!(found.imbalance() < 1.6 && found.neighbours_max < 40, "{nodes:?}: {found:?}");
        }
    }

    #[test]
    fn uneven_boxes_are_whole_and_as_uneven_as_asked() {
        for (nodes, ranks, imbalance) in [([201, 167, 133], 1000, 50.0), ([101, 97, 103], 97, 100.0)] {
            let found = Partition::uneven(nodes, ranks, imbalance).unwrap();
            assert_eq!(found.owned, nodes.iter().product::<u64>(), "{nodes:?}");
            assert_eq!((found.sent, found.disagreement), (found.ghosts, 0), "{nodes:?}");
            let percent = 100.0 * (found.imbalance() - 1.0);
            assert!((percent - imbalance).abs() < 15.0, "{nodes:?}: {percent}");
            assert!(found.bytes_max > Partition::new(nodes, ranks).unwrap().bytes_max);
        }
    }

    #[test]
    fn a_list_that_is_not_expected_is_seen() {
        let nodes = [[0, 0, 1], [4, 4, 2]];
        assert_ne!(hash(0, 1, &nodes), hash(1, 0, &nodes));
        assert_ne!(hash(0, 1, &nodes), hash(0, 1, &[[0, 0, 1], [4, 4, 3]]));
    }

    /// A line of n nodes has 3 n - 2 pairs of neighbours; sums over parts are those of the box, and maxima of a part.
    #[test]
    fn sums_over_parts_are_those_of_the_box() {
        let nodes = [7, 5, 9];
        let entries: u64 = nodes.iter().map(|nodes| 3 * nodes - 2).product();
        for (ranks, imbalance) in [(1, 0.0), (4, 0.0), (5, 60.0), (6, 0.0)] {
            let found = Partition::uneven(nodes, ranks, imbalance).unwrap();
            let spec = BoxSpec::unit(nodes, CoordinateMap::None).unwrap().with_imbalance(imbalance).unwrap();
            let parts: Vec<BoxPart> = (0..ranks).map(|rank| BoxPart::new(&spec, rank, ranks).unwrap()).collect();
            let most = |of: &dyn Fn(&BoxPart) -> u64| parts.iter().map(of).max().unwrap();
            // Values and columns 12 per entry, an offset more per part; x with its ghosts, y and the updates 88 per row.
            let bytes = 12 * entries + 8 * (315 + ranks as u64) + 8 * (315 + found.ghosts) + 80 * 315;
            assert_eq!((found.bytes, found.ranks, found.nodes), (bytes, ranks, nodes));
            let ghosts = |part: &BoxPart| part.used().count() - part.owned().count();
            assert_eq!((found.owned, found.ghosts), (315, parts.iter().map(ghosts).sum::<u64>()));
            assert_eq!((found.sent, found.disagreement), (found.ghosts, 0));
            assert_eq!(found.owned_max, most(&|part| part.owned().count()));
            assert_eq!(found.ghosts_max, most(&ghosts));
            assert_eq!(found.neighbours_max as u64, most(&|part| part.neighbours().len() as u64));
            assert_eq!(found.elements, parts.iter().map(|part| part.elements().count()).sum::<u64>());
            assert!((found.duplicated() - (found.elements as f64 / (6.0 * 4.0 * 8.0) - 1.0)).abs() < 1e-12);
            assert!((found.imbalance() - found.owned_max as f64 / (315.0 / ranks as f64)).abs() < 1e-12);
            let flops = (found.bytes_max - found.bytes / ranks as u64, found.flops_max * ranks as u64);
            assert!(ranks > 1 || flops == (0, 2 * entries + 10 * 315), "{found:?}");
            assert!(flops.1 >= 2 * entries + 10 * 315, "{found:?}");
        }
    }
}
