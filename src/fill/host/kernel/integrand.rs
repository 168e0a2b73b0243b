//! An equation on elements with unknowns at their nodes: geometry and fields at the points of some elements.
//!
//! Elements lie side by side in vector lanes. Cost per element and point, with NN nodes: coordinates and Jacobian 24 NN operations,
//! determinant and inverse 50, gradients 15 NN, fields 8 NN per unknown.

use crate::element::equations::Field;
use crate::element::geometry::{self, Place};
use crate::element::{BasisTables, DIM};
use crate::error::check_length;
use crate::fill::host::any_equation::{AnyEquation, AtPoint, Plain, WIDTH};
use crate::mesh::ElemNode;
use crate::space::lanes::Lanes;
use crate::{Error, FoldPlace, Result};
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
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
    /// What elements of fewer than three dimensions are part of.
    place: Place,
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
        Integrand { equation, tables, elem_node, node_coord, solution, place: Place::Domain }
    }

    /// The same on the boundary of a mesh.
    pub fn on_boundary(self) -> Self {
        Integrand { place: Place::Boundary, ..self }
    }

    /// Checks the arrays for the kernel `name` of elements with `nodes` nodes and `dofs` dofs.
    ///
    /// # Errors
    /// [`Error::Shape`] unless tables and elements have `nodes` nodes and each array has one item per node; [`Error::Invalid`] for
    /// elements of another dimension than the mesh, and unless `dofs` is `D` times `nodes`.
    pub fn check(&self, name: &'static str, nodes: usize, dofs: usize) -> Result<()> {
        let node_count = self.elem_node.node_count();
        check_length(name, "tables (nodes)", self.tables.nodes, nodes)?;
        check_length(name, "elem_node (nodes per element)", self.elem_node.nodes_per_elem(), nodes)?;
        check_length(name, "node_coord", self.node_coord.len(), node_count)?;
        check_length(name, "solution", self.solution.len(), node_count)?;
        self.check_dimensions(name)?;
        self.equation.given().iter().try_for_each(|field| field.check(name, self.elem_node, self.tables))?;
        if dofs != D * nodes {
            return Err(Error::Invalid(format!("{name}: {dofs} dofs per element, expected {D} x {nodes}")));
        }
        Ok(())
    }

    /// Refuses elements of another dimension than the mesh, or its boundary. One pass over the coordinates of a plane mesh.
    fn check_dimensions(&self, name: &'static str) -> Result<()> {
        let element = self.tables.element;
        let mesh = element.dim() + usize::from(self.place == Place::Boundary);
        if mesh > DIM {
            return Err(Error::Invalid(format!("{name}: `tables` are of {element}, expected faces or lines")));
        }
        let which = if self.place == Place::Domain { "a mesh" } else { "the boundary of a mesh" };
        for axis in mesh..DIM {
            let differs = |x: &[f64; DIM]| x[axis] != self.node_coord[0][axis];
            if let Some(node) = self.node_coord.iter().position(differs) {
                let axis = ["x", "y", "z"][axis];
                return Err(Error::Invalid(format!(
                    "{name}: `tables` are of {element}, and nodes 0 and {node} differ in {axis}: expected {which} of {mesh} dimensions"
                )));
            }
        }
        Ok(())
    }
}

/// Nodes of a linear tetrahedron, whose loops are compiled for them: an assembly with one point takes a seventh less time.
pub(super) const TETRAHEDRON: usize = 4;
/// Stands for a number of nodes that is known at run time only.
pub(super) const ANY: usize = 0;

/// Working memory of a thread: what an equation reads and gives at the points of [`WIDTH`] elements.
pub(super) struct AtPoints<const D: usize> {
    /// Coordinates and unknowns, `[node]`.
    nodes: Vec<([Plain; DIM], [Plain; D])>,
    pub points: Vec<AtPoint<D>>,
    /// Gradient and value of given fields, `[(point, field)]`.
    pub given: Vec<[Plain; DIM + 1]>,
    /// d phi_m / d x_k at point p, `[(terms p + k)][m]`.
    pub gradients: Vec<Plain>,
    /// Rows of gradients per point.
    pub terms: usize,
}

impl<const D: usize> AtPoints<D> {
    /// Makes memory with `terms` rows per point. The fourth has the values of the basis, which are the same in all elements.
    pub fn new(integrand: &Integrand<'_, D>, terms: usize) -> Self {
        let BasisTables { weights, values, nodes, .. } = integrand.tables;
        let mut gradients = vec![Plain::ZERO; terms * values.len()];
        if terms > DIM {
            for (rows, phi) in gradients.chunks_exact_mut(terms * nodes).zip(values.chunks_exact(*nodes)) {
                rows[DIM * nodes..].iter_mut().zip(phi).for_each(|(row, &phi)| *row = Lanes::splat(phi));
            }
        }
        AtPoints {
            nodes: vec![([Plain::ZERO; DIM], [Plain::ZERO; D]); *nodes],
            points: vec![AtPoint::ZERO; weights.len()],
            given: vec![[Plain::ZERO; DIM + 1]; weights.len() * integrand.equation.given().len()],
            gradients,
            terms,
        }
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
/// Computes fields, given ones, w det J and gradients of the basis at the points of [`WIDTH`] elements, the first of `elems`. Lanes behind
/// the last element repeat it.
///
/// # Errors
/// [`Error::Folded`] where a determinant is not positive.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
pub(super) fn fields<const D: usize>(
    integrand: &Integrand<'_, D>,
    elems: Range<usize>,
    at: &mut AtPoints<D>,
) -> Result<()> {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    match integrand.tables.nodes {
        TETRAHEDRON => fields_of::<FUSED, D, TETRAHEDRON>(integrand, elems, at),
        _ => fields_of::<FUSED, D, ANY>(integrand, elems, at),
    }
}

#[inline(always)]
fn fields_of<const FUSED: bool, const D: usize, const NN: usize>(
    &Integrand { equation, tables, elem_node, node_coord, solution, place }: &Integrand<'_, D>,
    elems: Range<usize>,
    AtPoints { nodes, points, given, gradients, terms }: &mut AtPoints<D>,
) -> Result<()> {
    let elem = |lane: usize| (elems.start + lane).min(elems.end - 1);
    let nn = if NN == ANY { nodes.len() } else { NN };
    // Loops instead of `map`, which LLVM may leave as calls.
    let (nodes, mut of_lanes) = (&mut nodes[..nn], [&[][..]; WIDTH]);
    for lane in 0..WIDTH {
        of_lanes[lane] = &elem_node.elem(elem(lane))[..nn];
    }
    for (m, (coords, nodal)) in nodes.iter_mut().enumerate() {
        // All lanes of a number in registers: parts of one that are stored apart delay its load.
        let (mut x, mut u) = ([Plain::ZERO; DIM], [Plain::ZERO; D]);
        for lane in 0..WIDTH {
            let node = of_lanes[lane][m] as usize;
            let (point, values) = (&node_coord[node], &solution[node]);
            for axis in 0..DIM {
                x[axis].0[lane] = point[axis];
            }
            for c in 0..D {
                u[c].0[lane] = values[c];
            }
        }
        (*coords, *nodal) = (x, u);
    }
    let zero = Lanes::<FUSED, f64, WIDTH>::ZERO;
    let plain = |number: Lanes<FUSED, f64, WIDTH>| Lanes(number.0);
    let number = |plain: Plain| Lanes::<FUSED, f64, WIDTH>(plain.0);
    let (dim, mut first_normal) = (tables.element.dim(), [zero; DIM]);
    let tables_at = tables.values.chunks_exact(nn).zip(tables.gradients.chunks_exact(nn)).zip(&tables.weights);
    let at_points = points.iter_mut().zip(gradients.chunks_exact_mut(*terms * nn)).zip(tables_at);
    for (p, ((point, gradients), ((phi, reference), &weight))) in at_points.enumerate() {
        let mut jacobian = geometry::jacobian(nodes.iter().map(|(coords, _)| coords.map(number)), reference);
        let mut turn = Lanes::splat(1.0);
        if dim < DIM {
            let normal = geometry::complete(&mut jacobian, dim, place);
            point.normal = normal.map(plain);
            if place == Place::Boundary {
                first_normal = if p == 0 { normal } else { first_normal };
                turn = geometry::dot(normal, first_normal);
            }
        }
        let (determinant, inverse) = geometry::determinant_inverse(&jacobian);
        // False for NaN; without branches between lanes. The normal of a face turns by less than a right angle.
        let signed = determinant * turn;
        if !signed.0.iter().fold(true, |all, &determinant| all & (determinant > 0.0)) {
            return Err(folded(elems, p, &signed.0));
        }
        let (along_x, rest) = gradients.split_at_mut(nn);
        let (along_y, rest) = rest.split_at_mut(nn);
        for (reference, ((a, b), e)) in reference.iter().zip(along_x.iter_mut().zip(&mut *along_y).zip(&mut *rest)) {
            [*a, *b, *e] = geometry::transform(&inverse, reference).map(plain);
        }
        // A loop of its own, in which all sums stay in registers.
        let (mut x, mut u) = ([zero; DIM], [Field { grad: [zero; DIM], value: zero }; D]);
        let slopes = along_x.iter().zip(&*along_y).zip(&*rest);
        for (((coords, nodal), &phi), ((a, b), e)) in nodes.iter().zip(phi).zip(slopes) {
            let (value, physical) = (Lanes::splat(phi), [a, b, e].map(|&slope| number(slope)));
            for axis in 0..DIM {
                x[axis] = number(coords[axis]).mul_add(value, x[axis]);
            }
            for c in 0..D {
                u[c].value = number(nodal[c]).mul_add(value, u[c].value);
                for axis in 0..DIM {
                    u[c].grad[axis] = number(nodal[c]).mul_add(physical[axis], u[c].grad[axis]);
                }
            }
        }
        let of_point = given.iter_mut().skip(equation.given().len() * p);
        for (field, numbers) in equation.given().iter().zip(of_point) {
            for lane in 0..WIDTH {
                let slope = |m: usize, axis: usize| gradients[axis * nn + m].0[lane];
                let elem = elem(lane);
                let item = field.at((elem, elem_node.elem(elem)), (p, tables.weights.len()), phi, slope);
                numbers.iter_mut().zip(item).for_each(|(number, value)| number.0[lane] = value);
            }
        }
        point.x = x.map(plain);
        point.u = u.map(|u| Field { grad: u.grad.map(plain), value: plain(u.value) });
        point.measure = plain(determinant * Lanes::splat(weight));
    }
    Ok(())
}

/// The error for the first lane whose determinant at point `p` is not positive; lanes behind the last element repeat it.
#[cold]
fn folded(elems: Range<usize>, p: usize, determinants: &[f64; WIDTH]) -> Error {
    let lane = determinants.iter().position(|&determinant| determinant.is_nan() || determinant <= 0.0).unwrap_or(0);
    let element = (elems.start + lane).min(elems.end - 1) as u64;
    Error::Folded { element, place: FoldPlace::Point(p), determinant: determinants[lane] }
}
