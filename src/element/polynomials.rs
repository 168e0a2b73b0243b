//! The basis of an element type: polynomials that are 1 at their own node and 0 at the others.
//!
//! ```text
//! phi_m(xi) = sum_k c_mk x^a_k y^b_k z^c_k,   c = inverse of the matrix [k, m] of the monomials at the nodes
//! ```
//! One formula serves all types. The coefficients are multiples of 1/8, to which they are rounded, so that they are exact.

use super::{ElementType, Rule};
use crate::{Error, Result};
use std::array;

/// The basis functions of an element type.
#[derive(Clone, Debug)]
pub struct Basis {
    exponents: Vec<[u8; 3]>,
    /// `[m, k]`.
    coefficients: Vec<Vec<f64>>,
}

/// Largest departure of a rule's volume from that of the reference element, relative.
const VOLUME: f64 = 1e-6;

/// A basis and the geometry map tabulated at the points of a rule: what element loops read.
#[derive(Clone, Debug, PartialEq)]
pub struct BasisTables {
    /// The element type.
    pub element: ElementType,
    /// Nodes of the element.
    pub nodes: usize,
    /// phi_m at point p, `[p, m]`.
    pub values: Vec<f64>,
    /// Derivatives of phi_m with respect to the reference coordinates at point p, `[p, m][axis]`.
    pub gradients: Vec<[f64; 3]>,
    /// Cubature weights, `[p]`.
    pub weights: Vec<f64>,
}

impl Basis {
    /// Computes the coefficients.
    pub fn new(element: ElementType) -> Self {
        let exponents = element.exponents();
        let at_nodes = element.reference_nodes().iter().map(|&xi| exponents.iter().map(|&e| monomial(e, xi)).collect());
        let inverse = inverse(at_nodes.collect());
        let exact = |value: f64| (8.0 * value).round() / 8.0;
        let of_node = |m: usize| inverse.iter().map(|row| exact(row[m])).collect();
        let coefficients = (0..exponents.len()).map(of_node).collect();
        Basis { exponents, coefficients }
    }

    /// Returns phi_m at a reference point, `[m]`.
    pub fn values(&self, xi: [f64; 3]) -> Vec<f64> {
        let monomials: Vec<f64> = self.exponents.iter().map(|&e| monomial(e, xi)).collect();
        self.sums(&monomials)
    }

    /// Returns the derivatives of phi_m at a reference point, `[m][axis]`.
    pub fn gradients(&self, xi: [f64; 3]) -> Vec<[f64; 3]> {
        let along: [Vec<f64>; 3] = array::from_fn(|axis| {
            let slopes: Vec<f64> = self.exponents.iter().map(|&e| slope(e, xi, axis)).collect();
            self.sums(&slopes)
        });
        (0..self.exponents.len()).map(|m| array::from_fn(|axis| along[axis][m])).collect()
    }

    fn sums(&self, terms: &[f64]) -> Vec<f64> {
        let sum = |row: &Vec<f64>| row.iter().zip(terms).map(|(c, term)| c * term).sum();
        self.coefficients.iter().map(sum).collect()
    }
}

impl BasisTables {
    /// Tabulates the basis of an element type at the points of its own rule.
    pub fn of(element: ElementType) -> Self {
        Self::tabulated(element, &element.rule())
    }

    /// Tabulates the basis of an element type at the points of another rule, such as one of fewer points.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless the rule has a weight per point, its points are finite, and the weights add up to the volume of the reference element.
    pub fn with_rule(element: ElementType, rule: &Rule) -> Result<Self> {
        let (points, weights) = (rule.points.len(), rule.weights.len());
        if points != weights {
            return Err(Error::Invalid(format!(
                "BasisTables::with_rule: the rule has {weights} weights, expected one for each of {points} points"
            )));
        }
        if let Some(p) = rule.points.iter().position(|point| !point.iter().all(|x| x.is_finite())) {
            let point = rule.points[p];
            return Err(Error::Invalid(format!(
                "BasisTables::with_rule: point {p} of the rule is {point:?}, expected finite coordinates"
            )));
        }
        let volume = |rule: &Rule| rule.weights.iter().sum::<f64>();
        let (found, expected) = (volume(rule), volume(&element.rule()));
        // NaN is refused, too.
        if (found - expected).abs() <= VOLUME * expected {
            return Ok(Self::tabulated(element, rule));
        }
        Err(Error::Invalid(format!(
            "BasisTables::with_rule: the weights of the rule add up to {found:.6}, expected {expected:.6}, the volume of the reference {element}"
        )))
    }

    fn tabulated(element: ElementType, rule: &Rule) -> Self {
        let basis = Basis::new(element);
        BasisTables {
            element,
            nodes: element.nodes(),
            values: rule.points.iter().flat_map(|&xi| basis.values(xi)).collect(),
            gradients: rule.points.iter().flat_map(|&xi| basis.gradients(xi)).collect(),
            weights: rule.weights.clone(),
        }
    }
}

/// The inverse of a small matrix, by Gauss and Jordan with pivots.
pub(super) fn inverse(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = rows.len();
    for (i, row) in rows.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs())).unwrap_or(k);
        rows.swap(k, pivot);
        let scale = rows[k][k];
        rows[k].iter_mut().for_each(|value| *value /= scale);
        let row = rows[k].clone();
        for other in (0..n).filter(|&other| other != k) {
            let factor = rows[other][k];
            rows[other].iter_mut().zip(&row).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    rows.into_iter().map(|row| row[n..].to_vec()).collect()
}

fn monomial(exponents: [u8; 3], xi: [f64; 3]) -> f64 {
    exponents.iter().zip(xi).map(|(&power, x)| x.powi(power.into())).product()
}

/// The derivative of a monomial along an axis.
fn slope(mut exponents: [u8; 3], xi: [f64; 3], axis: usize) -> f64 {
    let power = exponents[axis];
    match power.checked_sub(1) {
        None => 0.0,
        Some(less) => {
            exponents[axis] = less;
            f64::from(power) * monomial(exponents, xi)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points inside and outside the reference elements.
    fn points() -> impl Iterator<Item = [f64; 3]> {
        (0..40).map(|k| [12, 7, 31].map(|step| f64::from(k * step % 41) / 20.0 - 1.0))
    }

    #[test]
    fn functions_are_one_at_their_own_node_and_zero_at_the_others() {
        for (element, name) in ElementType::ALL {
            let basis = Basis::new(element);
            assert_eq!(
                (basis.exponents.len(), element.nodes()),
                (element.nodes(), element.reference_nodes().len()),
                "{name}"
            );
            for (m, &node) in element.reference_nodes().iter().enumerate() {
                let values = basis.values(node);
                let is_one = values.iter().enumerate().all(|(n, &v)| v == f64::from(u8::from(m == n)));
                assert!(is_one, "{name}, node {m}: {values:?}");
            }
        }
    }

    #[test]
    fn a_rule_of_another_shape_is_refused() {
        let refused = |element: ElementType, rule: &Rule| match BasisTables::with_rule(element, rule) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        for (element, name) in ElementType::ALL {
            for (other, of_other) in ElementType::ALL {
                let message = refused(element, &other.rule());
                let is_same_shape = element.shape() == other.shape();
                assert_eq!(message.is_empty(), is_same_shape, "{name} with the rule of {of_other}: {message}");
            }
            assert_eq!(BasisTables::with_rule(element, &element.rule()).unwrap(), BasisTables::of(element), "{name}");
        }
        let message = refused(ElementType::Tet4, &ElementType::Hex8.rule());
        assert!(
            message.contains("add up to 8.000000, expected 0.166667, the volume of the reference tet4"),
            "{message}"
        );
        let mut rule = ElementType::Tet4.rule();
        rule.weights.pop();
        assert!(refused(ElementType::Tet4, &rule).contains("has 3 weights, expected one for each of 4 points"));
        rule.points[2][1] = f64::NAN;
        rule.weights.push(1.0);
        assert!(refused(ElementType::Tet4, &rule).contains("point 2 of the rule is ["));
        rule.points[2][1] = 0.0;
        rule.weights[3] = f64::NAN;
        assert!(refused(ElementType::Tet4, &rule).contains("add up to NaN"));
    }

    #[test]
    fn functions_sum_to_one_and_reproduce_coordinates_and_their_slopes() {
        for (element, name) in ElementType::ALL {
            let (basis, nodes, dim) = (Basis::new(element), element.reference_nodes(), element.dim());
            for mut xi in points() {
                xi[dim..].fill(0.0);
                let (values, gradients) = (basis.values(xi), basis.gradients(xi));
                assert!((values.iter().sum::<f64>() - 1.0).abs() < 1e-13, "{name}");
                for axis in 0..dim {
                    let at: f64 = values.iter().zip(nodes).map(|(v, node)| v * node[axis]).sum();
                    assert!((at - xi[axis]).abs() < 1e-13, "{name}");
                    for other in 0..3 {
                        let slope: f64 = gradients.iter().zip(nodes).map(|(g, node)| g[other] * node[axis]).sum();
                        assert!((slope - f64::from(u8::from(axis == other))).abs() < 1e-13, "{name}");
                    }
                }
            }
        }
    }

    #[test]
    fn gradients_equal_difference_quotients() {
        for (element, name) in ElementType::ALL {
            let basis = Basis::new(element);
            for (xi, axis) in points().flat_map(|xi| (0..element.dim()).map(move |axis| (xi, axis))) {
                let (mut ahead, mut back) = (xi, xi);
                ahead[axis] += 0.5;
                back[axis] -= 0.5;
                let quotients = basis.values(ahead).into_iter().zip(basis.values(back)).map(|(a, b)| a - b);
                // At most quadratic along an axis, so that central differences are exact.
                for (quotient, gradient) in quotients.zip(basis.gradients(xi)) {
                    assert!((quotient - gradient[axis]).abs() < 1e-12, "{name}: {quotient} {gradient:?}");
                }
            }
        }
    }

    #[test]
    fn functions_of_hexahedra_are_products_along_the_axes() {
        let (tables, points) = (BasisTables::of(ElementType::Hex8), ElementType::Hex8.rule().points);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-15;
        for (p, m) in (0..8).flat_map(|p| (0..8).map(move |m| (p, m))) {
            let (corner, at) = (ElementType::Hex8.reference_nodes()[m], 8 * p + m);
            let factor = |d: usize| 0.5 * (1.0 + corner[d % 3] * points[p][d % 3]);
            assert!(close(tables.values[at], factor(0) * factor(1) * factor(2)), "{p} {m}");
            let slope = |d: usize| 0.5 * corner[d] * factor(d + 1) * factor(d + 2);
            assert!((0..3).all(|d| close(tables.gradients[at][d], slope(d))), "{p} {m}");
        }
    }
}
