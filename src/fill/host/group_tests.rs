//! Element groups in one matrix against a dense sum.

use super::{Fill, element_fn};
use crate::contraction::Sum;
use crate::fill::{Parts, Strategy};
use crate::graph::{self, Graph};
use crate::mesh::ElemNode;
use crate::space::{Serial, Threads};
use crate::sparse::CrsMatrix;

/// An entry that no sum of whole numbers rounds, or one that depends on the order of the sum.
fn term(whole: bool, group: usize, elem: usize, i: usize, j: usize) -> f64 {
    let seed = group * 101 + elem * 31 + i * 7 + j * 3;
    if whole { (seed % 17) as f64 - 8.0 } else { (1.0 + seed as f64).sqrt().sin() }
}

/// Hexahedra on one half of a box and tetrahedra on the other, faces of 4 nodes on the bottom: `n` nodes along each edge.
fn tables(n: u32) -> (ElemNode, ElemNode, ElemNode) {
    let id = |i: u32, j: u32, k: u32| (k * n + j) * n + i;
    let (mut hexes, mut tets, mut faces) = (vec![], vec![], vec![]);
    for (k, j, i) in (0..n - 1).flat_map(|k| (0..n - 1).flat_map(move |j| (0..n - 1).map(move |i| (k, j, i)))) {
        let at = |c: [u32; 3]| id(i + c[0], j + c[1], k + c[2]);
        let corners = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]].map(at);
        if i < n / 2 {
            hexes.extend(corners);
        } else {
            for path in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                let mut corner = [0; 3];
                tets.push(at(corner));
                path.iter().for_each(|&axis: &usize| {
                    corner[axis] = 1;
                    tets.push(at(corner));
                });
            }
        }
        if k == 0 {
            faces.extend(&corners[..4]);
        }
    }
    let count = (n * n * n) as usize;
    let table = |nodes, nodes_per_elem| ElemNode::new(nodes, nodes_per_elem, count).unwrap();
    (table(hexes, 8), table(tets, 4), table(faces, 4))
}

/// Adds a group to a matrix and a residual.
fn add<const NN: usize>(
    space: &Threads,
    strategy: Strategy,
    (whole, group, graph): (bool, usize, &Graph),
    matrix: &mut CrsMatrix,
    residual: &mut [f64],
) {
    let kernel = element_fn(|elem| {
        let matrix = std::array::from_fn(|i| std::array::from_fn(|j| term(whole, group, elem, i, j)));
        (matrix, std::array::from_fn::<_, NN, _>(|i| term(whole, group, elem, i, NN)))
    });
    let sum = if group == 0 { Sum::Overwrite } else { Sum::Into };
    let mut fill = Fill::<NN>::new(space, strategy, graph).unwrap();
    fill.assemble_parts(space, &kernel, sum, Parts::Both(matrix, residual)).unwrap();
}

/// Values and residual of all three groups, of garbage.
fn assembled(space: &Threads, strategy: Strategy, whole: bool, graphs: &[Graph]) -> (Vec<f64>, Vec<f64>) {
    let crs = &graphs[0].crs;
    let mut matrix = CrsMatrix::new(crs.clone(), vec![f64::NAN; crs.nnz()]).unwrap();
    let mut residual = vec![f64::NAN; crs.rows()];
    add::<8>(space, strategy, (whole, 0, &graphs[0]), &mut matrix, &mut residual);
    add::<4>(space, strategy, (whole, 1, &graphs[1]), &mut matrix, &mut residual);
    add::<4>(space, strategy, (whole, 2, &graphs[2]), &mut matrix, &mut residual);
    (matrix.into_parts().1, residual)
}

#[test]
fn groups_are_summed_in_one_matrix() {
    let (hexes, tets, faces) = tables(11);
    let tables = [&hexes, &tets, &faces];
    for rows in [1331, 800] {
        let graphs = graph::build_groups(&Serial, &tables, rows, graph::Strategy::default()).unwrap();
        let crs = &graphs[0].crs;
        let (mut pairs, mut expected_residual) = (std::collections::BTreeMap::new(), vec![0.0; rows]);
        for (group, table) in tables.iter().enumerate() {
            for (elem, nodes) in table.iter().enumerate() {
                for (i, &row) in nodes.iter().enumerate().filter(|(_, row)| (**row as usize) < rows) {
                    expected_residual[row as usize] += term(true, group, elem, i, nodes.len());
                    for (j, &column) in nodes.iter().enumerate() {
                        *pairs.entry((row, column)).or_insert(0.0) += term(true, group, elem, i, j);
                    }
                }
            }
        }
        let expected: Vec<f64> = pairs.into_values().collect();
        assert_eq!(expected.len(), crs.nnz());
        for (strategy, name) in Strategy::ALL {
            for threads in [1, 3] {
                let (values, residual) = assembled(&Threads::new(threads).unwrap(), strategy, true, &graphs);
                assert!(values == expected && residual == expected_residual, "{name}, {threads} threads");
            }
        }
    }
}

/// By gather and colour the bits are those of one thread; terms are such that another order of summation shows.
#[test]
fn groups_have_the_same_bits_on_any_number_of_threads() {
    let (hexes, tets, faces) = tables(14);
    let graphs = graph::build_groups(&Serial, &[&hexes, &tets, &faces], 2744, graph::Strategy::Map).unwrap();
    for strategy in [Strategy::Gather, Strategy::Colour] {
        let expected = assembled(&Serial, strategy, false, &graphs);
        for threads in [1, 2, 5] {
            let found = assembled(&Threads::new(threads).unwrap(), strategy, false, &graphs);
            assert!(found == expected, "{strategy}, {threads} threads");
        }
    }
}
