//! The equations that the program solves, chosen at run time.

#[cfg(feature = "cli")]
use super::is_symmetric;
use super::{AdvectedHeat, AdvectedWave, Heat, Jacobian, Poisson, WaveDiffusion, WaveElasticity};

/// The equations of one unknown that the program solves.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// -K laplace(u) + u^2 = 0.
    Heat(Heat),
    /// -K laplace(u) + v . grad u + u^2 = f, solved by a solution without advection.
    AdvectedHeat(AdvectedHeat),
    /// -laplace(u) = f with a constant f.
    Poisson(Poisson),
    /// -div(k grad u) = f, solved by a wave.
    Wave(WaveDiffusion),
    /// -div(k grad u) + v . grad u = f, solved by a wave.
    Advected(AdvectedWave),
}

/// Evaluates an expression with the equation of a [`Scalar`], whichever it is.
macro_rules! on_scalar {
    ($scalar:expr, $equation:ident => $result:expr) => {
        match $scalar {
            Scalar::Heat($equation) => $result,
            Scalar::AdvectedHeat($equation) => $result,
            Scalar::Poisson($equation) => $result,
            Scalar::Wave($equation) => $result,
            Scalar::Advected($equation) => $result,
        }
    };
}
pub(crate) use on_scalar;

/// An equation of 1 or 3 unknowns per node.
#[derive(Clone, Copy, Debug)]
pub enum ModelEquation {
    /// One unknown.
    Scalar(Scalar),
    /// Three displacements.
    Elastic(WaveElasticity),
}

/// An equation that the program solves, and where its derivatives come from.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// The equation.
    pub equation: ModelEquation,
    /// Source of its derivatives.
    pub jacobian: Jacobian,
}

impl Model {
    /// Returns the number of unknowns per node.
    pub const fn dofs(&self) -> usize {
        match self.equation {
            ModelEquation::Scalar(_) => 1,
            ModelEquation::Elastic(_) => 3,
        }
    }

    /// Returns whether the matrix is symmetric.
    #[cfg(feature = "cli")]
    pub(crate) fn is_symmetric(&self) -> bool {
        match &self.equation {
            ModelEquation::Scalar(scalar) => on_scalar!(scalar, equation => is_symmetric(equation)),
            ModelEquation::Elastic(equation) => is_symmetric(equation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::{Equation, Field, Wave};
    use std::array;

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
    fn the_solution_of_heat_solves_it_with_advection() {
        let exact = crate::element::Analytic::new(1.0, 3.0, -0.5, 2.0);
        let velocity = [2.0, -3.0, 4.0];
        let equation = AdvectedHeat { conductivity: exact.heat().conductivity, velocity, profile: exact.profile() };
        let h = 1e-5;
        let slope = |z: f64| (exact.at(z + h) - exact.at(z - h)) / (2.0 * h);
        let [found] = defect(&equation, |[_, _, z]| [Field { grad: [0.0, 0.0, slope(z)], value: exact.at(z) }]);
        assert!(found.abs() < 1e-5, "{found}");
    }

    #[test]
    fn waves_solve_their_equations_and_no_others() {
        for direction in [[0.0; 3], [0.5, -1.0, 0.25]] {
            let equation = WaveDiffusion { direction, wave: WAVE.direction, phase: WAVE.phase };
            let [defect] = defect(&equation, |x| [field(1.0, x)]);
            assert!(defect.abs() < 1e-6, "{direction:?}: {defect}");
        }
        let (direction, velocity) = ([0.5, -1.0, 0.25], [2.0, -3.0, 0.5]);
        let advected = AdvectedWave { direction, velocity, wave: WAVE.direction, phase: WAVE.phase };
        let [found] = defect(&advected, |x| [field(1.0, x)]);
        assert!(found.abs() < 1e-6, "{found}");
        let (amplitude, wave, phase) = ([1.0, -0.5, 0.25], WAVE.direction, WAVE.phase);
        let equation = WaveElasticity { lambda: 1.5, mu: 0.7, amplitude, wave, phase };
        let found = defect(&equation, |x| equation.amplitude.map(|a| field(a, x)));
        assert!(found.iter().all(|defect| defect.abs() < 1e-6), "{found:?}");
        let other = defect(&equation, |x| [1.0, -0.5, 0.3].map(|a| field(a, x)));
        assert!(other.iter().any(|defect| defect.abs() > 1e-3), "{other:?}");
        assert_eq!(equation.exact([0.1, 0.2, 0.3])[1], -0.5 * WAVE.at([0.1, 0.2, 0.3]));
    }
}
