//! The copies of a matrix in slices that the registry of formats makes.

use super::host_slices::HostSlices;
use super::host_unions::WIDEST;
#[cfg(feature = "cuda")]
use super::sliced_ell::SlicedEll;
use crate::sparse::format::copy::Maker;
use crate::sparse::{MatrixSizes, Precision};

/// Slices that store all entries.
pub(in crate::sparse::format) const PATTERN: Maker = maker::<false>();

/// Slices that store each pair of symmetric entries once.
pub(in crate::sparse::format) const SYMMETRIC: Maker = maker::<true>();

const fn maker<const SYMMETRIC: bool>() -> Maker {
    Maker {
        on_host: |space, values, graph| {
            Ok(Some(match values {
                Precision::F64 => Box::new(HostSlices::<f64>::new(space, graph, SYMMETRIC)?),
                Precision::F32 => Box::new(HostSlices::<f32>::new(space, graph, SYMMETRIC)?),
            }))
        },
        #[cfg(feature = "cuda")]
        on_device: |space, values, graph| {
            Ok(Some(match values {
                Precision::F64 => Box::new(SlicedEll::<f64>::new(space, SYMMETRIC, graph)?),
                Precision::F32 => Box::new(SlicedEll::<f32>::new(space, SYMMETRIC, graph)?),
            }))
        },
        lengths: |sizes, on_gpu| {
            if on_gpu { on_device_lengths(sizes, SYMMETRIC) } else { on_host_lengths(sizes, SYMMETRIC) }
        },
    }
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
