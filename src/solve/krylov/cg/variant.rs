//! Variants of CG by name: how often an iteration waits for a sum over all ranks, and what it costs in memory.
//!
//! ```text
//!                    all-reduces per iteration   vectors   bytes per iteration and unknown (27 entries per row)
//! classic            2                           3         420
//! single-reduction   1                           4         420
//! ```
//! A preconditioner adds 1 all-reduce and 1 vector to classic CG and 1 vector to single-reduction CG.

use crate::space::named_choice;

named_choice! { "CG variant";
    /// Variant of CG. In exact arithmetic all have the same iterates.
    #[derive(Default)]
    pub enum CgVariant {
        /// Hestenes and Stiefel 1952.
        #[default]
        Classic = "classic",
        /// Chronopoulos and Gear 1989: one all-reduce per iteration.
        SingleReduction = "single-reduction",
    }
}

impl CgVariant {
    /// Returns the bytes of a solve's vectors without a preconditioner.
    pub fn bytes(self, owned: u64, local: u64) -> u64 {
        let with_ghosts = match self {
            CgVariant::Classic => 1,
            CgVariant::SingleReduction => 2,
        };
        8 * with_ghosts * local + 16 * owned
    }
}
