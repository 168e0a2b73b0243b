//! Element matrices of any equation on any element type by the tables of its basis: launches of `kernels/equation.cu`.
//!
//! ```text
//! matrices of up to 36 entries   store_equation: one thread per element
//! others, hex27 by layers        equation_points: coefficients at the points, one thread each, 8 (16 D^2 + 4 D) bytes per point
//!                                equation_tiles: one thread per element and tile of at most 8 x 8 nodes
//! ```

use super::EquationText;
use super::element_shape::ElementShape;
use super::gather::Arrays;
use super::given::GivenWords;
use super::system::{EquationInput, blocks};
use crate::Result;
use crate::element::BasisTables;
use crate::fill::kernel_files::EQUATION;
use crate::mesh::Sizes;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, Grid, arguments};
use std::ops::Range;

/// Threads per block, as in the kernels.
const THREADS: u32 = 128;
/// Bytes of coefficients between the two kernels. With less, launches are too small: on an H200, matrices of `hex27` with one unknown
/// take 1.20 ns per node with a quarter of it, 0.91 with all.
const WORK_BYTES: usize = 64 << 20;

/// The kernels of an equation on one element type, and the coefficients between them.
#[derive(Debug)]
pub(super) struct PointKernels {
    front: String,
    shape: ElementShape,
    parameters: CudaArray<f64>,
    tables: CudaArray<f64>,
    /// Coefficients of `cells` elements, and their number; empty where one kernel does all.
    work: CudaArray<f64>,
    cells: usize,
}

impl PointKernels {
    /// Prepares an equation on elements with these tables of their basis.
    pub fn new(space: &Cuda, text: &EquationText, shape: ElementShape, tables: &BasisTables) -> Result<Self> {
        Ok(PointKernels {
            front: text.front(&shape),
            parameters: space.upload(&text.parameters_on_device())?,
            tables: space.upload(&shape.tables(tables))?,
            shape,
            work: space.unfilled(0)?,
            cells: 0,
        })
    }

    /// Compiles and loads the kernels, which otherwise happens at their first launch.
    pub fn load(&self, space: &Cuda) -> Result<()> {
        space.load_specialised(&EQUATION, &self.front)
    }

    /// Stores matrices and residuals of elements in columns from `column` on. The caller has checked the input.
    pub fn store(
        &mut self,
        space: &Cuda,
        input: EquationInput<'_>,
        elems: Range<usize>,
        [column, capacity]: [usize; 2],
        arrays: &mut Arrays,
    ) -> Result<()> {
        let shape = self.shape;
        let given = |elem: usize| GivenWords::new(input.given, elem, shape.points);
        let nodes = |elem: usize| Argument::from_item(input.elem_node.nodes(), elem * shape.nodes);
        if shape.fused {
            let given = given(elems.start);
            #[rustfmt::skip]
            let arguments = arguments![
                elems.len() as u64, column as u64, capacity as u64, nodes(elems.start), input.node_coord, input.solution,
                &self.parameters, given.argument(), &self.tables, &mut arrays.matrices, &mut arrays.residuals,
            ];
            let grid = Grid::cover(elems.len(), THREADS);
            return space.launch_specialised(&EQUATION, &self.front, "store_equation", grid, arguments);
        }
        self.make_room(space, elems.len())?;
        for first in elems.clone().step_by(self.cells) {
            let (count, given) = (self.cells.min(elems.end - first), given(first));
            #[rustfmt::skip]
            let arguments = arguments![
                count as u64, self.cells as u64, nodes(first), input.node_coord, input.solution, &self.parameters,
                given.argument(), &self.tables, &mut self.work,
            ];
            let grid = Grid::new(blocks(count.div_ceil(shape.group()))?, THREADS);
            space.launch_specialised(&EQUATION, &self.front, "equation_points", grid, arguments)?;
            #[rustfmt::skip]
            let arguments = arguments![
                count as u64, self.cells as u64, (column + first - elems.start) as u64, capacity as u64, &self.tables, &self.work,
                &mut arrays.matrices, &mut arrays.residuals,
            ];
            let grid = Grid::new(blocks(count.div_ceil(THREADS as usize) * shape.tiles())?, THREADS);
            space.launch_specialised(&EQUATION, &self.front, "equation_tiles", grid, arguments)?;
        }
        Ok(())
    }

    /// Allocates coefficients for up to `elems` elements at a time.
    fn make_room(&mut self, space: &Cuda, elems: usize) -> Result<()> {
        let per_elem = self.shape.work_items();
        let most = (WORK_BYTES / size_of::<f64>() / per_elem).max(1).next_multiple_of(THREADS as usize);
        let cells = most.min(elems.next_multiple_of(THREADS as usize));
        if cells > self.cells {
            self.work = space.unfilled(cells.saturating_mul(per_elem))?;
            self.cells = cells;
        }
        Ok(())
    }
}

/// Bytes of coefficients at points, at most.
pub(super) fn work_bytes(sizes: &Sizes, is_symmetric: bool) -> u64 {
    if is_symmetric && sizes.per_elem() <= 8 {
        0
    } else {
        (WORK_BYTES as u64).min(1024 * sizes.per_elem() * sizes.elems)
    }
}
