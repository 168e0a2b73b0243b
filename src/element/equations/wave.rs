//! Equations whose source is made so that a plane wave solves them (method of manufactured solutions).
//!
//! ```text
//! theta = w . x + phase                     s = sin theta, c = cos theta
//! diffusion    u = s,      k = 1 + (x . d)^2,  -div(k grad u) = f = k |w|^2 s - 2 (x . d)(d . w) c
//! elasticity   u = a s,    -div sigma(u) = f = ((lambda + mu)(a . w) w + mu |w|^2 a) s
//! ```
//! A wave is in no space of polynomials, so that its error has the order of the element.

use super::{Diffusion, Elasticity, Equation, Field, Heat, Poisson, Slope, Weak};
use crate::space::lanes::Number;
use std::array;

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

    /// Returns |w|^2.
    pub fn square(&self) -> f64 {
        self.direction.iter().map(|w| w * w).sum()
    }

    #[inline(always)]
    fn angle<N: Number>(&self, x: [N; 3]) -> N {
        let [a, b, c] = self.direction.map(N::from);
        a * x[0] + b * x[1] + c * x[2] + N::from(self.phase)
    }
}

/// -div(k grad u) = f with k = 1 + (x . direction)^2 and f such that a wave solves it; Poisson's equation for direction 0.
#[derive(Clone, Copy, Debug)]
pub struct WaveDiffusion {
    /// The coefficient; its own source is replaced.
    pub diffusion: Diffusion,
    /// The solution.
    pub wave: Wave,
}

impl WaveDiffusion {
    /// x . d and k.
    #[inline(always)]
    fn coefficient<N: Number>(&self, x: [N; 3]) -> (N, N) {
        let [a, b, c] = self.diffusion.direction.map(N::from);
        let along = a * x[0] + b * x[1] + c * x[2];
        (along, N::from(1.0) + along * along)
    }
}

impl Equation<1> for WaveDiffusion {
    #[inline(always)]
    fn weak<N: Number>(&self, x: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
        let ((along, k), angle) = (self.coefficient(x), self.wave.angle(x));
        let across: f64 = self.diffusion.direction.iter().zip(self.wave.direction).map(|(d, w)| d * w).sum();
        let turned = N::from(2.0 * across) * along * angle.cos();
        let source = turned - k * N::from(self.wave.square()) * angle.sin();
        [Weak { flux: u.grad.map(|slope| k * slope), source }]
    }

    #[inline(always)]
    fn slopes<N: Number>(&self, x: [N; 3], _: [Field<N>; 1]) -> [[Slope<N>; 1]; 1] {
        let (zero, k) = (N::from(0.0), self.coefficient(x).1);
        [[[[k, zero, zero, zero], [zero, k, zero, zero], [zero, zero, k, zero], [zero; 4]]]]
    }
}

/// Linear elasticity whose force is such that u = amplitude times a wave solves it.
#[derive(Clone, Copy, Debug)]
pub struct WaveElasticity {
    /// The body; its own force is replaced.
    pub body: Elasticity,
    /// a.
    pub amplitude: [f64; 3],
    /// The wave.
    pub wave: Wave,
}

impl WaveElasticity {
    /// Returns the displacement at a point.
    pub fn exact(&self, x: [f64; 3]) -> [f64; 3] {
        let wave = self.wave.at(x);
        self.amplitude.map(|a| a * wave)
    }

    /// f over the wave.
    #[inline(always)]
    fn force(&self) -> [f64; 3] {
        let (Elasticity { lambda, mu, .. }, w) = (self.body, self.wave.direction);
        let along: f64 = self.amplitude.iter().zip(w).map(|(a, w)| a * w).sum();
        array::from_fn(|c| (lambda + mu) * along * w[c] + mu * self.wave.square() * self.amplitude[c])
    }
}

impl Equation<3> for WaveElasticity {
    #[inline(always)]
    fn weak<N: Number>(&self, x: [N; 3], u: [Field<N>; 3]) -> [Weak<N>; 3] {
        let (wave, force, stress) = (self.wave.angle(x).sin(), self.force(), self.body.weak(x, u));
        array::from_fn(|c| Weak { flux: stress[c].flux, source: -(N::from(force[c]) * wave) })
    }

    #[inline(always)]
    fn slopes<N: Number>(&self, x: [N; 3], u: [Field<N>; 3]) -> [[Slope<N>; 3]; 3] {
        self.body.slopes(x, u)
    }
}

/// The equations of one unknown that the program solves; chosen at run time, so that element loops are compiled once for all.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// -K laplace(u) + u^2 = 0.
    Heat(Heat),
    /// -laplace(u) = f with a constant f.
    Poisson(Poisson),
    /// -div(k grad u) = f, solved by a wave.
    Wave(WaveDiffusion),
}

impl Equation<1> for Scalar {
    #[inline(always)]
    fn weak<N: Number>(&self, x: [N; 3], u: [Field<N>; 1]) -> [Weak<N>; 1] {
        match self {
            Scalar::Heat(equation) => equation.weak(x, u),
            Scalar::Poisson(equation) => equation.weak(x, u),
            Scalar::Wave(equation) => equation.weak(x, u),
        }
    }

    #[inline(always)]
    fn slopes<N: Number>(&self, x: [N; 3], u: [Field<N>; 1]) -> [[Slope<N>; 1]; 1] {
        match self {
            Scalar::Heat(equation) => equation.slopes(x, u),
            Scalar::Poisson(equation) => equation.slopes(x, u),
            Scalar::Wave(equation) => equation.slopes(x, u),
        }
    }
}

/// An equation that the program solves, of 1 or 3 unknowns per node.
#[derive(Clone, Copy, Debug)]
pub enum Model {
    /// One unknown.
    Scalar(Scalar),
    /// Three displacements.
    Elastic(WaveElasticity),
}

impl Model {
    /// Returns the number of unknowns per node.
    pub const fn dofs(&self) -> usize {
        match self {
            Model::Scalar(_) => 1,
            Model::Elastic(_) => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAVE: Wave = Wave { direction: [1.3, -0.7, 0.9], phase: 0.4 };

    /// div(flux) - source of each component for given fields, by central differences of the flux.
    fn defect<E: Equation<D>, const D: usize>(equation: &E, fields: impl Fn([f64; 3]) -> [Field<f64>; D]) -> [f64; D] {
        let (x, h) = ([0.3, 0.7, -0.4], 1e-4);
        let weak = |x: [f64; 3]| equation.weak(x, fields(x));
        array::from_fn(|c| {
            let slope = |axis: usize| {
                let (mut ahead, mut back) = (x, x);
                ahead[axis] += h;
                back[axis] -= h;
                (weak(ahead)[c].flux[axis] - weak(back)[c].flux[axis]) / (2.0 * h)
            };
            (0..3).map(slope).sum::<f64>() - weak(x)[c].source
        })
    }

    fn field(amplitude: f64, x: [f64; 3]) -> Field<f64> {
        let cos = WAVE.angle(x).cos();
        Field { grad: WAVE.direction.map(|w| amplitude * w * cos), value: amplitude * WAVE.at(x) }
    }

    #[test]
    fn waves_solve_their_equations_and_no_others() {
        for direction in [[0.0; 3], [0.5, -1.0, 0.25]] {
            let equation = WaveDiffusion { diffusion: Diffusion { direction }, wave: WAVE };
            let [defect] = defect(&equation, |x| [field(1.0, x)]);
            assert!(defect.abs() < 1e-6, "{direction:?}: {defect}");
        }
        let body = Elasticity { lambda: 1.5, mu: 0.7, force: [9.0; 3] };
        let equation = WaveElasticity { body, amplitude: [1.0, -0.5, 0.25], wave: WAVE };
        let found = defect(&equation, |x| equation.amplitude.map(|a| field(a, x)));
        assert!(found.iter().all(|defect| defect.abs() < 1e-6), "{found:?}");
        let other = defect(&equation, |x| [1.0, -0.5, 0.3].map(|a| field(a, x)));
        assert!(other.iter().any(|defect| defect.abs() > 1e-3), "{other:?}");
        assert_eq!(equation.exact([0.1, 0.2, 0.3])[1], -0.5 * WAVE.at([0.1, 0.2, 0.3]));
    }
}
