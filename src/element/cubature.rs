//! Gauss cubature of the hexahedron, and the basis tabulated at its points.
//!
//! Two points per axis at +-1/sqrt(3) with weight 1 integrate x^a y^b z^c exactly for a, b, c <= 3 (Gauss-Legendre).
//! Point p is the one nearest to node p, so points and nodes have the same order. Shapes: points `[point, axis]`,
//! weights `[point]`, [`Tables`] as stated at its fields.

use super::basis::{self, CORNERS, DIM, HEX8_NODES};

/// 1/sqrt(3), the coordinate of the two Gauss points per axis.
pub const GAUSS: f64 = 0.577_350_269_189_625_8;
/// Points of the 2x2x2 rule.
pub const HEX8_POINTS: usize = 8;

/// A basis of `NN` functions tabulated at `NP` cubature points of the reference element.
#[derive(Clone, Copy, Debug)]
pub struct Tables<const NN: usize, const NP: usize> {
    /// phi_m at point p, `[p, m]`.
    pub values: [[f64; NN]; NP],
    /// Derivatives of phi_m with respect to the reference coordinates at point p, `[p, m, axis]`.
    pub gradients: [[[f64; DIM]; NN]; NP],
    /// Cubature weights, `[p]`.
    pub weights: [f64; NP],
}

/// Tables of the trilinear hexahedron at the 2x2x2 Gauss points.
pub const HEX8: Tables<HEX8_NODES, HEX8_POINTS> = {
    let points = points();
    let mut tables = Tables {
        values: [[0.0; HEX8_NODES]; HEX8_POINTS],
        gradients: [[[0.0; DIM]; HEX8_NODES]; HEX8_POINTS],
        weights: [1.0; HEX8_POINTS],
    };
    let mut p = 0;
    while p < HEX8_POINTS {
        tables.values[p] = basis::values(points[p]);
        tables.gradients[p] = basis::gradients(points[p]);
        p += 1;
    }
    tables
};

/// Returns the 2x2x2 Gauss points, `[point, axis]`.
pub const fn points() -> [[f64; DIM]; HEX8_POINTS] {
    let mut points = CORNERS;
    let mut p = 0;
    while p < HEX8_POINTS {
        let mut d = 0;
        while d < DIM {
            points[p][d] *= GAUSS;
            d += 1;
        }
        p += 1;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_exact_up_to_degree_three_per_axis() {
        let moment = |a: i32| if a % 2 == 0 { 2.0 / f64::from(a + 1) } else { 0.0 };
        for (a, b, c) in (0..4).flat_map(|a| (0..4).flat_map(move |b| (0..4).map(move |c| (a, b, c)))) {
            let sum: f64 =
                points().iter().zip(HEX8.weights).map(|([x, y, z], w)| w * x.powi(a) * y.powi(b) * z.powi(c)).sum();
            assert!((sum - moment(a) * moment(b) * moment(c)).abs() < 4e-15, "x^{a} y^{b} z^{c}: {sum}");
        }
        let fourth: f64 = points().iter().map(|[x, ..]| x.powi(4)).sum();
        assert!((fourth - 4.0 * moment(4)).abs() > 0.1, "degree 4 is beyond the rule");
    }
}
