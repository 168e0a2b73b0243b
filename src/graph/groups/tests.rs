//! United patterns against the set of all pairs of all groups.

use super::*;
use crate::graph::ElemGraph;
use crate::space::{Serial, Threads};
use proptest::prelude::{ProptestConfig, any, proptest};
use std::collections::BTreeSet;
use std::sync::Arc;

fn check(tables: &[&ElemNode], rows: usize) {
    let mut pairs = BTreeSet::new();
    for nodes in tables.iter().flat_map(|table| table.iter()) {
        for &row in nodes.iter().filter(|&&row| (row as usize) < rows) {
            pairs.extend(nodes.iter().map(|&column| (row, column)));
        }
    }
    let expected: Vec<(u32, u32)> = pairs.into_iter().collect();
    for (strategy, name) in Strategy::ALL {
        for threads in [1, 3] {
            let graphs = build_groups(&Threads::new(threads).unwrap(), tables, rows, strategy).unwrap();
            assert_eq!(graphs.len(), tables.len());
            let crs = &graphs[0].crs;
            let found = (0..rows).flat_map(|row| crs.row(row).iter().map(move |&column| (row as u32, column)));
            assert!(found.eq(expected.iter().copied()), "{name}, {threads} threads: other pairs");
            assert_eq!(crs.columns(), tables[0].node_count());
            for (graph, table) in graphs.iter().zip(tables) {
                assert!(Arc::ptr_eq(&graph.crs, crs) && graph.elem.elem_node() == *table);
                for (elem, nodes) in table.iter().enumerate() {
                    for (i, &row) in nodes.iter().enumerate() {
                        for (j, &column) in nodes.iter().enumerate() {
                            let entry = graph.elem.entry(crs, elem, i, j).map(|entry| expected[entry]);
                            assert_eq!(entry, ((row as usize) < rows).then_some((row, column)), "{name}, {elem}");
                        }
                    }
                }
                // As if the elements had been searched in the union, with the width of its rows.
                assert!(graph.elem == ElemGraph::locate(&Serial, table, crs).unwrap(), "{name}: other positions");
            }
        }
    }
}

fn table(nodes: impl IntoIterator<Item = u32>, nodes_per_elem: usize, count: usize) -> ElemNode {
    ElemNode::new(nodes.into_iter().collect(), nodes_per_elem, count).unwrap()
}

#[test]
fn a_hexahedron_a_wedge_a_tetrahedron_and_faces_share_a_pattern() {
    let hex = table([0, 1, 2, 3, 4, 5, 6, 7], 8, 12);
    let wedge = table([1, 8, 2, 5, 9, 6], 6, 12);
    let tet = table([9, 5, 6, 10], 4, 12);
    let faces = table([4, 5, 6, 7, 0, 3, 7, 4], 4, 12);
    for rows in [12, 9, 5, 0] {
        check(&[&hex, &wedge, &tet, &faces], rows);
        check(&[&faces, &tet, &wedge, &hex], rows);
    }
}

#[test]
fn groups_may_be_empty_alone_and_without_an_owned_row() {
    let (strip, none) = (table((0..50).flat_map(|e| [e, e + 1]), 2, 60), table([], 3, 60));
    let ghosts = table([55, 56, 57], 3, 60);
    check(&[&strip], 51);
    check(&[&none, &strip, &none], 51);
    check(&[&none, &none], 60);
    check(&[&ghosts, &strip], 51);
    check(&[&strip, &strip], 40);
    // A group whose pattern is the union keeps its positions.
    let graphs = build_groups(&Serial, &[&strip, &ghosts], 51, Strategy::Gather).unwrap();
    let alone = build(&Serial, &strip, 51, Strategy::Gather).unwrap();
    assert!(graphs[0].crs == alone.crs && graphs[0].elem == alone.elem);
}

/// The union's rows need wider positions than those of a group.
#[test]
fn positions_grow_with_the_rows_of_the_union() {
    for rays in [252u32, 253, 254, 300, 65_532, 65_533, 65_534] {
        let count = rays as usize + 3;
        let star = table((1..=rays).flat_map(|ray| [ray, 0]), 2, count);
        check(&[&star, &table([0, rays + 1, rays + 2], 3, count)], 2);
    }
}

/// More than one chunk of rows and of table entries.
#[test]
fn large_groups_share_a_pattern() {
    let quads = table((0..5000u32).flat_map(|e| [e, e + 1, (e + 4500) % 9000, (e + 4501) % 9000]), 4, 9000);
    let lines = table((0..8999u32).flat_map(|e| [e, e + 1]), 2, 9000);
    check(&[&quads, &lines], 9000);
    check(&[&lines, &quads], 8000);
}

#[test]
fn groups_that_do_not_fit_are_refused() {
    let refused = |tables: &[&ElemNode]| build_groups(&Serial, tables, 2, Strategy::Sort).unwrap_err().to_string();
    assert!(refused(&[]).contains("expected 1 or more"));
    let (three, four) = (table([0, 1], 2, 3), table([0, 1], 2, 4));
    assert!(refused(&[&three, &four]).contains("tables (their nodes)"), "{}", refused(&[&three, &four]));
    assert!(refused(&[&table([], 2, 1), &table([], 3, 1)]).contains("elem_node"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_groups_share_a_pattern(seeds in proptest::collection::vec((1usize..7, proptest::collection::vec(any::<u64>(), 0..30)), 1..5), owned in 0.0..1.0) {
        const COUNT: usize = 60;
        let tables: Vec<ElemNode> = seeds.into_iter().map(|(nodes_per_elem, seeds)| {
            // Up to six steps of up to nine stay below 60, so no node repeats.
            let elem = |seed: u64| {
                let step = 1 + seed / 64 % 9;
                (0..nodes_per_elem as u64).map(move |i| ((seed % 60 + i * step) % 60) as u32)
            };
            table(seeds.into_iter().flat_map(elem), nodes_per_elem, COUNT)
        }).collect();
        check(&tables.iter().collect::<Vec<_>>(), (owned * COUNT as f64) as usize);
    }
}
