//! The fill on host memory. Files `blocks` and `gather` hold the strategies.
//!
//! An [`ElementKernel`] computes batches of element matrices; a [`Fill`] adds them to the rows.

pub(super) mod any_equation;
mod blocks;
mod dirichlet;
mod element_product;
mod fill;
mod gallery;
mod gather;
mod given;
mod given_assembly;
#[cfg(test)]
mod group_tests;
mod kernel;
mod matrix_fill;
mod operator;
mod parts;
mod sums;
#[cfg(test)]
mod tests;
mod volumes;
mod with_given;

pub use blocks::BlockCounts;
pub use element_product::ElementProduct;
pub use fill::Fill;
pub use gallery::HostAssembly;
pub use given::Given;
pub use given_assembly::GivenAssembly;
pub use kernel::{
    ElementBatch, ElementKernel, EquationKernel, Evaluate, FusedKernel, IntrepidKernel, Worksets, element_fn,
};
pub use matrix_fill::MatrixFill;
pub use operator::HostOperator;
pub use parts::{Parts, Wanted};
pub use with_given::{WeakForm, WithGiven};
