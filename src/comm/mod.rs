//! Ranks: communicators, index maps and halo exchange.
