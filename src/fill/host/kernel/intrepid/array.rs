//! Arrays of a workset with the cells in vector lanes or apart.

use crate::Result;
use crate::fill::host::any_equation::{Plain, WIDTH};
use crate::space::lanes::LANES;
use crate::space::{Layout, View, ViewMut, try_zeroed};

/// Numbers of a cache line.
const LINE: usize = 8;

/// Numbers `[cell, i, j, k]`.
#[derive(Debug, Default)]
pub struct Array {
    data: Vec<f64>,
    /// The first item, at the beginning of a cache line: vectors of cells that cross lines cost two loads.
    first: usize,
    strides: [usize; 4],
}

impl Array {
    /// Returns a zeroed array. Both layouts have one stride over (j, k): from the fastest index on, the order is cell, i, k, j or k, j, i,
    /// cell. With [`Layout::Left`] rows of cells are an odd number of cache lines apart, so that they lie in different cache sets.
    pub fn new(layout: Layout, [cells, sizes @ ..]: [usize; 4]) -> Result<Self> {
        let [i, j, k] = sizes;
        let (cells, strides) = match layout {
            Layout::Left => (row(cells), [1, row(cells), row(cells) * i * k, row(cells) * i]),
            Layout::Right => (cells, [i * j * k, j * k, k, 1]),
        };
        let data: Vec<f64> = try_zeroed("workset", cells * i * j * k + LINE)?;
        let first = data.as_ptr().align_offset(LINE * size_of::<f64>()).min(LINE);
        Ok(Array { data, first, strides })
    }

    /// Returns an array of the same numbers in all cells.
    pub fn replicated(layout: Layout, [cells, i, j]: [usize; 3], number: impl Fn(usize, usize) -> f64) -> Result<Self> {
        let is_left = layout == Layout::Left;
        let mut array = Array::new(layout, [if is_left { cells } else { 1 }, i, j, 1])?;
        for (i, j) in (0..i).flat_map(|i| (0..j).map(move |j| (i, j))) {
            let at = array.at(0, [i, j, 0]);
            array.data[at..][..if is_left { cells } else { 1 }].fill(number(i, j));
        }
        if !is_left {
            array.strides[0] = 0;
        }
        Ok(array)
    }

    /// Whether no memory was allocated.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    #[inline(always)]
    fn at(&self, cell: usize, [i, j, k]: [usize; 3]) -> usize {
        let [of_cell, of_i, of_j, of_k] = self.strides;
        self.first + cell * of_cell + i * of_i + j * of_j + k * of_k
    }

    /// Copies the numbers `[i, j, k]` of [`LANES`] cells for all k to every `step`-th row of `to`.
    #[inline(always)]
    pub fn copy(&self, cell: usize, [i, j]: [usize; 2], (to, step): (&mut [[f64; LANES]], usize)) {
        let (from, [of_cell, .., of_k]) = (&self.data[self.at(cell, [i, j, 0])..], self.strides);
        for (k, lanes) in to.iter_mut().step_by(step).enumerate() {
            let from = &from[k * of_k..];
            match (of_cell, from.first_chunk()) {
                (1, Some(cells)) => *lanes = *cells,
                _ => (0..LANES).for_each(|lane| lanes[lane] = from[lane * of_cell]),
            }
        }
    }

    /// Sets the numbers `[i, j, k]` of [`LANES`] cells for `count` values of i from `first` on, in two halves: `number(half, i)`.
    #[inline(always)]
    pub fn put(
        &mut self,
        cell: usize,
        [first, j, k]: [usize; 3],
        count: usize,
        number: impl Fn(usize, usize) -> Plain,
    ) {
        let (at, [of_cell, of_i, ..]) = (self.at(0, [first, j, k]), self.strides);
        if of_cell == 1 {
            for (i, row) in self.data[at..][..count * of_i].chunks_exact_mut(of_i).enumerate() {
                let row = &mut row[cell..][..LANES];
                row[..WIDTH].copy_from_slice(&number(0, i).0);
                row[WIDTH..].copy_from_slice(&number(1, i).0);
            }
            return;
        }
        let to = &mut self.data[at + cell * of_cell..];
        for i in 0..count {
            for half in 0..LANES / WIDTH {
                let lanes = number(half, i);
                for lane in 0..WIDTH {
                    to[i * of_i + (WIDTH * half + lane) * of_cell] = lanes.0[lane];
                }
            }
        }
    }

    /// Returns a view of the named axes from an item on.
    pub fn view<const R: usize>(
        &self,
        from: [usize; 3],
        axes: [usize; R],
        extents: [usize; R],
    ) -> Result<View<'_, f64, R>> {
        View::with_strides(&self.data[self.at(0, from)..], extents, axes.map(|axis| self.strides[axis]))
    }

    /// Returns a view to write.
    pub fn view_mut<const R: usize>(
        &mut self,
        from: [usize; 3],
        axes: [usize; R],
        extents: [usize; R],
    ) -> Result<ViewMut<'_, f64, R>> {
        let at = self.at(0, from);
        ViewMut::with_strides(&mut self.data[at..], extents, axes.map(|axis| self.strides[axis]))
    }
}

/// Returns the length of a row of cells: an odd number of cache lines.
pub const fn row(cells: usize) -> usize {
    (cells.div_ceil(LINE) | 1) * LINE
}
