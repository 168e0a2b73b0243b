//! Starts of Newton's method that are not replaced.

use super::*;

/// A start whose residual is not finite ends the method: no better start is looked for.
#[test]
fn no_start_replaces_one_without_a_residual() {
    struct Broken(usize);
    impl NonlinearProblem<Threads> for Broken {
        fn rows(&self) -> usize {
            1
        }
        fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> Result<()> {
            residual[0] = if x[0] == 4.0 { f64::INFINITY } else { x[0] };
            Ok(())
        }
        fn improve_start(&mut self, x: &mut [f64]) -> Result<bool> {
            (x[0], self.0) = (1.0, self.0 + 1);
            Ok(true)
        }
        fn solve(&mut self, x: &[f64], _: &[f64], delta: &mut [f64], _: Option<f64>) -> Result<SolveInfo> {
            delta[0] = x[0];
            Ok(SolveInfo::default())
        }
    }
    let (mut x, mut problem) = ([4.0], Broken(0));
    let found = run(&mut problem, &mut x, NewtonParams { is_inexact: true, ..TIGHT });
    assert!(matches!(found, Err(Error::NotFinite { method: "Newton", iteration: 0, .. })), "{found:?}");
    assert_eq!((problem.0, x[0]), (0, 4.0));
}
