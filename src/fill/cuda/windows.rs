//! Windows of element matrices for strategy `gather` on a GPU: which rows can be summed when.
//!
//! ```text
//! step k      elements k step .. (k + 1) step are computed; element e goes to column e % capacity
//! then        blocks of 128 rows whose last element is one of these are summed
//! capacity    step + largest distance between the first and the last element of a block
//! ```
//! A block's first element is at most that distance before its last one, so its column still holds it: no element is computed
//! twice, and each row sums the same numbers in the same order as without windows. Blocks need not be in order: in a part of a
//! box, blocks of shell nodes are summed between those of the interior. Rows of the few blocks that join distant parts of the
//! mesh (the last interior node and the first shell node) are listed one by one.
//!
//! Memory: 352 `capacity` bytes instead of 352 per element, and 4 bytes per block. Numberings without locality, and meshes of
//! hardly more elements than a step, have no windows.

use crate::Result;
use crate::space::cuda::{Argument, Cuda, CudaArray};
use crate::space::{ExecutionSpace, try_push, try_zeroed};

/// Rows per block, as in the kernels.
pub(super) const ROWS: usize = 128;

/// One of so many blocks may join distant parts of the mesh; two more may do so in any mesh.
const JOINS: usize = 64;

/// First and last elements of blocks or rows; those without elements have a first one above the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    pub lowest: Vec<u32>,
    pub highest: Vec<u32>,
}

impl Reach {
    /// Returns the distance between the first and the last element.
    fn distance(&self, item: usize) -> usize {
        (self.highest[item] as usize).saturating_sub(self.lowest[item] as usize)
    }
}

/// Blocks or rows, sorted by the step after which they are summed.
#[derive(Debug, PartialEq)]
pub(super) struct Sorted<L> {
    list: L,
    /// End of each step's part of the list.
    ends: Vec<usize>,
}

impl Sorted<Vec<u32>> {
    /// Takes items with their last elements; keeps the order within a step of `step` elements.
    fn new(elems: usize, step: usize, items: impl Iterator<Item = (usize, u32)> + Clone) -> Result<Self> {
        let steps = elems.div_ceil(step);
        let mut next = try_zeroed::<u64>("steps of the fill", steps + 1)?;
        items.clone().for_each(|(_, last)| next[last as usize / step + 1] += 1);
        (0..steps).for_each(|step| next[step + 1] += next[step]);
        let ends = next[1..].iter().map(|&end| end as usize).collect();
        let mut list = try_zeroed::<u32>("blocks of the fill", next[steps] as usize)?;
        for (item, last) in items {
            let place = &mut next[last as usize / step];
            list[*place as usize] = item as u32;
            *place += 1;
        }
        Ok(Sorted { list, ends })
    }
}

impl Sorted<CudaArray<u32>> {
    fn on_device(space: &Cuda, sorted: Sorted<Vec<u32>>) -> Result<Self> {
        Ok(Sorted { list: space.upload(&sorted.list)?, ends: sorted.ends })
    }

    /// Returns a step's part of the list, and its length.
    pub(super) fn part(&self, step: usize) -> (Argument, usize) {
        let begin = if step == 0 { 0 } else { self.ends[step - 1] };
        (Argument::from_item(&self.list, begin), self.ends[step] - begin)
    }
}

/// Which rows are summed after each step. The lists are on the host at first.
#[derive(Debug, PartialEq)]
pub(super) struct Windows<L = CudaArray<u32>> {
    elems: usize,
    step: usize,
    /// Number of element matrices that are stored at once.
    pub(super) capacity: usize,
    pub(super) blocks: Sorted<L>,
    pub(super) rows: Sorted<L>,
}

impl Windows<Vec<u32>> {
    /// Plans steps of `step` elements. `rows_of` returns the reach of each row of the given blocks, [block, 128]. Returns `None`
    /// where windows save nothing.
    pub(super) fn plan(
        (elems, rows, step): (usize, usize, usize),
        blocks: &Reach,
        rows_of: impl FnOnce(&[u32]) -> Result<Reach>,
    ) -> Result<Option<Self>> {
        let step = step.max(1);
        // Rows that reach further would make windows almost as large as the mesh.
        let limit = step.max(elems / 8);
        if step >= elems {
            return Ok(None);
        }
        let (count, mut joins, mut furthest) = (blocks.lowest.len(), Vec::new(), 0);
        for block in 0..count {
            match blocks.distance(block) {
                distance if distance < limit => furthest = furthest.max(distance),
                _ => try_push("blocks of distant rows", &mut joins, block as u32)?,
            }
        }
        if joins.len() > 2 + count / JOINS {
            return Ok(None);
        }
        let alone = if joins.is_empty() { Reach::default() } else { rows_of(&joins)? };
        let row_at = |at: usize| joins[at / ROWS] as usize * ROWS + at % ROWS;
        let alone_rows = (0..alone.lowest.len()).filter(|&at| row_at(at) < rows);
        let furthest = alone_rows.clone().map(|at| alone.distance(at)).fold(furthest, usize::max);
        // Full cache lines for warps of elements.
        let capacity = (step + furthest).next_multiple_of(32);
        if furthest >= limit || capacity >= elems {
            return Ok(None);
        }
        let whole = blocks.highest.iter().copied().enumerate().filter(|&(block, _)| blocks.distance(block) < limit);
        Ok(Some(Windows {
            elems,
            step,
            capacity,
            blocks: Sorted::new(elems, step, whole)?,
            rows: Sorted::new(elems, step, alone_rows.map(|at| (row_at(at), alone.highest[at])))?,
        }))
    }

    /// Copies the lists to the GPU.
    pub(super) fn upload(self, space: &Cuda) -> Result<Windows> {
        let Windows { elems, step, capacity, blocks, rows } = self;
        let (blocks, rows) = (Sorted::on_device(space, blocks)?, Sorted::on_device(space, rows)?);
        Ok(Windows { elems, step, capacity, blocks, rows })
    }
}

impl<L> Windows<L> {
    /// Returns the elements to compute in each step.
    pub(super) fn batches(&self) -> impl Iterator<Item = Batch> {
        let Windows { elems, step, capacity, .. } = *self;
        let batch = move |first| Batch { first, count: step.min(elems - first), column: first % capacity, capacity };
        (0..elems).step_by(step).map(batch)
    }
}

/// The elements of a step, and the columns that they go to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Batch {
    pub first: usize,
    pub count: usize,
    /// Column of the first element; after the last column follows the first.
    pub column: usize,
    pub capacity: usize,
}

impl Batch {
    /// All elements of a mesh, each in a column of its own.
    pub(super) fn whole(elems: usize) -> Self {
        Batch { first: 0, count: elems, column: 0, capacity: elems }
    }

    /// Returns the first element from which stored elements lie within two rounds.
    pub(super) fn base(&self) -> usize {
        (self.first + self.count).saturating_sub(self.capacity) / self.capacity.max(1) * self.capacity
    }
}

/// Returns the blocks of a number of rows.
pub(super) fn blocks_of(rows: usize) -> usize {
    rows.div_ceil(ROWS)
}

#[cfg(test)]
mod tests;
