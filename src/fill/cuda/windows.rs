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
use crate::space::cuda::{Cuda, CudaArray};
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
struct Sorted {
    list: Vec<u32>,
    /// End of each step's part of the list.
    ends: Vec<usize>,
}

impl Sorted {
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

/// Which rows are summed after each step.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    step: usize,
    capacity: usize,
    blocks: Sorted,
    rows: Sorted,
}

impl Plan {
    /// Plans steps of `step` elements. `rows_of` returns the reach of each row of the given blocks, [block, 128]. Returns `None`
    /// where windows save nothing.
    pub(super) fn new(
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
        Ok(Some(Plan {
            step,
            capacity,
            blocks: Sorted::new(elems, step, whole)?,
            rows: Sorted::new(elems, step, alone_rows.map(|at| (row_at(at), alone.highest[at])))?,
        }))
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

/// A plan with its lists in device memory.
#[derive(Debug)]
pub(super) struct Windows {
    elems: usize,
    step: usize,
    capacity: usize,
    pub blocks: CudaArray<u32>,
    pub rows: CudaArray<u32>,
    block_ends: Vec<usize>,
    row_ends: Vec<usize>,
}

impl Windows {
    pub(super) fn new(space: &Cuda, elems: usize, plan: Plan) -> Result<Self> {
        let Plan { step, capacity, blocks, rows } = plan;
        Ok(Windows {
            elems,
            step,
            capacity,
            blocks: space.upload(&blocks.list)?,
            rows: space.upload(&rows.list)?,
            block_ends: blocks.ends,
            row_ends: rows.ends,
        })
    }

    /// Returns the number of element matrices that are stored at once.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the steps: the elements to compute, then the parts of the lists of blocks and of rows to sum.
    pub(super) fn steps(&self) -> impl Iterator<Item = (Batch, [(usize, usize); 2])> {
        let part = |ends: &[usize], step: usize| (if step == 0 { 0 } else { ends[step - 1] }, ends[step]);
        (0..self.block_ends.len()).map(move |step| {
            let first = step * self.step;
            let (count, column) = (self.step.min(self.elems - first), first % self.capacity);
            let batch = Batch { first, count, column, capacity: self.capacity };
            (batch, [part(&self.block_ends, step), part(&self.row_ends, step)])
        })
    }
}

/// Returns the blocks of a number of rows.
pub(super) fn blocks_of(rows: usize) -> usize {
    rows.div_ceil(ROWS)
}

#[cfg(test)]
mod tests;
