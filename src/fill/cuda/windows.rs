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
use crate::space::{ExecutionSpace, try_zeroed};

/// Rows per block, as in the kernels.
pub(super) const ROWS: usize = 128;

/// Elements per step: on an H200 about 0.4 ms of work, so that launches and half-filled waves of blocks cost 1 %.
pub(super) const STEP: usize = 1 << 20;

/// Smallest part of the blocks that may be joins of distant parts: one in this many.
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
    /// Takes items with their steps, which are below `steps`; keeps the order within a step.
    fn new(steps: usize, items: impl Iterator<Item = (u32, usize)> + Clone) -> Result<Self> {
        let mut next = try_zeroed::<u64>("steps of the fill", steps + 1)?;
        items.clone().for_each(|(_, step)| next[step + 1] += 1);
        (0..steps).for_each(|step| next[step + 1] += next[step]);
        let ends = next[1..].iter().map(|&end| end as usize).collect();
        let mut list = try_zeroed::<u32>("blocks of the fill", next[steps] as usize)?;
        for (item, step) in items {
            list[next[step] as usize] = item;
            next[step] += 1;
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
        let is_join = |block: &usize| blocks.distance(*block) >= limit;
        let count = blocks.lowest.len();
        let joins = (0..count).filter(is_join).count();
        if step >= elems || joins > 2 + count / JOINS {
            return Ok(None);
        }
        let mut list = try_zeroed::<u32>("blocks of distant rows", joins)?;
        list.iter_mut().zip((0..count).filter(is_join)).for_each(|(item, block)| *item = block as u32);
        let alone = if joins == 0 { Reach::default() } else { rows_of(&list)? };
        let row_at = |at: usize| list[at / ROWS] as usize * ROWS + at % ROWS;
        let alone_rows = (0..alone.lowest.len()).filter(|&at| row_at(at) < rows);
        let whole = (0..count).filter(|block| !is_join(block));
        let furthest = whole.clone().map(|block| blocks.distance(block)).max().unwrap_or(0);
        let furthest = furthest.max(alone_rows.clone().map(|at| alone.distance(at)).max().unwrap_or(0));
        // Full cache lines for warps of elements.
        let capacity = (step + furthest).next_multiple_of(32);
        if furthest >= limit || capacity >= elems {
            return Ok(None);
        }
        let steps = elems.div_ceil(step);
        let after = |last: u32| last as usize / step;
        Ok(Some(Plan {
            step,
            capacity,
            blocks: Sorted::new(steps, whole.map(|block| (block as u32, after(blocks.highest[block]))))?,
            rows: Sorted::new(steps, alone_rows.map(|at| (row_at(at) as u32, after(alone.highest[at]))))?,
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

    /// Returns the first element of column 0 from which all stored elements lie within two rounds of the columns.
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
mod tests {
    use super::*;
    use crate::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
    use crate::space::Serial;
    use crate::{graph::NodeElem, mesh::ElemNode};

    /// First and last element of each row, by a walk over the table.
    fn of_rows(elem_node: &ElemNode, rows: usize) -> Vec<(u32, u32)> {
        let mut reach = vec![(u32::MAX, 0); rows];
        for (elem, nodes) in elem_node.iter().enumerate() {
            for &node in nodes.iter().filter(|&&node| (node as usize) < rows) {
                let (low, high) = &mut reach[node as usize];
                (*low, *high) = ((*low).min(elem as u32), (*high).max(elem as u32));
            }
        }
        reach
    }

    fn plan(elem_node: &ElemNode, rows: usize, step: usize) -> Option<Plan> {
        let reach = of_rows(elem_node, rows);
        let all = |rows: &[(u32, u32)]| {
            let low = rows.iter().map(|row| row.0).min().unwrap();
            (low, rows.iter().map(|row| row.1).max().unwrap())
        };
        let (lowest, highest) = reach.chunks(ROWS).map(all).unzip();
        let rows_of = |blocks: &[u32]| {
            let row = |block: &u32, row| reach.get(*block as usize * ROWS + row).copied().unwrap_or((u32::MAX, 0));
            let (lowest, highest) = blocks.iter().flat_map(|block| (0..ROWS).map(move |at| row(block, at))).unzip();
            Ok(Reach { lowest, highest })
        };
        Plan::new((elem_node.elem_count(), rows, step), &Reach { lowest, highest }, rows_of).unwrap()
    }

    /// Runs the steps of a plan on numbers of elements instead of matrices: each row must find its own.
    fn run(elem_node: &ElemNode, rows: usize, plan: &Plan) {
        let (elems, lists) = (elem_node.elem_count(), NodeElem::new(&Serial, elem_node, rows).unwrap());
        let (mut columns, mut summed) = (vec![usize::MAX; plan.capacity], vec![0; rows]);
        for step in 0..plan.blocks.ends.len() {
            let first = step * plan.step;
            let count = plan.step.min(elems - first);
            let batch = Batch { first, count, column: first % plan.capacity, capacity: plan.capacity };
            for item in 0..batch.count {
                // As `store_heat` does.
                let column = batch.column + item;
                columns[if column >= batch.capacity { column - batch.capacity } else { column }] = batch.first + item;
            }
            let part = |sorted: &Sorted| {
                let begin = if step == 0 { 0 } else { sorted.ends[step - 1] };
                sorted.list[begin..sorted.ends[step]].to_vec()
            };
            let blocks = part(&plan.blocks).into_iter().flat_map(|block| {
                let first = block as usize * ROWS;
                first..rows.min(first + ROWS)
            });
            for row in blocks.chain(part(&plan.rows).into_iter().map(|row| row as usize)) {
                summed[row] += 1;
                for &slot in lists.slots(row) {
                    let elem = slot as usize / elem_node.nodes_per_elem();
                    // As `Elements::column` does.
                    let at = elem - batch.base();
                    let at = if at >= plan.capacity { at - plan.capacity } else { at };
                    assert_eq!(columns[at], elem, "row {row} in step {step}");
                }
            }
        }
        assert!(summed.iter().all(|&times| times == 1), "every row is summed once");
    }

    #[test]
    fn every_row_is_summed_once_when_its_elements_are_stored() {
        let mut kept = [0; 2];
        for (nodes, rank, ranks) in [
            ([20, 17, 31], 0, 1),
            ([64, 3, 40], 0, 1),
            ([24, 23, 22], 1, 2),
            ([40, 36, 30], 5, 8),
            ([41, 40, 39], 13, 27),
        ] {
            let spec = BoxSpec::new(nodes, [1.0; 3], CoordinateMap::None).unwrap();
            let mesh = Mesh::new(&Serial, BoxPart::new(&spec, rank, ranks).unwrap(), u64::MAX).unwrap();
            let (elem_node, rows) = (&mesh.elem_node, mesh.map.owned_count());
            for step in [1, 37, 512, elem_node.elem_count() / 3, elem_node.elem_count() - 1, elem_node.elem_count()] {
                if let Some(plan) = plan(elem_node, rows, step) {
                    assert!(plan.capacity < elem_node.elem_count());
                    run(elem_node, rows, &plan);
                    kept[usize::from(ranks > 1)] += 1;
                    // The last interior node and the first shell node are in one block.
                    assert_eq!(plan.rows.list.is_empty(), ranks == 1, "{nodes:?}, {rank} of {ranks}, step {step}");
                }
            }
        }
        assert!(kept[0] >= 5 && kept[1] >= 3, "{kept:?} plans of a box and of its parts");
    }

    #[test]
    fn windows_of_a_box_are_little_more_than_a_step_and_two_layers() {
        let (n, layer) = (40u64, 39 * 39);
        let spec = BoxSpec::new([n; 3], [1.0; 3], CoordinateMap::None).unwrap();
        let mesh = Mesh::new(&Serial, BoxPart::new(&spec, 0, 1).unwrap(), u64::MAX).unwrap();
        let plan = plan(&mesh.elem_node, mesh.map.owned_count(), 5000).unwrap();
        assert!(plan.capacity > 5000 + layer && plan.capacity < 5000 + layer + 4 * 39 + ROWS + 32, "{}", plan.capacity);
    }

    #[test]
    fn numberings_without_locality_have_no_windows() {
        let count = 3000u32;
        let scattered: Vec<u32> = (0..count - 1).flat_map(|e| [e * 7 % count, (e * 7 + 1) % count]).collect();
        assert_eq!(plan(&ElemNode::new(scattered, 2, count as usize).unwrap(), count as usize, 100), None);
        // A node of all elements; the rest is a line.
        let hub: Vec<u32> = (0..count).flat_map(|e| [0, e + 1, e + 2]).collect();
        assert_eq!(plan(&ElemNode::new(hub, 3, count as usize + 2).unwrap(), count as usize + 2, 100), None);
        let line: Vec<u32> = (0..count).flat_map(|e| [e, e + 1]).collect();
        let line = ElemNode::new(line, 2, count as usize + 1).unwrap();
        run(&line, 2500, &plan(&line, 2500, 100).unwrap());
        // Nodes without elements at both ends.
        let sparse: Vec<u32> = (0..count).flat_map(|e| [e + 300, e + 301]).collect();
        let sparse = ElemNode::new(sparse, 2, 4000).unwrap();
        run(&sparse, 4000, &plan(&sparse, 4000, 100).unwrap());
    }
}
