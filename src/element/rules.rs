//! Cubature rules of the reference elements.
//!
//! Gauss-Legendre rules of n points per axis integrate x^a with a < 2 n. The rules of triangles and tetrahedra have positive
//! weights. Sources: Strang and Fix 1973 (triangle, 3 points); Dunavant 1985 (triangle, 6 points of degree 4); Hammer and Stroud 1956 (tetrahedron, 4 points of degree 2);
//! Walkington 2000, Quadrature on simplices of arbitrary dimension (tetrahedron, 14 points of degree 5). The tests integrate all
//! monomials up to the degree.

/// Points and weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Reference coordinates of each point.
    pub points: Vec<[f64; 3]>,
    /// Weight of each point; they add up to the volume of the reference element.
    pub weights: Vec<f64>,
}

impl Rule {
    /// Returns the Gauss-Legendre rule of 2 or 3 points per axis; other numbers have 3.
    pub(super) fn gauss(per_axis: usize, axes: usize) -> Self {
        let (near, far) = (1.0 / 3f64.sqrt(), 0.6f64.sqrt());
        let line: &[(f64, f64)] = match per_axis {
            2 => &[(-near, 1.0), (near, 1.0)],
            _ => &[(-far, 5.0 / 9.0), (0.0, 8.0 / 9.0), (far, 5.0 / 9.0)],
        };
        let mut rule = Rule { points: vec![[0.0; 3]], weights: vec![1.0] };
        for axis in 0..axes {
            let both = rule.points.iter().zip(&rule.weights).flat_map(|(&point, &weight)| {
                line.iter().map(move |&(x, w)| {
                    let mut point = point;
                    point[axis] = x;
                    (point, weight * w)
                })
            });
            let (points, weights) = both.unzip();
            rule = Rule { points, weights };
        }
        rule
    }

    /// Three points on the triangle, of degree 2.
    pub(super) fn triangle3() -> Self {
        let (a, b) = (1.0 / 6.0, 2.0 / 3.0);
        Rule { points: vec![[a, a, 0.0], [b, a, 0.0], [a, b, 0.0]], weights: vec![1.0 / 6.0; 3] }
    }

    /// Six points on the triangle, of degree 4.
    pub(super) fn triangle6() -> Self {
        let (a, c) = (0.445_948_490_915_964_9, 0.091_576_213_509_770_74);
        let (b, d) = (1.0 - 2.0 * a, 1.0 - 2.0 * c);
        let points = [[a, a], [b, a], [a, b], [c, c], [d, c], [c, d]].map(|[x, y]| [x, y, 0.0]);
        let weights = [[0.223_381_589_678_011_47 / 2.0; 3], [0.109_951_743_655_321_87 / 2.0; 3]].concat();
        Rule { points: points.to_vec(), weights }
    }

    /// Four points on the tetrahedron, of degree 2.
    pub(super) fn tetrahedron4() -> Self {
        Rule { points: near_corners((5.0 - 5f64.sqrt()) / 20.0).to_vec(), weights: vec![1.0 / 24.0; 4] }
    }

    /// Fourteen points on the tetrahedron, of degree 5.
    pub(super) fn tetrahedron14() -> Self {
        let (a, b, c) = (0.310_885_919_263_300_6, 0.092_735_250_310_891_23, 0.045_503_704_125_649_65);
        let d = 0.5 - c;
        let between = [[c, c, d], [c, d, c], [d, c, c], [c, d, d], [d, c, d], [d, d, c]];
        let points = [&near_corners(a)[..], &near_corners(b), &between].concat();
        let of_volume = [[0.112_687_925_718_015_85; 4], [0.073_493_043_116_361_95; 4]].concat();
        let weights = of_volume.into_iter().chain([0.042_546_020_777_081_47; 6]).map(|weight| weight / 6.0);
        Rule { points, weights: weights.collect() }
    }

    /// Returns the product of a rule on two axes with one on the third.
    pub(super) fn times(&self, line: &Rule) -> Self {
        let pairs = || {
            line.points
                .iter()
                .zip(&line.weights)
                .flat_map(|l| self.points.iter().zip(&self.weights).map(move |p| (p, l)))
        };
        Rule {
            points: pairs().map(|((p, _), (l, _))| [p[0], p[1], l[0]]).collect(),
            weights: pairs().map(|((_, p), (_, l))| p * l).collect(),
        }
    }
}

/// The points with three barycentric coordinates `a`.
fn near_corners(a: f64) -> [[f64; 3]; 4] {
    let b = 1.0 - 3.0 * a;
    [[a, a, a], [b, a, a], [a, b, a], [a, a, b]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Shape;

    fn factorial(n: i32) -> f64 {
        (1..=n).map(f64::from).product()
    }

    /// The integral of x^a y^b z^c over the reference element.
    fn exact(shape: Shape, [a, b, c]: [i32; 3]) -> f64 {
        let line = |a: i32| if a % 2 == 0 { 2.0 / f64::from(a + 1) } else { 0.0 };
        let triangle = |a: i32, b: i32| factorial(a) * factorial(b) / factorial(a + b + 2);
        match shape {
            Shape::Hexahedron => line(a) * line(b) * line(c),
            Shape::Quadrilateral => line(a) * line(b),
            Shape::Tetrahedron => factorial(a) * factorial(b) * factorial(c) / factorial(a + b + c + 3),
            Shape::Wedge => triangle(a, b) * line(c),
            Shape::Triangle => triangle(a, b),
            Shape::Line => line(a),
        }
    }

    #[test]
    fn rules_integrate_their_degree_and_no_more() {
        type IsExact = fn([i32; 3]) -> bool;
        let rules: [(Shape, Rule, IsExact); 12] = [
            (Shape::Hexahedron, Rule::gauss(2, 3), |[a, b, c]| a.max(b).max(c) <= 3),
            (Shape::Hexahedron, Rule::gauss(3, 3), |[a, b, c]| a.max(b).max(c) <= 5),
            (Shape::Quadrilateral, Rule::gauss(2, 2), |[a, b, _]| a.max(b) <= 3),
            (Shape::Quadrilateral, Rule::gauss(3, 2), |[a, b, _]| a.max(b) <= 5),
            (Shape::Line, Rule::gauss(2, 1), |[a, ..]| a <= 3),
            (Shape::Line, Rule::gauss(3, 1), |[a, ..]| a <= 5),
            (Shape::Tetrahedron, Rule::tetrahedron4(), |[a, b, c]| a + b + c <= 2),
            (Shape::Tetrahedron, Rule::tetrahedron14(), |[a, b, c]| a + b + c <= 5),
            (Shape::Triangle, Rule::triangle3(), |[a, b, _]| a + b <= 2),
            (Shape::Triangle, Rule::triangle6(), |[a, b, _]| a + b <= 4),
            (Shape::Wedge, Rule::triangle3().times(&Rule::gauss(2, 1)), |[a, b, c]| a + b <= 2 && c <= 3),
            (Shape::Wedge, Rule::triangle6().times(&Rule::gauss(3, 1)), |[a, b, c]| a + b <= 4 && c <= 5),
        ];
        for (shape, rule, is_in_degree) in rules {
            let name = format!("{shape:?} of {} points", rule.points.len());
            assert!(rule.weights.iter().all(|&weight| weight > 0.0) && rule.points.len() == rule.weights.len());
            let error = |[a, b, c]: [i32; 3]| {
                let terms = rule.points.iter().zip(&rule.weights);
                let sum: f64 = terms.map(|([x, y, z], w)| w * x.powi(a) * y.powi(b) * z.powi(c)).sum();
                (sum - exact(shape, [a, b, c])).abs()
            };
            let axes = match shape {
                Shape::Line => 1,
                Shape::Triangle | Shape::Quadrilateral => 2,
                _ => 3,
            };
            let power = |k: i32, axis: usize| if axis < axes { k / 7i32.pow(axis as u32) % 7 } else { 0 };
            let powers = (0..7 * 7 * 7).map(|k| [0, 1, 2].map(|axis| power(k, axis)));
            for power in powers.clone().filter(|&power| is_in_degree(power)) {
                assert!(error(power) < 1e-14, "{name}: {power:?} is off by {:e}", error(power));
            }
            assert!(powers.clone().filter(|&power| !is_in_degree(power)).any(|power| error(power) > 1e-5), "{name}");
        }
    }
}
