//! Element matrices the way Intrepid composes them: geometry on a workset, then four contractions.
//!
//! ```text
//! A  = FieldFieldVector(K m g, g) + FieldFieldScalar(2 T m phi, phi)      m = w det J at the points
//! R  = DataFieldVector(grad T, K m g) + DataFieldScalar(T^2 m, phi)
//! ```
//!
//! A workset is one batch, LANES cells side by side. Shapes: g `[point, axis, node]` (12 kB, and as much for K m g: first-
//! and second-level cache), phi `[point, node]`. Cost per element: 4096 operations in contractions, about 3000 before.

use super::gather::{Elements, Gathered};
use super::{ElementBatch, ElementKernel};
use crate::contraction::{Sum, fixed};
use crate::element::cubature::HEX8_POINTS;
use crate::element::{DIM, HEX8, HEX8_NODES, geometry};
use crate::space::lanes::{LANES, Lanes};
use multiversion::multiversion;
use multiversion::target::match_target;
use std::ops::Range;

/// Points and axes collapsed.
const POINT_AXES: usize = HEX8_POINTS * DIM;

/// Geometry, then the contraction room, on batches of elements.
#[derive(Clone, Copy, Debug)]
pub struct ContractionKernel<'a> {
    elements: Elements<'a>,
}

impl<'a> ContractionKernel<'a> {
    /// The kernel on these elements.
    pub fn new(elements: Elements<'a>) -> Self {
        ContractionKernel { elements }
    }
}

impl ElementKernel<HEX8_NODES> for ContractionKernel<'_> {
    type Scratch = ();

    fn name(&self) -> &'static str {
        "contraction"
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
    match_target! {
        "x86_64+avx512f" => batch::<{ fixed::BLOCK_32_REGISTERS }, true>(elements, elems, out),
        "x86_64+fma" => batch::<{ fixed::BLOCK_16_REGISTERS }, true>(elements, elems, out),
        _ => batch::<{ fixed::BLOCK_16_REGISTERS }, false>(elements, elems, out),
    }
}

#[inline(always)]
fn batch<const BLOCK: usize, const FUSED: bool>(
    elements: &Elements<'_>,
    elems: Range<usize>,
    out: &mut ElementBatch<HEX8_NODES>,
) {
    let Gathered { coords, temperature } = elements.gather::<FUSED, LANES>(elems.start, elems.end);
    let zero = Lanes::<FUSED>::ZERO;
    let conductivity = Lanes::splat(elements.conductivity);
    let (mut gradients, mut fluxes) = ([[zero; HEX8_NODES]; POINT_AXES], [[zero; HEX8_NODES]; POINT_AXES]);
    let (mut phi, mut masses) = ([[zero; HEX8_NODES]; HEX8_POINTS], [[zero; HEX8_NODES]; HEX8_POINTS]);
    let (mut slope, mut load) = ([zero; POINT_AXES], [zero; HEX8_POINTS]);
    for p in 0..HEX8_POINTS {
        let jacobian = geometry::jacobian(&coords, &HEX8.gradients[p]);
        let (determinant, inverse) = geometry::determinant_inverse(&jacobian);
        let measure = determinant * Lanes::splat(HEX8.weights[p]);
        let weight = conductivity * measure;
        let transformed = geometry::transform(&inverse, &HEX8.gradients[p]);
        let mut at_point = zero;
        for m in 0..HEX8_NODES {
            phi[p][m] = Lanes::splat(HEX8.values[p][m]);
            at_point = temperature[m].mul_add(phi[p][m], at_point);
            for d in 0..DIM {
                let gradient = transformed[m][d];
                gradients[p * DIM + d][m] = gradient;
                fluxes[p * DIM + d][m] = weight * gradient;
                slope[p * DIM + d] = temperature[m].mul_add(gradient, slope[p * DIM + d]);
            }
        }
        let half = at_point * measure;
        load[p] = at_point * half;
        for m in 0..HEX8_NODES {
            masses[p][m] = (half + half) * phi[p][m];
        }
    }
    let (mut matrix, mut residual) = ([[zero; HEX8_NODES]; HEX8_NODES], [zero; HEX8_NODES]);
    fixed::field_field::<BLOCK, _, _, _, _>(&fluxes, &gradients, &mut matrix, Sum::Overwrite);
    fixed::field_field::<BLOCK, _, _, _, _>(&masses, &phi, &mut matrix, Sum::Into);
    fixed::data_field(&slope, &fluxes, &mut residual, Sum::Overwrite);
    fixed::data_field(&load, &phi, &mut residual, Sum::Into);
    for m in 0..HEX8_NODES {
        out.residual[m] = residual[m].0;
        for n in 0..HEX8_NODES {
            out.matrix[m][n] = matrix[m][n].0;
        }
    }
}
