//! Checks a result before it is timed: chosen outputs against sums in f64, and all outputs for what was not written.

use super::case::Case;
use minifenl::space::lanes::Real;
use minifenl::space::{Layout, Threads};
use rayon::prelude::*;

/// Products that a check may cost.
const PRODUCTS: usize = 2_000_000;

/// Returns number `i` of a reproducible sequence between -1 and 1.
pub fn random<T: Real>(i: u64) -> T {
    let mut x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    T::of(((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
}

/// Some outputs of a case: place, value, how far a sum in any order may be off. All of them where there are few.
#[derive(Clone, Debug)]
pub struct Expected(Vec<(usize, f64, f64)>);

impl Expected {
    /// Place, value and bound of each chosen output.
    #[cfg(feature = "cuda")]
    pub fn entries(&self) -> &[(usize, f64, f64)] {
        &self.0
    }

    /// Of packed arrays in this layout.
    pub fn new<T: Real>(host: &Threads, case: &Case, layout: Layout, left: &[T], right: &[T]) -> Self {
        let ([a, b], terms) = (case.extents().map(|extents| layout.strides(extents)), case.terms());
        let [.., outputs] = case.items();
        let places = layout.strides([case.cells, case.fields[0], case.fields[1]]);
        let count = (PRODUCTS / terms.max(1)).clamp(64, 1 << 20).min(outputs);
        let [d1, d2] = case.dims;
        let mut entries = vec![(0, 0.0, 0.0); count];
        host.for_each(entries.par_iter_mut().enumerate(), |(i, entry)| {
            let output = if count == outputs { i } else { spread(i, count, outputs) };
            let r = output % case.fields[1];
            let l = output / case.fields[1] % case.fields[0];
            let c = output / case.fields[1] / case.fields[0];
            let (mut sum, mut size) = (0.0, 0.0);
            for k in 0..terms {
                let (p, i, j) = (k / (d1 * d2), k / d2 % d1, k % d2);
                let at = |s: &[usize; 5], field: usize| c * s[0] + field * s[1] + p * s[2] + i * s[3] + j * s[4];
                let product: f64 = Into::<f64>::into(left[at(&a, l)]) * Into::<f64>::into(right[at(&b, r)]);
                sum += product;
                size += product.abs();
            }
            let bound = (terms + 1) as f64 * (T::EPSILON + f64::EPSILON) * size;
            *entry = (c * places[0] + l * places[1] + r * places[2], sum, bound);
        });
        Expected(entries)
    }

    /// What is wrong with an output, if anything is.
    pub fn fault<T: Real>(&self, found: &[T]) -> Option<String> {
        let is_nan = |x: &T| Into::<f64>::into(*x).is_nan();
        // A chunk at a time without a way out, which is a vector loop.
        let is_bad = |chunk: &[T]| chunk.iter().fold(false, |is_bad, x| is_bad | is_nan(x));
        if let Some(chunk) = found.chunks(4096).position(is_bad) {
            let at = chunk * 4096 + found[chunk * 4096..].iter().position(is_nan).unwrap_or(0);
            return Some(format!("wrong: output {at} of {} is not written", found.len()));
        }
        self.0.iter().find_map(|&(at, value, bound)| {
            let error = (Into::<f64>::into(found[at]) - value).abs();
            (error > bound).then(|| format!("wrong: output {at} is off by {error:.1e}; {bound:.1e} is allowed"))
        })
    }
}

/// The `i`-th of `count` places spread over `0..n`, both ends among them.
fn spread(i: usize, count: usize, n: usize) -> usize {
    (i as u128 * (n - 1) as u128 / (count - 1) as u128) as usize
}

#[test]
fn faults_are_found() {
    use super::case::{Kernel, Precision};
    use super::loops::contract;
    let case = Case::filling(Kernel::FieldFieldTensor, Precision::F32, [3, 4], 5, [2, 3], 1 << 20);
    let [a, b, c] = case.items();
    let [left, right] = [a, b].map(|n| (0..n as u64).map(random::<f32>).collect::<Vec<_>>());
    let mut out = vec![f32::NAN; c];
    contract(&case, &left, &right, &mut out);
    let expected = Expected::new(&minifenl::space::Serial, &case, Layout::Right, &left, &right);
    assert_eq!(expected.fault(&out), None);
    out[c - 1] += 1e-3;
    assert!(expected.fault(&out).unwrap().contains("off by"));
    out[1] = f32::NAN;
    assert!(expected.fault(&out).unwrap().contains("output 1 of"));
    assert_eq!([spread(0, 64, 1000), spread(63, 64, 1000)], [0, 999]);
}
