//! Temperature, energy and pressure, in reduced units.
//!
//! ```text
//! T = sum v^2 / (3 N - 3),   U = sum e / N,   P = ((3 N - 3) T + sum r.f) / (3 V)
//! ```

use serde::Serialize;

/// The state of the fluid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct State {
    /// Temperature.
    pub temperature: f64,
    /// Potential energy per atom.
    pub energy: f64,
    /// Pressure.
    pub pressure: f64,
}

impl State {
    /// The state of sums over all atoms: of squared speeds, energies and virials.
    pub fn of([squares, energy, virial]: [f64; 3], atoms: usize, edges: [f64; 3]) -> Self {
        let (atoms, volume) = (atoms as f64, edges.iter().product::<f64>());
        State {
            temperature: squares / (3.0 * atoms - 3.0),
            energy: energy / atoms,
            pressure: (squares + virial) / (3.0 * volume),
        }
    }

    /// Potential and kinetic energy per atom.
    pub fn total(&self, atoms: usize) -> f64 {
        self.energy + 0.5 * self.temperature * (3.0 - 3.0 / atoms as f64)
    }
}

/// A number as C writes it by `%e`.
pub fn exponential(number: f64) -> String {
    let text = format!("{number:.6e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}
