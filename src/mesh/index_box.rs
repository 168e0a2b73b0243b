//! A box of grid indices, half open: `low[axis] <= index[axis] < high[axis]`, traversed in lexicographic order, x
//! fastest.
//!
//! Parts, ghosts and elements of a rank are such boxes, which replaces per-node tables by arithmetic.

/// Grid indices `low..high` on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IndexBox {
    /// First index on each axis.
    pub low: [u64; 3],
    /// One past the last index on each axis; never below `low`.
    pub high: [u64; 3],
}

impl IndexBox {
    /// Returns the box `0..counts`.
    pub fn whole(counts: [u64; 3]) -> Self {
        IndexBox { low: [0; 3], high: counts }
    }

    /// Makes a box from its bounds per axis. A negative extent becomes an empty one.
    pub fn from_axes(axis: impl Fn(usize) -> (u64, u64)) -> Self {
        let axes = [0, 1, 2].map(axis);
        IndexBox { low: axes.map(|(low, _)| low), high: axes.map(|(low, high)| high.max(low)) }
    }

    /// Returns the number of indices along each axis.
    pub fn counts(&self) -> [u64; 3] {
        [0, 1, 2].map(|axis| self.high[axis] - self.low[axis])
    }

    /// Returns the number of indices in the box.
    pub fn count(&self) -> u64 {
        self.counts().iter().product()
    }

    /// Returns true if the index lies in the box.
    pub fn contains(&self, index: [u64; 3]) -> bool {
        (0..3).all(|axis| (self.low[axis]..self.high[axis]).contains(&index[axis]))
    }

    /// Returns the indices that two boxes share.
    pub fn intersection(&self, other: &IndexBox) -> IndexBox {
        Self::from_axes(|axis| (self.low[axis].max(other.low[axis]), self.high[axis].min(other.high[axis])))
    }

    /// Returns the smallest box with the indices of both, neither of them empty.
    #[cfg(feature = "cuda")]
    pub(super) fn joined(&self, other: &IndexBox) -> IndexBox {
        Self::from_axes(|axis| (self.low[axis].min(other.low[axis]), self.high[axis].max(other.high[axis])))
    }

    /// Returns this box and the layer of `whole` around it.
    pub fn grown(&self, whole: &IndexBox) -> IndexBox {
        Self::from_axes(|axis| {
            (self.low[axis].saturating_sub(1).max(whole.low[axis]), (self.high[axis] + 1).min(whole.high[axis]))
        })
    }

    /// Returns the position of an index in the box.
    pub fn position(&self, index: [u64; 3]) -> u64 {
        let [nx, ny, _] = self.counts();
        let [i, j, k] = [0, 1, 2].map(|axis| index[axis] - self.low[axis]);
        (k * ny + j) * nx + i
    }

    /// Returns the index at a position below `count`.
    pub fn at(&self, position: u64) -> [u64; 3] {
        let [nx, ny, _] = self.counts();
        let (row, i) = (position / nx, position % nx);
        [self.low[0] + i, self.low[1] + row % ny, self.low[2] + row / ny]
    }

    /// Iterates over the indices in order.
    pub fn iter(self) -> impl Iterator<Item = [u64; 3]> {
        (0..self.count()).map(move |position| self.at(position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_equal_those_by_hand() {
        let part = IndexBox { low: [1, 2, 3], high: [3, 5, 4] };
        let indices = [[1, 2, 3], [2, 2, 3], [1, 3, 3], [2, 3, 3], [1, 4, 3], [2, 4, 3]];
        assert_eq!(part.iter().collect::<Vec<_>>(), indices);
        assert!(indices.iter().enumerate().all(|(p, &i)| part.position(i) == p as u64 && part.contains(i)));
        assert!(!part.contains([3, 2, 3]));
    }

    #[test]
    fn growth_stops_at_the_whole_and_disjoint_boxes_share_nothing() {
        let whole = IndexBox::whole([4, 4, 4]);
        let part = IndexBox { low: [0, 1, 2], high: [2, 2, 4] };
        assert_eq!(part.grown(&whole), IndexBox { low: [0, 0, 1], high: [3, 3, 4] });
        let far = IndexBox { low: [3, 0, 0], high: [4, 4, 4] };
        assert_eq!(part.intersection(&far).count(), 0);
    }
}
