//! Worksets of the kernel `intrepid`: cells whose operands are computed together, between calls of contractions.

use crate::contraction::Variant;
use crate::space::{Layout, named_choice};
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

named_choice! { "contraction";
    /// Names of the nine [contractions](crate::contraction).
    pub enum Contraction {
        /// `sum_p left[c, l, p] right[c, r, p]`.
        FieldFieldScalar = "field_field_scalar",
        /// `sum_(p,i) left[c, l, p, i] right[c, r, p, i]`.
        FieldFieldVector = "field_field_vector",
        /// `sum_(p,i,j) left[c, l, p, i, j] right[c, r, p, i, j]`.
        FieldFieldTensor = "field_field_tensor",
        /// `sum_p data[c, p] fields[c, f, p]`.
        DataFieldScalar = "data_field_scalar",
        /// `sum_(p,i) data[c, p, i] fields[c, f, p, i]`.
        DataFieldVector = "data_field_vector",
        /// `sum_(p,i,j) data[c, p, i, j] fields[c, f, p, i, j]`.
        DataFieldTensor = "data_field_tensor",
        /// `sum_p left[c, p] right[c, p]`.
        DataDataScalar = "data_data_scalar",
        /// `sum_(p,i) left[c, p, i] right[c, p, i]`.
        DataDataVector = "data_data_vector",
        /// `sum_(p,i,j) left[c, p, i, j] right[c, p, i, j]`.
        DataDataTensor = "data_data_tensor",
    }
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
