//! Element matrices by sum-factorised moments: everything of a batch stays in registers and the first-level cache.
//!
//! Formula and cost: [`element::moments`](crate::element::moments()). Memory traffic: the gather and the batch written.

use super::gather::{Elements, Gathered};
use super::{ElementBatch, ElementKernel};
use crate::element::{self, HEX8_NODES};
use crate::space::lanes::Lanes;
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
use std::ops::Range;

/// [`element::moments`](crate::element::moments()) on batches of elements.
#[derive(Clone, Copy, Debug)]
pub struct FusedKernel<'a> {
    elements: Elements<'a>,
}

impl<'a> FusedKernel<'a> {
    /// The kernel on these elements.
    pub fn new(elements: Elements<'a>) -> Self {
        FusedKernel { elements }
    }
}

impl ElementKernel<HEX8_NODES> for FusedKernel<'_> {
    type Scratch = ();

    fn name(&self) -> &'static str {
        "fused"
    }

    fn scratch(&self) {}

    fn evaluate(&self, elems: Range<usize>, (): &mut (), out: &mut ElementBatch<HEX8_NODES>) {
        if !elems.is_empty() {
            evaluate(&self.elements, elems, out);
        }
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn evaluate(elements: &Elements<'_>, elems: Range<usize>, out: &mut ElementBatch<HEX8_NODES>) {
    if target_cfg_f!(target_feature = "fma") {
        batch::<true>(elements, elems, out)
    } else {
        batch::<false>(elements, elems, out)
    }
}

#[inline(always)]
fn batch<const FUSED: bool>(elements: &Elements<'_>, elems: Range<usize>, out: &mut ElementBatch<HEX8_NODES>) {
    let Gathered { coords, temperature } = elements.gather::<FUSED>(elems);
    let mut residual = [Lanes::ZERO; HEX8_NODES];
    let mut matrix = [[Lanes::ZERO; HEX8_NODES]; HEX8_NODES];
    element::moments(&coords, &temperature, elements.conductivity, &mut residual, &mut matrix);
    for m in 0..HEX8_NODES {
        out.residual[m] = residual[m].0;
        for n in 0..HEX8_NODES {
            out.matrix[m][n] = matrix[m][n].0;
        }
    }
}
