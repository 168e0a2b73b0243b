//! What a solve says while it iterates, and why it failed.

use super::tests::{convection, run, tight};
use crate::Error;
use crate::solve::krylov::cg::variant_tests::wave;
use crate::solve::{Jacobi, Method, NullSpace, Options, Preconditioner, preconditioner_fn, solve};
use crate::space::{Serial, Threads};
use crate::sparse::{CrsGraph, CrsMatrix};
use std::sync::Arc;

#[test]
fn residuals_of_minres_are_those_of_x_at_every_step() {
    // Indefinite: eigenvalues between -1 and 3.
    let (a, b) = (convection(90, 1.0, 0.0), wave(90, 0.7));
    for steps in 1..30 {
        let mut x = vec![0.0; 90];
        let scale = |r: &[f64], z: &mut [f64]| (0..90).for_each(|i| z[i] = r[i] * (1.5 + (i as f64).sin()));
        let preconditioner: &mut dyn Preconditioner<Threads> = &mut preconditioner_fn(scale);
        let mut seen = Vec::new();
        let mut observe = |iteration, norm| {
            seen.push((iteration, norm));
            Ok(())
        };
        let options = Options {
            preconditioner: Some(preconditioner),
            max_iterations: steps,
            observe: Some(&mut observe),
            ..Options { rtol: 1e-14, ..tight(Method::MinRes) }
        };
        solve(&Serial, &a, &b, &mut x, options).unwrap_err();
        // That of the recurrence, before any of x itself.
        let residual = seen.iter().find(|(iteration, _)| *iteration == steps).unwrap().1;
        let row = |i: usize| a.graph().row(i).iter().zip(&a.values()[a.graph().row_range(i)]);
        let rest = |i: usize| b[i] - row(i).map(|(&j, value)| value * x[j as usize]).sum::<f64>();
        let own = (0..90).map(|i| rest(i).powi(2)).sum::<f64>().sqrt();
        assert!((residual - own).abs() < 1e-9 * own, "{steps}: {residual}, of x {own}");
    }
}

#[test]
fn cg_names_a_preconditioner_that_is_not_symmetric() {
    // An upper triangle as the inverse: CG's recurrence loses its directions.
    let lean = |r: &[f64], z: &mut [f64]| (0..r.len()).for_each(|i| z[i] = r[i] + 0.9 * r.get(i + 1).unwrap_or(&0.0));
    let (a, b) = (convection(90, 2.0, 0.0), wave(90, 0.7));
    let mut upper = preconditioner_fn(lean);
    let options = Options { max_iterations: 60, preconditioner: Some(&mut upper), ..tight(Method::Cg) };
    let error = run(&Serial, &a, &b, options).unwrap_err();
    assert!(matches!(error, Error::NotSymmetric { what: "preconditioner", departure } if departure > 1e-3), "{error}");
    // One in f32 is not blamed for the iterations that lack.
    let mut rounded = preconditioner_fn(|r, z| (0..r.len()).for_each(|i| z[i] = f64::from(0.3 * r[i] as f32)));
    let options = Options { max_iterations: 8, preconditioner: Some(&mut rounded), ..tight(Method::Cg) };
    let error = run(&Serial, &a, &b, options).unwrap_err();
    assert!(matches!(error, Error::NotConverged { method: "CG", .. }), "{error}");
}

/// The projection off constants is no fault of a preconditioner.
#[test]
fn jacobi_of_a_singular_system_is_symmetric() {
    // Springs of very different stiffness, free at both ends.
    let stiffness = |i: usize| (2.0 * (i as f64 * 1.7).sin()).exp();
    let (mut row_map, mut entries, mut values) = (vec![0], vec![], vec![]);
    for i in 0..20 {
        let (left, right) = (if i > 0 { stiffness(i) } else { 0.0 }, if i < 19 { stiffness(i + 1) } else { 0.0 });
        for (j, value) in [(i.wrapping_sub(1), -left), (i, left + right), (i + 1, -right)] {
            if j < 20 {
                entries.push(j as u32);
                values.push(value);
            }
        }
        row_map.push(entries.len() as u64);
    }
    let a = CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, 20).unwrap()), values).unwrap();
    let mut jacobi = Jacobi::new(&Serial, &a.diagonal().unwrap()).unwrap();
    let preconditioner: &mut dyn Preconditioner<Threads> = &mut jacobi;
    let options = Options { max_iterations: 3, null_space: NullSpace::Constants, ..tight(Method::Cg) };
    let error =
        run(&Serial, &a, &wave(20, 0.7), Options { preconditioner: Some(preconditioner), ..options }).unwrap_err();
    assert!(matches!(error, Error::NotConverged { method: "CG", .. }), "{error}");
}
