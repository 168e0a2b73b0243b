//! The copies of a matrix in slices that the registry of formats makes.

use super::host_slices::HostSlices;
#[cfg(feature = "cuda")]
use super::sliced_ell::SlicedEll;
use crate::Result;
use crate::space::HostSpace;
#[cfg(feature = "cuda")]
use crate::space::cuda::{Cuda, CudaMemory};
use crate::sparse::{CrsGraph, FormatCopy, Precision};
use std::sync::Arc;

/// Slices that store all entries.
pub mod pattern {
    use super::*;

    pub fn on_host<S: HostSpace>(
        space: &S,
        values: Precision,
        graph: &Arc<CrsGraph>,
    ) -> Result<Option<Box<dyn FormatCopy<S>>>> {
        of_host(space, values, graph, false)
    }

    #[cfg(feature = "cuda")]
    pub fn on_device(
        space: &Cuda,
        values: Precision,
        graph: &Arc<CrsGraph<CudaMemory>>,
    ) -> Result<Option<Box<dyn FormatCopy<Cuda>>>> {
        of_device(space, values, graph, false)
    }
}

/// Slices that store each pair of symmetric entries once.
pub mod symmetric {
    use super::*;

    pub fn on_host<S: HostSpace>(
        space: &S,
        values: Precision,
        graph: &Arc<CrsGraph>,
    ) -> Result<Option<Box<dyn FormatCopy<S>>>> {
        of_host(space, values, graph, true)
    }

    #[cfg(feature = "cuda")]
    pub fn on_device(
        space: &Cuda,
        values: Precision,
        graph: &Arc<CrsGraph<CudaMemory>>,
    ) -> Result<Option<Box<dyn FormatCopy<Cuda>>>> {
        of_device(space, values, graph, true)
    }
}

fn of_host<S: HostSpace>(
    space: &S,
    values: Precision,
    graph: &Arc<CrsGraph>,
    symmetric: bool,
) -> Result<Option<Box<dyn FormatCopy<S>>>> {
    Ok(Some(match values {
        Precision::F64 => Box::new(HostSlices::<f64>::new(space, graph, symmetric)?),
        Precision::F32 => Box::new(HostSlices::<f32>::new(space, graph, symmetric)?),
    }))
}

#[cfg(feature = "cuda")]
fn of_device(
    space: &Cuda,
    values: Precision,
    graph: &Arc<CrsGraph<CudaMemory>>,
    symmetric: bool,
) -> Result<Option<Box<dyn FormatCopy<Cuda>>>> {
    Ok(Some(match values {
        Precision::F64 => Box::new(SlicedEll::<f64>::new(space, symmetric, graph)?),
        Precision::F32 => Box::new(SlicedEll::<f32>::new(space, symmetric, graph)?),
    }))
}
