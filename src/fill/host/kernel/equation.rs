//! Element matrices of any equation on any element type: geometry and the equation at the points, then one contraction.
//!
//! ```text
//! left[(p, k), m]       = (grad phi_m, phi_m)_k at point p,  k = 0..4
//! right[(p, k), (c,d,n)] = w det J sum_j slope_cd[k, j] left[(p, j), n]
//! A[(m,c), (n,d)]       = sum_(p,k) left[(p, k), m] right_cd[(p, k), n]
//! R[(m,c)]              = sum_(p,k) left[(p, k), m] w det J (flux_c, source_c)_k
//! ```
//! The four values of k are Intrepid's FieldFieldVector and FieldFieldScalar in one. Elements lie side by side in vector lanes.
//! Dof `D m + c` of an element is component c at node m. Cost per element of NN nodes and NP points: 2 D^2 NN^2 4 NP operations
//! in the contraction, about 4 D^2 8 NN NP before it. An equation whose derivative has no terms of values, such as that of elasticity,
//! ends k at 3. The entries of a symmetric equation are computed once, for c < d or m <= n, and stored with their mirror images.

use super::integrand::{ANY, AtPoints, Integrand, TETRAHEDRON, fields};
use super::tiles::Block;
use super::{ElementBatch, ElementKernel, Evaluate, Wanted};
use crate::Result;
use crate::element::equations::{Equation, EquationAt, Slope, has_value_terms, nonzero, symmetric_slopes};
use crate::element::{BasisTables, DIM};
use crate::fill::host::any_equation::{Plain, WIDTH};
use crate::fill::host::with_given::WithGiven;
use crate::mesh::ElemNode;
use crate::space::lanes::{LANES, Lanes};
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
use std::ops::Range;

/// Terms of the contraction at a point: three axes and the value.
pub(super) const TERMS: usize = 4;

/// The kernel of an equation of `D` unknowns per node on `NN`-node elements.
#[derive(Clone, Copy, Debug)]
pub struct EquationKernel<'a, const D: usize, const NN: usize, const ND: usize> {
    integrand: Integrand<'a, D>,
    /// Terms of the contraction at a point.
    terms: usize,
    symmetric: bool,
}

impl<'a, const D: usize, const NN: usize, const ND: usize> EquationKernel<'a, D, NN, ND> {
    /// Borrows an equation, basis tables, and coordinates and unknowns of all nodes. A mesh of triangles or quadrilaterals lies in a plane
    /// of constant z, its elements counter-clockwise; derivatives by z are 0.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless tables and elements have `NN` nodes and each array has one item per node; [`Error::Invalid`](crate::Error::Invalid)
    /// unless elements have the dimensions of the mesh, and unless `ND` is `D NN`. Assembly fails with [`Error::Folded`](crate::Error::Folded) where det J is
    /// not positive at a point: for nodes in an order other than that of
    /// [`ElementType`](crate::element::ElementType), flat elements and NaN.
    pub fn new<E: Equation<D>>(
        equation: &'a E,
        tables: &'a BasisTables,
        elem_node: &'a ElemNode,
        node_coord: &'a [[f64; DIM]],
        solution: &'a [[f64; D]],
    ) -> Result<Self> {
        Self::of_any(Integrand::new(equation, tables, elem_node, node_coord, solution))
    }

    /// As [`new`](Self::new), for an equation with given fields.
    ///
    /// ```
    /// use minifenl::element::equations::{EquationAt, Field, Point, Weak};
    /// use minifenl::element::{BasisTables, ElementType};
    /// use minifenl::fill::{EquationKernel, Fill, Given, Strategy, WithGiven};
    /// use minifenl::{graph, mesh::Mesh, space::{Threads, lanes::Number}, sparse::CrsMatrix};
    ///
    /// /// (u - u_old) / dt - div(k grad u) = 0
    /// struct Step {
    ///     dt: f64,
    /// }
    ///
    /// impl EquationAt<1, 2> for Step {
    ///     fn weak<N: Number>(&self, at: Point<N, 2>, [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
    ///         let [old, k] = at.given;
    ///         [Weak { flux: u.grad.map(|slope| k.value * slope), source: (u.value - old.value) / N::from(self.dt) }]
    ///     }
    /// }
    ///
    /// let (space, mesh) = (Threads::new(2)?, Mesh::of_box(ElementType::Hex8, [2; 3], [1.0; 3])?);
    /// let (old, u, conductivity) = (vec![1.0; 27], vec![[3.0]; 27], vec![0.5; 8]);
    /// let step = WithGiven { equation: &Step { dt: 0.1 }, given: [Given::nodes(&old), Given::elements(&conductivity)] };
    /// let tables = BasisTables::of(ElementType::Hex8);
    /// let kernel = EquationKernel::<1, 8, 8>::with_given(&step, &tables, &mesh.elem_node, &mesh.node_coord, &u)?;
    /// let graph = graph::build(&space, &mesh.elem_node, 27, graph::Strategy::default())?;
    /// let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; 27]);
    /// Fill::<8>::new(&space, Strategy::Gather, &graph)?.assemble(&space, &kernel, &mut matrix, &mut residual)?;
    /// // The integral of (3 - 1) / 0.1 over the cube.
    /// assert!((residual.iter().sum::<f64>() - 20.0).abs() < 1e-12);
    /// # Ok::<(), minifenl::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`new`](Self::new); [`Error::Shape`](crate::Error::Shape) for a given field of another length.
    pub fn with_given<E: EquationAt<D, K>, const K: usize>(
        equation: &'a WithGiven<'a, E, K>,
        tables: &'a BasisTables,
        elem_node: &'a ElemNode,
        node_coord: &'a [[f64; DIM]],
        solution: &'a [[f64; D]],
    ) -> Result<Self> {
        Self::of_any(Integrand::new(equation, tables, elem_node, node_coord, solution))
    }

    /// As [`with_given`](Self::with_given), over the boundary of a mesh: faces of three-dimensional cells, or lines around a mesh in the
    /// plane. The equation's [`Point`](crate::element::equations::Point) has the unit normal, which points outwards on faces of
    /// [`boundary_faces`](crate::mesh::boundary_faces). Gradients are those along the boundary.
    ///
    /// # Errors
    /// Those of [`with_given`](Self::with_given). Assembly fails with [`Error::Folded`](crate::Error::Folded) where a face is flat, or its
    /// normal turns by more than a right angle between two points, as with nodes in another order.
    pub fn on_boundary<E: EquationAt<D, K>, const K: usize>(
        equation: &'a WithGiven<'a, E, K>,
        tables: &'a BasisTables,
        elem_node: &'a ElemNode,
        node_coord: &'a [[f64; DIM]],
        solution: &'a [[f64; D]],
    ) -> Result<Self> {
        Self::of_any(Integrand::new(equation, tables, elem_node, node_coord, solution).on_boundary())
    }

    /// [`new`](Self::new) for an equation whose type is not known.
    pub(in crate::fill::host) fn of_any(integrand: Integrand<'a, D>) -> Result<Self> {
        integrand.check("EquationKernel", NN, ND)?;
        let slopes = integrand.equation.noise_slopes();
        let terms = if has_value_terms(&nonzero(&slopes)) { TERMS } else { DIM };
        Ok(EquationKernel { integrand, terms, symmetric: symmetric_slopes(&slopes) })
    }
}

impl<const D: usize, const NN: usize, const ND: usize> ElementKernel<ND> for EquationKernel<'_, D, NN, ND> {
    fn evaluator(&self, _: Wanted, _: Range<usize>) -> Result<Evaluate<'_, ND>> {
        let mut at = AtPoints::new(&self.integrand, self.terms);
        let (integrand, symmetric, mut right) = (&self.integrand, self.symmetric, at.gradients.clone());
        Ok(Box::new(move |elems, ElementBatch { matrix, residual }| {
            for (part, first) in elems.clone().step_by(WIDTH).enumerate() {
                fields(integrand, first..elems.end, &mut at)?;
                integrand.equation.linearise(&mut at.points, &at.given);
                contract(integrand, symmetric, &at, &mut right, part * WIDTH, (matrix.as_flattened_mut(), residual));
            }
            Ok(())
        }))
    }

    fn elem_node(&self) -> Option<&ElemNode> {
        Some(self.integrand.elem_node)
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
/// Contracts point values to element matrices and residuals, from lane `lane` on: matrices `[(i, j)][lane]` and residuals `[i][lane]`. Compiled
/// once for all elements.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn contract<const D: usize>(
    integrand: &Integrand<'_, D>,
    symmetric: bool,
    at: &AtPoints<D>,
    right: &mut [Plain],
    lane: usize,
    out: (&mut [[f64; LANES]], &mut [[f64; LANES]]),
) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    const BL: usize = if FUSED { 4 } else { 2 };
    const BR: usize = if target_cfg_f!(target_feature = "avx512f") { 4 } else { 2 };
    match integrand.tables.nodes {
        TETRAHEDRON => contract_of::<BL, BR, FUSED, D, TETRAHEDRON>(integrand, symmetric, at, right, lane, out),
        _ => contract_of::<BL, BR, FUSED, D, ANY>(integrand, symmetric, at, right, lane, out),
    }
}

#[inline(always)]
fn contract_of<const BL: usize, const BR: usize, const FUSED: bool, const D: usize, const NN: usize>(
    integrand: &Integrand<'_, D>,
    symmetric: bool,
    at: &AtPoints<D>,
    right: &mut [Plain],
    lane: usize,
    (matrix, residual): (&mut [[f64; LANES]], &mut [[f64; LANES]]),
) {
    let (left, nodes) = (&at.gradients[..], if NN == ANY { integrand.tables.nodes } else { NN });
    for c in 0..D {
        for d in if symmetric { c } else { 0 }..D {
            let slopes = at.points.iter().map(|point| &point.slopes[c][d]);
            match at.terms {
                DIM => scale::<FUSED, DIM>(left, slopes, right, nodes),
                _ => scale::<FUSED, TERMS>(left, slopes, right, nodes),
            }
            let mut block = Block { out: matrix, lane, nodes, dofs: D, component: [c, d], mirrored: symmetric };
            block.tiles::<BL, BR, FUSED>(left, right);
        }
        for m in 0..nodes {
            let mut sum = Lanes::<FUSED, f64, WIDTH>::ZERO;
            let at_points = at.points.iter().zip(left.chunks_exact(at.terms * nodes));
            for ((point, left), phi) in at_points.zip(integrand.tables.values.chunks_exact(nodes)) {
                for k in 0..DIM {
                    sum = Lanes(left[nodes * k + m].0).mul_add(Lanes(point.weak[c][k].0), sum);
                }
                sum = Lanes::splat(phi[m]).mul_add(Lanes(point.weak[c][DIM].0), sum);
            }
            residual[D * m + c][lane..][..WIDTH].copy_from_slice(&sum.0);
        }
    }
}

/// right[(p, k), n] = sum_j slopes[p][k, j] left[(p, j), n]
#[inline(always)]
fn scale<'a, const FUSED: bool, const K: usize>(
    left: &[Plain],
    slopes: impl Iterator<Item = &'a Slope<Plain>>,
    right: &mut [Plain],
    nodes: usize,
) {
    let points = left.chunks_exact(K * nodes).zip(right.chunks_exact_mut(K * nodes)).zip(slopes);
    for ((left, right), slopes) in points {
        for n in 0..nodes {
            let (mut gradient, mut sums) = ([Lanes::<FUSED, f64, WIDTH>::ZERO; K], [Lanes::ZERO; K]);
            for j in 0..K {
                gradient[j] = Lanes(left[nodes * j + n].0);
            }
            for k in 0..K {
                for j in 0..K {
                    sums[k] = gradient[j].mul_add(Lanes(slopes[k][j].0), sums[k]);
                }
            }
            for k in 0..K {
                right[nodes * k + n] = Lanes(sums[k].0);
            }
        }
    }
}

#[cfg(test)]
mod tests;
