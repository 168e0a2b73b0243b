//! The basis of an element type: polynomials that are 1 at their own node and 0 at the others.
//!
//! ```text
//! phi_m(xi) = sum_k c_mk x^a_k y^b_k z^c_k,   c = inverse of the matrix [k, m] of the monomials at the nodes
//! ```
//! One formula serves all types. The coefficients are multiples of 1/8, to which they are rounded, so that they are exact.

use super::{ElementType, Rule};
use std::array;

/// The basis functions of an element type.
#[derive(Clone, Debug)]
pub struct Basis {
    exponents: Vec<[u8; 3]>,
    /// `[m, k]`.
    coefficients: Vec<Vec<f64>>,
}

/// A basis and the geometry map tabulated at the points of a rule: what element loops read.
#[derive(Clone, Debug, PartialEq)]
pub struct BasisTables {
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
        let n = exponents.len();
        // Gauss-Jordan elimination of [monomials at the nodes | identity].
        let mut rows: Vec<Vec<f64>> = element
            .reference_nodes()
            .iter()
            .enumerate()
            .map(|(m, &xi)| {
                let identity = (0..n).map(|k| f64::from(u8::from(k == m)));
                exponents.iter().map(|&e| monomial(e, xi)).chain(identity).collect()
            })
            .collect();
        for k in 0..n {
            let largest = (k..n).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs())).unwrap_or(k);
            rows.swap(k, largest);
            let pivot = rows[k][k];
            rows[k].iter_mut().for_each(|item| *item /= pivot);
            let row = rows[k].clone();
            for (_, other) in rows.iter_mut().enumerate().filter(|(at, _)| *at != k) {
                let factor = other[k];
                other.iter_mut().zip(&row).for_each(|(item, of_row)| *item -= factor * of_row);
            }
        }
        let exact = |value: f64| (8.0 * value).round() / 8.0;
        let coefficients = (0..n).map(|m| (0..n).map(|k| exact(rows[k][n + m])).collect()).collect();
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

    /// Tabulates the basis at the points of a rule.
    pub fn at(&self, rule: &Rule) -> BasisTables {
        BasisTables {
            nodes: self.exponents.len(),
            values: rule.points.iter().flat_map(|&xi| self.values(xi)).collect(),
            gradients: rule.points.iter().flat_map(|&xi| self.gradients(xi)).collect(),
            weights: rule.weights.clone(),
        }
    }

    fn sums(&self, terms: &[f64]) -> Vec<f64> {
        let sum = |row: &Vec<f64>| row.iter().zip(terms).map(|(c, term)| c * term).sum();
        self.coefficients.iter().map(sum).collect()
    }
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
    use crate::element::HEX8;

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
    fn the_tables_of_hexahedra_are_those_at_compile_time() {
        let tables = Basis::new(ElementType::Hex8).at(&ElementType::Hex8.rule());
        // Points of the rule run along x first from the last axis, those of the constant tables around the faces.
        let close = |a: f64, b: f64| (a - b).abs() < 1e-15;
        for p in 0..8 {
            let same = (0..8).filter(|q| (0..8).all(|m| close(tables.values[8 * q + m], HEX8.values[p][m])));
            let same: Vec<usize> = same.collect();
            assert_eq!(same.len(), 1);
            let gradients = &tables.gradients[8 * same[0]..][..8];
            assert!(gradients.iter().zip(&HEX8.gradients[p]).all(|(a, b)| (0..3).all(|d| close(a[d], b[d]))));
        }
    }
}
