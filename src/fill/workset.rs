//! Worksets of the kernel `intrepid`: cells whose operands are computed together, between calls of contractions.

use crate::contraction::{Contraction, Variant};
use crate::space::Layout;
use std::collections::BTreeMap;

/// Size and layout of worksets, and how a GPU contracts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Workset {
    /// Cells per workset; as many as suit the caches when not given.
    pub cells: Option<usize>,
    /// Order of the operands in memory; the faster one when not given.
    pub layout: Option<Layout>,
    /// Algorithm of the contractions on a GPU.
    pub variant: Variant,
}

/// Number of calls of each contraction, in the order of [`Contraction::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContractionCalls(pub [u64; Contraction::ALL.len()]);

impl ContractionCalls {
    /// Counts one call.
    pub fn count(&mut self, contraction: Contraction) {
        self.0[contraction as usize] += 1;
    }

    /// Returns the contractions that were called, with their numbers of calls.
    pub fn by_name(&self) -> BTreeMap<&'static str, u64> {
        let all = Contraction::ALL.iter().zip(self.0);
        all.filter(|&(_, calls)| calls > 0).map(|(&(_, name), calls)| (name, calls)).collect()
    }
}
