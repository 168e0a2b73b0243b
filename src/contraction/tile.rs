//! The register tile under every contraction: out[l, r] = sum_k left[l, k] right[r, k] for a block of l and r.
//!
//! A tile of BL x BR loads BL + BR numbers for BL BR products, and its BL BR sums stay in registers for any K. Tiles that
//! fit: 4 x 4 with one of 32 registers per number (AVX-512), 4 x 2 with one of 16, 2 x 2 with two of 16.

use crate::space::lanes::Number;

/// One operand, `[field, k]`.
pub trait Source<V> {
    /// Returns the number of field `f` at contraction index `k`.
    fn at(&self, f: usize, k: usize) -> V;
}

/// Returns the sums of the `BL` x `BR` block that begins at fields `l`, `r`.
#[inline(always)]
pub fn tile<V: Number, const BL: usize, const BR: usize>(
    count: usize,
    (l, left): (usize, &impl Source<V>),
    (r, right): (usize, &impl Source<V>),
) -> [[V; BR]; BL] {
    let mut sums = [[V::from(0.0); BR]; BL];
    for k in 0..count {
        let (mut a, mut b) = ([V::from(0.0); BL], [V::from(0.0); BR]);
        for i in 0..BL {
            a[i] = left.at(l + i, k);
        }
        for j in 0..BR {
            b[j] = right.at(r + j, k);
        }
        for i in 0..BL {
            for j in 0..BR {
                sums[i][j] = a[i].times_plus(b[j], sums[i][j]);
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

/// Computes all outputs `[L, R]`, or those with l <= r if `upper` is set: full tiles first, then the edges in bands
/// of two fields and of one. Each output is the same sum, in the same order, in any tile.
#[inline(always)]
pub fn tiles<V: Number, const BL: usize, const BR: usize>(
    [fields_left, fields_right, count]: [usize; 3],
    upper: bool,
    left: &impl Source<V>,
    right: &impl Source<V>,
    out: &mut impl Sink<V>,
) {
    let first = |l: usize| if upper { l / BR * BR } else { 0 };
    let mut l = 0;
    while l + BL <= fields_left {
        band::<V, BL, BR>([first(l), fields_right, count], (l, left), right, out);
        l += BL;
    }
    while l + 2 <= fields_left {
        band::<V, 2, BR>([first(l), fields_right, count], (l, left), right, out);
        l += 2;
    }
    if l < fields_left {
        band::<V, 1, BR>([first(l), fields_right, count], (l, left), right, out);
    }
}

/// Computes the outputs of `BL` left fields and the right ones from `first` on.
#[inline(always)]
fn band<V: Number, const BL: usize, const BR: usize>(
    [first, fields, count]: [usize; 3],
    left: (usize, &impl Source<V>),
    right: &impl Source<V>,
    out: &mut impl Sink<V>,
) {
    let mut r = first;
    while r + BR <= fields {
        put::<V, BL, BR>(count, left, (r, right), out);
        r += BR;
    }
    while r + 2 <= fields {
        put::<V, BL, 2>(count, left, (r, right), out);
        r += 2;
    }
    if r < fields {
        put::<V, BL, 1>(count, left, (r, right), out);
    }
}

/// Hands the sums of a block to `out`.
#[inline(always)]
fn put<V: Number, const BL: usize, const BR: usize>(
    count: usize,
    left: (usize, &impl Source<V>),
    right: (usize, &impl Source<V>),
    out: &mut impl Sink<V>,
) {
    let sums = tile::<V, BL, BR>(count, left, right);
    for i in 0..BL {
        for j in 0..BR {
            out.put(left.0 + i, right.0 + j, sums[i][j]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Whole(u32);

    impl Source<f64> for Whole {
        fn at(&self, f: usize, k: usize) -> f64 {
            f64::from((self.0 * (f as u32 + 3) * (k as u32 + 5)) % 17) - 8.0
        }
    }

    /// Outputs of `R` fields on the right, and how often each was given.
    struct Outputs(Vec<(f64, u32)>, usize);

    impl Sink<f64> for Outputs {
        fn put(&mut self, l: usize, r: usize, sum: f64) {
            let Outputs(outputs, fields) = self;
            let (old, times) = outputs[l * *fields + r];
            outputs[l * *fields + r] = (old + sum, times + 1);
        }
    }

    #[test]
    fn every_output_of_every_size_is_the_plain_sum_and_given_once() {
        for [fields_left, fields_right] in (0..=11).flat_map(|l| (0..=11).map(move |r| [l, r])) {
            for count in [0, 1, 7] {
                let (left, right) = (Whole(7), Whole(11));
                let sizes = [fields_left, fields_right, count];
                let expected: Vec<(f64, u32)> = (0..fields_left * fields_right)
                    .map(|at| (at / fields_right, at % fields_right))
                    .map(|(l, r)| ((0..count).map(|k| left.at(l, k) * right.at(r, k)).sum::<f64>() + 0.0, 1))
                    .collect();
                for upper in [false, true] {
                    let check = |tiles: &dyn Fn(&mut Outputs)| {
                        let mut out = Outputs(vec![(0.0, 0); fields_left * fields_right], fields_right);
                        tiles(&mut out);
                        for (at, (given, expected)) in out.0.iter().zip(&expected).enumerate() {
                            let may_lack = upper && at / fields_right > at % fields_right;
                            assert!(given == expected || may_lack && given.1 == 0, "{sizes:?}, {upper}, {at}");
                        }
                    };
                    check(&|out| tiles::<f64, 4, 4>(sizes, upper, &left, &right, out));
                    check(&|out| tiles::<f64, 4, 2>(sizes, upper, &left, &right, out));
                    check(&|out| tiles::<f64, 2, 2>(sizes, upper, &left, &right, out));
                    check(&|out| tiles::<f64, 3, 3>(sizes, upper, &left, &right, out));
                }
            }
        }
    }
}
