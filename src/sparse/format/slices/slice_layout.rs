//! Layout of a sparsity pattern in slices of 32 rows, made on the GPU.
//!
//! ```text
//! patterns   per slice: union of column - row, key = hash and length, or a list   one pass over the entries
//! owners     the lowest slice with the same key                                   hash table on the GPU
//! words      scans of what each slice adds; tables in the order of their owners
//! ```
//! For symmetric halves, before the owners: which offsets of each union are mirrored, and tables with the distances to the values of
//! their partners, which then have the keys.
//!
//! The host reads four numbers, once; for halves then two distances and a table. Meanwhile the layout takes about 250 bytes per slice,
//! for halves 750. The result is the same in every run.

use crate::Result;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, Grid, Offsets, arguments};
use crate::sparse::GraphOf;
use crate::sparse::kernel_files::SLICE_LAYOUT;

/// As in the kernels: threads per block, rows per slice, longest table.
const THREADS: u32 = 256;
const SLICE: usize = 32;
pub(in crate::sparse::format) const WIDEST: usize = 40;
/// Longest table with mirrored entries.
const LONGEST: usize = 3 * WIDEST;
/// Least offset to a row of another line of a mesh.
const NEAREST: i32 = 48;

/// The arrays that describe the slices, see [`SlicedEll`](super::SlicedEll).
#[derive(Debug)]
pub(in crate::sparse::format) struct SliceLayout {
    pub slice_offsets: CudaArray<u64>,
    pub words: CudaArray<u64>,
    pub offsets: CudaArray<i32>,
    pub columns: CudaArray<u32>,
    /// Number of values, padding included.
    pub len: usize,
    /// How symmetric products walk over the slices.
    pub walk: TileOrder,
    /// The table of most slices of a symmetric matrix, as kernels take it.
    pub usual: CommonTable,
}

/// A table by value: `CommonTable` in the kernels.
pub(super) type CommonTable = [u64; COMMON];
const COMMON: usize = 29;

/// Distances, in slices, of slices whose rows are neighbours in other directions than their own. A tile, the slices of a block, is
/// `WARPS` slices a stride apart, with a plane of `WARPS` strides; or half as many, in each of two neighbouring planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sparse::format) struct TileOrder {
    stride: u32,
    plane: u32,
}

impl TileOrder {
    /// Slices of a tile.
    const WARPS: u32 = THREADS / SLICE as u32;
    /// Slices in their order.
    pub const PLAIN: Self = TileOrder { stride: 1, plane: Self::WARPS };

    /// The walk over `slices` slices whose rows have neighbours at these distances, in rows.
    fn new(slices: usize, [line, plane]: [i32; 2]) -> Self {
        let apart = |offset: i32, unit: u32| (offset as u32 / SLICE as u32 + unit / 2) / unit * unit;
        // Groups of tiles larger than an eighth of the matrix would leave many warps idle at its end.
        let suits = |group: u32| 8 * group as usize <= slices;
        let stride =
            if line < NEAREST || line == i32::MAX { 1 } else { (line as u32 + SLICE as u32 / 2) / SLICE as u32 };
        let plane = if plane == i32::MAX || plane <= line { 0 } else { apart(plane, stride * Self::WARPS / 2) };
        if stride > 1 && plane > Self::WARPS * stride && suits(2 * plane) {
            TileOrder { stride, plane }
        } else if suits(Self::WARPS * stride) {
            TileOrder { stride, plane: Self::WARPS * stride }
        } else {
            Self::PLAIN
        }
    }

    /// Returns the number of tiles of so many slices, as the kernels count them.
    pub fn tiles(self, slices: usize) -> usize {
        let planes = if self.plane == Self::WARPS * self.stride { 1 } else { 2 };
        slices.div_ceil((self.plane * planes) as usize) * (self.plane * planes / Self::WARPS) as usize
    }

    /// Returns the argument of the kernels.
    pub fn word(self) -> u64 {
        u64::from(self.plane) << 32 | u64::from(self.stride)
    }
}

/// Patterns of the slices: entries stored per row, keys, tables of at most `widest` numbers; masks of mirrored offsets.
struct Patterns {
    lengths: CudaArray<u32>,
    keys: CudaArray<u64>,
    unions: CudaArray<i32>,
    widest: usize,
    masks: Option<CudaArray<u64>>,
    /// Distances to the rows of the next line and the next plane of a mesh.
    near: Option<CudaArray<i32>>,
}

impl SliceLayout {
    /// Lays out a graph; `symmetric` slices store each pair of symmetric entries once. Slices share tables, found by those bits of a hash that
    /// `hash_mask` selects. Rows and columns are below 2^31.
    pub(super) fn new(space: &Cuda, graph: &GraphOf<Cuda>, symmetric: bool, hash_mask: u64) -> Result<Self> {
        let (rows, slices) = (graph.rows() as u64, graph.rows().div_ceil(SLICE));
        let mut lengths = space.unfilled::<u32>(slices)?;
        let (grid, row_map) = (Grid::cover(slices * SLICE, THREADS), graph.row_map());
        let (mut keys, mut unions) = (space.unfilled::<u64>(slices)?, space.unfilled::<i32>(slices * WIDEST)?);
        let arguments = arguments![rows, hash_mask, row_map, graph.entries(), &mut lengths, &mut keys, &mut unions];
        space.launch(&SLICE_LAYOUT, "slice_patterns", grid, arguments)?;
        let mut patterns = Patterns { lengths, keys, unions, widest: WIDEST, masks: None, near: None };
        if symmetric {
            patterns = patterns.halved(space, hash_mask)?;
        }
        let layout = match Self::of_tables(space, graph, &patterns, true)? {
            Some(layout) => layout,
            // Two different unions have the same key: each slice gets its own table.
            None => Self::of_tables(space, graph, &patterns, false)?
                .ok_or_else(|| crate::Error::Device("slices: a table differs from its own slice".into()))?,
        };
        match patterns.near {
            Some(near) => layout.walked(space, &near),
            None => Ok(layout),
        }
    }

    /// Returns the entries of the slices of a graph, padding included, and those of its longest row.
    pub(in crate::sparse::format) fn padded(space: &Cuda, graph: &GraphOf<Cuda>) -> Result<[usize; 2]> {
        let (rows, slices) = (graph.rows(), graph.rows().div_ceil(SLICE));
        let mut lengths = space.unfilled(slices)?;
        let arguments = arguments![rows as u64, graph.row_map(), &mut lengths];
        space.launch(&SLICE_LAYOUT, "slice_lengths", Grid::cover(slices * SLICE, THREADS), arguments)?;
        let Offsets { total, longest, .. } = space.offsets(slices, &lengths)?;
        Ok([SLICE * total, longest])
    }

    /// Adds the walk over the slices, and the table that most of some slices have.
    fn walked(self, space: &Cuda, near: &CudaArray<i32>) -> Result<Self> {
        let slices = self.words.len();
        let (mut there, mut found) = (space.zeros::<u64>(COMMON + 1)?, [0; COMMON + 1]);
        let arguments = arguments![slices as u64, &self.slice_offsets, &self.words, &self.offsets, near, &mut there];
        space.launch(&SLICE_LAYOUT, "slice_usual", Grid::new(1, THREADS), arguments)?;
        space.read(&there, &mut found)?;
        let mut usual = [0; COMMON];
        usual.copy_from_slice(&found[..COMMON]);
        let near = found[COMMON];
        Ok(SliceLayout { walk: TileOrder::new(slices, [near as i32, (near >> 32) as i32]), usual, ..self })
    }

    /// Slices have tables where their pattern suits; with `share`, those of one key have one table. Returns `None` if the unions of
    /// such slices differ.
    fn of_tables(space: &Cuda, graph: &GraphOf<Cuda>, patterns: &Patterns, share: bool) -> Result<Option<Self>> {
        let Patterns { lengths, keys, unions, widest, masks, .. } = patterns;
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
        let warps = Grid::cover(slices * SLICE, THREADS);
        let widest = *widest as u32;
        let arguments = arguments![count, widest, keys, &owners, unions, &mut sizes];
        space.launch(&SLICE_LAYOUT, "slice_compare", warps, arguments)?;
        let (mut slice_offsets, _) = space.scan(slices, lengths)?;
        let ((table_starts, _), (list_starts, _)) =
            (space.scan(slices, &added_offsets)?, space.scan(slices, &added_columns)?);
        let mut words = space.unfilled::<u64>(slices)?;
        #[rustfmt::skip]
        let arguments = arguments![
            count, keys, &owners, masks.as_ref().map_or(Argument::NULL, Argument::from), &table_starts, &list_starts, &mut slice_offsets, &mut words, &mut sizes,
        ];
        space.launch(&SLICE_LAYOUT, "slice_words", Grid::cover(slices + 1, THREADS), arguments)?;
        let mut read = [0; 4];
        space.read(&sizes, &mut read)?;
        let [len, offsets, listed, differ] = read;
        if differ > 0 {
            return Ok(None);
        }
        let (mut offsets, mut columns) = (space.unfilled(offsets as usize)?, space.unfilled(listed as usize)?);
        let arguments = arguments![count, widest, keys, &owners, unions, &words, &mut offsets];
        space.launch(&SLICE_LAYOUT, "slice_tables", warps, arguments)?;
        if listed > 0 {
            let rows = graph.rows() as u64;
            let arguments = arguments![rows, graph.row_map(), graph.entries(), &slice_offsets, &words, &mut columns];
            space.launch(&SLICE_LAYOUT, "slice_columns", warps, arguments)?;
        }
        let (len, walk, usual) = (len as usize, TileOrder::PLAIN, [u64::MAX; COMMON]);
        Ok(Some(SliceLayout { slice_offsets, words, offsets, columns, len, walk, usual }))
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
}

impl Patterns {
    /// Returns the patterns of slices that store each pair of symmetric entries once.
    fn halved(mut self, space: &Cuda, hash_mask: u64) -> Result<Self> {
        let slices = self.lengths.len();
        let (count, grid) = (slices as u64, Grid::cover(slices * SLICE, THREADS));
        let mut masks = space.unfilled::<u64>(slices)?;
        let arguments = arguments![count, &self.keys, &self.unions, &mut masks, &mut self.lengths];
        space.launch(&SLICE_LAYOUT, "slice_mirrors", grid, arguments)?;
        let (starts, _) = space.scan(slices, &self.lengths)?;
        let (mut keys, mut chains) = (space.unfilled::<u64>(slices)?, space.unfilled::<i32>(slices * LONGEST)?);
        let mut near = space.zeros::<i32>(2)?;
        #[rustfmt::skip]
        let arguments = arguments![
            count, hash_mask, NEAREST, &self.keys, &self.unions, &masks, &starts, &mut keys, &mut chains, &mut near,
        ];
        space.launch(&SLICE_LAYOUT, "slice_chains", grid, arguments)?;
        let (masks, near) = (Some(masks), Some(near));
        Ok(Patterns { lengths: self.lengths, keys, unions: chains, widest: LONGEST, masks, near })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks over boxes follow lines and planes, and every slice is in one tile.
    #[test]
    fn walks_cover_all_slices_once() {
        let offsets = |n: i32| [n - 1, n * n - n - 1];
        assert_eq!(TileOrder::new(1 << 19, offsets(256)), TileOrder { stride: 8, plane: 2048 });
        assert_eq!(TileOrder::new(1 << 16, offsets(128)), TileOrder { stride: 4, plane: 512 });
        assert_eq!(TileOrder::new(31_250, offsets(100)), TileOrder { stride: 3, plane: 312 });
        assert_eq!(TileOrder::new(1000, [i32::MAX; 2]), TileOrder::PLAIN);
        assert_eq!(TileOrder::new(100, offsets(256)), TileOrder::PLAIN);
        for (slices, offsets) in [(5000, [63, 4031]), (1000, [99, i32::MAX]), (4219, [59, 2939]), (7, [i32::MAX; 2])] {
            let walk @ TileOrder { stride, plane } = TileOrder::new(slices, offsets);
            // As in the kernels.
            let apart = if plane == TileOrder::WARPS * stride { TileOrder::WARPS } else { TileOrder::WARPS / 2 };
            let mut seen = vec![0; slices];
            for (tile, warp) in
                (0..walk.tiles(slices) as u32).flat_map(|tile| (0..TileOrder::WARPS).map(move |warp| (tile, warp)))
            {
                let (group, rest) = (tile / (plane / apart), tile % (plane / apart));
                let slice = group * plane * (TileOrder::WARPS / apart)
                    + warp / apart * plane
                    + (rest / stride * apart + warp % apart) * stride
                    + rest % stride;
                if let Some(count) = seen.get_mut(slice as usize) {
                    *count += 1;
                }
            }
            assert!(seen.iter().all(|&count| count == 1), "{slices} slices, {walk:?}");
        }
    }
}
