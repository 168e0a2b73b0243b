//! The register tile under element matrices: out[m, n] = sum_k left[k][m] right[k][n] for a block of m and n.
//!
//! A tile of BL x BR loads BL + BR numbers for BL BR products, and its BL BR sums stay in registers for any number of terms. Tiles that
//! fit: 4 x 4 with one of 32 registers per number (AVX-512), 4 x 2 with one of 16, 2 x 2 with two of 16.

use crate::fill::host::any_equation::{Plain, WIDTH};
use crate::space::lanes::{LANES, Lanes};

/// The entries of components (c, d) of an element matrix.
pub(super) struct Block<'a> {
    /// `[(i, j)][lane]`.
    pub out: &'a mut [[f64; LANES]],
    /// The first of the lanes that are written.
    pub lane: usize,
    pub nodes: usize,
    pub dofs: usize,
    pub component: [usize; 2],
    /// Whether entries are stored with their mirror images, and those below the diagonal ignored.
    pub mirrored: bool,
}

impl Block<'_> {
    #[inline(always)]
    fn put(&mut self, m: usize, n: usize, sum: [f64; WIDTH]) {
        let [c, d] = self.component;
        let (row, column, dofs) = (self.dofs * m + c, self.dofs * n + d, self.dofs * self.nodes);
        if self.mirrored {
            if c == d && m > n {
                return;
            }
            self.out[dofs * column + row][self.lane..][..WIDTH].copy_from_slice(&sum);
        }
        self.out[dofs * row + column][self.lane..][..WIDTH].copy_from_slice(&sum);
    }

    /// Computes all entries, or those with m <= n if the others are their mirror images: full tiles first, then the edges in bands
    /// of two nodes and of one. Each entry is the same sum, in the same order, in any tile.
    #[inline(always)]
    pub fn tiles<const BL: usize, const BR: usize, const FUSED: bool>(&mut self, left: &[Plain], right: &[Plain]) {
        let upper = self.mirrored && self.component[0] == self.component[1];
        let first = |l: usize| if upper { l / BR * BR } else { 0 };
        let mut l = 0;
        while l + BL <= self.nodes {
            self.band::<BL, BR, FUSED>(first(l), (l, left), right);
            l += BL;
        }
        while l + 2 <= self.nodes {
            self.band::<2, BR, FUSED>(first(l), (l, left), right);
            l += 2;
        }
        if l < self.nodes {
            self.band::<1, BR, FUSED>(first(l), (l, left), right);
        }
    }

    /// Computes the entries of `BL` rows from column `r` on.
    #[inline(always)]
    fn band<const BL: usize, const BR: usize, const FUSED: bool>(
        &mut self,
        mut r: usize,
        left: (usize, &[Plain]),
        right: &[Plain],
    ) {
        while r + BR <= self.nodes {
            self.tile::<BL, BR, FUSED>(left, (r, right));
            r += BR;
        }
        while r + 2 <= self.nodes {
            self.tile::<BL, 2, FUSED>(left, (r, right));
            r += 2;
        }
        if r < self.nodes {
            self.tile::<BL, 1, FUSED>(left, (r, right));
        }
    }

    /// Computes the `BL` x `BR` entries that begin at nodes `l`, `r`.
    #[inline(always)]
    fn tile<const BL: usize, const BR: usize, const FUSED: bool>(
        &mut self,
        (l, left): (usize, &[Plain]),
        (r, right): (usize, &[Plain]),
    ) {
        let zero = Lanes::<FUSED, f64, WIDTH>::ZERO;
        let mut sums = [[zero; BR]; BL];
        for (left, right) in left.chunks_exact(self.nodes).zip(right.chunks_exact(self.nodes)) {
            let (left, right) = (&left[l..][..BL], &right[r..][..BR]);
            let (mut a, mut b) = ([zero; BL], [zero; BR]);
            for i in 0..BL {
                a[i] = Lanes(left[i].0);
            }
            for j in 0..BR {
                b[j] = Lanes(right[j].0);
            }
            for i in 0..BL {
                for j in 0..BR {
                    sums[i][j] = a[i].mul_add(b[j], sums[i][j]);
                }
            }
        }
        for i in 0..BL {
            for j in 0..BR {
                self.put(l + i, r + j, sums[i][j].0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole<const NN: usize>(factor: usize, count: usize) -> Vec<[Plain; NN]> {
        let number = |k: usize, m: usize| ((factor * (m + 3) * (k + 5)) % 17) as f64 - 8.0;
        (0..count).map(|k| std::array::from_fn(|m| Plain::splat(number(k, m)))).collect()
    }

    /// Tiles of many shapes against plain sums of whole numbers. Lanes behind those of the block stay as they are.
    fn check<const NN: usize>() {
        for count in [0, 1, 7] {
            let (left, right) = (whole::<NN>(7, count), whole::<NN>(11, count));
            let sum = |m: usize, n: usize| (0..count).map(|k| left[k][m].0[0] * right[k][n].0[0]).sum::<f64>() + 0.0;
            for (mirrored, fused) in [(false, false), (true, false), (false, true), (true, true)] {
                let (left, right) = (left.as_flattened(), right.as_flattened());
                let tiled = |tiles: &dyn Fn(&mut Block<'_>)| {
                    let mut out = [[[f64::NAN; LANES]; NN]; NN];
                    let (matrix, component) = (out.as_flattened_mut(), [0, 0]);
                    tiles(&mut Block { out: matrix, lane: 0, nodes: NN, dofs: 1, component, mirrored });
                    for (m, n) in (0..NN).flat_map(|m| (0..NN).map(move |n| (m, n))) {
                        let expected = if mirrored { sum(m.min(n), m.max(n)) } else { sum(m, n) };
                        assert_eq!(out[m][n][..WIDTH], [expected; WIDTH], "{NN} nodes, {count} terms, {m} {n}");
                        assert!(out[m][n][WIDTH..].iter().all(|x| x.is_nan()));
                    }
                };
                if fused {
                    tiled(&|block| block.tiles::<4, 4, true>(left, right));
                    tiled(&|block| block.tiles::<3, 3, true>(left, right));
                } else {
                    tiled(&|block| block.tiles::<4, 2, false>(left, right));
                    tiled(&|block| block.tiles::<2, 2, false>(left, right));
                }
            }
        }
    }

    #[test]
    fn every_entry_of_every_size_is_the_plain_sum() {
        check::<1>();
        check::<2>();
        check::<3>();
        check::<4>();
        check::<5>();
        check::<6>();
        check::<7>();
        check::<8>();
        check::<9>();
        check::<10>();
        check::<11>();
    }
}
