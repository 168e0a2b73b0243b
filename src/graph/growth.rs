//! Growth of the pair set of strategy `map`, for hosts and GPUs.
//!
//! A set of fixed capacity cannot grow while threads insert. When inserts fail, the caller makes a larger set and inserts
//! everything again.

/// Attempts before giving up.
pub(super) const ATTEMPTS: usize = 32;

/// Attempts that place pairs by row; later ones scatter them. Growth alone does not help a node with very many
/// neighbours, because its share of the set overflows while other shares are empty.
pub(super) const BY_ROW: usize = 2;

/// Returns the capacity of the next attempt: larger by the failed inserts and by at least one half, so that 32 attempts
/// reach any size that memory holds.
pub(super) fn grown(capacity: usize, failed: usize) -> usize {
    capacity + failed.max(capacity / 2)
}
