//! Reasons why an iteration ended, and the test for a zero right-hand side.
//!
//! ```text
//! relative tolerance   ||r|| <= tolerance ||b||, where the squares of both norms are normal numbers
//! absolute tolerance   ||r|| <= the absolute tolerance, where that is above tolerance ||b|| and its square is a normal number
//! zero                 every item of b is 0
//! iterations           the number of iterations that was asked for, whatever ||r||
//! ```
//! A norm of 0 from items that are not 0 (their squares underflow) is [`Error::Underflow`], and
//! never a success.
//!
//! [`Error::Underflow`]: crate::Error::Underflow

use crate::Result;
use crate::blas::{Blas, Collective, Reductions};
use crate::space::Slice;

/// The criterion by which an iteration ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// The residual norm fell to the tolerance times the norm of the right-hand side (Newton: of the first residual).
    #[default]
    RelativeTolerance,
    /// The residual norm fell to an absolute tolerance above the relative one.
    AbsoluteTolerance,
    /// The right-hand side (Newton: the first residual) is exactly 0.
    Zero,
    /// The iterations that were asked for are done, whatever the residual.
    Iterations,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Reason::RelativeTolerance => "relative tolerance",
            Reason::AbsoluteTolerance => "absolute tolerance",
            Reason::Zero => "zero right-hand side",
            Reason::Iterations => "number of iterations",
        })
    }
}

/// Factor after which the square of the smallest subnormal number, 5e-324, is a normal number.
const UP: f64 = 1e200;

/// Returns whether the first `n` items of `b` are 0 on all ranks. Overwrites `scratch` and `scalars[slot]`.
pub(super) fn is_zero<S: Blas>(
    space: &S,
    comm: &dyn Collective<S>,
    n: usize,
    b: &Slice<S, f64>,
    scratch: &mut Slice<S, f64>,
    sums: &mut Reductions<S>,
    slot: usize,
) -> Result<bool> {
    sums.stop = None;
    space.axpby(n, UP, b, 0.0, b, scratch)?;
    space.dot(n, scratch, scratch, sums, slot)?;
    sums.complete(space, comm, slot..slot + 1)?;
    let mut squares = vec![0.0; slot + 1];
    space.read(&sums.scalars, &mut squares)?;
    Ok(squares[slot] == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::space::Serial;

    #[test]
    fn the_smallest_number_is_not_zero() {
        let is_zero = |b: &[f64]| {
            let (mut scratch, mut sums) = (vec![0.0; b.len()], Reductions::new(&Serial, b.len(), 2).unwrap());
            is_zero(&Serial, &Solo, b.len(), b, &mut scratch, &mut sums, 1).unwrap()
        };
        assert!(is_zero(&[0.0, -0.0, 0.0]));
        assert!(!is_zero(&[0.0, 5e-324, 0.0]) && !is_zero(&[-1e300]));
    }
}
