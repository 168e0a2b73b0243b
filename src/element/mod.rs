//! One element: basis, cubature, geometry map and the equation at a point, generic over the number type.
//!
//! Nothing here knows of arrays of elements. Each file owns one factor of the element integral
//!
//! ```text
//! R_m = sum_p w_p det J_p r(phi_m, grad phi_m; T, grad T),   A_mn = dR_m / dT_n
//! ```
//!
//! [`basis`] has phi, [`cubature`] the points p and weights w, [`geometry`] J, its determinant and the gradients,
//! [`equation`] the integrand r and its derivative. [`reference()`] adds the points up in plain loops: it is the
//! specification that every faster kernel, here or on a device, is tested against. [`moments()`] is the same integral by
//! sum factorisation.
//!
//! Shapes: `coords [node, axis]`, `temperature [node]`, `residual [m]`, `matrix [m, n]`. Limits: hexahedra of 8 nodes and
//! 2x2x2 points have tables ([`HEX8`]); the loops take any number of nodes and points.

pub mod basis;
#[cfg(test)]
mod counting;
pub mod cubature;
pub mod equation;
pub mod geometry;
mod moments;
mod reference;
#[cfg(test)]
pub(crate) mod testing;

pub use basis::{DIM, HEX8_NODES};
pub use cubature::{HEX8, Tables};
pub use geometry::{determinants, min_determinant};
pub use moments::{SymmetricSink, moments};
pub use reference::{integrate, reference};

/// Floating-point operations of [`reference()`] (counted by a test).
pub const REFERENCE_FLOPS: usize = 9432;
/// Floating-point operations of [`moments()`] (counted by a test).
pub const MOMENTS_FLOPS: usize = 1671;
