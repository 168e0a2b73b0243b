//! [`WeakForm`]: an equation with given fields whose type is erased.

use super::any_equation::AnyEquation;
use super::{Given, WithGiven};
use crate::element::equations::{EquationAt, GivenDiffusion, GivenElasticity, GivenEquation, GivenHeat, GivenReaction};
use crate::{Error, Result};
use std::fmt::{Debug, Formatter};

/// Calls a function with an equation that is joined with its given fields.
pub(super) type Joined<const D: usize> = dyn Fn(&[Given<'_>], &mut Use<'_, D>) -> Result<()> + Send;
/// What is done with a joined equation.
pub(super) type Use<'a, const D: usize> = dyn FnMut(&dyn AnyEquation<D>) -> Result<()> + 'a;

fn joined<E: EquationAt<D, K> + Send + 'static, const D: usize, const K: usize>(equation: E) -> Box<Joined<D>> {
    Box::new(move |given, then| {
        let wrong = |_| Error::length("GivenAssembly::assemble", "given (fields)", given.len(), K);
        then(&WithGiven { equation: &equation, given: given.try_into().map_err(wrong)? })
    })
}

/// The equations by their unknowns per node.
pub(super) enum Erased {
    One(Box<Joined<1>>),
    Two(Box<Joined<2>>),
    Three(Box<Joined<3>>),
}

/// An equation of one to three unknowns per node and its number of given fields, for a [`GivenAssembly`](super::GivenAssembly). On linear
/// tetrahedra an equation that `is_constant` has a constant flux and source where its fields are constant: of u it reads the gradient
/// alone, and no coordinates.
pub struct WeakForm {
    pub(super) equation: Erased,
    pub(super) is_constant: bool,
}

impl WeakForm {
    /// Takes an equation of one unknown per node.
    pub fn one<const K: usize>(equation: impl EquationAt<1, K> + Send + 'static, is_constant: bool) -> Self {
        WeakForm { equation: Erased::One(joined::<_, _, K>(equation)), is_constant }
    }

    /// Takes an equation of two unknowns per node.
    pub fn two<const K: usize>(equation: impl EquationAt<2, K> + Send + 'static, is_constant: bool) -> Self {
        WeakForm { equation: Erased::Two(joined::<_, _, K>(equation)), is_constant }
    }

    /// Takes an equation of three unknowns per node.
    pub fn three<const K: usize>(equation: impl EquationAt<3, K> + Send + 'static, is_constant: bool) -> Self {
        WeakForm { equation: Erased::Three(joined::<_, _, K>(equation)), is_constant }
    }
}

impl From<GivenEquation> for WeakForm {
    fn from(equation: GivenEquation) -> Self {
        let is_constant = !equation.reads_values();
        match equation {
            GivenEquation::Diffusion => WeakForm::one(GivenDiffusion, is_constant),
            GivenEquation::Reaction => WeakForm::one(GivenReaction, is_constant),
            GivenEquation::Heat => WeakForm::one(GivenHeat, is_constant),
            GivenEquation::Elasticity => WeakForm::three(GivenElasticity, is_constant),
        }
    }
}

impl Debug for WeakForm {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WeakForm").field("is_constant", &self.is_constant).finish_non_exhaustive()
    }
}
