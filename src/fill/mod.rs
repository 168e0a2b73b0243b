//! From element matrices to the values of a CRS matrix and a residual.

mod kernel;

pub use kernel::{ContractionKernel, ElementBatch, ElementKernel, Elements, FusedKernel};
