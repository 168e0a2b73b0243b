//! Products and transposes of sparse matrices on a GPU have the graphs and the bits of the host; smoothed aggregation has its levels.

use super::{difference, gpu};
use minifenl::comm::{Links, Map, Solo};
use minifenl::solve::{NearNull, Options, SmoothedAggregation, solve};
use minifenl::space::{Cuda, CudaMemory, ExecutionSpace, Serial, Threads};
use minifenl::sparse::{CrsGraph, CrsMatrix, MatrixAlgebra, Spgemm};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use support::{Random, random_bits};

/// Up to `per_row` groups of `width` columns per row; some rows are empty, and one has all columns.
fn matrix(rows: usize, groups: usize, per_row: usize, width: usize, full: Option<usize>) -> CrsMatrix {
    let mut next = Random::new((rows + 31 * groups) as u64);
    let (mut row_map, mut entries) = (vec![0], Vec::new());
    for row in 0..rows {
        let mut of_row: BTreeSet<usize> = (0..next.below(per_row + 1)).map(|_| next.below(groups)).collect();
        if full == Some(row) {
            of_row.extend(0..groups);
        }
        entries.extend(of_row.iter().flat_map(|group| (group * width) as u32..((group + 1) * width) as u32));
        row_map.push(entries.len() as u64);
    }
    let values = entries.iter().map(|_| next.below(2001) as f64 / 1000.0 - 1.0).collect();
    CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, groups * width).unwrap()), values).unwrap()
}

fn graph_on_host(space: &Cuda, graph: &CrsGraph<CudaMemory>) -> CrsGraph {
    let (row_map, entries) = (space.download(graph.row_map()).unwrap(), space.download(graph.entries()).unwrap());
    CrsGraph::new(row_map, entries, graph.columns()).unwrap()
}

#[test]
fn products_and_transposes_have_the_bits_of_the_host() {
    let Some(space) = gpu("products_and_transposes_have_the_bits_of_the_host") else { return };
    for (width, [rows, between, groups], per_row, full) in [
        (1, [3000, 700, 900], 5, None),
        (2, [400, 300, 200], 5, None),
        (3, [900, 500, 330], 5, None),
        (6, [310, 800, 60], 5, None),
        (1, [0, 5, 7], 5, None),
        (1, [9, 1, 1], 5, None),
        // One row has more groups than a table in shared memory has slots; about as many; many rows have more.
        (1, [300, 200, 5000], 5, Some(7)),
        (3, [100, 90, 2000], 5, Some(50)),
        (1, [500, 400, 257], 90, None),
        (2, [4000, 400, 300], 200, None),
    ] {
        let a = matrix(rows, between, 9, 1, full);
        let b = matrix(between, groups, per_row, width, full);
        let (on_device, of_b) = (a.upload(&space).unwrap(), b.upload(&space).unwrap());
        let plan = Spgemm::new(&Serial, a.graph(), b.graph(), width).unwrap();
        let found = Spgemm::new(&space, on_device.graph(), of_b.graph(), width).unwrap();
        assert!(graph_on_host(&space, found.graph()) == **plan.graph(), "width {width}, {rows} rows");
        let (mut expected, mut values) =
            (vec![0.0; plan.graph().nnz()], space.upload(&vec![7.0; plan.graph().nnz()]).unwrap());
        plan.values(&Serial, &a, &b, &mut expected).unwrap();
        for _ in 0..2 {
            found.values(&space, &on_device, &of_b, &mut values).unwrap();
            assert!(space.download(&values).unwrap() == expected, "width {width}, {rows} rows: other values");
        }
        let (expected, turned) = (Serial.transpose(&b).unwrap(), space.transpose(&of_b).unwrap());
        assert!(graph_on_host(&space, turned.graph()) == **expected.graph(), "transpose of {between} rows");
        assert!(space.download(turned.values()).unwrap() == *expected.values(), "transpose of {between} rows");
    }
    let [a, b] = [matrix(8, 9, 4, 1, None), matrix(9, 12, 3, 1, None)].map(|matrix| matrix.upload(&space).unwrap());
    let refused = Spgemm::new(&space, a.graph(), b.graph(), 2).unwrap_err().to_string();
    assert!(refused.contains("whole groups of 2 columns"), "{refused}");
}

/// Connections that only one of two nodes has: aggregates are any, but columns stay within their matrices.
#[test]
fn a_matrix_that_is_not_symmetric_has_sound_levels() {
    let Some(space) = gpu("a_matrix_that_is_not_symmetric_has_sound_levels") else { return };
    let order: Vec<usize> = (0..13 * 13 * 13).collect();
    let mut matrix = springs(13, 1, &order);
    let (graph, n) = (matrix.graph().clone(), matrix.graph().rows());
    for row in 0..n {
        for at in graph.row_range(row).filter(|&at| graph.entries()[at] as usize > row) {
            matrix.parts_mut().1[at] *= if (row + at) % 3 == 0 { 1e-5 } else { 1.0 };
        }
    }
    let (map, links) = (Map::new(n as u64, n, vec![]).unwrap(), Links::<Cuda>::staged(&Solo));
    let on_device = matrix.upload(&space).unwrap();
    for _ in 0..3 {
        let vectors = NearNull::constants(n, 1).unwrap();
        match SmoothedAggregation::new(&space, &links, (&on_device, &map), vectors) {
            Ok(found) => found.levels().1.for_each(|coarse| drop(graph_on_host(&space, coarse.graph()))),
            Err(error) => assert!(error.to_string().contains("positive"), "{error}"),
        }
    }
}

/// Springs between nodes of a box that share a cell, with `dofs` unknowns per node and numbers of nodes by `order`; nodes at z = 0 are
/// fixed.
fn springs(edge: usize, dofs: usize, order: &[usize]) -> CrsMatrix {
    let point = |node: usize| [node % edge, node / edge % edge, node / edge / edge];
    let mut rows = vec![BTreeMap::<u32, f64>::new(); edge.pow(3) * dofs];
    for (a, b) in (0..edge.pow(3)).flat_map(|a| (0..edge.pow(3)).map(move |b| (a, b))) {
        let step = [0, 1, 2].map(|axis| point(b)[axis] as f64 - point(a)[axis] as f64);
        if a == b || step.iter().any(|step| step.abs() > 1.0) {
            continue;
        }
        let length: f64 = step.iter().map(|step| step * step).sum();
        for (i, j) in (0..dofs).flat_map(|i| (0..dofs).map(move |j| (i, j))) {
            let value = if dofs == 1 { 1.0 } else { step[i] * step[j] / length };
            let [own, other] = [a, b].map(|node| order[node] * dofs);
            let cut = if point(a)[2] == 0 || point(b)[2] == 0 { 0.0 } else { -value };
            *rows[own + i].entry((other + j) as u32).or_default() += cut;
            *rows[own + i].entry((own + j) as u32).or_default() += if i == j || point(a)[2] > 0 { value } else { 0.0 };
        }
    }
    let row_map = std::iter::once(0).chain(rows.iter().scan(0, |sum, row| {
        *sum += row.len() as u64;
        Some(*sum)
    }));
    let (row_map, entries) = (row_map.collect(), rows.iter().flat_map(|row| row.keys().copied()).collect());
    let graph = CrsGraph::new(row_map, entries, rows.len()).unwrap();
    CrsMatrix::new(Arc::new(graph), rows.iter().flat_map(|row| row.values().copied()).collect()).unwrap()
}

/// Rows, columns and values of the coarser matrices are the host's, to rounding, in any order of nodes; so are they after a refill, and
/// the iterations of a solve.
#[test]
fn aggregation_has_the_levels_of_the_host() {
    let Some(space) = gpu("aggregation_has_the_levels_of_the_host") else { return };
    for (edge, dofs, shuffle) in [(17, 1, false), (18, 1, true), (9, 3, false), (10, 3, true)] {
        let what = format!("{edge}^3 nodes of {dofs}, shuffled: {shuffle}");
        let mut order: Vec<usize> = (0..edge * edge * edge).collect();
        let mut next = random_bits(3);
        if shuffle {
            order.sort_by_cached_key(|_| next());
        }
        let mut points = vec![[0.0; 3]; order.len()];
        for (node, &at) in order.iter().enumerate() {
            points[at] = [node % edge, node / edge % edge, node / edge / edge].map(|i| i as f64);
        }
        let vectors = || match dofs {
            3 => NearNull::rigid_body_modes(&points).unwrap(),
            _ => NearNull::constants(points.len(), 1).unwrap(),
        };
        let mut matrix = springs(edge, dofs, &order);
        let (n, mut on_device) = (matrix.graph().rows(), matrix.upload(&space).unwrap());
        let map = Map::new(n as u64, n, vec![]).unwrap();
        let (of_host, links) = (Links::<Threads>::staged(&Solo), Links::<Cuda>::staged(&Solo));
        let mut expected = SmoothedAggregation::new(&Serial, &of_host, (&matrix, &map), vectors()).unwrap();
        let mut found = SmoothedAggregation::new(&space, &links, (&on_device, &map), vectors()).unwrap();
        for scale in [1.0, 3.0] {
            if scale != 1.0 {
                matrix.parts_mut().1.iter_mut().for_each(|value| *value *= scale);
                space.overwrite(matrix.values(), on_device.parts_mut().1).unwrap();
                expected.refill(&Serial, &of_host, &matrix).unwrap();
                found.refill(&space, &links, &on_device).unwrap();
            }
            assert_eq!(found.levels().1.count(), expected.levels().1.count(), "{what}");
            for (found, expected) in found.levels().1.zip(expected.levels().1) {
                assert!(graph_on_host(&space, found.graph()) == **expected.graph(), "{what}: other graph");
                let apart = difference(&space.download(found.values()).unwrap(), expected.values());
                assert!(apart < 1e-10, "{what}: values apart by {apart}");
            }
            let (mut x, b) = (vec![0.0; n], vec![1.0; n]);
            let host = expected.with_cycle(&matrix, |cycle| {
                solve(&Serial, &matrix, &b, &mut x, Options { preconditioner: Some(cycle), ..Options::default() })
            });
            let (mut y, b) = (space.zeros(n).unwrap(), space.upload(&b).unwrap());
            let device = found.with_cycle(&on_device, |cycle| {
                solve(&space, &on_device, &b, &mut y, Options { preconditioner: Some(cycle), ..Options::default() })
            });
            let [host, device] = [host, device].map(|info| info.unwrap().iterations);
            assert!(host.abs_diff(device) <= 1 && device < 40, "{what}: {device} iterations, {host} on the host");
            let apart = difference(&space.download(&y).unwrap(), &x);
            assert!(apart < 1e-5, "{what}: solutions apart by {apart}");
        }
        let at =
            matrix.graph().row_range(5).start + matrix.graph().row(5).iter().position(|&column| column == 5).unwrap();
        matrix.parts_mut().1[at] = -1.0;
        space.overwrite(matrix.values(), on_device.parts_mut().1).unwrap();
        let error = found.refill(&space, &links, &on_device).unwrap_err().to_string();
        assert!(error.contains("diagonal[5] is -1e0"), "{error}");
    }
}

/// Nodes with about 30 random neighbours: a root decides about more nodes than a block of the GPU lists at once.
#[test]
fn aggregates_of_a_random_graph_are_those_of_the_host() {
    let Some(space) = gpu("aggregates_of_a_random_graph_are_those_of_the_host") else { return };
    const NODES: usize = 8000;
    let (mut rows, mut next) = (vec![BTreeMap::<u32, f64>::new(); NODES], random_bits(9));
    for row in 0..NODES {
        rows[row].insert(row as u32, 1.0);
        for _ in 0..15 {
            let (bits, sign) = (next(), if next() % 2 == 0 { 0.082 } else { -0.082 });
            let other = (row + 1 + bits as usize % (NODES - 1)) % NODES;
            rows[row].insert(other as u32, sign);
            rows[other].insert(row as u32, sign);
        }
    }
    let ends = rows.iter().scan(0, |sum, row| {
        *sum += row.len() as u64;
        Some(*sum)
    });
    let (row_map, entries) = ([0].into_iter().chain(ends).collect(), rows.iter().flat_map(|row| row.keys().copied()));
    let graph = Arc::new(CrsGraph::new(row_map, entries.collect(), NODES).unwrap());
    let matrix = CrsMatrix::new(graph, rows.iter().flat_map(|row| row.values().copied()).collect()).unwrap();
    let (map, on_device) = (Map::new(NODES as u64, NODES, vec![]).unwrap(), matrix.upload(&space).unwrap());
    let (of_host, links) = (Links::<Threads>::staged(&Solo), Links::<Cuda>::staged(&Solo));
    let vectors = || NearNull::constants(NODES, 1).unwrap();
    let expected = SmoothedAggregation::new(&Serial, &of_host, (&matrix, &map), vectors()).unwrap();
    let found = SmoothedAggregation::new(&space, &links, (&on_device, &map), vectors()).unwrap();
    let [coarse] = expected.levels().1.collect::<Vec<_>>()[..] else { panic!("one coarse level") };
    let on_gpu = found.levels().1.next().unwrap();
    assert!(graph_on_host(&space, on_gpu.graph()) == **coarse.graph(), "other aggregates");
    let apart = difference(&space.download(on_gpu.values()).unwrap(), coarse.values());
    assert!(apart < 1e-10, "values apart by {apart}");
}
