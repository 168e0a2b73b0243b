//! Element matrices as Intrepid composes them: geometry and transformed basis over a workset of cells, then contractions.
//!
//! ```text
//! g[c, m, p, k]    d phi_m / d x_k at point p                                               HGRADtransformGRAD
//! G[c, n, p, k]    w det J (sum_j slope[k, j] g[c, n, p, j] + slope[k, 3] phi_n(p))         k, j < 3
//! H[c, n, p]       w det J (sum_j slope[3, j] g[c, n, p, j] + slope[3, 3] phi_n(p))
//! A[c, m, n]       field_field_vector(g, G), plus field_field_scalar(phi, H)
//! R[c, m]          data_field_vector(w det J flux, g), plus data_field_scalar(w det J source, phi)
//! ```
//! Each pair of components of an equation of D unknowns is such a block of the element matrix; an equation without terms of values
//! leaves out H. The contractions are those of [`contraction`](crate::contraction) on one thread: the strategy of the fill divides the
//! elements among threads, and each computes worksets of its own. A cell's result does not depend on the size of its workset.
//!
//! Cost per cell of NN nodes and NP points: `NP (39 NN + 8 D NN + 50)` operations before the equation; per pair of components
//! `28 NN NP` for G and H and `8 NN^2 NP` in contractions; per component `8 NN NP`. Source: Intrepid's `FunctionSpaceTools`.

mod array;
#[cfg(test)]
mod tests;
mod worksets;

pub use worksets::Worksets;
pub(crate) use worksets::workset_bytes;

use super::integrand::{GradientSink, Integrand};
use super::{ElementBatch, ElementKernel, Evaluate, Wanted};
use crate::Result;
use crate::contraction::{Sum, data_field_scalar, data_field_vector, field_field_scalar, field_field_vector};
use crate::element::equations::Equation;
use crate::element::{BasisTables, DIM};
use crate::fill::Contraction;
use crate::fill::host::any_equation::{Plain, WIDTH};
use crate::mesh::ElemNode;
use crate::space::Serial;
use crate::space::lanes::{LANES, Lanes};
use array::Array;
use multiversion::multiversion;
use multiversion::target::match_target;
use std::ops::Range;
use worksets::Workspace;

/// The kernel of an equation of `D` unknowns per node on `NN`-node elements.
#[derive(Clone, Copy, Debug)]
pub struct IntrepidKernel<'a, const D: usize, const NN: usize, const ND: usize> {
    integrand: Integrand<'a, D>,
    worksets: &'a Worksets<D>,
    has_value_terms: bool,
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
        let has_value_terms = integrand.equation.has_value_terms();
        Ok(IntrepidKernel { integrand, worksets, has_value_terms })
    }

    /// Computes the wanted parts of the elements of a workset.
    fn compute(&self, elems: Range<usize>, wanted: Wanted, work: &mut Workspace<D>) -> Result<()> {
        let (worksets, tables) = (self.worksets, self.integrand.tables);
        let (cells, np) = (elems.len().next_multiple_of(LANES), tables.weights.len());
        operands::<D, NN>(&self.integrand, elems, work);
        for c in 0..D {
            for d in 0..if wanted.matrix { D } else { 0 } {
                multiply(tables, self.has_value_terms, [c, d], cells, work);
                let (g, right) = (&work.gradients, &work.right);
                let [g, right] = [g, right].map(|array| array.view([0; 3], [0, 1, 2, 3], [cells, NN, np, DIM]));
                let mut out = work.matrix.view_mut([D * c + d, 0, 0], [0, 2, 3], [cells, NN, NN])?;
                worksets.count(Contraction::FieldFieldVector);
                field_field_vector(&Serial, &g?, &right?, &mut out, Sum::Overwrite)?;
                if self.has_value_terms {
                    let (phi, weighted) = (&work.phi, &work.weighted);
                    let [phi, weighted] = [phi, weighted].map(|array| array.view([0; 3], [0, 1, 2], [cells, NN, np]));
                    worksets.count(Contraction::FieldFieldScalar);
                    field_field_scalar(&Serial, &phi?, &weighted?, &mut out, Sum::Into)?;
                }
            }
            if wanted.residual {
                let flux = work.weak.view([c, 0, 0], [0, 2, 3], [cells, np, DIM])?;
                let g = work.gradients.view([0; 3], [0, 1, 2, 3], [cells, NN, np, DIM])?;
                let source = work.weak.view([c, 0, DIM], [0, 2], [cells, np])?;
                let phi = work.phi.view([0; 3], [0, 1, 2], [cells, NN, np])?;
                let mut out = work.residual.view_mut([c, 0, 0], [0, 2], [cells, NN])?;
                worksets.count(Contraction::DataFieldVector);
                data_field_vector(&Serial, &flux, &g, &mut out, Sum::Overwrite)?;
                worksets.count(Contraction::DataFieldScalar);
                data_field_scalar(&Serial, &source, &phi, &mut out, Sum::Into)?;
            }
        }
        Ok(())
    }
}

impl<const D: usize, const NN: usize, const ND: usize> ElementKernel<ND> for IntrepidKernel<'_, D, NN, ND> {
    fn evaluator(&self, wanted: Wanted, elems: Range<usize>) -> Result<Evaluate<'_, ND>> {
        let (mut work, mut done) = (self.worksets.take()?, 0..0);
        Ok(Box::new(move |batch, out| {
            let at = batch.start.wrapping_sub(done.start);
            let is_done = at < done.len() && at.is_multiple_of(LANES) && batch.end <= done.end;
            if !is_done {
                let end = elems.end.min(batch.start + self.worksets.cells());
                done = batch.start..end.max(batch.end);
                self.compute(done.clone(), wanted, &mut work)?;
            }
            hand_out::<D, NN, ND>(&work, if is_done { at } else { 0 }, out);
            Ok(())
        }))
    }
}

/// Copies the cells from `cell` on to a batch.
fn hand_out<const D: usize, const NN: usize, const ND: usize>(
    work: &Workspace<D>,
    cell: usize,
    out: &mut ElementBatch<ND>,
) {
    for c in 0..D {
        for m in 0..NN {
            out.residual[D * m + c] = work.residual.get(cell, [c, m, 0]);
            for d in 0..D {
                for n in 0..NN {
                    out.matrix[D * m + c][D * n + d] = work.matrix.get(cell, [D * c + d, m, n]);
                }
            }
        }
    }
}

/// Gradients of `WIDTH` cells of a workset.
struct Gradients<'a> {
    array: &'a mut Array,
    cell: usize,
}

impl GradientSink for Gradients<'_> {
    #[inline(always)]
    fn put(&mut self, point: usize, axis: usize, m: usize, value: Plain) {
        self.array.put(self.cell, [m, point, axis], value);
    }
}

// The attributes expand to calls of the versions, each behind a check that the processor has its instructions.
/// Fills gradients, the equation at the points, flux and source of the elements of a workset, up to whole batches.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn operands<const D: usize, const NN: usize>(
    integrand: &Integrand<'_, D>,
    elems: Range<usize>,
    work: &mut Workspace<D>,
) {
    match_target! {
        "x86_64+avx512f" => operands_with::<true, D, NN>(integrand, elems, work),
        "x86_64+fma" => operands_with::<true, D, NN>(integrand, elems, work),
        _ => operands_with::<false, D, NN>(integrand, elems, work),
    }
}

#[inline(always)]
fn operands_with<const FUSED: bool, const D: usize, const NN: usize>(
    integrand: &Integrand<'_, D>,
    elems: Range<usize>,
    work: &mut Workspace<D>,
) {
    let np = integrand.tables.weights.len();
    for cell in (0..elems.len().next_multiple_of(LANES)).step_by(WIDTH) {
        let points = &mut work.points[cell / WIDTH * np..][..np];
        let mut sink = Gradients { array: &mut work.gradients, cell };
        integrand.fields::<FUSED, NN>(elems.start + cell, elems.end, points, &mut sink);
        integrand.equation.linearise(points);
        for (p, point) in points.iter().enumerate() {
            for c in 0..D {
                for k in 0..=DIM {
                    work.weak.put(cell, [c, p, k], point.weak[c][k]);
                }
            }
        }
    }
}

/// Fills G and, for an equation with terms of values, H of a pair of components.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn multiply<const D: usize>(
    tables: &BasisTables,
    has_value_terms: bool,
    pair: [usize; 2],
    cells: usize,
    work: &mut Workspace<D>,
) {
    match_target! {
        "x86_64+avx512f" => multiply_with::<true, D>(tables, has_value_terms, pair, cells, work),
        "x86_64+fma" => multiply_with::<true, D>(tables, has_value_terms, pair, cells, work),
        _ => multiply_with::<false, D>(tables, has_value_terms, pair, cells, work),
    }
}

#[inline(always)]
fn multiply_with<const FUSED: bool, const D: usize>(
    BasisTables { nodes, values, weights, .. }: &BasisTables,
    has_value_terms: bool,
    [c, d]: [usize; 2],
    cells: usize,
    work: &mut Workspace<D>,
) {
    let np = weights.len();
    for cell in (0..cells).step_by(WIDTH) {
        for (p, point) in work.points[cell / WIDTH * np..][..np].iter().enumerate() {
            let slopes = &point.slopes[c][d];
            for (n, &phi) in values[p * nodes..][..*nodes].iter().enumerate() {
                let (mut g, phi) = ([Lanes::<FUSED, f64, WIDTH>::ZERO; DIM], Lanes::splat(phi));
                for k in 0..DIM {
                    g[k] = Lanes(work.gradients.get(cell, [n, p, k]));
                }
                for k in 0..DIM + usize::from(has_value_terms) {
                    let mut sum = Lanes(slopes[k][0].0) * g[0];
                    sum = Lanes(slopes[k][1].0).mul_add(g[1], sum);
                    sum = Lanes(slopes[k][2].0).mul_add(g[2], sum);
                    if has_value_terms {
                        sum = Lanes(slopes[k][DIM].0).mul_add(phi, sum);
                    }
                    match k {
                        DIM => work.weighted.put(cell, [n, p, 0], Lanes(sum.0)),
                        _ => work.right.put(cell, [n, p, k], Lanes(sum.0)),
                    }
                }
            }
        }
    }
}
