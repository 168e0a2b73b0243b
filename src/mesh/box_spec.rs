//! Description of the box to be meshed: nodes per axis, edge lengths, coordinate map.

use super::CoordinateMap;
use crate::{Error, GlobalOrdinal, Result};

/// Range of the volume of a brick: its determinants are normal numbers, with room for their products with other quantities.
const SMALLEST: f64 = 1e-280;
/// See [`SMALLEST`].
const LARGEST: f64 = 1e280;

/// A box of `(nx-1) x (ny-1) x (nz-1)` trilinear hexahedra.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxSpec {
    nodes: [u64; 3],
    size: [f64; 3],
    map: CoordinateMap,
    imbalance: f64,
}

impl BoxSpec {
    /// Largest imbalance, per cent.
    pub const MOST_UNEVEN: f64 = 1e6;

    /// Checks and stores the numbers of nodes, the edge lengths and the map.
    ///
    /// # Errors
    /// [`Error::Invalid`] when an axis has fewer than 2 nodes or an edge length is not positive and finite, or when the volume of a brick is not a normal number by a wide margin;
    /// [`Error::TooLarge`] when global node ids exceed 64 bits.
    pub fn new(nodes: [u64; 3], size: [f64; 3], map: CoordinateMap) -> Result<Self> {
        let [nx, ny, nz] = nodes;
        if nodes.iter().any(|&count| count < 2) {
            return Err(Error::Invalid(format!("invalid box of {nx}x{ny}x{nz} nodes: expected 2 or more per axis")));
        }
        if size.iter().any(|&edge| !(edge > 0.0 && edge.is_finite())) {
            return Err(Error::Invalid(format!(
                "invalid box size {size:?}: expected positive and finite edge lengths"
            )));
        }
        checked_product(nodes)?;
        // Determinants are products of three edges.
        let volume = (0..3).map(|axis| size[axis] / (nodes[axis] - 1) as f64).product::<f64>();
        if !(SMALLEST..=LARGEST).contains(&volume) {
            return Err(Error::Invalid(format!(
                "invalid box size {size:?}: elements have a volume of {volume:e}, expected {SMALLEST:e} to {LARGEST:e}"
            )));
        }
        Ok(BoxSpec { nodes, size, map, imbalance: 0.0 })
    }

    /// Makes the unit cube with these numbers of nodes.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn unit(nodes: [u64; 3], map: CoordinateMap) -> Result<Self> {
        Self::new(nodes, [1.0; 3], map)
    }

    /// Gives rank 0 about `percent` more nodes than the mean; 0 is the even partition. The nearest whole layers of
    /// nodes decide: see the counts of [`BoxPart::owned`](super::BoxPart::owned).
    ///
    /// # Errors
    /// [`Error::Invalid`] unless 0 <= `percent` <= 1e6.
    pub fn with_imbalance(self, percent: f64) -> Result<Self> {
        if !(0.0..=Self::MOST_UNEVEN).contains(&percent) {
            return Err(Error::Invalid(format!(
                "invalid imbalance {percent} %: expected a percentage from 0 to {:e}",
                Self::MOST_UNEVEN
            )));
        }
        Ok(BoxSpec { imbalance: percent, ..self })
    }

    /// Returns the imbalance that was asked for, per cent.
    pub fn imbalance(&self) -> f64 {
        self.imbalance
    }

    /// Returns the box with about half as many cells along the axes whose cells are the shortest, so that cells become cubes: for elements
    /// of degree 2 the box of their corners. `None` where no axis has two cells.
    pub fn coarsened(&self, degree: usize) -> Option<Self> {
        let cells = self.nodes.map(|nodes| nodes - 1);
        if degree == 2 {
            return Some(BoxSpec { nodes: cells.map(|cells| cells / 2 + 1), ..*self });
        }
        let spacing = |axis: usize| self.size[axis] / cells[axis] as f64;
        let halves = (0..3).filter(|&axis| cells[axis] > 1);
        let shortest = halves.clone().map(spacing).fold(f64::INFINITY, f64::min);
        let mut nodes = self.nodes;
        halves
            .clone()
            .filter(|&axis| spacing(axis) <= 1.5 * shortest)
            .for_each(|axis| nodes[axis] = cells[axis].div_ceil(2) + 1);
        (nodes != self.nodes).then_some(BoxSpec { nodes, ..*self })
    }

    /// Returns the number of nodes along each axis.
    pub fn nodes(&self) -> [u64; 3] {
        self.nodes
    }

    /// Returns the edge lengths of the box.
    pub fn size(&self) -> [f64; 3] {
        self.size
    }

    /// Returns the coordinate map.
    pub fn map(&self) -> CoordinateMap {
        self.map
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> GlobalOrdinal {
        self.nodes.iter().product()
    }

    /// Returns the number of elements.
    pub fn elem_count(&self) -> GlobalOrdinal {
        self.nodes.iter().map(|count| count - 1).product()
    }

    /// Returns the coordinates of the node at a grid index. On the faces they are exactly 0 or the edge length, so that
    /// boundary nodes can be found by comparison.
    #[inline]
    pub fn coordinates(&self, index: [u64; 3]) -> [f64; 3] {
        let unit = [0, 1, 2].map(|axis| index[axis] as f64 / (self.nodes[axis] - 1) as f64);
        let mapped = self.map.apply(unit);
        [0, 1, 2].map(|axis| self.size[axis] * mapped[axis])
    }
}

/// Returns the nodes per axis for `ranks` ranks of about `share` nodes each.
///
/// Each prime factor of `ranks`, largest first, multiplies the axis with the fewest nodes (ties: y before z before x: lines of
/// nodes along x stay whole longest, and the distance between the fixed temperatures grows after y).
/// The recursive cut then gives each rank exactly `share` if `ranks` is a power of 2, 3 or 5 and `share` a cube, or if
/// its factors meet the cuts in the same order; otherwise shares are within a third (measured up to 64 ranks).
///
/// # Errors
/// [`Error::Invalid`] for 0 ranks, [`Error::TooLarge`] when global node ids exceed 64 bits.
pub fn nodes_for_ranks(share: [u64; 3], ranks: u64) -> Result<[u64; 3]> {
    if ranks == 0 {
        return Err(Error::Invalid("invalid number of ranks 0: expected 1 or more".into()));
    }
    let mut nodes = share;
    for factor in prime_factors(ranks).into_iter().rev() {
        let fewest = [1, 2, 0].into_iter().min_by_key(|&axis| nodes[axis]).unwrap_or(0);
        nodes[fewest] = nodes[fewest].checked_mul(factor).ok_or_else(|| too_many(nodes))?;
    }
    checked_product(nodes)?;
    Ok(nodes)
}

/// Returns the prime factors of `n` in ascending order.
fn prime_factors(mut n: u64) -> Vec<u64> {
    let mut factors = Vec::new();
    let mut p = 2;
    while p * p <= n {
        while n.is_multiple_of(p) {
            factors.push(p);
            n /= p;
        }
        p += 1;
    }
    if n > 1 {
        factors.push(n);
    }
    factors
}

fn checked_product(nodes: [u64; 3]) -> Result<u64> {
    nodes.iter().try_fold(1u64, |product, &count| product.checked_mul(count)).ok_or_else(|| too_many(nodes))
}

fn too_many([nx, ny, nz]: [u64; 3]) -> Error {
    Error::TooLarge {
        what: format!("box of {nx}x{ny}x{nz} nodes"),
        needed: "more than 2^64 node ids".into(),
        limit: "2^64 - 1".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_boxes_are_refused_before_anything_is_made() {
        let refused = |nodes| BoxSpec::unit(nodes, CoordinateMap::None).unwrap_err().to_string();
        assert!(refused([0, 3, 3]).contains("0x3x3"));
        assert!(refused([3, 3, 1]).contains("expected 2 or more"));
        assert!(refused([1 << 22, 1 << 22, 1 << 22]).contains("2^64"));
        assert!(BoxSpec::new([2; 3], [1.0, f64::NAN, 1.0], CoordinateMap::None).is_err());
        assert!(BoxSpec::new([2; 3], [1.0, 0.0, 1.0], CoordinateMap::None).is_err());
        for (size, accepted) in
            [([1e-150; 3], false), ([1e120; 3], false), ([1e-200, 1.0, 1e200], true), ([1e-90; 3], true)]
        {
            assert_eq!(BoxSpec::new([3; 3], size, CoordinateMap::None).is_ok(), accepted, "{size:?}");
        }
    }

    #[test]
    fn imbalances_outside_of_their_range_are_refused() {
        let spec = BoxSpec::unit([4; 3], CoordinateMap::None).unwrap();
        assert_eq!((spec.imbalance(), spec.with_imbalance(12.5).unwrap().imbalance()), (0.0, 12.5));
        for percent in [-1.0, f64::NAN, f64::INFINITY, 1.1e6] {
            let error = spec.with_imbalance(percent).unwrap_err().to_string();
            assert!(error.contains("invalid imbalance") && error.contains("expected a percentage"), "{error}");
        }
    }

    #[test]
    fn corners_are_exact() {
        let spec = BoxSpec::new([4, 8, 50], [0.1, 3.0, 0.7], CoordinateMap::TWIST).unwrap();
        assert_eq!(spec.coordinates([0, 0, 0]), [0.0; 3]);
        assert_eq!(spec.coordinates([3, 7, 49]), [0.1, 3.0, 0.7]);
        assert_eq!((spec.node_count(), spec.elem_count()), (1600, 3 * 7 * 49));
    }

    #[test]
    fn weak_scaling_boxes_equal_those_by_hand() {
        for (ranks, nodes) in [
            (1, [10, 10, 10]),
            (2, [10, 20, 10]),
            (4, [10, 20, 20]),
            (6, [10, 30, 20]),
            (7, [10, 70, 10]),
            (8, [20, 20, 20]),
            (27, [30, 30, 30]),
        ] {
            assert_eq!(nodes_for_ranks([10; 3], ranks).unwrap(), nodes);
        }
        assert!(nodes_for_ranks([10; 3], 0).is_err());
        assert!(nodes_for_ranks([1 << 20; 3], 1 << 30).is_err());
    }

    /// A layer of one cell is neither halved nor taken for the shortest spacing; volumes are those of cells.
    #[test]
    fn one_cell_along_an_axis_counts_as_one() {
        let coarser =
            |nodes, size| BoxSpec::new(nodes, size, CoordinateMap::None).unwrap().coarsened(1).map(|spec| spec.nodes());
        assert_eq!(coarser([9, 9, 2], [1.0, 1.0, 0.01]), Some([5, 5, 2]));
        assert_eq!(coarser([9, 9, 3], [1.0, 1.0, 0.01]), Some([9, 9, 2]));
        let of_two = |edge| BoxSpec::new([2; 3], [1e-100, 1e-100, edge], CoordinateMap::None);
        assert!(of_two(2e-80).is_ok() && of_two(0.5e-80).is_err());
    }
}
