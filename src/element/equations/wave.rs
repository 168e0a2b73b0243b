//! The plane wave of the manufactured solutions.
//!
//! ```text
//! theta = w . x + phase                     s = sin theta, c = cos theta
//! diffusion    u = s,      k = 1 + (x . d)^2,  -div(k grad u) = f = k |w|^2 s - 2 (x . d)(d . w) c
//! elasticity   u = a s,    -div sigma(u) = f = ((lambda + mu)(a . w) w + mu |w|^2 a) s
//! ```
//! A wave is in no space of polynomials, so that its error has the order of the element.

/// sin(direction . x + phase).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wave {
    /// Wave vector w.
    pub direction: [f64; 3],
    /// Phase at the origin.
    pub phase: f64,
}

impl Wave {
    /// Returns the wave at a point.
    pub fn at(&self, x: [f64; 3]) -> f64 {
        self.angle(x).sin()
    }

    pub(super) fn angle(&self, [x, y, z]: [f64; 3]) -> f64 {
        let [a, b, c] = self.direction;
        a * x + b * y + c * z + self.phase
    }
}
