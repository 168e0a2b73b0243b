//! Equations with given fields on the host.

use super::any_equation::{AnyEquation, AtPoint, Plain, linearise};
use super::given::Given;
use crate::element::equations::{EquationAt, Slopes, noise_slopes};

/// An equation with its given fields; [`EquationKernel::with_given`](super::EquationKernel::with_given) integrates it.
#[derive(Clone, Copy, Debug)]
pub struct WithGiven<'a, E, const K: usize> {
    /// The equation.
    pub equation: &'a E,
    /// Its given fields.
    pub given: [Given<'a>; K],
}

impl<E: EquationAt<D, K>, const D: usize, const K: usize> AnyEquation<D> for WithGiven<'_, E, K> {
    fn linearise(&self, points: &mut [AtPoint<D>], given: &[[Plain; 4]]) {
        linearise(self.equation, points, given);
    }

    fn given(&self) -> &[Given<'_>] {
        &self.given
    }

    fn noise_slopes(&self) -> Slopes<D> {
        noise_slopes(self.equation)
    }
}
