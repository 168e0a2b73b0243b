//! One finite element: basis, cubature, geometry map and the equation at a point, generic over the number type.
//!
//! The module has no arrays of elements and no execution spaces. Each file owns one factor of the element
//! integral
//!
//! ```text
//! R_m = sum_p w_p det J_p r(phi_m, grad phi_m; T, grad T),   A_mn = dR_m / dT_n
//! ```
//!
//! [`BasisTables`] holds phi at the points p and the weights w of a [`Rule`], `geometry` J, its determinant and the gradients,
//! [`equations`] the integrand r and its derivative. [`reference()`] sums over the points in plain loops; every faster
//! kernel, on the host or on a device, is tested against it. [`moments()`] computes the same integral by sum
//! factorisation. [`fold`] bounds det J over a trilinear
//! hexahedron, [`FoldSearch`] over any element. [`Analytic`] is the solution that a run is verified against.
//!
//! Shapes: `coords [node, axis]`, `temperature [node]`, `residual [m]`, `matrix [m, n]`.
//!
//! ```
//! use minifenl::element::{BasisTables, ElementType, equations::Heat, reference};
//!
//! // The unit cube: the nodes of the bottom face in a circle, then those of the top face.
//! let face = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
//! let coords = std::array::from_fn(|m| [face[m % 4][0], face[m % 4][1], (m / 4) as f64]);
//! let (residual, matrix) = reference(&BasisTables::of(ElementType::Hex8), coords, [3.0; 8], &Heat::new(1.9))?;
//! // T = 3 has no gradient: the residuals add to the integral of T^2, the entries of the matrix to that of 2 T.
//! let close = |sum: f64, expected: f64| assert!((sum - expected).abs() < 1e-12, "{sum}");
//! close(residual.iter().sum(), 9.0);
//! close(matrix.iter().flatten().sum(), 6.0);
//! # Ok::<(), minifenl::Error>(())
//! ```

mod analytic;
mod bernstein;
mod element_type;
pub mod equations;
mod faces;
mod fold_search;
mod folding;
pub(crate) mod geometry;
mod interpolation;
mod moments;
mod polynomials;
mod product;
mod reference;
mod rules;
#[cfg(test)]
pub(crate) mod testing;

pub use analytic::Analytic;
pub use bernstein::Fold;
pub(crate) use element_type::Shape;
pub use element_type::{ElementType, HEX8_NODES};
pub use fold_search::FoldSearch;
pub use folding::fold;
pub use geometry::DIM;
#[cfg(feature = "cuda")]
pub(crate) use interpolation::by_axis;
pub use interpolation::{AtPoint, Interpolation};
pub use moments::moments;
pub(crate) use polynomials::Basis;
pub use polynomials::BasisTables;
pub(crate) use product::{FieldsAtPoints, Part, Points, at_points, element_vector, product_flops};
pub use reference::reference;
pub use rules::Rule;

/// Floating-point operations of [`moments()`] per element, counted by a test.
pub const MOMENTS_FLOPS: usize = 1671;
