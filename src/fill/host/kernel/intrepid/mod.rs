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
//! unknown are left out, and so is H where a source does not depend on the unknown. The contractions are those of
//! [`contraction`](crate::contraction) on one thread: the strategy of the fill divides the elements among threads, and each computes
//! worksets of its own. A cell's result does not depend on the size of its workset.
//!
//! Cost per cell of NN nodes and NP points: `NP (39 NN + 8 D NN + 50)` operations before the equation; `2 NN NP` per nonzero
//! derivative for G and H; `8 NN^2 NP` per pair of components in contractions, `6 NN^2 NP` without H; per component `8 NN NP`.
//! Bound for heat on `hex8`: 8500 operations, 144 ns at the 59 GF/s of one core of an AMD EPYC (Zen 4). Measured times:
//! `docs/results/2026-11-26-intrepid.md`. Source: Intrepid's `FunctionSpaceTools`.

mod array;
#[cfg(test)]
mod tests;
mod worksets;

use array::Array;
pub use worksets::Worksets;
pub(in crate::fill::host) use worksets::workset_bytes;

use super::equation::TERMS;
use super::integrand::{AtPoints, Integrand, fields};
use super::{ElementBatch, ElementKernel, Evaluate, Wanted};
use crate::Result;
use crate::contraction::{
    Contraction, Sum, data_field_scalar, data_field_vector, field_field_scalar, field_field_vector,
};
use crate::element::equations::{Equation, nonzero};
use crate::element::{BasisTables, DIM};
use crate::fill::host::any_equation::{Plain, WIDTH};
use crate::mesh::ElemNode;
use crate::space::Serial;
use crate::space::lanes::{LANES, Lanes};
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
use std::array::from_fn;
use std::ops::Range;
use worksets::Workspace;

/// What belongs to the lower and the upper [`WIDTH`] of [`LANES`] cells.
type Halves<T> = [T; LANES / WIDTH];

/// The derivatives of one flux or source that are not zero: their number, and their places among gradient and value.
#[derive(Clone, Copy, Debug, Default)]
struct Nonzero {
    count: usize,
    places: [usize; TERMS],
}

impl Nonzero {
    fn new(bits: u16) -> Self {
        let mut found = Nonzero::default();
        for place in (0..TERMS).filter(|place| bits >> place & 1 != 0) {
            found.places[found.count] = place;
            found.count += 1;
        }
        found
    }
}

/// The kernel of an equation of `D` unknowns per node on `NN`-node elements.
#[derive(Clone, Copy, Debug)]
pub struct IntrepidKernel<'a, const D: usize, const NN: usize, const ND: usize> {
    integrand: Integrand<'a, D>,
    worksets: &'a Worksets<D>,
    /// `[c][d]`, of fluxes x, y, z and source.
    nonzero: [[[Nonzero; TERMS]; D]; D],
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
        let of_rows = |bits: u16| from_fn(|k| Nonzero::new(bits >> (TERMS * k)));
        let nonzero = nonzero(&integrand.equation.noise_slopes()).map(|row| row.map(of_rows));
        Ok(IntrepidKernel { integrand, worksets, nonzero })
    }
}

/// Contracts the operands of cells to the wanted parts; one copy for all elements.
fn contract<const D: usize>(
    worksets: &Worksets<D>,
    nonzero: &[[[Nonzero; TERMS]; D]; D],
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
            if nonzero[c][pair - D * c][DIM].count > 0 {
                let weighted = work.weighted.view([pair * nn, 0, 0], [0, 1, 2], scalars)?;
                worksets.count(Contraction::FieldFieldScalar);
                field_field_scalar(&Serial, &phi, &weighted, &mut out, Sum::Into)?;
            }
        }
        if wanted.residual {
            let flux = work.flux.view([c, 0, 0], [0, 2, 3], [cells, np, DIM])?;
            let source = work.source.view([c, 0, 0], [0, 2], [cells, np])?;
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
        let IntrepidKernel { integrand, worksets, ref nonzero } = *self;
        let mut at = [0, 1].map(|_| AtPoints::new(&self.integrand, TERMS));
        Ok(Box::new(move |batch, ElementBatch { matrix, residual }| {
            let first = batch.start.wrapping_sub(done.start);
            let is_done = first < done.len() && first.is_multiple_of(LANES) && batch.end <= done.end;
            if !is_done {
                let end = elems.end.min(batch.start + worksets.cells());
                done = batch.start..end.max(batch.end);
                let sizes = [done.len().next_multiple_of(LANES), NN, integrand.tables.weights.len()];
                operands(&integrand, nonzero, done.clone(), &mut at, &mut work)?;
                contract(worksets, nonzero, wanted, sizes, &mut work)?;
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
    let dofs = D * nodes;
    for c in 0..D {
        for m in 0..nodes {
            work.residual.copy(cell, [c, m], (&mut residual[D * m + c..][..1], 1));
            for d in 0..D {
                work.matrix.copy(cell, [D * c + d, m], (&mut matrix[dofs * (D * m + c)..][..dofs][d..], D));
            }
        }
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
/// Fills g, G, H, flux and source of the elements of a workset, up to whole batches. Compiled once for all elements.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn operands<const D: usize>(
    integrand: &Integrand<'_, D>,
    nonzero: &[[[Nonzero; TERMS]; D]; D],
    elems: Range<usize>,
    at: &mut Halves<AtPoints<D>>,
    work: &mut Workspace<D>,
) -> Result<()> {
    operands_with::<{ target_cfg_f!(target_feature = "fma") }, D>(integrand, nonzero, elems, at, work)
}

#[inline(always)]
fn operands_with<const FUSED: bool, const D: usize>(
    integrand: &Integrand<'_, D>,
    nonzero: &[[[Nonzero; TERMS]; D]; D],
    elems: Range<usize>,
    at: &mut Halves<AtPoints<D>>,
    Workspace { gradients, right, weighted, flux, source, .. }: &mut Workspace<D>,
) -> Result<()> {
    let (nodes, points) = (integrand.tables.nodes, integrand.tables.weights.len());
    for cell in (0..elems.len().next_multiple_of(LANES)).step_by(LANES) {
        for (half, at) in at.iter_mut().enumerate() {
            fields(integrand, elems.start + cell + half * WIDTH..elems.end, at)?;
            integrand.equation.linearise(&mut at.points, &[]);
        }
        // Both halves of a cache line are written together: lines leave the nearest cache before the next cells.
        for p in 0..points {
            let (low, high) = (&at[0].points[p], &at[1].points[p]);
            let at_p = p * TERMS * nodes..(p + 1) * TERMS * nodes;
            let basis = [&at[0].gradients[at_p.clone()], &at[1].gradients[at_p]];
            for k in 0..DIM {
                let along = [&basis[0][k * nodes..][..nodes], &basis[1][k * nodes..][..nodes]];
                gradients.put(cell, [0, p, k], nodes, |half, m| along[half][m]);
            }
            for c in 0..D {
                let weak = [&low.weak[c], &high.weak[c]];
                for k in 0..DIM {
                    flux.put(cell, [c, p, k], 1, |half, _| weak[half][k]);
                }
                source.put(cell, [c, p, 0], 1, |half, _| weak[half][DIM]);
                for d in 0..D {
                    let (slopes, first) = ([&low.slopes[c][d], &high.slopes[c][d]], (D * c + d) * nodes);
                    for (k, of_row) in nonzero[c][d].iter().enumerate() {
                        let slope = [&slopes[0][k], &slopes[1][k]];
                        if k < DIM {
                            combine::<FUSED>(slope, basis, of_row, right, (cell, [first, p, k]));
                        } else if of_row.count > 0 {
                            combine::<FUSED>(slope, basis, of_row, weighted, (cell, [first, p, 0]));
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// Stores `slope` (g, phi)_n of the nodes at a point. Terms that are zero are left out.
#[inline(always)]
fn combine<const FUSED: bool>(
    slope: Halves<&[Plain; TERMS]>,
    basis: Halves<&[Plain]>,
    &Nonzero { count, places }: &Nonzero,
    to: &mut Array,
    at: (usize, [usize; 3]),
) {
    match count {
        0 => put_sums::<FUSED, 0>(slope, basis, &places, to, at),
        1 => put_sums::<FUSED, 1>(slope, basis, &places, to, at),
        2 => put_sums::<FUSED, 2>(slope, basis, &places, to, at),
        3 => put_sums::<FUSED, 3>(slope, basis, &places, to, at),
        _ => put_sums::<FUSED, 4>(slope, basis, &places, to, at),
    }
}

/// [`combine`] for the first `N` of `places`.
#[inline(always)]
fn put_sums<const FUSED: bool, const N: usize>(
    slope: Halves<&[Plain; TERMS]>,
    basis: Halves<&[Plain]>,
    places: &[usize; TERMS],
    to: &mut Array,
    (cell, first): (usize, [usize; 3]),
) {
    let (nodes, mut factors, mut rows) = (basis[0].len() / TERMS, [[Plain::ZERO; 2]; N], [[&[][..]; 2]; N]);
    for (j, &place) in places[..N].iter().enumerate() {
        for half in 0..2 {
            (factors[j][half], rows[j][half]) = (slope[half][place], &basis[half][place * nodes..][..nodes]);
        }
    }
    to.put(cell, first, nodes, |half, n| {
        let mut sum = Lanes::<FUSED, f64, WIDTH>::ZERO;
        for j in 0..N {
            let (factor, number) = (Lanes::<FUSED, f64, WIDTH>(factors[j][half].0), Lanes(rows[j][half][n].0));
            sum = if j == 0 { factor * number } else { factor.mul_add(number, sum) };
        }
        Lanes(sum.0)
    });
}
