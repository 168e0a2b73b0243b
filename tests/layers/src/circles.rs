//! Circles in a directed graph.

use std::collections::BTreeMap;

/// The sets of nodes that reach each other, each sorted; `edges[node]` holds the nodes that `node` leads to.
pub fn circles<T>(edges: &[BTreeMap<usize, T>]) -> Vec<Vec<usize>> {
    let reached: Vec<Vec<bool>> = (0..edges.len()).map(|node| reachable(edges, node)).collect();
    let mut found: Vec<Vec<usize>> = Vec::new();
    for node in 0..edges.len() {
        if !reached[node][node] || found.iter().any(|circle| circle.contains(&node)) {
            continue;
        }
        found.push((0..edges.len()).filter(|&other| reached[node][other] && reached[other][node]).collect());
    }
    found
}

/// Which nodes one or more edges lead to from `node`.
fn reachable<T>(edges: &[BTreeMap<usize, T>], node: usize) -> Vec<bool> {
    let (mut reached, mut open) = (vec![false; edges.len()], vec![node]);
    while let Some(from) = open.pop() {
        for &to in edges[from].keys() {
            if !reached[to] {
                reached[to] = true;
                open.push(to);
            }
        }
    }
    reached
}

#[test]
fn circles_are_found() {
    let edges = |of: &[&[usize]]| of.iter().map(|to| to.iter().map(|&to| (to, ())).collect()).collect::<Vec<_>>();
    assert_eq!(circles(&edges(&[&[1, 2], &[2], &[]])), Vec::<Vec<usize>>::new());
    assert_eq!(circles(&edges(&[&[1], &[2], &[1, 3], &[4], &[3]])), [vec![1, 2], vec![3, 4]]);
}
