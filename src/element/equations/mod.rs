//! Equations in weak form, written at a quadrature point.
//!
//! ```text
//! R_(m,c) = integral of  grad phi_m . flux_c(x, u, grad u) + phi_m source_c(x, u, grad u),   c: component of u
//! A_(m,c)(n,d) = dR_(m,c) / du_(n,d)
//! ```
//! An [`Equation`] states `flux` and `source` of each component; its derivative may be written by hand or is computed by dual numbers
//! ([`automatic`]); [`Jacobian`] chooses between the two at run time. The form is that of PETSc's f0, f1 and g0 to g3 (Knepley, Brown, Rupp, Smith 2013, Achieving high performance with
//! unified residual evaluation). Everything else, basis, geometry and sums, belongs to the kernels. With feature `cuda` each equation
//! is translated to CUDA C++, so that hosts and GPUs evaluate what is written once.
//!
//! | equation | dofs | flux | source |
//! |---|---|---|---|
//! | [`Heat`] | 1 | K grad u | u^2 |
//! | [`Poisson`] | 1 | grad u | -f |
//! | [`Diffusion`] | 1 | k(x) grad u | -f(x) |
//! | [`Elasticity`], [`PlaneStrain`] | 3, 2 | lambda tr(eps) I + 2 mu eps | -f |
//! | [`WaveDiffusion`], [`WaveElasticity`] | 1, 3 | as above | of a plane wave |
//! | [`AdvectedWave`] | 1 | as above | v . grad u, and of a plane wave |
//! | [`AdvectedHeat`] | 1 | K grad u | u^2 + v . grad u - f(z) |
//! | [`GivenDiffusion`], [`GivenReaction`], [`GivenHeat`], [`GivenElasticity`] | 1, 3 | as above | as above, with coefficients that are given fields |

mod diffusion;
mod dual;
mod elasticity;
mod given;
mod heat;
mod jacobian;
mod model;
mod residue;
mod structure;
mod wave;
mod weak;

pub use diffusion::{AdvectedWave, Diffusion, Poisson, WaveDiffusion};
pub use dual::Dual;
pub use elasticity::{Elasticity, PlaneStrain, WaveElasticity};
pub use given::{GivenDiffusion, GivenElasticity, GivenEquation, GivenHeat, GivenReaction};
pub use heat::{AdvectedHeat, Heat};
pub use jacobian::{Jacobian, WithJacobian};
pub(crate) use model::on_scalar;
pub use model::{Model, ModelEquation, Scalar};
pub(crate) use residue::{Residue, operations};
#[cfg(feature = "cuda")]
pub(crate) use structure::Flux;
pub use structure::depends_on_unknowns;
#[cfg(feature = "cli")]
pub(crate) use structure::is_symmetric;
pub(crate) use structure::{Slopes, has_value_terms, noise_slopes, nonzero, symmetric_slopes};
pub use wave::Wave;
pub(crate) use weak::Alone;
pub use weak::{Equation, EquationAt, Field, Point, Slope, Weak, automatic};

#[cfg(test)]
mod tests;
