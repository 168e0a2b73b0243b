//! What box to mesh: nodes along each axis, edge lengths, coordinate map.

use super::CoordinateMap;
use crate::{Error, GlobalOrdinal, Result};

/// A box of `(nx-1) x (ny-1) x (nz-1)` trilinear hexahedra.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxSpec {
    nodes: [u64; 3],
    size: [f64; 3],
    map: CoordinateMap,
}

impl BoxSpec {
    /// Checks and takes the numbers of nodes, the edge lengths and the map.
    ///
    /// # Errors
    /// [`Error::Invalid`] for fewer than 2 nodes on an axis, or an edge that is no positive length;
    /// [`Error::TooLarge`] when global node ids pass 64 bits.
    pub fn new(nodes: [u64; 3], size: [f64; 3], map: CoordinateMap) -> Result<Self> {
        let [nx, ny, nz] = nodes;
        if nodes.iter().any(|&count| count < 2) {
            return Err(Error::Invalid(format!("box of {nx}x{ny}x{nz} nodes: each axis needs 2 or more")));
        }
        if size.iter().any(|&edge| !(edge > 0.0 && edge.is_finite())) {
            return Err(Error::Invalid(format!("box of size {size:?}: each edge must be positive and finite")));
        }
        checked_product(nodes)?;
        Ok(BoxSpec { nodes, size, map })
    }

    /// The unit cube with these nodes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn unit(nodes: [u64; 3], map: CoordinateMap) -> Result<Self> {
        Self::new(nodes, [1.0; 3], map)
    }

    /// Nodes along each axis.
    pub fn nodes(&self) -> [u64; 3] {
        self.nodes
    }

    /// Edge lengths of the box.
    pub fn size(&self) -> [f64; 3] {
        self.size
    }

    /// The coordinate map.
    pub fn map(&self) -> CoordinateMap {
        self.map
    }

    /// Number of nodes.
    pub fn node_count(&self) -> GlobalOrdinal {
        self.nodes.iter().product()
    }

    /// Number of elements.
    pub fn elem_count(&self) -> GlobalOrdinal {
        self.nodes.iter().map(|count| count - 1).product()
    }

    /// Coordinates of the node at a grid index; exactly 0 or the edge length on the faces.
    pub fn coordinates(&self, index: [u64; 3]) -> [f64; 3] {
        let unit = [0, 1, 2].map(|axis| index[axis] as f64 / (self.nodes[axis] - 1) as f64);
        let mapped = self.map.apply(unit);
        [0, 1, 2].map(|axis| self.size[axis] * mapped[axis])
    }
}

/// Nodes of a box that gives each of `ranks` ranks about `share` nodes, for weak scaling.
///
/// The prime factors of `ranks`, largest first, each multiply the axis that has the fewest nodes then (x before y before
/// z). The recursive cut undoes this exactly where `ranks` has only the factors 2, 3 and 5 and `share` is a cube that
/// the cuts meet in the same order (every power of one of them), and to within a third elsewhere (measured to 64 ranks).
///
/// # Errors
/// [`Error::Invalid`] for no ranks, [`Error::TooLarge`] when global node ids pass 64 bits.
pub fn nodes_for_ranks(share: [u64; 3], ranks: u64) -> Result<[u64; 3]> {
    if ranks == 0 {
        return Err(Error::Invalid("0 ranks: give 1 or more".into()));
    }
    let mut nodes = share;
    for factor in prime_factors(ranks).into_iter().rev() {
        let fewest = (0..3).min_by_key(|&axis| nodes[axis]).unwrap_or(0);
        nodes[fewest] = nodes[fewest].checked_mul(factor).ok_or_else(|| too_many(nodes))?;
    }
    checked_product(nodes)?;
    Ok(nodes)
}

/// Ascending.
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
        assert!(refused([3, 3, 1]).contains("2 or more"));
        assert!(refused([1 << 22, 1 << 22, 1 << 22]).contains("2^64"));
        assert!(BoxSpec::new([2; 3], [1.0, f64::NAN, 1.0], CoordinateMap::None).is_err());
        assert!(BoxSpec::new([2; 3], [1.0, 0.0, 1.0], CoordinateMap::None).is_err());
    }

    #[test]
    fn corners_are_exact() {
        let spec = BoxSpec::new([4, 8, 50], [0.1, 3.0, 0.7], CoordinateMap::TWIST).unwrap();
        assert_eq!(spec.coordinates([0, 0, 0]), [0.0; 3]);
        assert_eq!(spec.coordinates([3, 7, 49]), [0.1, 3.0, 0.7]);
        assert_eq!((spec.node_count(), spec.elem_count()), (1600, 3 * 7 * 49));
    }

    #[test]
    fn weak_scaling_boxes_by_hand() {
        for (ranks, nodes) in [
            (1, [10, 10, 10]),
            (2, [20, 10, 10]),
            (4, [20, 20, 10]),
            (6, [30, 20, 10]),
            (7, [70, 10, 10]),
            (8, [20, 20, 20]),
            (27, [30, 30, 30]),
        ] {
            assert_eq!(nodes_for_ranks([10; 3], ranks).unwrap(), nodes);
        }
        assert!(nodes_for_ranks([10; 3], 0).is_err());
        assert!(nodes_for_ranks([1 << 20; 3], 1 << 30).is_err());
    }
}
