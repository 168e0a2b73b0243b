//! Plans on boxes, parts of boxes and tables without order, run on numbers of elements.

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

fn plan(elem_node: &ElemNode, rows: usize, step: usize) -> Option<Windows<Vec<u32>>> {
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
    Windows::plan((elem_node.elem_count(), rows, step), &Reach { lowest, highest }, rows_of).unwrap()
}

/// Runs the steps of a plan on numbers of elements instead of matrices: each row must find its own.
fn run(elem_node: &ElemNode, rows: usize, plan: &Windows<Vec<u32>>) {
    let lists = NodeElem::new(&Serial, elem_node, rows).unwrap();
    let (mut columns, mut summed) = (vec![usize::MAX; plan.capacity], vec![0; rows]);
    assert_eq!(plan.batches().count(), plan.blocks.ends.len());
    for (step, batch) in plan.batches().enumerate() {
        for item in 0..batch.count {
            // As `store_heat` does.
            let column = batch.column + item;
            columns[if column >= batch.capacity { column - batch.capacity } else { column }] = batch.first + item;
        }
        let part = |sorted: &Sorted<Vec<u32>>| {
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
    for (nodes, rank, ranks) in
        [([20, 17, 31], 0, 1), ([64, 3, 40], 0, 1), ([24, 23, 22], 1, 2), ([40, 36, 30], 5, 8), ([41, 40, 39], 13, 27)]
    {
        let spec = BoxSpec::new(nodes, [1.0; 3], CoordinateMap::None).unwrap();
        let mesh = Mesh::new(&Serial, BoxPart::new(&spec, rank, ranks).unwrap()).unwrap();
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
    let mesh = Mesh::new(&Serial, BoxPart::new(&spec, 0, 1).unwrap()).unwrap();
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
    // Nodes against the order of elements: blocks are sorted by their step.
    let against: Vec<u32> = (0..count).flat_map(|e| [count - e, count - e - 1]).collect();
    let against = ElemNode::new(against, 2, count as usize + 1).unwrap();
    let sorted = plan(&against, 3001, 100).unwrap();
    assert!(sorted.rows.list.is_empty() && sorted.blocks.list[0] > sorted.blocks.list[20]);
    run(&against, 3001, &sorted);
    // Nodes without elements at both ends.
    let sparse: Vec<u32> = (0..count).flat_map(|e| [e + 300, e + 301]).collect();
    let sparse = ElemNode::new(sparse, 2, 4000).unwrap();
    run(&sparse, 4000, &plan(&sparse, 4000, 100).unwrap());
}
