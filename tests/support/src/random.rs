//! Numbers that are the same in every run.

/// A generator (xorshift64*, Marsaglia 2003, Vigna 2016).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Starts a sequence; the seed is not 0.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Returns a number in `0..limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit as u64) as usize
    }

    /// Returns one of the items.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Returns `n` values 1.5 + sin(i k), which no symmetry repeats, so that swapped items are noticed.
pub fn wave(n: usize, k: f64) -> Vec<f64> {
    (0..n).map(|i| 1.5 + (i as f64 * k).sin()).collect()
}

/// Returns a generator of 64 random bits (SplitMix64).
pub fn random_bits(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Returns number `k` of a sequence in -0.5..0.5 without a pattern.
pub fn noise(k: usize) -> f64 {
    (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x632b_e59b_d9b4_e019) as f64 / u64::MAX as f64 - 0.5
}
