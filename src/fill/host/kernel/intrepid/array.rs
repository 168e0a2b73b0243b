//! Arrays of a workset with the cells in vector lanes or apart.

use crate::Result;
use crate::fill::host::any_equation::{Plain, WIDTH};
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
    /// Returns a zeroed array. With [`Layout::Left`] rows of cells are an odd number of cache lines apart, so that the rows of a cell lie
    /// in different cache sets.
    pub fn new(layout: Layout, [cells, sizes @ ..]: [usize; 4]) -> Result<Self> {
        let [i, j, k] = sizes;
        let cells = if layout == Layout::Left { row(cells) } else { cells };
        let data: Vec<f64> = try_zeroed("workset", cells * i * j * k + LINE)?;
        let first = data.as_ptr().align_offset(LINE * size_of::<f64>()).min(LINE);
        Ok(Array { data, first, strides: layout.strides([cells, i, j, k]) })
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

    /// Returns a number of each of `W` cells.
    #[inline(always)]
    pub fn get<const W: usize>(&self, cell: usize, index: [usize; 3]) -> [f64; W] {
        let (at, stride) = (self.at(cell, index), self.strides[0]);
        if stride == 1 {
            return *self.data[at..].first_chunk().expect("cells");
        }
        let (from, mut numbers) = (&self.data[at..], [0.0; W]);
        for lane in 0..W {
            numbers[lane] = from[lane * stride];
        }
        numbers
    }

    /// Sets the numbers `[i, j, k]` of `WIDTH` cells for i from `first` on.
    #[inline(always)]
    pub fn put(&mut self, cell: usize, [first, j, k]: [usize; 3], numbers: &[Plain]) {
        let (at, [of_cell, of_i, ..]) = (self.at(cell, [first, j, k]), self.strides);
        let to = &mut self.data[at..];
        if of_cell == 1 {
            for (i, lanes) in numbers.iter().enumerate() {
                *to[i * of_i..].first_chunk_mut().expect("cells") = lanes.0;
            }
            return;
        }
        for (i, lanes) in numbers.iter().enumerate() {
            for lane in 0..WIDTH {
                to[i * of_i + lane * of_cell] = lanes.0[lane];
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
