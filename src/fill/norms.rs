//! Sums over the cubature points of all elements of one type: errors of a field, and the sign of the Jacobian determinant.
//!
//! ```text
//! u(p) = sum_m phi_m(p) u_m,   I(p) = sum_m phi_m(p) exact(x_m),   weight(p) = w_p det J(p)
//! ```
//! Plain loops, once per run. Partial sums of fixed chunks of elements are added in order.

use crate::element::geometry::{self, Place};
use crate::element::{BasisTables, Fold, FoldSearch};
use crate::error::check_length;
use crate::fill::{FieldErrors, FieldOn, Sample};
use crate::space::{HostMemory, Threads, try_collect};
use crate::{Error, Result};
use rayon::prelude::*;

/// Elements of a partial sum.
const CHUNK: usize = 256;
/// Nodes of an element, at most.
const MOST_NODES: usize = 27;

/// Coordinates and weight times det J of a point of an element of `dim` dimensions, whose mesh has as many.
fn at_point(tables: &BasisTables, dim: usize, p: usize, nodes: &[u32], node_coord: &[[f64; 3]]) -> ([f64; 3], f64) {
    let coords = || nodes.iter().map(|&node| node_coord[node as usize]);
    let mut x = [0.0; 3];
    for (at, phi) in coords().zip(&tables.values[p * tables.nodes..]) {
        (0..3).for_each(|axis| x[axis] += phi * at[axis]);
    }
    let mut jacobian = geometry::jacobian(coords(), &tables.gradients[p * tables.nodes..]);
    geometry::complete(&mut jacobian, dim, Place::Domain);
    (x, tables.weights[p] * geometry::determinant_inverse(&jacobian).0)
}

fn chunks(elems: usize) -> usize {
    elems.div_ceil(CHUNK)
}

fn check_field(name: &'static str, on: FieldOn<'_, HostMemory>) -> Result<()> {
    check_length(name, "elem_node (nodes per element)", on.elem_node.nodes_per_elem(), on.element.nodes())?;
    check_length(name, "node_coord", on.node_coord.len(), on.elem_node.node_count())
}

/// Refuses a mesh with an element whose Jacobian determinant is not positive everywhere, up to rounding.
///
/// # Errors
/// [`Error::Shape`] unless each node has coordinates and the elements have the nodes of their type; [`Error::Invalid`] with the lowest folded element of
/// this rank, or with a node of it whose coordinates are not finite.
pub fn check_elements(space: &Threads, on: FieldOn<'_, HostMemory>) -> Result<()> {
    check_field("check_elements", on)?;
    let (search, elems) = (FoldSearch::new(on.element), on.elem_node.elem_count());
    let mut folded = vec![None; chunks(elems)];
    space.for_each(folded.par_iter_mut().enumerate(), |(chunk, folded)| {
        *folded = (chunk * CHUNK..elems.min((chunk + 1) * CHUNK)).find_map(|elem| {
            let mut coords = [[0.0; 3]; MOST_NODES];
            let nodes = on.elem_node.elem(elem);
            coords.iter_mut().zip(nodes).for_each(|(x, &node)| *x = on.node_coord[node as usize]);
            Some((elem, search.fold(&coords[..nodes.len()])?))
        });
    });
    match folded.into_iter().flatten().next() {
        None => Ok(()),
        Some((elem, Fold { point: [x, y, z], determinant, is_bound })) => {
            let is_wrong = |node: &&u32| on.node_coord[**node as usize].iter().any(|x| !x.is_finite());
            if let Some(&node) = on.elem_node.elem(elem).iter().find(is_wrong) {
                let coord = on.node_coord[node as usize];
                return Err(Error::Invalid(format!("node_coord[{node}] is {coord:?}: expected finite coordinates")));
            }
            let place = if is_bound { "or more around" } else { "at" };
            Err(Error::Invalid(format!(
                "element {elem} of this rank is folded or inverted: its Jacobian determinant is {determinant:.3e} {place} \
                 ({x:.4}, {y:.4}, {z:.4}) of the reference element; expected > 0 everywhere"
            )))
        }
    }
}

/// Returns the errors of a field of `dofs` components over the elements whose first node is one of the first `owned`, so that each
/// element is counted on one rank. The sums do not depend on the number of threads.
///
/// # Errors
/// [`Error::Shape`] unless `field` has an item per node and component, and as [`check_elements`]; [`Error::Invalid`] for more than 3 components.
pub fn field_errors(
    space: &Threads,
    on: FieldOn<'_, HostMemory>,
    owned: usize,
    dofs: usize,
    field: &[f64],
    exact: Sample<'_>,
) -> Result<FieldErrors> {
    check_field("field_errors", on)?;
    if dofs > 3 {
        return Err(Error::Invalid(format!("field_errors: a field of {dofs} components: expected up to 3")));
    }
    check_length("field_errors", "field", field.len(), dofs * on.elem_node.node_count())?;
    let (tables, elems) = (BasisTables::of(on.element), on.elem_node.elem_count());
    let partial = |chunk: usize| {
        let mut errors = FieldErrors::default();
        for elem in chunk * CHUNK..elems.min((chunk + 1) * CHUNK) {
            let nodes = on.elem_node.elem(elem);
            if nodes[0] as usize >= owned {
                continue;
            }
            let at_nodes: Vec<[f64; 3]> = nodes.iter().map(|&node| exact(on.node_coord[node as usize])).collect();
            for p in 0..tables.weights.len() {
                let (x, weight) = at_point(&tables, on.element.dim(), p, nodes, on.node_coord);
                let (expected, phi) = (exact(x), &tables.values[p * tables.nodes..][..tables.nodes]);
                for c in 0..dofs {
                    let (mut u, mut interpolant) = (0.0, 0.0);
                    for (m, &node) in nodes.iter().enumerate() {
                        u += phi[m] * field[dofs * node as usize + c];
                        interpolant += phi[m] * at_nodes[m][c];
                    }
                    errors.add(u - expected[c], interpolant - expected[c], expected[c], weight);
                }
            }
        }
        errors
    };
    let mut partials = try_collect("partial sums of errors", (0..chunks(elems)).map(|_| FieldErrors::default()))?;
    space.for_each(partials.par_iter_mut().enumerate(), |(chunk, errors)| *errors = partial(chunk));
    Ok(partials.into_iter().fold(FieldErrors::default(), FieldErrors::with))
}

/// The larger; a NaN stays.
fn larger(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}

impl FieldErrors {
    /// Adds a point.
    fn add(&mut self, error: f64, interpolation: f64, exact: f64, weight: f64) {
        let square = |x: f64| weight * x * x;
        *self = self.with(FieldErrors {
            max: error.abs(),
            interpolation: interpolation.abs(),
            scale: exact.abs(),
            square: square(error),
            scale_square: square(exact),
        });
    }

    /// The errors over two sets of points.
    pub fn with(self, other: FieldErrors) -> Self {
        FieldErrors {
            max: larger(self.max, other.max),
            interpolation: larger(self.interpolation, other.interpolation),
            scale: larger(self.scale, other.scale),
            square: self.square + other.square,
            scale_square: self.scale_square + other.scale_square,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;
    use crate::mesh::{ElemNode, Mesh};
    use crate::space::{Serial, Threads};

    /// The field x + 1/2 against x: an error of 1/2 everywhere, and x^2 integrates to 1/3 of the volume.
    #[test]
    fn errors_on_a_triangle_are_integrals_over_its_area() {
        let (elem_node, node_coord) =
            (ElemNode::new(vec![0, 1, 2], 3, 3).unwrap(), [[0.0, 0.0, 7.0], [1.0, 0.0, 7.0], [0.0, 1.0, 7.0]]);
        let on = FieldOn { element: ElementType::Tri3, elem_node: &elem_node, node_coord: &node_coord[..] };
        let found = field_errors(&Serial, on, 3, 1, &[0.0; 3], &|_| [2.0, 0.0, 0.0]).unwrap();
        assert!((found.square - 2.0).abs() < 1e-15 && (found.scale_square - 2.0).abs() < 1e-15, "{found:?}");
    }

    #[test]
    fn errors_of_a_shifted_field_are_those_by_hand() {
        for (element, name) in ElementType::volumes() {
            let mesh = Mesh::of_box(element, [3, 2, 2], [1.0, 2.0, 0.5]).unwrap();
            let on = FieldOn { element, elem_node: &mesh.elem_node, node_coord: &mesh.node_coord[..] };
            let field: Vec<f64> = mesh.node_coord.iter().flat_map(|x| [x[0] + 0.5, 0.0]).collect();
            let exact = |x: [f64; 3]| [x[0], 0.0, 9.0];
            let count = mesh.node_coord.len();
            let found = field_errors(&Serial, on, count, 2, &field, &exact).unwrap();
            assert!((found.max - 0.5).abs() < 1e-14 && found.interpolation < 1e-14 && found.scale < 1.0, "{name}");
            assert!((found.square - 0.25).abs() < 1e-13 && (found.scale_square - 1.0 / 3.0).abs() < 1e-13, "{name}");
            assert_eq!(found, field_errors(&Threads::new(3).unwrap(), on, count, 2, &field, &exact).unwrap());
            // x^2 is not linear; no element is counted without a first node.
            let square = |x: [f64; 3]| [x[0] * x[0], 0.0, 0.0];
            let interpolation = field_errors(&Serial, on, count, 2, &field, &square).unwrap().interpolation;
            let is_quadratic = element.nodes() > 8;
            assert_eq!(interpolation < 1e-14, is_quadratic, "{name}: {interpolation}");
            assert_eq!(field_errors(&Serial, on, 0, 2, &field, &exact).unwrap(), FieldErrors::default());
            assert!(field_errors(&Serial, on, count, 1, &field, &exact).is_err());
            assert!(field_errors(&Serial, on, count, 4, &vec![0.0; 4 * count], &exact).is_err());
            let other = FieldOn { element: ElementType::Quad9, ..on };
            assert!(
                field_errors(&Serial, other, count, 2, &field, &exact).is_err()
                    && check_elements(&Serial, other).is_err()
            );
            check_elements(&Serial, on).unwrap();
        }
    }

    #[test]
    fn folded_elements_and_values_that_are_not_numbers_are_seen() {
        let mut mesh = Mesh::of_box(ElementType::Tet10, [2; 3], [1.0; 3]).unwrap();
        let field = vec![f64::NAN; mesh.node_coord.len()];
        let of = |mesh: &Mesh, field: &[f64]| {
            let node_coord = &mesh.node_coord[..];
            let on = FieldOn { element: ElementType::Tet10, elem_node: &mesh.elem_node, node_coord };
            (check_elements(&Serial, on), field_errors(&Serial, on, field.len(), 1, field, &|_| [0.0; 3]).unwrap())
        };
        assert!(of(&mesh, &field).1.max.is_nan());
        mesh.node_coord[62] = [-1.0; 3];
        let message = of(&mesh, &field).0.unwrap_err().to_string();
        assert!(message.contains("is folded or inverted") && message.contains("expected > 0"), "{message}");
        mesh.node_coord[62][1] = f64::NAN;
        let message = of(&mesh, &field).0.unwrap_err().to_string();
        assert_eq!(message, "node_coord[62] is [-1.0, NaN, -1.0]: expected finite coordinates");
    }
}
