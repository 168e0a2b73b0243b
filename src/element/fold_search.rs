//! Finds folded elements of any type: bounds of the Jacobian determinant over the whole element, as [`fold`](super::fold) has them for
//! trilinear hexahedra. Elements of fewer dimensions lie along the first axes: their Jacobians are completed by unit vectors of the others.
//!
//! Tetrahedra, wedges and triangles are images of the unit cube, whose last coordinates collapse edges:
//! ```text
//! tetrahedron  x = u (1-v) (1-w), y = v (1-w), z = w        wedge  x = u (1-v), y = v, z = 2w - 1        hexahedron  2u - 1, ...
//! triangle     x = u (1-v), y = v
//! ```
//! A polynomial of total degree d has at most degree d in u, v and w. So det J (without the determinant of the collapse, which is
//! positive inside) has degree n in each of them: 3 d - 1 for hexahedra and wedges of degree d, 3 (d - 1) for tetrahedra. It is
//! evaluated at (n+1)^3 points and turned into Bernstein coefficients. Two tests, from cheap to sharp:
//! 1. Each column of J has degree d in u, v and w, and is a mean of its own (d+1)^3 coefficients: it departs from their mean by at most
//!    the largest departure of one of them. Those of affine elements are equal.
//! 2. The coefficients of the determinant, and those of halves, quarters, ... of the cube.

use super::bernstein::{Bernstein, Fold};
use super::folding::{LEAST, exceeds_losses, length, triple};
use super::geometry::DIM;
use super::polynomials::inverse;
use super::{Basis, ElementType, Shape};

type Vector = [f64; DIM];

/// Rounding of the coefficients, relative to the largest.
const ROUNDING: f64 = 1e-12;

/// Tables of an element type for the test of its elements.
#[derive(Clone, Debug)]
pub struct FoldSearch {
    shape: Shape,
    /// Dimensions of the element.
    dim: usize,
    /// Points where the determinant is evaluated.
    grid: Grid,
    /// Derivatives of the basis there, `[point][m][b]`.
    gradients: Vec<Vec<Vector>>,
    /// Mean of the coefficients of the derivatives, `[m][b]`, and what each of them adds to it, `[coefficient][m][b]`.
    mean: Vec<Vector>,
    departures: Vec<Vec<Vector>>,
}

/// Points of the unit cube that determine a polynomial.
#[derive(Clone, Debug)]
struct Grid {
    degree: usize,
    /// Chebyshev's points with the ends.
    axis: Vec<f64>,
    /// From values at the points of an axis to coefficients, `[p][point]`.
    to_coefficients: Vec<Vec<f64>>,
}

impl Grid {
    fn new(degree: usize) -> Self {
        let at = |i: usize| 0.5 - 0.5 * (std::f64::consts::PI * i as f64 / degree as f64).cos();
        let axis: Vec<f64> = (0..=degree).map(at).collect();
        let to_coefficients = inverse(axis.iter().map(|&u| powers(degree, u)).collect());
        Grid { degree, axis, to_coefficients }
    }

    /// The points, u fastest.
    fn points(&self) -> impl Iterator<Item = Vector> {
        let length = self.axis.len();
        let index = move |at: usize| [at % length, at / length % length, at / length / length];
        (0..length.pow(3)).map(move |at| index(at).map(|i| self.axis[i]))
    }

    /// Turns values at the points into coefficients.
    fn coefficients(&self, mut all: Vec<f64>) -> Bernstein {
        let length = self.axis.len();
        for stride in [1, length, length * length] {
            for first in (0..all.len()).filter(|at| at / stride % length == 0) {
                let line: Vec<f64> = (0..length).map(|step| all[first + step * stride]).collect();
                for (p, row) in self.to_coefficients.iter().enumerate() {
                    all[first + p * stride] = row.iter().zip(&line).map(|(factor, value)| factor * value).sum();
                }
            }
        }
        Bernstein { degree: self.degree, all }
    }
}

impl FoldSearch {
    /// Tabulates the basis of an element type.
    pub fn new(element: ElementType) -> Self {
        let (shape, d, basis) = (element.shape(), element.degree(), Basis::new(element));
        let (dim, is_simplex) = (element.dim(), matches!(shape, Shape::Tetrahedron | Shape::Triangle));
        let grid = Grid::new(if is_simplex { (dim * (d - 1)).max(1) } else { (dim * d - 1).max(1) });
        let on = |grid: &Grid| grid.points().map(|u| basis.gradients(reference(shape, u))).collect::<Vec<_>>();
        let (columns, gradients) = (Grid::new(d), on(&grid));
        let mut departures = on(&columns);
        let (count, mut mean) = (departures.len() as f64, vec![[0.0; DIM]; element.nodes()]);
        for (m, b) in (0..mean.len()).flat_map(|m| [(m, 0), (m, 1), (m, 2)]) {
            let all = columns.coefficients(departures.iter().map(|at| at[m][b]).collect()).all;
            mean[m][b] = all.iter().sum::<f64>() / count;
            departures.iter_mut().zip(all).for_each(|(at, value)| at[m][b] = value - mean[m][b]);
        }
        FoldSearch { shape, dim, grid, gradients, mean, departures }
    }

    /// Returns where an element with these nodes is folded. NaN counts as folded.
    pub fn fold(&self, coords: &[[f64; DIM]]) -> Option<Fold> {
        if self.is_clearly_positive(coords) {
            return None;
        }
        let determinant = |gradients: &Vec<Vector>| {
            let [a, b, c] = self.complete(columns(gradients, coords));
            triple(a, b, c)
        };
        let polynomial = self.grid.coefficients(self.gradients.iter().map(determinant).collect());
        let scale = polynomial.all.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let found = polynomial.search_all((ROUNDING * scale).max(LEAST))?;
        Some(Fold { point: reference(self.shape, found.point), ..found })
    }

    /// The columns with unit vectors of the axes beyond the element's dimension.
    fn complete(&self, mut columns: [Vector; DIM]) -> [Vector; DIM] {
        (self.dim..DIM).for_each(|axis| columns[axis][axis] = 1.0);
        columns
    }

    /// The cheap test: true only if the determinant is positive everywhere.
    fn is_clearly_positive(&self, coords: &[Vector]) -> bool {
        let departure = |lost: Vector, departures: &Vec<Vector>| {
            let columns = columns(departures, coords);
            std::array::from_fn(|b| lost[b].max(length(columns[b])))
        };
        exceeds_losses(self.complete(columns(&self.mean, coords)), self.departures.iter().fold([0.0; DIM], departure))
    }
}

/// Columns of the Jacobian, 0 beyond the element's dimension.
fn columns(gradients: &[Vector], coords: &[Vector]) -> [Vector; DIM] {
    let mut columns = [[0.0; DIM]; DIM];
    for (x, gradient) in coords.iter().zip(gradients) {
        for b in 0..DIM {
            (0..DIM).for_each(|d| columns[b][d] += x[d] * gradient[b]);
        }
    }
    columns
}

/// The point of the reference element at a point of the unit cube.
fn reference(shape: Shape, [u, v, w]: Vector) -> Vector {
    match shape {
        Shape::Tetrahedron => [u * (1.0 - v) * (1.0 - w), v * (1.0 - w), w],
        Shape::Wedge => [u * (1.0 - v), v, 2.0 * w - 1.0],
        Shape::Triangle => [u * (1.0 - v), v, 0.0],
        Shape::Quadrilateral => [2.0 * u - 1.0, 2.0 * v - 1.0, 0.0],
        Shape::Line => [2.0 * u - 1.0, 0.0, 0.0],
        Shape::Hexahedron => [u, v, w].map(|x| 2.0 * x - 1.0),
    }
}

/// Bernstein's polynomials at a point of an axis.
fn powers(degree: usize, u: f64) -> Vec<f64> {
    let mut binomial = 1.0;
    let power = |p: usize| {
        let value = binomial * u.powi(p as i32) * (1.0 - u).powi((degree - p) as i32);
        binomial *= (degree - p) as f64 / (p + 1) as f64;
        value
    };
    (0..=degree).map(power).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::testing::distorted_hex;
    use proptest::prelude::*;

    /// Determinant by the basis at a reference point.
    fn determinant(element: ElementType, coords: &[Vector], xi: Vector) -> f64 {
        let [a, b, c] = columns(&Basis::new(element).gradients(xi), coords);
        triple(a, b, c)
    }

    /// Whether a point lies in the reference element, to rounding.
    fn is_inside(shape: Shape, [x, y, z]: Vector) -> bool {
        let sides = match shape {
            Shape::Tetrahedron => [x, y, z, 1.0 - x - y - z, 1.0, 1.0],
            Shape::Wedge => [x, y, 1.0 - x - y, 1.0 + z, 1.0 - z, 1.0],
            _ => [1.0 + x, 1.0 - x, 1.0 + y, 1.0 - y, 1.0 + z, 1.0 - z],
        };
        sides.iter().all(|&distance| distance > -1e-12)
    }

    /// A determinant of 1e-321 has no finite reciprocal; one of 1e-300 has.
    #[test]
    fn elements_whose_determinants_underflow_are_folded() {
        for (element, name) in ElementType::volumes() {
            let of_size = |edge: f64| {
                let coords: Vec<Vector> = element.reference_nodes().iter().map(|xi| xi.map(|x| edge * x)).collect();
                FoldSearch::new(element).fold(&coords).is_some()
            };
            assert_eq!([1e-107, 1e-100].map(of_size), [true, false], "{name}");
        }
    }

    /// Points of the unit cube on a grid of n^3.
    fn grid(n: usize) -> impl Iterator<Item = Vector> {
        (0..n * n * n).map(move |at| [at % n, at / n % n, at / n / n].map(|i| i as f64 / (n - 1) as f64))
    }

    fn moved(element: ElementType, moves: &[f64], size: f64) -> Vec<Vector> {
        let nodes = element.reference_nodes().iter().enumerate();
        nodes.map(|(m, x)| std::array::from_fn(|d| x[d] + size * moves[3 * m + d])).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]
        /// Moves so large that some of the elements are folded: what passes is positive on a grid, what fails is not.
        #[test]
        fn what_passes_is_positive_everywhere_and_what_fails_is_not(
            moves in prop::collection::vec(-1.0..1.0f64, 81), size in 0.0..0.25f64, point in prop::array::uniform3(0.0..1.0f64)
        ) {
            for (element, name) in ElementType::volumes() {
                let (test, coords) = (FoldSearch::new(element), moved(element, &moves, size));
                let least = grid(9).map(|u| determinant(element, &coords, reference(test.shape, u)));
                let least = least.fold(f64::INFINITY, f64::min);
                match test.fold(&coords) {
                    None => prop_assert!(least > 0.0, "{name}: {least}"),
                    Some(Fold { point, determinant: found, is_bound: false }) => {
                        let exact = determinant(element, &coords, point);
                        prop_assert!(is_inside(test.shape, point), "{name}: {point:?}");
                        prop_assert!(found <= 1e-10 && (found - exact).abs() < 1e-10, "{name}: {found}, {exact}");
                    }
                    Some(fold) => prop_assert!(fold.determinant <= 1e-10 && least < 0.05, "{name}: {fold:?}, {least}"),
                }
                // The coefficients are those of the determinant.
                let values = test.gradients.iter().map(|at| { let [a, b, c] = columns(at, &coords); triple(a, b, c) });
                let polynomial = test.grid.coefficients(values.collect());
                let [x, y, z] = point.map(|u| powers(test.grid.degree, u));
                let n = x.len();
                let sum = (0..n * n * n).map(|at| polynomial.all[at] * x[at % n] * y[at / n % n] * z[at / n / n]);
                let exact = determinant(element, &coords, reference(test.shape, point));
                prop_assert!((sum.sum::<f64>() - exact).abs() < 1e-11, "{name}: {exact}");
                // Halves have the same polynomial: their corners are its values.
                let corner = polynomial.half(0, 1).half(1, 0).all[0];
                let exact = determinant(element, &coords, reference(test.shape, [0.5, 0.0, 0.0]));
                prop_assert!((corner - exact).abs() < 1e-11, "{name}: {corner}, {exact}");
            }
        }

        /// Elements that the cheap test lets pass have positive coefficients.
        #[test]
        fn the_cheap_test_is_on_the_safe_side(moves in prop::collection::vec(-1.0..1.0f64, 81), size in 0.0..0.06f64) {
            for (element, name) in ElementType::volumes() {
                let (test, coords) = (FoldSearch::new(element), moved(element, &moves, size));
                if test.is_clearly_positive(&coords) {
                    let least = grid(7).map(|u| determinant(element, &coords, reference(test.shape, u)));
                    prop_assert!(least.fold(f64::INFINITY, f64::min) > 0.0, "{name}");
                }
            }
        }

        /// The two tests of a trilinear hexahedron agree.
        #[test]
        fn trilinear_hexahedra_are_judged_as_by_their_own_test(coords in distorted_hex(), push in 0.0..2.0f64) {
            let test = FoldSearch::new(ElementType::Hex8);
            // Each corner is pushed towards the opposite one.
            for (corner, opposite) in [6, 7, 4, 5, 2, 3, 0, 1].into_iter().enumerate() {
                let mut coords = coords;
                (0..3).for_each(|d| coords[corner][d] -= push * (coords[corner][d] - coords[opposite][d]));
                prop_assert_eq!(test.fold(&coords).is_some(), crate::element::fold(&coords).is_some(), "{}", corner);
            }
        }
    }

    /// A node in the middle of an edge, more than a quarter of the edge away from there: the element is folded at that edge alone.
    #[test]
    fn a_node_that_moves_along_its_edge_folds_the_element_there() {
        for element in [ElementType::Hex20, ElementType::Hex27] {
            let (test, nodes) = (FoldSearch::new(element), element.reference_nodes());
            let is_middle = |x: &Vector| x.iter().filter(|x| **x == 0.0).count() == 1;
            for (m, x) in nodes.iter().enumerate().filter(|(_, x)| is_middle(x)) {
                let axis = x.iter().position(|x| *x == 0.0).unwrap();
                for (step, is_folded) in [(0.45, false), (0.55, true), (-0.55, true)] {
                    let mut coords = nodes.to_vec();
                    coords[m][axis] += step;
                    assert_eq!(test.fold(&coords).is_some(), is_folded, "{element}: node {m} by {step}");
                }
            }
        }
    }

    #[test]
    fn affine_elements_pass_the_cheap_test_and_mirrored_or_flat_ones_are_folded() {
        for (element, name) in ElementType::ALL {
            let test = FoldSearch::new(element);
            let map = |scale: Vector| -> Vec<Vector> {
                let x = |[x, y, z]: Vector| [x + 0.5 * y - 7.0, y + 0.25 * z, z - 0.5 * x];
                element.reference_nodes().iter().map(|&xi| std::array::from_fn(|d| scale[d] * x(xi)[d])).collect()
            };
            for scale in [[1.0; 3], [1e-3, 1.0, 1e3]] {
                let coords = map(scale);
                assert!(test.is_clearly_positive(&coords), "{name}");
            }
            assert!(test.fold(&map([-1.0, 1.0, 1.0])).is_some(), "{name}, mirrored");
            assert!(test.fold(&map([0.0, 1.0, 1.0])).is_some(), "{name}, flat");
            let mut unknown = map([1.0; 3]);
            unknown[1][0] = f64::NAN;
            assert!(test.fold(&unknown).is_some(), "{name}");
        }
    }
}
