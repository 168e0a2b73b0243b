//! The nine on a GPU: launches of `kernels/contraction.cu`.
//!
//! An entry adds its products in the order of (p, i, j) whatever the variant, so all variants give the same bits.

use super::shape::{Shape, out_strides};
use super::{Contract, Sum, Task};
use crate::space::cuda::{Cuda, CudaMemory, Grid, arguments};
use crate::space::lanes::Real;
use crate::space::{DeviceView, DeviceViewMut, Strided};
use crate::{Error, Result};
use std::any::TypeId;

/// Threads of a warp.
const WARP: usize = 32;

/// How a contraction is shared out among threads. More are to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Variant {
    /// By shapes and strides, one of the others.
    #[default]
    Auto,
    /// A thread an output, neighbouring threads on neighbouring cells or on the outputs of a cell.
    Flat,
    /// A thread a tile of 1 x 8 outputs of a cell, sums in registers, neighbouring threads on neighbouring cells: for
    /// layouts that have cells side by side; right for any, as the other tiles.
    Tile1x8,
    /// Tiles of 4 x 4.
    Tile4x4,
    /// Tiles of 8 x 8: of elements with 8 nodes each number is loaded once.
    Tile8x8,
}

impl Variant {
    /// Every variant, with its name.
    pub const ALL: [(Variant, &'static str); 5] = [
        (Variant::Auto, "auto"),
        (Variant::Flat, "flat"),
        (Variant::Tile1x8, "tile-1x8"),
        (Variant::Tile4x4, "tile-4x4"),
        (Variant::Tile8x8, "tile-8x8"),
    ];

    /// Outputs of a thread.
    fn tile(self) -> [usize; 2] {
        match self {
            Variant::Auto | Variant::Flat => [1, 1],
            Variant::Tile1x8 => [1, 8],
            Variant::Tile4x4 => [4, 4],
            Variant::Tile8x8 => [8, 8],
        }
    }

    /// The kernel for this type of number.
    fn kernel<T: Real>(self) -> Result<&'static str> {
        let [single, double] = match self {
            Variant::Auto | Variant::Flat => ["flat_f32", "flat_f64"],
            Variant::Tile1x8 => ["tiled_1x8_f32", "tiled_1x8_f64"],
            Variant::Tile4x4 => ["tiled_4x4_f32", "tiled_4x4_f64"],
            Variant::Tile8x8 => ["tiled_8x8_f32", "tiled_8x8_f64"],
        };
        match TypeId::of::<T>() {
            id if id == TypeId::of::<f32>() => Ok(single),
            id if id == TypeId::of::<f64>() => Ok(double),
            _ => Err(Error::Invalid("contractions on a GPU are of f32 or f64".into())),
        }
    }
}

crate::space::named_choice!(Variant, "contraction variant");

/// A GPU and how it is to contract: takes the place of the space in a call of the nine.
#[derive(Clone, Copy, Debug)]
pub struct With<'a>(pub &'a Cuda, pub Variant);

impl Contract for Cuda {
    type Memory = CudaMemory;

    fn contract<T: Real, const A: usize, const B: usize, const C: usize>(
        &self,
        task: Task,
        left: &DeviceView<'_, T, A>,
        right: &DeviceView<'_, T, B>,
        out: &mut DeviceViewMut<'_, T, C>,
    ) -> Result<()> {
        With(self, Variant::Auto).contract(task, left, right, out)
    }
}

impl Contract for With<'_> {
    type Memory = CudaMemory;

    fn contract<T: Real, const A: usize, const B: usize, const C: usize>(
        &self,
        task: Task,
        left: &DeviceView<'_, T, A>,
        right: &DeviceView<'_, T, B>,
        out: &mut DeviceViewMut<'_, T, C>,
    ) -> Result<()> {
        let [a, b] = [Shape::new(left, task.fields[0]), Shape::new(right, task.fields[1])];
        let work = Work {
            sizes: [b.extents[0], a.extents[1], b.extents[1]],
            terms: Terms::new(&a, &b),
            out: out_strides(out),
            by_cells: [nearest_cells(left), nearest_cells(right), nearest_cells(out)]
                .into_iter()
                .filter(|n| *n)
                .count()
                > 1,
        };
        if work.sizes.contains(&0) {
            return Ok(());
        }
        let Work { sizes: [cells, fields_left, fields_right], terms, .. } = work;
        let variant = match self.1 {
            Variant::Auto => work.choose(self.0.device().info().multiprocessors as usize),
            named => named,
        };
        let [outer, middle, inner] = terms.extents;
        let [[a0, a1, a2], [b0, b1, b2]] = terms.strides;
        let [out_cell, out_left, out_right] = work.out;
        self.0.launch(
            "contraction",
            variant.kernel::<T>()?,
            work.grid(variant),
            arguments![
                cells as u64,
                fields_left as u64,
                fields_right as u64,
                outer as u64,
                middle as u64,
                inner as u64,
                u32::from(work.by_cells),
                u32::from(task.sum == Sum::Into),
                left.argument(),
                a.strides[0] as u64,
                a.strides[1] as u64,
                a0 as u64,
                a1 as u64,
                a2 as u64,
                right.argument(),
                b.strides[0] as u64,
                b.strides[1] as u64,
                b0 as u64,
                b1 as u64,
                b2 as u64,
                out.argument(),
                out_cell as u64,
                out_left as u64,
                out_right as u64,
            ],
        )
    }
}

/// Whether no items are nearer to each other than neighbouring cells are.
fn nearest_cells<const R: usize>(view: &impl Strided<R>) -> bool {
    let (extents, strides) = (view.extents(), view.strides());
    (1..R).all(|d| extents[d] < 2 || strides[0] < strides[d])
}

/// The contraction index: three nested extents in the order of (p, i, j), and the strides of left and right along them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Terms {
    extents: [usize; 3],
    strides: [[usize; 3]; 2],
}

impl Terms {
    /// Of two operands. Neighbouring extents that both operands have in one line become one, at the inner end.
    fn new(left: &Shape, right: &Shape) -> Self {
        let [_, _, extents @ ..] = right.extents;
        let along = |shape: &Shape| [shape.point_stride(), shape.strides[3], shape.strides[4]];
        let strides = [along(left), along(right)];
        // Wrapping: a view without items may have any strides.
        let mut terms = Terms { extents: [1; 3], strides: [[0; 3]; 2] };
        let mut to = 3;
        for from in (0..3).rev().filter(|&d| extents[d] != 1) {
            let in_line = |side: usize| strides[side][from] == terms.extents[to].wrapping_mul(terms.strides[side][to]);
            if to < 3 && in_line(0) && in_line(1) {
                terms.extents[to] *= extents[from];
            } else {
                to -= 1;
                terms.extents[to] = extents[from];
                (0..2).for_each(|side| terms.strides[side][to] = strides[side][from]);
            }
        }
        terms
    }
}

/// One contraction: `[cells, left fields, right fields]`, the rest of its shape.
#[derive(Clone, Copy, Debug)]
struct Work {
    sizes: [usize; 3],
    terms: Terms,
    out: [usize; 3],
    /// Whether cells are side by side in at least two of the three arrays.
    by_cells: bool,
}

impl Work {
    /// What [`Variant::Auto`] stands for on a GPU of so many multiprocessors.
    fn choose(&self, multiprocessors: usize) -> Variant {
        let [_, left, right] = self.sizes;
        // What keeps a multiprocessor busy: 8 warps of independent loads.
        let is_enough = |variant: Variant| self.warps(variant) >= 8 * multiprocessors;
        if !self.by_cells || left * right == 1 {
            return Variant::Flat;
        }
        let tiles: &[Variant] = match (left, left.min(right)) {
            (1, _) => &[Variant::Tile1x8],
            (_, ..=4) => &[Variant::Tile4x4],
            _ => &[Variant::Tile8x8, Variant::Tile4x4],
        };
        tiles.iter().copied().find(|tile| is_enough(*tile)).unwrap_or(Variant::Flat)
    }

    /// Warps that take 32 cells and one tile each.
    fn warps(&self, variant: Variant) -> usize {
        let ([cells, left, right], [rows, columns]) = (self.sizes, variant.tile());
        cells.div_ceil(WARP) * left.div_ceil(rows) * right.div_ceil(columns)
    }

    fn grid(&self, variant: Variant) -> Grid {
        match variant {
            Variant::Flat if !self.by_cells => Grid::cover(self.sizes.iter().product(), 256),
            Variant::Flat => Grid::cover(self.warps(variant) * WARP, 256),
            _ => Grid::cover(self.warps(variant) * WARP, 128),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Layout, View};

    fn shape<const R: usize>(extents: [usize; R], strides: [usize; R]) -> Shape {
        Shape::new(&View::strided(&[0u8; 100_000], extents, strides).unwrap(), true)
    }

    #[test]
    fn lines_of_terms_are_merged_where_both_have_them() {
        let extents = [9, 5, 7, 3, 2];
        let right = shape(extents, Layout::Right.strides(extents));
        let terms = Terms::new(&right, &right);
        assert_eq!(terms, Terms { extents: [1, 1, 42], strides: [[0, 0, 1]; 2] });
        let left = shape(extents, Layout::Left.strides(extents));
        assert_eq!(Terms::new(&left, &right).extents, [7, 3, 2]);
        let one = Terms::new(&shape([9, 5, 1, 3, 2], [30, 6, 17, 2, 1]), &right);
        assert_eq!(one, Terms { extents: [1, 7, 6], strides: [[0, 0, 1], [0, 6, 1]] });
        let none = [9, 5, 0, 3, 2];
        let none = Terms::new(&shape(none, [1; 5]), &shape(none, [1; 5]));
        assert_eq!(none.extents.iter().product::<usize>(), 0);
    }

    #[test]
    fn tiles_for_many_cells_side_by_side() {
        let work = |sizes, by_cells| {
            let terms = Terms { extents: [1, 8, 3], strides: [[0; 3]; 2] };
            Work { sizes, terms, out: [1; 3], by_cells }
        };
        let choose = |sizes| work(sizes, true).choose(132);
        assert_eq!(choose([100_000, 8, 8]), Variant::Tile8x8);
        assert_eq!(choose([20_000, 8, 8]), Variant::Tile4x4);
        assert_eq!(choose([100, 8, 8]), Variant::Flat);
        assert_eq!(choose([100_000, 8, 3]), Variant::Tile4x4);
        assert_eq!(choose([100_000, 1, 8]), Variant::Tile1x8);
        assert_eq!(choose([100_000, 1, 1]), Variant::Flat);
        assert_eq!(work([100_000, 8, 8], false).choose(132), Variant::Flat);
        assert_eq!(work([33, 9, 8], true).warps(Variant::Tile8x8), 4);
    }
}
