//! The time of a CG iteration on many ranks, without running it.
//!
//! ```text
//! t(p) = max(bytes / B, flops / F) + messages L + ghost bytes / W + reductions ceil(log2 p) L
//! ```
//! with sums over the slowest rank: B memory bandwidth, F flop rate, L latency of a message, W bandwidth of the link, all of one rank.

pub mod fit;
pub mod machine;
pub mod partition;
pub mod prediction;

pub use fit::{Fit, Sample};
pub use machine::Machine;
pub use partition::Partition;
pub use prediction::Prediction;

/// Numbers of ranks of a drawn line: powers of 4, a prime near the end, and 100,000.
pub const DRAWN: [usize; 11] = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 99_991, 100_000];
