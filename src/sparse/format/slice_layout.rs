//! Layout of a sparsity pattern in slices of 32 rows, made on the GPU by `kernels/slice_layout.cu`.
//!
//! ```text
//! patterns   per slice: union of column - row, key = hash and length, or a list   one pass over the entries
//! owners     the lowest slice with the same key                                   hash table on the GPU
//! words      scans of what each slice adds; tables in the order of their owners
//! ```
//! The host reads four numbers, once. Meanwhile the layout takes about 250 bytes per slice. The result is the same in every run.

use crate::Result;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::CrsGraph;
use crate::sparse::kernel_files::SLICE_LAYOUT;

/// As in the kernels: threads per block, rows per slice, longest table.
const THREADS: u32 = 256;
const SLICE: usize = 32;
const WIDEST: usize = 40;

/// The arrays that describe the slices, see [`SlicedEll`](super::SlicedEll).
pub(super) struct SliceLayout {
    pub slice_offsets: CudaArray<u64>,
    pub words: CudaArray<u64>,
    pub offsets: CudaArray<i32>,
    pub columns: CudaArray<u32>,
    /// Number of values, padding included.
    pub len: usize,
}

/// Patterns of the slices: entries stored per row, keys, unions.
struct Patterns {
    lengths: CudaArray<u32>,
    keys: CudaArray<u64>,
    unions: CudaArray<i32>,
}

/// Numbers that the host reads: values, offsets, listed columns, offsets that differ from those of the slice's owner.
type Sizes = [u64; 4];

impl SliceLayout {
    /// Lays out a graph. With `tables`, slices may share tables of offsets, found by those bits of a hash that `hash_mask` selects;
    /// rows and columns are below 2^31 then.
    pub(super) fn new(space: &Cuda, graph: &CrsGraph<CudaMemory>, tables: bool, hash_mask: u64) -> Result<Self> {
        let (rows, slices) = (graph.rows() as u64, graph.rows().div_ceil(SLICE));
        let mut lengths = space.unfilled::<u32>(slices)?;
        let (grid, row_map) = (Grid::cover(slices * SLICE, THREADS), graph.row_map());
        if !tables {
            space.launch(&SLICE_LAYOUT, "slice_lengths", grid, arguments![rows, row_map, &mut lengths])?;
            return Self::of_lists(space, graph, &lengths);
        }
        let (mut keys, mut unions) = (space.unfilled::<u64>(slices)?, space.unfilled::<i32>(slices * WIDEST)?);
        let arguments = arguments![rows, hash_mask, row_map, graph.entries(), &mut lengths, &mut keys, &mut unions];
        space.launch(&SLICE_LAYOUT, "slice_patterns", grid, arguments)?;
        let patterns = Patterns { lengths, keys, unions };
        match Self::of_tables(space, graph, &patterns, true)? {
            Some(layout) => Ok(layout),
            // Two different unions have the same key: each slice gets its own table.
            None => Self::of_tables(space, graph, &patterns, false)?
                .ok_or_else(|| crate::Error::Device("slices: a table differs from its own slice".into())),
        }
    }

    /// All slices list their columns.
    fn of_lists(space: &Cuda, graph: &CrsGraph<CudaMemory>, lengths: &CudaArray<u32>) -> Result<Self> {
        let slices = lengths.len();
        let (mut slice_offsets, _) = space.scan(slices, lengths)?;
        let (mut words, mut sizes) = (space.unfilled::<u64>(slices)?, space.zeros::<u64>(4)?);
        const NONE: Argument = Argument::NULL;
        let arguments = arguments![slices as u64, NONE, NONE, NONE, NONE, &mut slice_offsets, &mut words, &mut sizes];
        space.launch(&SLICE_LAYOUT, "slice_words", Grid::cover(slices + 1, THREADS), arguments)?;
        let mut read: Sizes = [0; 4];
        space.read(&sizes, &mut read)?;
        Self::filled(space, graph, slice_offsets, words, read, |_, _| Ok(()))
    }

    /// Slices have tables where their pattern suits; with `share`, those of one key have one table. Returns `None` if the unions of
    /// such slices differ.
    fn of_tables(space: &Cuda, graph: &CrsGraph<CudaMemory>, patterns: &Patterns, share: bool) -> Result<Option<Self>> {
        let Patterns { lengths, keys, unions } = patterns;
        let slices = lengths.len();
        let (count, per_slice) = (slices as u64, Grid::cover(slices, THREADS));
        let (mut owners, mut added_offsets) = (space.unfilled::<u32>(slices)?, space.unfilled::<u32>(slices)?);
        let (mut added_columns, mut sizes) = (space.unfilled::<u32>(slices)?, space.zeros::<u64>(4)?);
        let table = share.then(|| Self::owners_by_key(space, keys)).transpose()?;
        let (table_owners, places) =
            table.as_ref().map_or((Argument::NULL, Argument::NULL), |(owners, places)| (owners.into(), places.into()));
        #[rustfmt::skip]
        let arguments = arguments![
            count, keys, lengths, table_owners, places, &mut owners, &mut added_offsets, &mut added_columns,
        ];
        space.launch(&SLICE_LAYOUT, "slice_counts", per_slice, arguments)?;
        let per_offset = Grid::cover(slices * WIDEST, THREADS);
        space.launch(
            &SLICE_LAYOUT,
            "slice_compare",
            per_offset,
            arguments![count, keys, &owners, unions, &mut sizes],
        )?;
        let (mut slice_offsets, _) = space.scan(slices, lengths)?;
        let ((table_starts, _), (list_starts, _)) =
            (space.scan(slices, &added_offsets)?, space.scan(slices, &added_columns)?);
        let mut words = space.unfilled::<u64>(slices)?;
        #[rustfmt::skip]
        let arguments = arguments![
            count, keys, &owners, &table_starts, &list_starts, &mut slice_offsets, &mut words, &mut sizes,
        ];
        space.launch(&SLICE_LAYOUT, "slice_words", Grid::cover(slices + 1, THREADS), arguments)?;
        let mut read: Sizes = [0; 4];
        space.read(&sizes, &mut read)?;
        if read[3] > 0 {
            return Ok(None);
        }
        let tables = |words: &CudaArray<u64>, offsets: &mut CudaArray<i32>| {
            let arguments = arguments![count, keys, &owners, unions, words, offsets];
            space.launch(&SLICE_LAYOUT, "slice_tables", per_offset, arguments)
        };
        Self::filled(space, graph, slice_offsets, words, read, tables).map(Some)
    }

    /// Returns the lowest slice of each place of a hash table of keys, and the place of each slice's key.
    fn owners_by_key(space: &Cuda, keys: &CudaArray<u64>) -> Result<(CudaArray<u32>, CudaArray<u32>)> {
        let slices = keys.len();
        // At most half full.
        let capacity = (2 * slices).next_power_of_two();
        let (mut table_keys, mut table_owners) = (space.unfilled::<u64>(capacity)?, space.unfilled::<u32>(capacity)?);
        space.fill_bytes(&mut table_keys, 0xff)?;
        space.fill_bytes(&mut table_owners, 0xff)?;
        let mut places = space.unfilled::<u32>(slices)?;
        let arguments =
            arguments![slices as u64, capacity as u64, keys, &mut table_keys, &mut table_owners, &mut places];
        space.launch(&SLICE_LAYOUT, "slice_places", Grid::cover(slices, THREADS), arguments)?;
        Ok((table_owners, places))
    }

    /// Makes tables, by `tables(words, offsets)`, and lists.
    fn filled(
        space: &Cuda,
        graph: &CrsGraph<CudaMemory>,
        slice_offsets: CudaArray<u64>,
        words: CudaArray<u64>,
        [len, offsets, listed, _]: Sizes,
        tables: impl FnOnce(&CudaArray<u64>, &mut CudaArray<i32>) -> Result<()>,
    ) -> Result<Self> {
        let (mut offsets, mut columns) = (space.unfilled(offsets as usize)?, space.unfilled(listed as usize)?);
        tables(&words, &mut offsets)?;
        if listed > 0 {
            let (rows, grid) = (graph.rows() as u64, Grid::cover(words.len() * SLICE, THREADS));
            let arguments = arguments![rows, graph.row_map(), graph.entries(), &slice_offsets, &words, &mut columns];
            space.launch(&SLICE_LAYOUT, "slice_columns", grid, arguments)?;
        }
        Ok(SliceLayout { slice_offsets, words, offsets, columns, len: len as usize })
    }
}
