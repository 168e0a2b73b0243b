//! The copies of a matrix in slices that the registry of formats makes.

use super::host_slices::HostSlices;
use super::host_unions::WIDEST;
#[cfg(feature = "cuda")]
use super::sliced_ell::SlicedEll;
use crate::Result;
use crate::space::Threads;
#[cfg(feature = "cuda")]
use crate::space::cuda::{Cuda, CudaMemory};
use crate::sparse::{CrsGraph, FormatCopy, MatrixSizes, Precision};
use std::sync::Arc;

macro_rules! format {
    ($(#[$doc:meta])* $name:ident, $symmetric:literal) => {
        $(#[$doc])*
        pub mod $name {
            use super::*;

            pub fn lengths(sizes: &MatrixSizes, on_gpu: bool) -> [u64; 2] {
                if on_gpu { on_device_lengths(sizes, $symmetric) } else { on_host_lengths(sizes, $symmetric) }
            }

            pub fn on_host(
                space: &Threads,
                values: Precision,
                graph: &Arc<CrsGraph>,
            ) -> Result<Option<Box<dyn FormatCopy<Threads>>>> {
                Ok(Some(match values {
                    Precision::F64 => Box::new(HostSlices::<f64>::new(space, graph, $symmetric)?),
                    Precision::F32 => Box::new(HostSlices::<f32>::new(space, graph, $symmetric)?),
                }))
            }

            #[cfg(feature = "cuda")]
            pub fn on_device(
                space: &Cuda,
                values: Precision,
                graph: &Arc<CrsGraph<CudaMemory>>,
            ) -> Result<Option<Box<dyn FormatCopy<Cuda>>>> {
                Ok(Some(match values {
                    Precision::F64 => Box::new(SlicedEll::<f64>::new(space, $symmetric, graph)?),
                    Precision::F32 => Box::new(SlicedEll::<f32>::new(space, $symmetric, graph)?),
                }))
            }
        }
    };
}
format! {
    /// Slices that store all entries.
    pattern, false
}
format! {
    /// Slices that store each pair of symmetric entries once.
    symmetric, true
}

/// Values of a host's slices, and bytes of tables and links. Nodes with many neighbours read their columns in the graph.
fn on_host_lengths(sizes: &MatrixSizes, symmetric: bool) -> [u64; 2] {
    let (shape, dofs) = (sizes.shape, sizes.dofs);
    let [rows, entries, longest] = [shape.rows, shape.entries, shape.longest].map(|number| number as u64);
    match symmetric {
        _ if longest > dofs * WIDEST as u64 => [entries, 0],
        false => [longest * rows, rows / 2],
        // A quarter of all possible links.
        true => [dofs * (longest / dofs).div_ceil(2) * rows, 2 * rows],
    }
}

/// Values of a GPU's slices, and bytes of their tables and columns. Rows with many entries, and nodes of several unknowns, list columns;
/// halves store all entries of rows that do.
fn on_device_lengths(sizes: &MatrixSizes, symmetric: bool) -> [u64; 2] {
    let MatrixSizes { shape, dofs, listed, padded } = *sizes;
    let [rows, lined, longest] = [shape.rows, shape.padded, shape.longest].map(|number| number as u64);
    let values = match symmetric {
        _ if longest > WIDEST as u64 || dofs > 1 => return [lined, 4 * lined + rows / 2],
        false => longest * rows,
        true => longest.div_ceil(2) * rows + longest / 2 * listed,
    };
    [values + 9 * padded, 4 * longest * listed + rows / 2]
}
