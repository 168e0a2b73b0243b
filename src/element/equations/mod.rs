//! Equations in weak form, written at a quadrature point.
//!
//! ```text
//! R_(m,c) = integral of  grad phi_m . flux_c(x, u, grad u) + phi_m source_c(x, u, grad u),   c: component of u
//! A_(m,c)(n,d) = dR_(m,c) / du_(n,d)
//! ```
//! An [`Equation`] states `flux` and `source` of each component; its derivative may be written by hand or is computed by dual numbers
//! ([`automatic`]). The form is that of PETSc's f0, f1 and g0 to g3 (Knepley, Brown, Rupp, Smith 2013, Achieving high performance with
//! unified residual evaluation). Everything else, basis, geometry and sums, belongs to the kernels.
//!
//! | equation | dofs | flux | source |
//! |---|---|---|---|
//! | [`Heat`] | 1 | K grad u | u^2 |
//! | [`Poisson`] | 1 | grad u | -f |
//! | [`Diffusion`] | 1 | k(x) grad u | -f(x) |
//! | [`Elasticity`] | 3 | lambda tr(eps) I + 2 mu eps | -f |

mod automatic;
mod diffusion;
mod elasticity;
mod heat;

pub use automatic::{Dual, automatic};
pub use diffusion::{Diffusion, Poisson};
pub use elasticity::Elasticity;
pub use heat::Heat;

use crate::space::lanes::Number;

/// A component of the unknown at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field<N> {
    /// Gradient with respect to physical coordinates.
    pub grad: [N; 3],
    /// Value.
    pub value: N,
}

/// What is tested with grad phi and with phi.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weak<N> {
    /// Tested with grad phi.
    pub flux: [N; 3],
    /// Tested with phi.
    pub source: N,
}

/// The derivative of one component's [`Weak`] by another's [`Field`]: `[i][j]` with i over flux x, y, z, source and j over grad x, y, z,
/// value.
pub type Slope<N> = [[N; 4]; 4];

/// An equation of `D` unknowns per node.
pub trait Equation<const D: usize>: Sync {
    /// Returns flux and source of each component at point `x`.
    fn weak<N: Number>(&self, x: [N; 3], u: [Field<N>; D]) -> [Weak<N>; D];

    /// Returns the derivatives of [`weak`](Self::weak), `[c][d]`. By default they are computed by dual numbers.
    #[inline(always)]
    fn slopes<N: Number>(&self, x: [N; 3], u: [Field<N>; D]) -> [[Slope<N>; D]; D] {
        automatic(self, x, u)
    }
}

#[cfg(test)]
mod tests;
