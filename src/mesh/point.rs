//! What follows from the grid point of a node, or from its global id.

/// Returns a pseudo-random number in (-1, 1) (SplitMix64: Steele, Lea and Flood 2014); twin of `kernels/mesh.cu`.
pub(super) fn number_of(seed: u64, id: u64) -> f64 {
    let mut bits = id.wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    // 52 bits, shifted by a half so that 0 and the ends do not occur.
    ((bits >> 12) as f64 + 0.5) * 2f64.powi(-51) - 1.0
}

/// Returns the faces that a grid point lies on, as bits of [`Face`](super::Face).
pub(super) fn faces_of(index: [u64; 3], counts: [u64; 3]) -> u8 {
    let bits = |axis: usize| u8::from(index[axis] == 0) | u8::from(index[axis] + 1 == counts[axis]) << 1;
    bits(0) | bits(1) << 2 | bits(2) << 4
}
