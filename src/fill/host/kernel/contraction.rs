//! Element matrices as Intrepid composes them: geometry on a workset, then four contractions.
//!
//! ```text
//! A  = FieldFieldVector(K m g, g) + FieldFieldScalar(2 T m phi, phi)      m = w det J at the points
//! R  = DataFieldVector(grad T, K m g) + DataFieldScalar(T^2 m, phi)
//! ```
//!
//! A workset is half a batch, cells side by side. Shapes: g `[point, axis, node]` (6 kB, and as much for K m g, so that
//! they stay in the first-level cache), phi `[point, node]`. Cost per element: 4608 operations in contractions and
//! 3256 before them, see [`ContractionKernel::FLOPS`].

use super::gather::{Elements, Gathered};
use super::{BatchPart, ElementBatch, ElementKernel};
use crate::contraction::{Sum, fixed};
use crate::element::cubature::HEX8_POINTS;
use crate::element::{DIM, HEX8, HEX8_NODES, geometry};
use crate::space::lanes::{HALF_LANES, Lanes};
use multiversion::multiversion;
use multiversion::target::match_target;
use std::ops::Range;

/// Points and axes collapsed.
const POINT_AXES: usize = HEX8_POINTS * DIM;

/// Geometry, then the contractions of [`contraction`](crate::contraction), on batches of elements.
#[derive(Clone, Copy, Debug)]
pub struct ContractionKernel<'a> {
    elements: Elements<'a>,
}

impl<'a> ContractionKernel<'a> {
    /// Floating-point operations per element. At a point: Jacobian 144, inverse and determinant 42, gradients 120, temperature 16, flux
    /// and its weight 26, temperature gradient 48, masses and load 11. Then 2 L R K for each contraction.
    pub const FLOPS: usize = HEX8_POINTS * 407
        + 2 * HEX8_NODES * (HEX8_NODES * POINT_AXES + HEX8_NODES * HEX8_POINTS + POINT_AXES + HEX8_POINTS);

    /// Makes the kernel of these elements.
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
    // Half lanes: one value is one AVX2 register, and a tile leaves registers for its operands.
    match_target! {
        "x86_64+avx512f" => batch::<4, 4, true>(elements, elems, out),
        "x86_64+fma" => batch::<4, 2, true>(elements, elems, out),
        _ => batch::<2, 2, false>(elements, elems, out),
    }
}

#[inline(always)]
fn batch<const BL: usize, const BR: usize, const FUSED: bool>(
    elements: &Elements<'_>,
    elems: Range<usize>,
    out: &mut ElementBatch<HEX8_NODES>,
) {
    for (part, first) in elems.clone().step_by(HALF_LANES).enumerate() {
        let gathered = elements.gather::<FUSED, HALF_LANES>(first, elems.end);
        workset::<BL, BR, FUSED, HALF_LANES>(
            &gathered,
            elements.conductivity,
            &mut BatchPart::new(out, part * HALF_LANES),
        );
    }
}

/// `[point and axis, node]` of a workset of cells.
type Fields<const FUSED: bool, const WIDTH: usize, const K: usize> = [[Lanes<FUSED, f64, WIDTH>; HEX8_NODES]; K];

#[inline(always)]
fn workset<const BL: usize, const BR: usize, const FUSED: bool, const WIDTH: usize>(
    Gathered { coords, temperature }: &Gathered<FUSED, WIDTH>,
    conductivity: f64,
    out: &mut BatchPart<'_>,
) {
    let zero = Lanes::<FUSED, f64, WIDTH>::ZERO;
    let conductivity = Lanes::splat(conductivity);
    let mut gradients: Fields<FUSED, WIDTH, POINT_AXES> = [[zero; HEX8_NODES]; POINT_AXES];
    let (mut fluxes, mut slope) = (gradients, [zero; POINT_AXES]);
    let mut masses: Fields<FUSED, WIDTH, HEX8_POINTS> = [[zero; HEX8_NODES]; HEX8_POINTS];
    let (mut phi, mut load) = (masses, [zero; HEX8_POINTS]);
    for p in 0..HEX8_POINTS {
        let jacobian = geometry::jacobian(coords, &HEX8.gradients[p]);
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
    fixed::field_field::<BL, BR, _, _, _, _>(&fluxes, &gradients, &mut matrix, Sum::Overwrite);
    fixed::field_field::<BL, BR, _, _, _, _>(&masses, &phi, &mut matrix, Sum::Into);
    fixed::data_field(&slope, &fluxes, &mut residual, Sum::Overwrite);
    fixed::data_field(&load, &phi, &mut residual, Sum::Into);
    for m in 0..HEX8_NODES {
        out.put_residual(m, residual[m]);
        for n in 0..HEX8_NODES {
            out.put_matrix([m, n], matrix[m][n]);
        }
    }
}
