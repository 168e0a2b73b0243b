//! Element-node tables and the graphs made from them.

use super::one_line;
use arbitrary::{Result, Unstructured};
use minifenl::graph::{self, NodeElem, Strategy};
use minifenl::mesh::ElemNode;
use minifenl::space::{Serial, Threads};
use std::collections::{BTreeSet, HashSet};
use std::sync::OnceLock;

/// Longest table: a graph of it takes less than a millisecond.
const MOST: usize = 400;
/// Distance of nodes that are far from the others: beyond 2^25, where packed keys of a row end.
const FAR: usize = 1 << 27;

struct Input {
    nodes: Vec<u32>,
    per_elem: usize,
    node_count: usize,
    rows: usize,
}

fn input(data: &[u8]) -> Result<Input> {
    let mut bytes = Unstructured::new(data);
    let (per_elem, near) = (bytes.int_in_range(0..=10)?, bytes.int_in_range(0..=250usize)?);
    let far = if bytes.arbitrary()? { FAR } else { 0 };
    let rows = bytes.int_in_range(0..=near + 2)?;
    let length = bytes.len().min(MOST);
    let nodes = bytes.bytes(length)?.iter().map(|&byte| {
        // The upper half of the bytes is far where the table has far nodes; a byte may lie just behind the nodes.
        let id = usize::from(byte);
        (if far > 0 && id >= 128 { far + id - 128 } else { id }) as u32
    });
    Ok(Input { nodes: nodes.collect(), per_elem, node_count: near + far, rows })
}

/// A table is accepted if its nodes exist and differ within each element.
fn is_table(input: &Input) -> bool {
    input.per_elem > 0
        && input.nodes.len().is_multiple_of(input.per_elem)
        && input.nodes.chunks(input.per_elem).all(|elem| {
            let distinct: HashSet<&u32> = elem.iter().collect();
            distinct.len() == elem.len() && elem.iter().all(|&node| (node as usize) < input.node_count)
        })
}

/// The pattern by definition: all pairs of all elements.
fn pairs(input: &Input) -> BTreeSet<(u32, u32)> {
    let elems = input.nodes.chunks(input.per_elem);
    let all = elems.flat_map(|elem| elem.iter().flat_map(|&row| elem.iter().map(move |&column| (row, column))));
    all.filter(|&(row, _)| (row as usize) < input.rows).collect()
}

fn threads() -> &'static Threads {
    static THREADS: OnceLock<Threads> = OnceLock::new();
    THREADS.get_or_init(|| Threads::new(2).unwrap())
}

/// Tables are accepted as by hand, and every strategy gives the pattern by definition.
pub fn graph(data: &[u8]) -> bool {
    let Ok(input) = input(data) else { return false };
    let table = match ElemNode::new(input.nodes.clone(), input.per_elem, input.node_count) {
        Ok(table) => table,
        Err(error) => {
            assert!(!is_table(&input), "refused: {error}");
            return one_line(&error);
        }
    };
    assert!(is_table(&input), "a wrong table was accepted");
    if input.rows > input.node_count {
        return one_line(&graph::build(&Serial, &table, input.rows, Strategy::Sort).unwrap_err());
    }
    let expected: Vec<(u32, u32)> = pairs(&input).into_iter().collect();
    for (strategy, name) in Strategy::ALL {
        let graph = graph::build(threads(), &table, input.rows, strategy).unwrap();
        let rows = (0..input.rows).flat_map(|row| graph.crs.row(row).iter().map(move |&column| (row as u32, column)));
        assert!(rows.eq(expected.iter().copied()), "{name}: another pattern");
        for (elem, nodes) in table.iter().enumerate() {
            for (i, &row) in nodes.iter().enumerate() {
                for (j, &column) in nodes.iter().enumerate() {
                    let entry = graph.elem.entry(&graph.crs, elem, i, j);
                    // Entries of all rows are in the order of the pairs.
                    let found = entry.map(|entry| expected[entry]);
                    let is_row = (row as usize) < input.rows;
                    assert_eq!(found, is_row.then_some((row, column)), "{name}: element {elem}, {i}, {j}");
                }
            }
        }
    }
    let lists = NodeElem::new(threads(), &table, input.rows).unwrap();
    for row in 0..input.rows {
        let slots = (0..).zip(&input.nodes).filter(|(_, node)| **node as usize == row).map(|(slot, _): (u32, _)| slot);
        assert!(slots.eq(lists.slots(row).iter().copied()), "the elements of node {row}");
    }
    true
}
