//! The register tile under every contraction: out[l, r] = sum_k left[l, k] right[r, k] for a block of l and r.
//!
//! A tile of BL x BR loads BL + BR numbers for BL BR products, and its BL BR sums stay in registers for any K. Tiles that
//! fit: 4 x 4 with one of 32 registers per number (AVX-512), 4 x 2 with one of 16, 2 x 2 with two of 16.

use crate::space::lanes::{Lanes, Real};

/// A number in which products are accumulated.
pub trait Accumulator: Copy {
    /// Returns 0.
    fn zero() -> Self;
    /// Returns `self + a b`.
    fn add_product(self, a: Self, b: Self) -> Self;
}

impl<T: Real> Accumulator for T {
    #[inline(always)]
    fn zero() -> Self {
        T::default()
    }
    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        self + a * b
    }
}

impl<const FUSED: bool, T: Real, const WIDTH: usize> Accumulator for Lanes<FUSED, T, WIDTH> {
    #[inline(always)]
    fn zero() -> Self {
        Lanes::splat(T::default())
    }
    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        a.mul_add(b, self)
    }
}

/// One operand, `[field, k]`.
pub trait Source<V> {
    /// Returns the number of field `f` at contraction index `k`.
    fn at(&self, f: usize, k: usize) -> V;
}

/// Returns the sums of the `BL` x `BR` block that begins at fields `l`, `r`.
#[inline(always)]
pub fn tile<V: Accumulator, const BL: usize, const BR: usize>(
    count: usize,
    (l, left): (usize, &impl Source<V>),
    (r, right): (usize, &impl Source<V>),
) -> [[V; BR]; BL] {
    let mut sums = [[V::zero(); BR]; BL];
    for k in 0..count {
        let (mut a, mut b) = ([V::zero(); BL], [V::zero(); BR]);
        for i in 0..BL {
            a[i] = left.at(l + i, k);
        }
        for j in 0..BR {
            b[j] = right.at(r + j, k);
        }
        for i in 0..BL {
            for j in 0..BR {
                sums[i][j] = sums[i][j].add_product(a[i], b[j]);
            }
        }
    }
    sums
}

/// Receives finished sums.
pub trait Sink<V> {
    /// Takes out[l, r].
    fn put(&mut self, l: usize, r: usize, sum: V);
}

/// Computes all outputs `[L, R] = [fields_left, fields_right]`: full tiles first, then the outputs at the edges one by one.
#[inline(always)]
pub fn tiles<V: Accumulator, const BL: usize, const BR: usize>(
    [fields_left, fields_right, count]: [usize; 3],
    left: &impl Source<V>,
    right: &impl Source<V>,
    out: &mut impl Sink<V>,
) {
    let (whole_left, whole_right) = (fields_left / BL * BL, fields_right / BR * BR);
    for l in (0..whole_left).step_by(BL) {
        for r in (0..whole_right).step_by(BR) {
            let sums = tile::<V, BL, BR>(count, (l, left), (r, right));
            for i in 0..BL {
                for j in 0..BR {
                    out.put(l + i, r + j, sums[i][j]);
                }
            }
        }
    }
    for l in 0..fields_left {
        for r in if l < whole_left { whole_right } else { 0 }..fields_right {
            out.put(l, r, tile::<V, 1, 1>(count, (l, left), (r, right))[0][0]);
        }
    }
}
