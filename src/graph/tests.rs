//! Tests of every strategy on several numbers of threads against the definition of the sparsity pattern.

use super::Strategy;
use super::*;
use crate::Error;
use crate::space::{Serial, Threads};
use proptest::prelude::{ProptestConfig, any, proptest};

/// The pattern by definition: every pair of every element, in an ordered set.
fn oracle(elem_node: &ElemNode, rows: usize) -> CrsGraph {
    let mut pairs = std::collections::BTreeSet::new();
    for nodes in elem_node.iter() {
        for &row in nodes.iter().filter(|&&row| (row as usize) < rows) {
            pairs.extend(nodes.iter().map(|&column| (row, column)));
        }
    }
    let mut row_map = vec![0u64; rows + 1];
    pairs.iter().for_each(|&(row, _)| row_map[row as usize + 1] += 1);
    (0..rows).for_each(|row| row_map[row + 1] += row_map[row]);
    CrsGraph::new(row_map, pairs.iter().map(|&(_, column)| column).collect(), elem_node.node_count()).unwrap()
}

/// Bytes per position that rows of up to `longest` entries need, with one value left for the mark.
fn width(longest: usize) -> usize {
    if longest < 256 {
        1
    } else if longest < 65_536 {
        2
    } else {
        4
    }
}

fn check(elem_node: &ElemNode, rows: usize) {
    let expected = oracle(elem_node, rows);
    let longest = (0..rows).map(|row| expected.row(row).len()).max().unwrap_or(0);
    let mut first: Option<ElemGraph> = None;
    for (strategy, name) in Strategy::ALL {
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let graph = build(&space, elem_node, rows, strategy).unwrap();
            assert!(*graph.crs == expected, "{name}, {threads} threads: other pattern");
            let bytes = match graph.elem.positions() {
                Positions::U8(_) => 1,
                Positions::U16(_) => 2,
                Positions::U32(_) => 4,
            };
            assert_eq!(bytes, width(longest), "{name}: rows of up to {longest} entries");
            for (elem, nodes) in elem_node.iter().enumerate() {
                for (i, &row) in nodes.iter().enumerate() {
                    for (j, &column) in nodes.iter().enumerate() {
                        let entry = graph.elem.entry(&graph.crs, elem, i, j);
                        assert_eq!(entry.is_some(), (row as usize) < rows);
                        assert!(entry.is_none_or(|e| graph.crs.row_range(row as usize).contains(&e)));
                        assert!(entry.is_none_or(|e| graph.crs.entries()[e] == column));
                    }
                }
            }
            let first = first.get_or_insert_with(|| graph.elem.clone());
            assert!(*first == graph.elem, "{name}: other element graph");
        }
    }
}

/// Box of hexahedra, nodes numbered by `number`.
fn hexes(n: usize, number: impl Fn(usize) -> u32) -> ElemNode {
    let id = |i: usize, j: usize, k: usize| number((k * n + j) * n + i);
    let mut nodes = Vec::new();
    for k in 0..n - 1 {
        for j in 0..n - 1 {
            for i in 0..n - 1 {
                for k in [k, k + 1] {
                    nodes.extend([id(i, j, k), id(i + 1, j, k), id(i + 1, j + 1, k), id(i, j + 1, k)]);
                }
            }
        }
    }
    ElemNode::new(nodes, 8, n * n * n).unwrap()
}

#[test]
fn strategies_agree_on_one_element_and_on_none() {
    check(&ElemNode::new(vec![2, 0, 1], 3, 5).unwrap(), 5);
    check(&ElemNode::new(vec![2, 0, 1], 3, 5).unwrap(), 1);
    check(&ElemNode::new(vec![], 8, 3).unwrap(), 3);
    check(&ElemNode::new(vec![], 8, 0).unwrap(), 0);
}

#[test]
fn a_box_has_27_entries_in_an_inner_row() {
    let elem_node = hexes(7, |node| node as u32);
    check(&elem_node, 343);
    check(&elem_node, 200);
    let graph = build(&Serial, &elem_node, 343, Strategy::default()).unwrap();
    assert_eq!((graph.crs.nnz(), graph.crs.longest_row()), (19 * 19 * 19, 27));
}

#[test]
fn strategies_agree_on_a_scattered_numbering() {
    check(&hexes(8, |node| (node * 197 % 512) as u32), 512);
}

#[test]
fn strategies_agree_on_a_node_of_many_elements_and_on_long_rows() {
    let fan = (0..300u32).flat_map(|e| [0, 2 * e + 1, 2 * e + 2]).collect();
    check(&ElemNode::new(fan, 3, 601).unwrap(), 601);
}

#[test]
fn strategies_agree_on_columns_far_from_their_row() {
    let far = 1 << 27;
    let nodes = vec![0, 1, far, far + 1, 1, 2, far + 1, far + 2];
    check(&ElemNode::new(nodes, 4, (1 << 27) + 3).unwrap(), 3);
    // Distances at which a 32-bit key overflows.
    for distance in [(1u32 << 25) - 2, (1 << 25) - 1, 1 << 25, (1 << 25) + 1, 1 << 26] {
        check(&ElemNode::new(vec![0, distance, 1, distance + 1], 2, distance as usize + 2).unwrap(), 2);
    }
}

/// `rays` elements of 2 nodes around node 0, whose row has one entry more.
fn star(rays: u32) -> ElemNode {
    ElemNode::new((1..=rays).flat_map(|ray| [ray, 0]).collect(), 2, rays as usize + 1).unwrap()
}

/// Triangles around node 0 that share no other node: the row of node 0 has `2 triangles + 1` entries.
fn fan(triangles: u32) -> Vec<u32> {
    (0..triangles).flat_map(|e| [0, 2 * e + 1, 2 * e + 2]).collect()
}

#[test]
fn the_width_of_positions_fits_the_longest_row() {
    for entries in [254, 255, 256, 257, 65_535, 65_536, 65_537] {
        check(&star(entries - 1), entries as usize);
        if entries % 2 == 1 {
            check(&ElemNode::new(fan(entries / 2), 3, entries as usize).unwrap(), entries as usize);
        }
    }
    // One element: its row is as long as the number of nodes gathered for it.
    for entries in [255, 256, 257] {
        check(&ElemNode::new((0..entries).rev().collect(), entries as usize, entries as usize).unwrap(), 3);
    }
}

/// The pairs of the fan overflow its share of the map in the first blocks of elements; the last blocks insert without a
/// failure.
#[test]
fn no_pair_is_lost_when_the_map_grows() {
    let strip = (1200..3200u32).flat_map(|e| [e, e + 1, e + 2]);
    check(&ElemNode::new(fan(600).into_iter().chain(strip).collect(), 3, 3202).unwrap(), 3202);
}

#[test]
fn strategies_agree_above_one_chunk_of_rows_and_of_table_entries() {
    check(&hexes(17, |node| node as u32), 4913);
    check(&hexes(17, |node| (node * 1201 % 4913) as u32), 4500);
    let ring = (0..9000u32).flat_map(|e| [e, (e + 1) % 9000, (e + 4096) % 9000]).collect();
    check(&ElemNode::new(ring, 3, 9000).unwrap(), 8999);
}

/// `gather` packs a column's distance from its row into 26 bits of a key: from -2^25 up to 2^25 - 2 fit.
#[test]
fn columns_at_the_limit_of_a_key_are_kept() {
    let limit = 1u32 << 25;
    let elem_node = |row: u32, column: u32| ElemNode::new(vec![row, column], 2, 4 * limit as usize).unwrap();
    for distance in [limit - 2, limit - 1, limit, limit + 1, 2 * limit - 1, 2 * limit, 3 * limit] {
        for row in [0, 1, 17] {
            let graph = build(&Serial, &elem_node(row, row + distance), 18, Strategy::Gather).unwrap();
            assert_eq!((graph.crs.nnz(), graph.crs.row(row as usize)), (2, &[row, row + distance][..]), "{distance}");
        }
    }
}

#[test]
fn more_rows_than_nodes_is_an_error() {
    let elem_node = ElemNode::new(vec![0, 1], 2, 2).unwrap();
    assert!(build(&Serial, &elem_node, 3, Strategy::Sort).unwrap_err().to_string().contains("elem_node"));
}

#[test]
fn strategies_agree_on_elements_with_a_node_several_times() {
    let table = |nodes: Vec<u32>, nn, count| ElemNode::with_repeats(nodes, nn, count).unwrap();
    for rows in [9, 4] {
        check(&table(vec![0, 1, 2, 3, 4, 5, 6, 7, 2, 3, 3, 2, 6, 8, 8, 7], 8, 9), rows);
        check(&table(vec![3; 8], 8, 9), rows);
    }
    check(&table((0..6000u32).flat_map(|e| [e % 900, (e + 1) % 900, e % 900, e % 7]).collect(), 4, 900), 800);
    // Around one node, so that its row is long.
    check(&table((0..300u32).flat_map(|e| [0, e + 1, 0]).collect(), 3, 301), 301);
}

/// A pattern without the pair (1, 3) and without (2, 0), which an element before the one with (1, 3) has in its last row.
#[test]
fn a_pattern_that_lacks_a_pair_is_refused_and_the_pair_named() {
    let table = ElemNode::new(vec![0, 1, 2, 2, 1, 3], 3, 4).unwrap();
    let rows = |rows: [&[u32]; 4]| {
        let mut row_map = vec![0];
        rows.iter().for_each(|row| row_map.push(row_map[row_map.len() - 1] + row.len() as u64));
        Arc::new(CrsGraph::new(row_map, rows.concat(), 4).unwrap())
    };
    let located = |pattern: [&[u32]; 4]| Graph::on_pattern(&Threads::new(2).unwrap(), &table, rows(pattern));
    let all: &[u32] = &[0, 1, 2, 3];
    let refused = |pattern| located(pattern).unwrap_err();
    assert_eq!(refused([all, &[0, 1, 2], all, all]), Error::MissingEntry { element: 1, row: 1, column: 3 });
    assert_eq!(refused([all, &[0, 1, 2], &[1, 2, 3], all]), Error::MissingEntry { element: 0, row: 2, column: 0 });
    assert_eq!(refused([&[], all, all, all]), Error::MissingEntry { element: 0, row: 0, column: 0 });
    let text = refused([all, &[0, 1, 2], all, all]).to_string();
    assert_eq!(text, "element 1: the sparsity pattern has no entry (1, 3); expected one for each pair of its nodes");
    // More entries than pairs are taken, also by the plan of an assembly.
    let graph = located([all; 4]).unwrap();
    assert_eq!(graph.elem.entry(&graph.crs, 1, 1, 2), Some(7));
    let fewer_columns = Arc::new(CrsGraph::new(vec![0, 1], vec![0], 3).unwrap());
    assert!(Graph::on_pattern(&Serial, &table, fewer_columns).unwrap_err().to_string().contains("crs (columns)"));
}

/// A pair of the last element, far above one chunk of the table, is found missing on any number of threads.
#[test]
fn one_missing_pair_among_many_is_found() {
    let nodes = (0..6000u32).flat_map(|e| [e, e + 1]).collect();
    let table = ElemNode::new(nodes, 2, 6001).unwrap();
    let whole = build(&Serial, &table, 6001, Strategy::Sort).unwrap().crs;
    for row in [0usize, 2047, 2048, 5999] {
        // Without the entry (row, row + 1), the last one of its row.
        let (mut row_map, mut entries) = (whole.row_map().to_vec(), whole.entries().to_vec());
        assert_eq!(entries.remove(row_map[row + 1] as usize - 1), row as u32 + 1);
        row_map[row + 1..].iter_mut().for_each(|offset| *offset -= 1);
        let crs = CrsGraph::new(row_map, entries, 6001).unwrap();
        for threads in [1, 3] {
            let found = ElemGraph::locate(&Threads::new(threads).unwrap(), &table, &crs).unwrap_err();
            assert_eq!(found, Error::MissingEntry { element: row, row, column: row + 1 });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn strategies_agree_on_any_table(nodes_per_elem in 1usize..10, elems in proptest::collection::vec(any::<u64>(), 0..60), spread in 10u64..200, owned in 0.0..1.0) {
        let mut nodes = Vec::new();
        for seed in elems {
            let (mut state, start) = (seed, nodes.len());
            while nodes.len() < start + nodes_per_elem {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let node = ((state >> 33) % spread) as u32;
                if !nodes[start..].contains(&node) {
                    nodes.push(node);
                }
            }
        }
        check(&ElemNode::new(nodes, nodes_per_elem, spread as usize).unwrap(), (owned * spread as f64) as usize);
    }
}
