//! Element matrices as Intrepid composes them: geometry and transformed basis over a workset of cells, then contractions.
//!
//! ```text
//! g[c, m, p, k]    d phi_m / d x_k at point p                                               HGRADtransformGRAD
//! G[c, n, p, k]    w det J (sum_j slope[k, j] g[c, n, p, j] + slope[k, 3] phi_n(p))         k, j < 3
//! H[c, n, p]       w det J (sum_j slope[3, j] g[c, n, p, j] + slope[3, 3] phi_n(p))
//! A[c, m, n]       field_field_vector(g, G), plus field_field_scalar(phi, H)
//! R[c, m]          data_field_vector(w det J flux, g), plus data_field_scalar(w det J source, phi)
//! ```
//! Each pair of components of an equation of D unknowns is such a block of the element matrix. Terms that are zero for every point and
//! unknown are left out: H, or the terms of G and H that mix gradients and values. The contractions are those of [`contraction`](crate::contraction) on one thread: the strategy of the fill divides the
//! elements among threads, and each computes worksets of its own. A cell's result does not depend on the size of its workset.
//!
//! Cost per cell of NN nodes and NP points: `NP (39 NN + 8 D NN + 50)` operations before the equation; per pair of components
//! up to `28 NN NP` for G and H (16 unless gradients and values mix) and `8 NN^2 NP` in contractions; per component `8 NN NP`.
//! Bound for heat on `hex8`: 9000 operations, 153 ns at 16 operations per cycle and 3.7 GHz; 13 kB of a workset written to and read from
//! L2, 110 ns at 32 bytes per cycle. Measured on one core of an AMD EPYC (Zen 4), worksets of 64 cells, cells fastest: 556 ns per cell;
//! cells slowest 750, `EquationKernel` 347, `fused` 92. Worksets with operands above 512 KiB (256 cells) take 1850 ns: the
//! contractions copy them. Source: Intrepid's `FunctionSpaceTools`.

mod array;
#[cfg(test)]
mod tests;
mod worksets;

pub use worksets::Worksets;
pub(in crate::fill::host) use worksets::workset_bytes;

use super::integrand::{AtPoints, Integrand, fields};
use super::{ElementBatch, ElementKernel, Evaluate, Wanted};
use crate::Result;
use crate::contraction::{
    Contraction, Sum, data_field_scalar, data_field_vector, field_field_scalar, field_field_vector,
};
use crate::element::equations::Equation;
use crate::element::{BasisTables, DIM};
use crate::fill::host::any_equation::{AtPoint, Plain, WIDTH};
use crate::mesh::ElemNode;
use crate::space::Serial;
use crate::space::lanes::{LANES, Lanes};
use multiversion::multiversion;
use multiversion::target::match_target;
use std::ops::Range;
use worksets::Workspace;

/// The derivatives of an equation that are not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terms {
    /// Those of fluxes by gradients.
    Gradients,
    /// Those of fluxes by gradients and of sources by values.
    Apart,
    /// All.
    Mixed,
}

/// The kernel of an equation of `D` unknowns per node on `NN`-node elements.
#[derive(Clone, Copy, Debug)]
pub struct IntrepidKernel<'a, const D: usize, const NN: usize, const ND: usize> {
    integrand: Integrand<'a, D>,
    worksets: &'a Worksets<D>,
    terms: Terms,
}

impl<'a, const D: usize, const NN: usize, const ND: usize> IntrepidKernel<'a, D, NN, ND> {
    /// Borrows an equation, basis tables, coordinates and unknowns of all nodes, and worksets made for these tables.
    ///
    /// # Errors
    /// Those of [`EquationKernel::new`](super::EquationKernel::new), also when the worksets are of another element.
    pub fn new<E: Equation<D>>(
        equation: &'a E,
        tables: &'a BasisTables,
        elem_node: &'a ElemNode,
        node_coord: &'a [[f64; DIM]],
        solution: &'a [[f64; D]],
        worksets: &'a Worksets<D>,
    ) -> Result<Self> {
        Self::of_any(Integrand::new(equation, tables, elem_node, node_coord, solution), worksets)
    }

    /// [`new`](Self::new) for an equation whose type is not known.
    pub(in crate::fill::host) fn of_any(integrand: Integrand<'a, D>, worksets: &'a Worksets<D>) -> Result<Self> {
        const NAME: &str = "IntrepidKernel::new";
        integrand.check(NAME, NN, ND)?;
        worksets.check(NAME, integrand.tables)?;
        let equation = integrand.equation;
        let terms = match (equation.has_value_terms(), equation.has_mixed_terms()) {
            (false, _) => Terms::Gradients,
            (true, false) => Terms::Apart,
            (true, true) => Terms::Mixed,
        };
        Ok(IntrepidKernel { integrand, worksets, terms })
    }
}

/// Contracts the operands of cells to the wanted parts; one copy for all elements.
fn contract<const D: usize>(
    worksets: &Worksets<D>,
    terms: Terms,
    wanted: Wanted,
    [cells, nn, np]: [usize; 3],
    work: &mut Workspace<D>,
) -> Result<()> {
    let (vectors, scalars) = ([cells, nn, np, DIM], [cells, nn, np]);
    let g = work.gradients.view([0; 3], [0, 1, 2, 3], vectors)?;
    let phi = work.phi.view([0; 3], [0, 1, 2], scalars)?;
    for c in 0..D {
        for pair in if wanted.matrix { D * c..D * (c + 1) } else { 0..0 } {
            let right = work.right.view([pair * nn, 0, 0], [0, 1, 2, 3], vectors)?;
            let mut out = work.matrix.view_mut([pair, 0, 0], [0, 2, 3], [cells, nn, nn])?;
            worksets.count(Contraction::FieldFieldVector);
            field_field_vector(&Serial, &g, &right, &mut out, Sum::Overwrite)?;
            if terms != Terms::Gradients {
                let weighted = work.weighted.view([pair * nn, 0, 0], [0, 1, 2], scalars)?;
                worksets.count(Contraction::FieldFieldScalar);
                field_field_scalar(&Serial, &phi, &weighted, &mut out, Sum::Into)?;
            }
        }
        if wanted.residual {
            let flux = work.weak.view([0, 0, c], [0, 2, 1], [cells, np, DIM])?;
            let source = work.weak.view([DIM, 0, c], [0, 2], [cells, np])?;
            let mut out = work.residual.view_mut([c, 0, 0], [0, 2], [cells, nn])?;
            worksets.count(Contraction::DataFieldVector);
            data_field_vector(&Serial, &flux, &g, &mut out, Sum::Overwrite)?;
            worksets.count(Contraction::DataFieldScalar);
            data_field_scalar(&Serial, &source, &phi, &mut out, Sum::Into)?;
        }
    }
    Ok(())
}

impl<const D: usize, const NN: usize, const ND: usize> ElementKernel<ND> for IntrepidKernel<'_, D, NN, ND> {
    fn evaluator(&self, wanted: Wanted, elems: Range<usize>) -> Result<Evaluate<'_, ND>> {
        let (mut work, mut done) = (self.worksets.take()?, 0..0);
        let IntrepidKernel { integrand, worksets, terms } = *self;
        let (mut at, mut row) = (AtPoints::new(&self.integrand, DIM), vec![Plain::ZERO; NN]);
        Ok(Box::new(move |batch, ElementBatch { matrix, residual }| {
            let first = batch.start.wrapping_sub(done.start);
            let is_done = first < done.len() && first.is_multiple_of(LANES) && batch.end <= done.end;
            if !is_done {
                let end = elems.end.min(batch.start + worksets.cells());
                done = batch.start..end.max(batch.end);
                let sizes = [done.len().next_multiple_of(LANES), NN, integrand.tables.weights.len()];
                operands(&integrand, terms, done.clone(), &mut at, &mut row, &mut work)?;
                contract(worksets, terms, wanted, sizes, &mut work)?;
            }
            hand_out(&work, NN, if is_done { first } else { 0 }, matrix.as_flattened_mut(), residual);
            Ok(())
        }))
    }

    fn elem_node(&self) -> Option<&ElemNode> {
        Some(self.integrand.elem_node)
    }
}

/// Copies the cells from `cell` on to a batch, `[(i, j)][lane]` and `[i][lane]`.
fn hand_out<const D: usize>(
    work: &Workspace<D>,
    nodes: usize,
    cell: usize,
    matrix: &mut [[f64; LANES]],
    residual: &mut [[f64; LANES]],
) {
    for c in 0..D {
        for m in 0..nodes {
            residual[D * m + c] = work.residual.get(cell, [c, m, 0]);
            for d in 0..D {
                for n in 0..nodes {
                    matrix[D * nodes * (D * m + c) + D * n + d] = work.matrix.get(cell, [D * c + d, m, n]);
                }
            }
        }
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
/// Fills g, G, H, flux and source of the elements of a workset, up to whole batches. Compiled once for all elements; `row`
/// has room for a number per node.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn operands<const D: usize>(
    integrand: &Integrand<'_, D>,
    terms: Terms,
    elems: Range<usize>,
    at: &mut AtPoints<D>,
    row: &mut [Plain],
    work: &mut Workspace<D>,
) -> Result<()> {
    match_target! {
        "x86_64+fma" => operands_with::<true, D>(integrand, terms, elems, at, row, work),
        _ => operands_with::<false, D>(integrand, terms, elems, at, row, work),
    }
}

#[inline(always)]
fn operands_with<const FUSED: bool, const D: usize>(
    integrand: &Integrand<'_, D>,
    terms: Terms,
    elems: Range<usize>,
    at: &mut AtPoints<D>,
    row: &mut [Plain],
    Workspace { gradients, right, weighted, weak, .. }: &mut Workspace<D>,
) -> Result<()> {
    let (values, nodes) = (&integrand.tables.values, integrand.tables.nodes);
    for cell in (0..elems.len().next_multiple_of(LANES)).step_by(WIDTH) {
        fields(integrand, elems.start + cell..elems.end, at)?;
        integrand.equation.linearise(&mut at.points, &[]);
        let at_points = at.points.iter().zip(values.chunks_exact(nodes)).zip(at.gradients.chunks_exact(DIM * nodes));
        for (p, ((AtPoint { weak: of_point, slopes, .. }, phi), gradients_at)) in at_points.enumerate() {
            for k in 0..DIM {
                gradients.put(cell, [0, p, k], &gradients_at[k * nodes..][..nodes]);
            }
            for c in 0..D {
                weak.put(cell, [0, p, c], &of_point[c]);
                for d in 0..D {
                    let block = (D * c + d) * nodes;
                    for k in 0..DIM {
                        products::<FUSED>((true, terms == Terms::Mixed), &slopes[c][d][k], gradients_at, phi, row);
                        right.put(cell, [block, p, k], row);
                    }
                    if terms != Terms::Gradients {
                        products::<FUSED>((terms == Terms::Mixed, true), &slopes[c][d][DIM], gradients_at, phi, row);
                        weighted.put(cell, [block, p, 0], row);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Computes `slope` (g, phi)_n of the nodes at a point. Terms that are zero are left out.
#[inline(always)]
fn products<const FUSED: bool>(
    (has_gradients, has_value): (bool, bool),
    slope: &[Plain; DIM + 1],
    g: &[Plain],
    phi: &[f64],
    row: &mut [Plain],
) {
    let nodes = phi.len();
    for (n, (item, &phi)) in row.iter_mut().zip(phi).enumerate() {
        let mut sum = Lanes::<FUSED, f64, WIDTH>::ZERO;
        if has_gradients {
            for j in 0..DIM {
                sum = Lanes(slope[j].0).mul_add(Lanes(g[nodes * j + n].0), sum);
            }
        }
        if has_value {
            sum = Lanes(slope[DIM].0).mul_add(Lanes::splat(phi), sum);
        }
        *item = Lanes(sum.0);
    }
}
