//! Polynomials of degree n in each coordinate of the unit cube by their Bernstein coefficients, which bound them from both sides.
//!
//! ```text
//! f(u, v, w) = sum over p, q, r <= n of  c[p,q,r] B_p(u) B_q(v) B_r(w),   B_p(u) = (n over p) u^p (1-u)^(n-p)
//! min c <= f <= max c;   f at a corner is the coefficient there
//! ```
//! Coefficients of halves come from de Casteljau's averages. Those of smaller and smaller parts tend to f (Johnen, Remacle and Geuzaine
//! 2013).

use super::geometry::DIM;

type Vector = [f64; DIM];

/// Number of bisections after which a search for a value that is not positive gives up.
const DEPTH: u32 = 6;

/// Where a determinant is not positive: a point of the reference element, or of the unit cube, the determinant there, and whether it is
/// only a lower bound around the point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fold {
    /// Point of the reference element.
    pub point: [f64; DIM],
    /// The determinant there, or its bound.
    pub determinant: f64,
    /// Whether the determinant is a bound.
    pub is_bound: bool,
}

/// Coefficients `[p + (n+1) q + (n+1)^2 r]` of a polynomial.
#[derive(Clone, Debug)]
pub(super) struct Bernstein {
    pub degree: usize,
    pub all: Vec<f64>,
}

impl Bernstein {
    /// The coefficients on one half of the cube (0 or 1) along an axis.
    pub fn half(&self, axis: usize, upper: usize) -> Self {
        let Bernstein { degree, ref all } = *self;
        let (length, stride) = (degree + 1, (degree + 1).pow(axis as u32));
        let mut out = all.clone();
        for first in (0..all.len()).filter(|at| at / stride % length == 0) {
            // After k averages, the ends of what is left are coefficient k of the lower half and n - k of the upper one.
            let mut line: Vec<f64> = (0..length).map(|step| all[first + step * stride]).collect();
            for done in 0..length {
                let left = length - done;
                let (at, end) = if upper == 0 { (done, 0) } else { (left - 1, left - 1) };
                out[first + at * stride] = line[end];
                (1..left).for_each(|step| line[step - 1] = 0.5 * (line[step - 1] + line[step]));
            }
        }
        Bernstein { degree, all: out }
    }

    /// The value at a corner, given by 0 or 1 along each axis.
    fn at_corner(&self, bits: [usize; DIM]) -> f64 {
        let (n, length) = (self.degree, self.degree + 1);
        self.all[n * (bits[0] + length * (bits[1] + length * bits[2]))]
    }

    /// Searches the cube, at whose corners the polynomial is known to be positive, for a value that is not above `least`.
    pub fn search(&self, least: f64) -> Option<Fold> {
        self.search_part(least, [0.0; DIM], 1.0, DEPTH)
    }

    /// As [`search`](Self::search), corners included.
    pub fn search_all(&self, least: f64) -> Option<Fold> {
        self.not_positive_corner(least, [0.0; DIM], 1.0).or_else(|| self.search(least))
    }

    fn not_positive_corner(&self, least: f64, low: Vector, width: f64) -> Option<Fold> {
        (0..8).map(|corner| [corner & 1, corner >> 1 & 1, corner >> 2]).find_map(|bits| {
            let determinant = self.at_corner(bits);
            let point = std::array::from_fn(|axis| low[axis] + width * bits[axis] as f64);
            (!is_above(determinant, least)).then_some(Fold { point, determinant, is_bound: false })
        })
    }

    fn search_part(&self, least: f64, low: Vector, width: f64, depth: u32) -> Option<Fold> {
        let open = self.all.iter().copied().find(|&value| !is_above(value, least))?;
        if depth == 0 {
            let determinant = self.all.iter().copied().fold(open, f64::min);
            return Some(Fold { point: low.map(|x| x + 0.5 * width), determinant, is_bound: true });
        }
        let width = 0.5 * width;
        let parts: [(Bernstein, Vector); 8] = std::array::from_fn(|part| {
            let bits = [part & 1, part >> 1 & 1, part >> 2];
            let all = (0..DIM).fold(self.clone(), |all, axis| all.half(axis, bits[axis]));
            (all, std::array::from_fn(|axis| low[axis] + width * bits[axis] as f64))
        });
        let corner = parts.iter().find_map(|(all, low)| all.not_positive_corner(least, *low, width));
        corner.or_else(|| parts.iter().find_map(|(all, low)| all.search_part(least, *low, width, depth - 1)))
    }
}

/// Whether a value exceeds a limit; NaN does not.
fn is_above(value: f64, limit: f64) -> bool {
    value > limit
}
