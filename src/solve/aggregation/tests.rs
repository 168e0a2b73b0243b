//! Smoothed aggregation of matrices on tetrahedra and of elastic bars, on ranks, with refills and with faults.

use super::{NearNull, SmoothedAggregation};
use crate::comm::ranks::on_ranks;
use crate::comm::{Communicator, GlobalMap, Links, Solo};
use crate::solve::{CgParams, CgWorkspace, DistributedOperator, LinearSystem, cg};
use crate::space::{Serial, Threads};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A box of `edges` nodes with springs between nodes that share a cell, of stiffness `k` by the lower node along their line: for one
/// unknown per node differences of values, for three the elongation. Nodes at z = 0 are fixed. Entries by row and column.
fn springs(edges: [usize; 3], dofs: usize, k: impl Fn([usize; 3]) -> f64) -> Vec<BTreeMap<usize, f64>> {
    let at = |[x, y, z]: [usize; 3]| x + edges[0] * (y + edges[1] * z);
    let mut rows = vec![BTreeMap::new(); edges.iter().product::<usize>() * dofs];
    let nodes = (0..edges[2]).flat_map(|z| (0..edges[1]).flat_map(move |y| (0..edges[0]).map(move |x| [x, y, z])));
    for node in nodes {
        for code in 14..27 {
            let step = [code % 3, code / 3 % 3, code / 9].map(|step| step as isize - 1);
            let [x, y, z] = [0, 1, 2].map(|axis| node[axis].wrapping_add_signed(step[axis]));
            if x >= edges[0] || y >= edges[1] || z >= edges[2] {
                continue;
            }
            let (ends, length) = ([at(node), at([x, y, z])], step.iter().map(|&s| (s * s) as f64).sum::<f64>());
            for (i, j) in (0..dofs).flat_map(|i| (0..dofs).map(move |j| (i, j))) {
                let along = if dofs == 1 { 1.0 } else { (step[i] * step[j]) as f64 / length };
                for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let value = along * k(node) * if a == b { 1.0 } else { -1.0 };
                    *rows[ends[a] * dofs + i].entry(ends[b] * dofs + j).or_insert(0.0) += value;
                }
            }
        }
    }
    let fixed = edges[0] * edges[1] * dofs;
    for (row, entries) in rows.iter_mut().enumerate() {
        let cut = entries.iter_mut().filter(|(column, _)| **column != row && (row < fixed || **column < fixed));
        cut.for_each(|(_, value)| *value = 0.0);
    }
    rows
}

/// Rows of a rank: nodes in slices along x, so that no rank has consecutive numbers.
fn part(
    comm: &dyn Communicator,
    edges: [usize; 3],
    dofs: usize,
    rows: &[BTreeMap<usize, f64>],
) -> (CrsMatrix, GlobalMap) {
    let is_own = |node: usize| node % edges[0] * comm.size() / edges[0] == comm.rank();
    let own: Vec<u64> = (0..rows.len()).filter(|row| is_own(row / dofs)).map(|row| row as u64).collect();
    let used: Vec<u64> = own.iter().flat_map(|&row| rows[row as usize].keys().map(|&column| column as u64)).collect();
    let ids = GlobalMap::new(comm, &own, &used).unwrap();
    let (mut row_map, mut entries, mut values) = (vec![0], Vec::new(), Vec::new());
    for &row in &own {
        let local: BTreeMap<u32, f64> =
            rows[row as usize].iter().map(|(&column, &value)| (ids.local(column as u64).unwrap(), value)).collect();
        entries.extend(local.keys());
        values.extend(local.values());
        row_map.push(entries.len() as u64);
    }
    let graph = CrsGraph::new(row_map, entries, ids.map().local_count()).unwrap();
    (CrsMatrix::new(Arc::new(graph), values).unwrap(), ids)
}

/// Near-null vectors of a rank's nodes.
fn near_null(edges: [usize; 3], dofs: usize, ids: &GlobalMap) -> NearNull {
    let own = &ids.ids()[..ids.map().owned_count()];
    let points: Vec<[f64; 3]> = own
        .iter()
        .step_by(dofs)
        .map(|&id| id as usize / dofs)
        .map(|node| [node % edges[0], node / edges[0] % edges[1], node / edges[0] / edges[1]].map(|i| i as f64))
        .collect();
    if dofs == 3 { NearNull::rigid_body_modes(&points) } else { NearNull::constants(points.len(), dofs) }.unwrap()
}

/// Solves for b = 1 on a rank; iterations, and values by global id.
fn solve(
    space: &Threads,
    links: &Links<'_, Threads>,
    levels: &mut SmoothedAggregation<Threads>,
    matrix: &CrsMatrix,
    ids: &GlobalMap,
) -> Result<(usize, Vec<(u64, f64)>)> {
    let (rows, columns) = (ids.map().owned_count(), ids.map().local_count());
    let [mut halo, mut within] = [links.halo(space, ids.map())?, links.halo(space, ids.map())?];
    let operator = DistributedOperator::new(matrix, &mut halo, 0)?;
    let finest = DistributedOperator::new(matrix, &mut within, 0)?;
    let (mut work, mut x, b) = (CgWorkspace::new(space, rows, columns)?, vec![0.0; columns], vec![1.0; rows]);
    let params = CgParams::new(1e-10, 60);
    let info = levels.with_cycle(&finest, |cycle| {
        let mut system = LinearSystem { operator: &operator, preconditioner: cycle, comm: links, rhs: &b[..] };
        cg(space, &mut system, &mut x, params, &mut work, &mut |_, _| Ok(()))
    })?;
    Ok((info.iterations, ids.ids().iter().copied().zip(x).take(rows).collect()))
}

/// Iterations of ranks, and all values.
fn on(ranks: usize, edges: [usize; 3], dofs: usize, rows: &[BTreeMap<usize, f64>]) -> (usize, BTreeMap<u64, f64>) {
    let parts = on_ranks(ranks, |comm| {
        let (links, (matrix, ids)) = (Links::<Threads>::staged(comm), part(comm, edges, dofs, rows));
        let (space, vectors) = (Threads::new(1 + comm.rank() % 3).unwrap(), near_null(edges, dofs, &ids));
        let mut levels = SmoothedAggregation::new(&space, &links, (&matrix, ids.map()), vectors).unwrap();
        assert!(levels.levels().1.count() >= 1);
        solve(&space, &links, &mut levels, &matrix, &ids).unwrap()
    });
    (parts[0].0, parts.into_iter().flat_map(|part| part.1).collect())
}

#[test]
fn iterations_are_few_and_do_not_grow_with_size_nor_ranks() {
    for (dofs, sizes, most) in [(1, [[9, 8, 10], [17, 19, 18]], 14), (3, [[5, 6, 7], [9, 10, 11]], 22)] {
        let mut before = 0;
        for edges in sizes {
            let rows = springs(edges, dofs, |_| 1.0);
            let (alone, expected) = on(1, edges, dofs, &rows);
            assert!(alone <= most && (before == 0 || alone <= before + 4), "{edges:?}: {alone}, before {before}");
            before = alone;
            let largest = expected.values().fold(0.0f64, |most, value| most.max(value.abs()));
            // More ranks than slices: some have no rows.
            for ranks in [2, 3, 6] {
                let (iterations, found) = on(ranks, edges, dofs, &rows);
                assert!(iterations <= alone + 4, "{edges:?} on {ranks} ranks: {iterations}, alone {alone}");
                assert_eq!(found.len(), expected.len());
                let differs = found.iter().find(|(id, value)| (*value - expected[id]).abs() > 1e-7 * largest);
                assert_eq!(differs, None, "{edges:?} on {ranks} ranks");
            }
        }
    }
}

#[test]
fn ranks_without_rows_take_part() {
    let (edges, rows) = ([3, 20, 21], springs([3, 20, 21], 1, |_| 1.0));
    let (alone, expected) = on(1, edges, 1, &rows);
    let (iterations, found) = on(5, edges, 1, &rows);
    assert!(iterations <= alone + 4 && found.len() == expected.len(), "{iterations}, alone {alone}");
}

#[test]
fn threads_change_no_bit() {
    let (edges, rows) = ([12, 11, 13], springs([12, 11, 13], 1, |[x, ..]| 1.0 + x as f64));
    let found = [1, 2, 5].map(|threads| {
        let space = Threads::new(threads).unwrap();
        let (links, (matrix, ids)) = (Links::staged(&Solo), part(&Solo, edges, 1, &rows));
        let vectors = near_null(edges, 1, &ids);
        let mut levels = SmoothedAggregation::new(&space, &links, (&matrix, ids.map()), vectors).unwrap();
        solve(&space, &links, &mut levels, &matrix, &ids).unwrap()
    });
    assert!(found[0] == found[1] && found[0] == found[2]);
}

/// After a refill the coarse matrices are those of the new values: the cycle suits them as new levels do.
#[test]
fn a_refill_takes_other_values_on_the_same_graph() {
    let edges = [10, 12, 11];
    for ranks in [1, 3] {
        let [first, second] = [1.0, 50.0].map(|scale| springs(edges, 1, |[_, y, _]| scale * (1.0 + y as f64)));
        on_ranks(ranks, |comm| {
            let links = Links::<Threads>::staged(comm);
            let [(mut matrix, ids), (other, _)] = [&first, &second].map(|rows| part(comm, edges, 1, rows));
            let vectors = || near_null(edges, 1, &ids);
            let mut levels = SmoothedAggregation::new(&Serial, &links, (&matrix, ids.map()), vectors()).unwrap();
            let coarse = levels.levels().1.next().unwrap().values().clone();
            matrix.parts_mut().1.copy_from_slice(other.values());
            levels.refill(&Serial, &links, &matrix).unwrap();
            let scaled = levels.levels().1.next().unwrap().values();
            // Fixed nodes have no coarse unknown, and P does not depend on the scale.
            assert!(scaled.iter().zip(&coarse).all(|(new, old)| (new - 50.0 * old).abs() <= 1e-9 * new.abs().max(1.0)));
            let (refilled, _) = solve(&Serial, &links, &mut levels, &matrix, &ids).unwrap();
            let mut made = SmoothedAggregation::new(&Serial, &links, (&matrix, ids.map()), vectors()).unwrap();
            assert_eq!(solve(&Serial, &links, &mut made, &matrix, &ids).unwrap().0, refilled);
            // Equal, but another graph than that of the plan, on the last rank alone.
            let is_last = comm.rank() + 1 == ranks;
            let error = levels.refill(&Serial, &links, if is_last { &other } else { &matrix }).unwrap_err();
            match error {
                Error::Elsewhere { rank } => assert!(!is_last && rank + 1 == ranks),
                error => assert!(is_last && error.to_string().contains("graph of the levels"), "{error}"),
            }
        });
    }
}

#[test]
fn faults_of_a_matrix_are_named() {
    let (edges, rows) = ([9, 8, 10], springs([9, 8, 10], 1, |_| 1.0));
    let refused = |change: &dyn Fn(&mut CrsMatrix), vectors: Option<NearNull>| {
        let (mut matrix, ids) = part(&Solo, edges, 1, &rows);
        change(&mut matrix);
        let vectors = vectors.unwrap_or_else(|| near_null(edges, 1, &ids));
        let links = Links::<Threads>::staged(&Solo);
        SmoothedAggregation::new(&Serial, &links, (&matrix, ids.map()), vectors).map(|_| ()).unwrap_err()
    };
    let diagonal = |matrix: &CrsMatrix, row: usize| {
        matrix.graph().row_range(row).start + matrix.graph().row(row).binary_search(&(row as u32)).unwrap()
    };
    let zero = |matrix: &mut CrsMatrix| {
        let at = diagonal(matrix, 300);
        matrix.parts_mut().1[at] = 0.0;
    };
    let error = refused(&zero, None).to_string();
    assert!(error.contains("diagonal[300] is 0e0"), "{error}");
    // Diagonals of a tenth leave a matrix with negative eigenvalues.
    let indefinite = |matrix: &mut CrsMatrix| {
        for row in 0..720 {
            let at = diagonal(matrix, row);
            matrix.parts_mut().1[at] *= 0.1;
        }
    };
    let error = refused(&indefinite, None).to_string();
    assert!(error.contains("the matrix is not positive definite: a square norm"), "{error}");
    let error = refused(&|_| (), Some(NearNull::constants(719, 1).unwrap()));
    assert!(matches!(error, Error::Shape { .. }), "{error}");
}

/// Nodes on a line do not move where they turn about it, so each aggregate has a coarse unknown without a fine one.
#[test]
fn a_mode_that_moves_no_node_leaves_its_coarse_unknown_alone() {
    const NODES: usize = 200;
    // Second differences of each displacement, fixed beyond both ends.
    let neighbours = |row: usize| [row.wrapping_sub(3), row + 3].into_iter().filter(|&other| other < 3 * NODES);
    let entries = |row| neighbours(row).map(|other| (other, -1.0)).chain([(row, 2.0)]).collect();
    let rows: Vec<BTreeMap<usize, f64>> = (0..3 * NODES).map(entries).collect();
    let (iterations, found) = on(1, [1, 1, NODES], 3, &rows);
    assert!(iterations <= 30, "{iterations}");
    for (row, value) in found {
        let node = row as usize / 3;
        let expected = ((node + 1) * (NODES - node)) as f64 / 2.0;
        assert!((value / expected - 1.0).abs() < 1e-6, "row {row}: {value}, expected {expected}");
    }
}

/// A matrix without strong connections is preconditioned by the smoother.
#[test]
fn a_diagonal_matrix_has_one_level() {
    let n = 1000;
    let graph = CrsGraph::new((0..=n as u64).collect(), (0..n as u32).collect(), n).unwrap();
    let matrix = CrsMatrix::new(Arc::new(graph), (0..n).map(|row| 1.0 + row as f64).collect()).unwrap();
    let (links, ids) = (Links::<Threads>::staged(&Solo), (0..n as u64).collect::<Vec<_>>());
    let ids = GlobalMap::new(&Solo, &ids, &[]).unwrap();
    let vectors = NearNull::constants(n, 1).unwrap();
    let mut levels = SmoothedAggregation::new(&Serial, &links, (&matrix, ids.map()), vectors).unwrap();
    assert_eq!(levels.levels().1.count(), 0);
    let (iterations, x) = solve(&Serial, &links, &mut levels, &matrix, &ids).unwrap();
    assert!(iterations <= 2 && x.iter().all(|&(id, x)| (x * (1.0 + id as f64) - 1.0).abs() < 1e-9));
    // So has no other graph a place in one level.
    let graph = CrsGraph::new((0..=n as u64 + 1).collect(), (0..=n as u32).collect(), n + 1).unwrap();
    let larger = CrsMatrix::new(Arc::new(graph), vec![1.0; n + 1]).unwrap();
    let refused = levels.refill(&Serial, &links, &larger).unwrap_err().to_string();
    assert!(refused.contains("graph of the levels"), "{refused}");
    // Other values on the graph have another diagonal.
    let (mut matrix, value) = (matrix, |id: u64| 1.0 + (id * id % 977) as f64);
    matrix.parts_mut().1.iter_mut().zip(0..).for_each(|(entry, id)| *entry = value(id));
    levels.refill(&Serial, &links, &matrix).unwrap();
    let (iterations, x) = solve(&Serial, &links, &mut levels, &matrix, &ids).unwrap();
    assert!(iterations <= 2 && x.iter().all(|&(id, x)| (x * value(id) - 1.0).abs() < 1e-9), "{iterations}");
}

/// The finest level: two products before and after the correction, one of the residual, passes over vectors, both transfers. The last
/// one: a product of its inverse.
#[test]
fn levels_state_the_work_of_their_smoothers_and_of_the_inverse() {
    let (edges, rows) = ([10, 12, 11], springs([10, 12, 11], 1, |_| 1.0));
    let (links, (matrix, ids)) = (Links::<Threads>::staged(&Solo), part(&Solo, edges, 1, &rows));
    let vectors = near_null(edges, 1, &ids);
    let levels = SmoothedAggregation::new(&Serial, &links, (&matrix, ids.map()), vectors).unwrap();
    let (levels, coarse) = levels.levels();
    assert_eq!((levels.len(), coarse.count()), (2, 1));
    let transfer = levels[0].transfer().unwrap();
    let [p, r] = [&transfer.prolongation, &transfer.restriction].map(|matrix| matrix.matrix().graph());
    let crs = |graph: &CrsGraph| 12 * graph.nnz() + 8 * (graph.rows() + 1) + 8 * (graph.rows() + graph.columns());
    let (fine, between) = (1320, (crs(p) + crs(r)) as u64);
    let bytes = 4 * 1000 + (3 * 56 + 32 + 24 + 24) * fine + between;
    let flops = 4 * 2 * 77 + (3 * 6 + 2 + 3 + 2) * fine + 2 * (p.nnz() + r.nnz()) as u64;
    assert_eq!(levels[0].work(1000, 77), (bytes, flops));
    assert_eq!(levels[1].work(1000, 77), (1000, 154));
}

/// Random numbers belong to unknowns of all ranks, so that ranks estimate the eigenvalue of one.
#[test]
fn ranks_estimate_the_same_eigenvalue() {
    let (edges, rows) = (
        [300, 1, 1],
        (0..300usize)
            .map(|row| {
                let neighbours = [row.wrapping_sub(1), row + 1].into_iter().filter(|&other| other < 300);
                neighbours.map(|other| (other, -1.0)).chain([(row, 2.0 + 0.01 * (row as f64).sin())]).collect()
            })
            .collect::<Vec<BTreeMap<usize, f64>>>(),
    );
    let of = |ranks: usize| {
        on_ranks(ranks, |comm| {
            let (links, (matrix, ids)) = (Links::<Threads>::staged(comm), part(comm, edges, 1, &rows));
            super::setup::spectrum(&Serial, &links, (&matrix, ids.map())).unwrap().1
        })
    };
    let one = of(1)[0];
    assert!((1.5..2.0).contains(&one), "{one}");
    for ranks in [2, 5] {
        assert!(
            of(ranks).iter().all(|found| (found / one - 1.0).abs() < 1e-12),
            "{ranks} ranks: {:?}, {one}",
            of(ranks)
        );
    }
}
