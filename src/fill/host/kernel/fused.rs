//! Element matrices by sum-factorised moments: a batch stays in registers and the first-level cache.
//!
//! Formula and cost: [`element::moments`](crate::element::moments()). Memory traffic: gathered nodes in, the batch out.

use super::gather::{Elements, Gathered};
use super::{BatchPart, ElementBatch, ElementKernel, Evaluate, Wanted};
use crate::Result;
use crate::element::{self, HEX8_NODES};
use crate::mesh::ElemNode;
use crate::space::lanes::HALF_LANES;
use multiversion::multiversion;
use multiversion::target::match_target;
use std::ops::Range;

/// [`element::moments`](crate::element::moments()) on batches of elements.
#[derive(Clone, Copy, Debug)]
pub struct FusedKernel<'a> {
    elements: Elements<'a>,
}

impl<'a> FusedKernel<'a> {
    /// Makes the kernel of these elements.
    pub fn new(elements: Elements<'a>) -> Self {
        FusedKernel { elements }
    }
}

impl ElementKernel<HEX8_NODES> for FusedKernel<'_> {
    fn evaluator(&self, _: Wanted, _: Range<usize>) -> Result<Evaluate<'_, HEX8_NODES>> {
        Ok(Box::new(|batch, out| {
            evaluate(&self.elements, batch, out);
            Ok(())
        }))
    }

    fn elem_node(&self) -> Option<&ElemNode> {
        Some(self.elements.elem_node)
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
// No version for AVX-512: it computes half lanes, too, since the compiler leaves part of wider arithmetic scalar, and takes 1.1 times as
// long on an Intel Xeon (64^3 nodes, one thread).
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn evaluate(elements: &Elements<'_>, elems: Range<usize>, out: &mut ElementBatch<HEX8_NODES>) {
    match_target! {
        "x86_64+fma" => batch::<true, HALF_LANES>(elements, elems, out),
        _ => batch::<false, HALF_LANES>(elements, elems, out),
    }
}

#[inline(always)]
fn batch<const FUSED: bool, const WIDTH: usize>(
    elements: &Elements<'_>,
    elems: Range<usize>,
    out: &mut ElementBatch<HEX8_NODES>,
) {
    for (part, first) in elems.clone().step_by(WIDTH).enumerate() {
        let Gathered { coords, temperature } = elements.gather::<FUSED, WIDTH>(first, elems.end);
        let mut part = BatchPart::new(out, part * WIDTH);
        let residual = element::moments(&coords, &temperature, elements.heat, &mut part);
        for m in 0..HEX8_NODES {
            part.put_residual(m, residual[m]);
        }
    }
}
