//! Derivatives by hand against those by dual numbers and against difference quotients.

use super::*;
use proptest::prelude::*;
use std::array;

fn fields<const D: usize>(numbers: &[f64]) -> [Field<f64>; D] {
    array::from_fn(|c| Field { grad: array::from_fn(|axis| numbers[4 * c + axis]), value: numbers[4 * c + 3] })
}

fn numbers<const D: usize>(weak: [Weak<f64>; D]) -> Vec<f64> {
    weak.iter().flat_map(|weak| weak.flux.into_iter().chain([weak.source])).collect()
}

fn check<E: Equation<D>, const D: usize>(equation: &E, x: [f64; 3], at: &[f64]) -> Result<(), TestCaseError> {
    let by_hand = equation.slopes(x, fields::<D>(at));
    let by_duals = automatic(equation, x, fields::<D>(at));
    let h = 1e-6;
    for (d, j) in (0..D).flat_map(|d| (0..4).map(move |j| (d, j))) {
        let moved = |step: f64| {
            let mut at = at.to_vec();
            at[4 * d + j] += step;
            numbers(equation.weak(x, fields::<D>(&at)))
        };
        let (ahead, back) = (moved(h), moved(-h));
        for (c, i) in (0..D).flat_map(|c| (0..4).map(move |i| (c, i))) {
            let quotient = (ahead[4 * c + i] - back[4 * c + i]) / (2.0 * h);
            let (hand, dual) = (by_hand[c][d][i][j], by_duals[c][d][i][j]);
            prop_assert!((hand - dual).abs() < 1e-13 * (1.0 + dual.abs()), "{c} {d} {i} {j}: {hand} {dual}");
            prop_assert!((quotient - dual).abs() < 1e-7 * (1.0 + dual.abs()), "{c} {d} {i} {j}: {quotient} {dual}");
        }
    }
    // In a direction: a product with the derivatives by duals.
    let direction: Vec<f64> = at.iter().map(|value| 0.7 - 0.3 * value).collect();
    let found = numbers(equation.derivative(x, fields::<D>(at), fields::<D>(&direction)));
    for (c, i) in (0..D).flat_map(|c| (0..4).map(move |i| (c, i))) {
        let terms = (0..D).flat_map(|d| (0..4).map(move |j| (d, j)));
        let expected: f64 = terms.map(|(d, j)| by_duals[c][d][i][j] * direction[4 * d + j]).sum();
        let found = found[4 * c + i];
        prop_assert!((found - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{c} {i}: {found} {expected}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn derivatives_by_hand_by_duals_and_by_differences_agree(
        x in prop::array::uniform3(-1.0..1.0f64),
        at in prop::collection::vec(-2.0..2.0f64, 12),
        k in 0.1..5.0f64,
    ) {
        check(&Heat::new(k), x, &at)?;
        check(&Poisson { load: k }, x, &at)?;
        check(&Diffusion { direction: [k, 0.5, -1.0] }, x, &at)?;
        check(&Elasticity { lambda: k, mu: 0.8, force: [0.0, 1.0, k] }, x, &at)?;
        let velocity = [1.0, -k, 0.5];
        check(&AdvectedHeat { conductivity: k, velocity, profile: [k, 8.0] }, x, &at)?;
        check(&PlaneStrain { lambda: k, mu: 0.8, force: [1.0, k] }, x, &at)?;
        let wave = [1.0, k, -0.5];
        let diffusion = WaveDiffusion { direction: [k, 0.5, -1.0], wave, phase: k };
        check(&AdvectedWave { direction: [k, 0.5, -1.0], velocity, wave, phase: k }, x, &at)?;
        check(&diffusion, x, &at)?;
        check(&WaveElasticity { lambda: k, mu: 0.8, amplitude: [1.0, 0.5, k], wave, phase: k }, x, &at)?;
    }
}
