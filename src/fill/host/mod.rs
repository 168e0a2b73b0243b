//! The fill on host memory. Files `blocks` and `gather` hold the strategies.
//!
//! An [`ElementKernel`] computes batches of element matrices; a [`Fill`] adds them to the rows.

pub(super) mod any_equation;
mod batches;
mod blocks;
mod colour;
mod dirichlet;
mod element_fn;
mod element_product;
mod fill;
mod gallery;
mod gather;
mod given;
mod given_assembly;
#[cfg(test)]
mod group_tests;
mod kernel;
mod locality;
mod matrix_fill;
mod operator;
mod parts;
mod plan;
mod sums;
#[cfg(test)]
mod tests;
mod volumes;
mod weak_form;
mod window;
mod with_given;

pub use blocks::BlockCounts;
pub use element_fn::element_fn;
pub use element_product::ElementProduct;
pub use fill::Fill;
pub use gallery::HostAssembly;
pub use given::Given;
pub use given_assembly::GivenAssembly;
pub use kernel::{ElementBatch, ElementKernel, EquationKernel, Evaluate, FusedKernel, IntrepidKernel, Worksets};
pub use matrix_fill::MatrixFill;
pub use operator::HostOperator;
pub use parts::{Parts, Wanted};
pub use weak_form::WeakForm;
pub use with_given::WithGiven;
