//! Systems assembled in slices: launches of `kernels/places.cu`, which turn positions in CRS into places in the slices.
//!
//! Cost: reads 20 bytes per element corner of a hexahedron, and writes 8 where the corner's row lacks columns of its slice's table; in
//! symmetric halves reads 28 and writes 8 everywhere.

use crate::Result;
use crate::fill::kernel_files::PLACES;
use crate::fill::same_graph::check_elements;
use crate::fill::{Dirichlet, StoredSystem};
use crate::graph::{Graph, with_positions};
use crate::mesh::Sizes;
use crate::space::cuda::{Argument, Cuda, CudaMemory, Grid, arguments};
use crate::sparse::{CrsGraph, DeviceMatrix, MatrixStorage, RowLayout};
use std::sync::Arc;

const THREADS: u32 = 256;

impl StoredSystem<Cuda> {
    /// Returns the bytes in use while [`new`](Self::new) makes a system, and then, of pattern and matrix: `pattern` are those of the
    /// pattern before, which is copied where it has room to spare.
    pub fn bytes(storage: MatrixStorage, direct: bool, sizes: &Sizes, pattern: u64) -> [u64; 2] {
        let (rows, exact) = (sizes.rows(), CrsGraph::bytes(sizes.rows(), sizes.entries()));
        let direct = direct && storage.holds_assembled_slices();
        let values = DeviceMatrix::bytes(storage, direct, &sizes.matrix());
        let (kept, before) = if direct { (0, pattern) } else { (exact, exact) };
        let copying = if direct || pattern == exact { 0 } else { pattern + 4 * sizes.entries() };
        [copying.max(before + values + rows / 2), kept + values]
    }

    /// Returns an unassembled matrix in a format, with positions of elements and conditions. With `direct`, formats
    /// other than `crs` are assembled in slices, which strategy `gather` can do, and the columns and offsets of the
    /// graph are freed. Otherwise they are assembled in CRS and copied. In `symmetric` an entry below the diagonal
    /// that its partner's row stores has no place ([`Position::NONE`](crate::graph::Position::NONE)), and a condition
    /// clears the partner.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) when pattern and elements are of two graphs,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new(
        space: &Cuda,
        storage: MatrixStorage,
        direct: bool,
        graph: Graph<CudaMemory>,
        mut conditions: Dirichlet<CudaMemory>,
    ) -> Result<Self> {
        let Graph { crs, elem: mut places, .. } = graph;
        check_elements("StoredSystem::new", &places, &crs)?;
        super::system::check_tables("StoredSystem::new", &places, RowLayout::of_graph(&crs))?;
        // A matrix in CRS keeps the columns. A graph that others use stays as it is.
        let keeps_columns = !(direct && storage.holds_assembled_slices());
        let crs = match Arc::try_unwrap(crs) {
            Ok(crs) if keeps_columns => Arc::new(crs.exact()?),
            Ok(crs) => Arc::new(crs),
            Err(shared) => shared,
        };
        let mut matrix = DeviceMatrix::new(space, storage, direct, &crs)?;
        if let Some(slices) = matrix.assembled_slices() {
            // Shares the nodes, so that the positions can be written.
            let elem_node = places.elem_node().clone();
            let (rows, row_map, nn) = (crs.rows() as u64, crs.row_map(), elem_node.nodes_per_elem());
            let (slots, nodes) = (elem_node.elem_count() * nn, elem_node.nodes());
            let (slice_offsets, words, offsets) = slices.tables();
            let width = places.position_bytes() as u32;
            places = places.with_places(|positions| {
                let positions: Argument = with_positions!(positions, positions => positions.into());
                #[rustfmt::skip]
                let arguments = arguments![
                    slots as u64, nn as u32, rows, nodes, row_map, slice_offsets, words, offsets, width, positions,
                ];
                space.launch(&PLACES, "places", Grid::cover(slots, THREADS), arguments)
            })?;
            let (count, entries) = (conditions.lengths.1, crs.entries());
            #[rustfmt::skip]
            let arguments = arguments![
                count as u64, rows, row_map, entries, slice_offsets, words, offsets, &mut conditions.entries,
            ];
            space.launch(&PLACES, "listed_places", Grid::cover(count, THREADS), arguments)?;
            conditions.values = slices.entries().0;
            matrix.release_graph(space)?;
        }
        Ok(StoredSystem { matrix, places, conditions })
    }
}
