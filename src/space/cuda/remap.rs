//! Copies between views on a GPU: launches of `kernels/remap.cu`.

use super::{Argument, Cuda, DeviceView, DeviceViewMut, Grid, KernelFile, arguments, kernel_file};
use crate::space::Item;
use crate::space::remap::Order;
use crate::{Error, Result};

/// The kernel file of copies between views.
pub static REMAP: KernelFile = kernel_file!("remap");

const THREADS: u32 = 256;
/// Indices of the kernels, among them one for the words of an item.
const INDICES: usize = 6;
/// Edge of a tile, and the smallest extent for which tiles are used.
const TILE: usize = 32;
const FEW: usize = 16;

impl Cuda {
    /// Copies as [`remap`](crate::space::remap()), in the memory of the GPU.
    pub(super) fn copy_view<T: Item, const R: usize>(
        &self,
        from: &DeviceView<'_, T, R>,
        to: &mut DeviceViewMut<'_, T, R>,
    ) -> Result<()> {
        let order = Order::of(from, to)?;
        if from.extents().contains(&0) {
            return Ok(());
        }
        let (word, kernels) = match size_of::<T>() {
            size if size.is_multiple_of(8) => (8, ["remap_rows_8", "remap_tiles_8"]),
            4 => (4, ["remap_rows_4", "remap_tiles_4"]),
            _ => (1, ["remap_rows_1", "remap_tiles_1"]),
        };
        let words = size_of::<T>() / word;
        let is_tiled = words == 1 && order.is_turned([FEW, FEW]);
        // Extent and strides of each index, the slowest of `to` first.
        let mut indices: Vec<[usize; 3]> = order.indices(is_tiled);
        indices.iter_mut().for_each(|[_, read, write]| (*read, *write) = (*read * words, *write * words));
        if words > 1 {
            indices.push([words, 1, 1]);
        }
        indices.retain(|[extent, ..]| *extent > 1);
        let Some(unused) = INDICES.checked_sub(indices.len()) else {
            return Err(Error::Invalid(format!(
                "remap: {} indices on a GPU: expected at most {INDICES}, of which items of several words take one",
                indices.len()
            )));
        };
        let mut shape = [0; 3 * INDICES];
        shape[..unused].fill(1);
        for (at, numbers) in (unused..).zip(&indices) {
            numbers.iter().enumerate().for_each(|(which, &number)| shape[which * INDICES + at] = number as u64);
        }
        let shape = Argument::of_struct(&shape);
        if is_tiled {
            let tiled = |at: usize| indices[indices.len() - at][0].div_ceil(TILE);
            let outer: usize = indices[..indices.len() - 2].iter().map(|[extent, ..]| extent).product();
            let grid = Grid::new(tiled(1) * tiled(2) * outer, THREADS);
            return self.launch(&REMAP, kernels[1], grid, &[shape, from.argument(), to.argument()]);
        }
        let count: usize = indices.iter().map(|[extent, ..]| extent).product();
        let grid = Grid::cover(count, THREADS);
        self.launch(&REMAP, kernels[0], grid, arguments![count as u64, shape, from.argument(), to.argument()])
    }
}
