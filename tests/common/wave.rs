//! Test vectors.

/// Returns `n` values 1.5 + sin(i k), which no symmetry repeats, so that swapped items are noticed.
pub fn wave(n: usize, k: f64) -> Vec<f64> {
    (0..n).map(|i| 1.5 + (i as f64 * k).sin()).collect()
}
