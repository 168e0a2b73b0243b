//! An equation on elements with unknowns at their nodes: geometry and fields at the points of some elements.
//!
//! Elements lie side by side in vector lanes. Cost per element and point, with NN nodes: coordinates and Jacobian 24 NN operations,
//! determinant and inverse 50, gradients 15 NN, fields 8 NN per unknown.

use crate::element::equations::Field;
use crate::element::{BasisTables, DIM, geometry};
use crate::error::check_length;
use crate::fill::host::any_equation::{AnyEquation, AtPoint, Plain, WIDTH};
use crate::mesh::ElemNode;
use crate::space::lanes::Lanes;
use crate::{Error, FoldPlace, Result};
use std::ops::Range;

/// An equation of `D` unknowns per node with the mesh data that its kernels read; borrowed and cheap to copy.
#[derive(Clone, Copy, Debug)]
pub(in crate::fill::host) struct Integrand<'a, const D: usize> {
    pub equation: &'a dyn AnyEquation<D>,
    pub tables: &'a BasisTables,
    pub elem_node: &'a ElemNode,
    node_coord: &'a [[f64; DIM]],
    /// `[node][component]`.
    solution: &'a [[f64; D]],
}

impl<'a, const D: usize> Integrand<'a, D> {
    /// Borrows equation, basis tables, and coordinates and unknowns of all nodes.
    pub fn new(
        equation: &'a dyn AnyEquation<D>,
        tables: &'a BasisTables,
        elem_node: &'a ElemNode,
        node_coord: &'a [[f64; DIM]],
        solution: &'a [[f64; D]],
    ) -> Self {
        Integrand { equation, tables, elem_node, node_coord, solution }
    }

    /// Checks the arrays for the kernel `name` of elements with `nodes` nodes and `dofs` dofs.
    ///
    /// # Errors
    /// [`Error::Shape`] unless tables and elements have `nodes` nodes and each array has one item per node; [`Error::Invalid`] for
    /// elements of two dimensions, and unless `dofs` is `D` times `nodes`.
    pub fn check(&self, name: &'static str, nodes: usize, dofs: usize) -> Result<()> {
        let node_count = self.elem_node.node_count();
        check_length(name, "tables (nodes)", self.tables.nodes, nodes)?;
        check_length(name, "elem_node (nodes per element)", self.elem_node.nodes_per_elem(), nodes)?;
        check_length(name, "node_coord", self.node_coord.len(), node_count)?;
        check_length(name, "solution", self.solution.len(), node_count)?;
        let element = self.tables.element;
        if element.dim() != DIM {
            return Err(Error::Invalid(format!(
                "{name}: `tables` are of {element}, expected an element of {DIM} dimensions"
            )));
        }
        self.equation.given().iter().try_for_each(|field| field.check(name, self.elem_node, self.tables))?;
        if dofs != D * nodes {
            return Err(Error::Invalid(format!("{name}: {dofs} dofs per element, expected {D} x {nodes}")));
        }
        Ok(())
    }

    /// Computes fields, given ones (`[(point, field)]`) and w det J at the points of `WIDTH` elements from `first` on, and the gradients d phi_m / d x_k at point p,
    /// `gradients[terms p + k][m]`. Lanes behind the last element repeat it.
    ///
    /// # Errors
    /// [`Error::Folded`] where a determinant is not positive.
    #[inline(always)]
    pub(super) fn fields<const FUSED: bool, const NN: usize>(
        &self,
        first: usize,
        end: usize,
        points: &mut [AtPoint<D>],
        given: &mut [[Plain; 4]],
        (gradients, terms): (&mut [[Plain; NN]], usize),
    ) -> Result<()> {
        let zero = Lanes::<FUSED, f64, WIDTH>::ZERO;
        let (mut coords, mut nodal) = ([[zero; DIM]; NN], [[zero; D]; NN]);
        for lane in 0..WIDTH {
            let nodes = self.elem_node.elem((first + lane).min(end - 1));
            for m in 0..NN {
                let (x, u) = (self.node_coord[nodes[m] as usize], self.solution[nodes[m] as usize]);
                for axis in 0..DIM {
                    coords[m][axis].0[lane] = x[axis];
                }
                for c in 0..D {
                    nodal[m][c].0[lane] = u[c];
                }
            }
        }
        let (values, slopes) = (self.tables.values.as_chunks::<NN>().0, self.tables.gradients.as_chunks::<NN>().0);
        let plain = |number: Lanes<FUSED, f64, WIDTH>| Lanes(number.0);
        for (p, (point, gradients)) in points.iter_mut().zip(gradients.chunks_exact_mut(terms)).enumerate() {
            let (phi, reference) = (&values[p], &slopes[p]);
            let jacobian = geometry::jacobian(&coords, reference);
            let (determinant, inverse) = geometry::determinant_inverse(&jacobian);
            // False for NaN; without branches between lanes.
            if !determinant.0.iter().fold(true, |all, &determinant| all & (determinant > 0.0)) {
                return Err(folded(first..end, p, &determinant.0));
            }
            let physical = geometry::transform(&inverse, reference);
            let (mut x, mut u) = ([zero; DIM], [Field { grad: [zero; DIM], value: zero }; D]);
            for m in 0..NN {
                let value = Lanes::splat(phi[m]);
                for axis in 0..DIM {
                    x[axis] = coords[m][axis].mul_add(value, x[axis]);
                    gradients[axis][m] = plain(physical[m][axis]);
                }
                for c in 0..D {
                    u[c].value = nodal[m][c].mul_add(value, u[c].value);
                    for axis in 0..DIM {
                        u[c].grad[axis] = nodal[m][c].mul_add(physical[m][axis], u[c].grad[axis]);
                    }
                }
            }
            for (k, field) in self.equation.given().iter().enumerate() {
                let place = self.equation.given().len() * p + k;
                for lane in 0..WIDTH {
                    let elem = (first + lane).min(end - 1);
                    let slope = |m: usize, axis: usize| physical[m][axis].0[lane];
                    let nodes = self.elem_node.elem(elem);
                    let item = field.at::<NN>((elem, nodes), (p, self.tables.weights.len()), phi, slope);
                    for (of_lanes, value) in given[place].iter_mut().zip(item) {
                        of_lanes.0[lane] = value;
                    }
                }
            }
            point.x = x.map(plain);
            point.u = u.map(|u| Field { grad: u.grad.map(plain), value: plain(u.value) });
            point.measure = plain(determinant * Lanes::splat(self.tables.weights[p]));
        }
        Ok(())
    }
}

/// The error for the first lane whose determinant at point `p` is not positive; lanes behind the last element repeat it.
#[cold]
fn folded(elems: Range<usize>, p: usize, determinants: &[f64; WIDTH]) -> Error {
    let lane = determinants.iter().position(|&determinant| determinant.is_nan() || determinant <= 0.0).unwrap_or(0);
    let element = (elems.start + lane).min(elems.end - 1) as u64;
    Error::Folded { element, place: FoldPlace::Point(p), determinant: determinants[lane] }
}
