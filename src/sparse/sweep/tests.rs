//! Sweeps against dense arithmetic, on any number of threads.

use super::row_groups::RowGroups;
use super::{Grouping, Sweep, Triangles};
use crate::space::{Serial, Threads};
use crate::sparse::{CrsGraph, CrsMatrix};
use std::sync::Arc;

/// A symmetric matrix on a grid of `edge`^2 points with the couplings of quadrilaterals, and a ghost column that takes no part.
/// Diagonals exceed the sums of their rows by `excess`.
fn grid(edge: usize, excess: f64) -> CrsMatrix {
    let n = edge * edge;
    let (mut row_map, mut entries, mut values) = (vec![0], vec![], vec![]);
    for row in 0..n {
        let (i, j) = (row % edge, row / edge);
        let mut sum = excess;
        let first = entries.len();
        for column in 0..n {
            let (k, l) = (column % edge, column / edge);
            if i.abs_diff(k) > 1 || j.abs_diff(l) > 1 {
                continue;
            }
            let value = -1.0 - ((row * column) as f64 * 0.7).sin() / 2.0;
            sum += if row == column { 0.0 } else { value.abs() };
            entries.push(column as u32);
            values.push(value);
        }
        let own = entries[first..].iter().position(|&column| column as usize == row).unwrap();
        values[first + own] = sum;
        entries.push(n as u32);
        values.push(1e300);
        row_map.push(entries.len() as u64);
    }
    CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, n + 1).unwrap()), values).unwrap()
}

fn dense(matrix: &CrsMatrix) -> Vec<Vec<f64>> {
    let n = matrix.graph().rows();
    (0..n).map(|row| (0..n).map(|column| matrix.get(row, column as u32).unwrap_or(0.0)).collect()).collect()
}

/// M x for M = (D + L) D^-1 (D + L^T), where row i has its entries of earlier places in L.
fn product(a: &[Vec<f64>], places: &[u32], x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let later = |i: usize, j: usize| places[j] > places[i];
    let row = |i: usize, x: &[f64], takes: &dyn Fn(usize) -> bool| {
        (0..n).filter(|&j| takes(j)).map(|j| a[i][j] * x[j]).sum::<f64>()
    };
    let y: Vec<f64> = (0..n).map(|i| x[i] + row(i, x, &|j| later(i, j)) / a[i][i]).collect();
    (0..n).map(|i| a[i][i] * y[i] + row(i, &y, &|j| later(j, i))).collect()
}

fn applied(space: &Threads, triangles: &Triangles, r: &[f64]) -> Vec<f64> {
    let (mut y, mut z) = (vec![f64::NAN; r.len()], vec![f64::NAN; r.len()]);
    space.sweep(triangles, r, &mut y, &mut z).unwrap();
    z
}

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| (1.3 * i as f64 + 0.4).sin()).collect()
}

#[test]
fn no_entry_joins_rows_of_a_group() {
    let graph = grid(9, 1.0).graph().clone();
    for (grouping, count) in [(Grouping::Colours, 4), (Grouping::Levels, 25)] {
        let groups = RowGroups::new(&graph, grouping).unwrap();
        assert_eq!(groups.starts.len() - 1, count, "{grouping:?}");
        let group = |place: u32| groups.starts.partition_point(|&start| start <= place as usize);
        for row in 0..81 {
            assert_eq!(groups.rows[groups.places[row] as usize] as usize, row);
            for &column in graph.row(row).iter().filter(|&&column| (column as usize) < 81 && column as usize != row) {
                assert_ne!(group(groups.places[row]), group(groups.places[column as usize]), "{grouping:?}, {row}");
                // Levels keep the order of rows that an entry joins.
                let keeps = (groups.places[row] < groups.places[column as usize]) == (row < column as usize);
                assert!(keeps || grouping == Grouping::Colours, "{row}, {column}");
            }
        }
    }
}

#[test]
fn sweeps_solve_with_the_matrix_that_they_stand_for() {
    let matrix = grid(7, 0.1);
    let (a, x) = (dense(&matrix), numbers(49));
    for grouping in [Grouping::Colours, Grouping::Levels] {
        let mut triangles = Triangles::new(&Serial, matrix.graph(), grouping).unwrap();
        let places = triangles.groups.places.clone();
        triangles.fill(&Serial, &matrix).unwrap();
        let z = applied(&Serial, &triangles, &product(&a, &places, &x));
        assert!(z.iter().zip(&x).all(|(z, x)| (z - x).abs() < 1e-12), "{grouping:?}: {z:?}");
    }
}

/// On the pattern of A the product of the factors is A, on other places it is not.
#[test]
fn factors_have_the_entries_of_the_matrix_on_its_pattern() {
    let matrix = grid(6, 0.1);
    let a = dense(&matrix);
    for grouping in [Grouping::Colours, Grouping::Levels] {
        let mut triangles = Triangles::new(&Serial, matrix.graph(), grouping).unwrap();
        let places = triangles.groups.places.clone();
        assert_eq!(triangles.factorise(&Serial, &matrix).unwrap(), 0.0);
        let mut factors = vec![vec![0.0; 36]; 36];
        for (i, row) in factors.iter_mut().enumerate() {
            for (j, item) in row.iter_mut().enumerate() {
                let [p, q] = [i, j].map(|row| places[row] as usize);
                let of = |triangle: &CrsMatrix| triangle.get(p, q as u32);
                *item = of(&triangles.lower.matrix).or(of(&triangles.upper.matrix)).unwrap_or(0.0);
            }
            row[i] = triangles.inverse[places[i] as usize].recip();
        }
        let mut fill = 0.0f64;
        for j in 0..36 {
            let unit: Vec<f64> = (0..36).map(|i| f64::from(u8::from(i == j))).collect();
            for (i, found) in product(&factors, &places, &unit).into_iter().enumerate() {
                match matrix.get(i, j as u32) {
                    Some(_) => {
                        assert!((found - a[i][j]).abs() < 1e-12, "{grouping:?}: ({i}, {j}) {found}, {}", a[i][j])
                    }
                    None => fill = fill.max(found.abs()),
                }
            }
            let z = applied(&Serial, &triangles, &product(&factors, &places, &unit));
            assert!(z.iter().zip(&unit).all(|(z, x)| (z - x).abs() < 1e-12), "{grouping:?}: {j}");
        }
        assert!(fill > 1e-3);
    }
}

#[test]
fn threads_change_no_bit() {
    // Groups of several tasks.
    let edge = 150;
    let matrix = {
        let (mut row_map, mut entries, mut values) = (vec![0u64], vec![], vec![]);
        for row in 0..edge * edge {
            let (i, j) = ((row % edge) as i64, (row / edge) as i64);
            for (k, l) in (-1..=1).flat_map(|l| (-1..=1).map(move |k| (i + k, j + l))) {
                if (0..edge as i64).contains(&k) && (0..edge as i64).contains(&l) {
                    entries.push((l * edge as i64 + k) as u32);
                    values.push(if (k, l) == (i, j) { 8.0 + (row as f64).sin() } else { -0.9 });
                }
            }
            row_map.push(entries.len() as u64);
        }
        CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, edge * edge).unwrap()), values).unwrap()
    };
    let r = numbers(edge * edge);
    for (grouping, factorises) in [(Grouping::Colours, false), (Grouping::Colours, true), (Grouping::Levels, true)] {
        let of = |threads: usize| {
            let space = Threads::new(threads).unwrap();
            let mut triangles = Triangles::new(&space, matrix.graph(), grouping).unwrap();
            if factorises {
                triangles.factorise(&space, &matrix).unwrap();
            } else {
                triangles.fill(&space, &matrix).unwrap();
            }
            applied(&space, &triangles, &r)
        };
        let one = of(1);
        assert!([2, 5].into_iter().all(|threads| of(threads) == one), "{grouping:?}, {factorises}");
    }
}

#[test]
fn bad_matrices_are_named_and_small_pivots_shifted() {
    let made = |values: [f64; 7]| {
        let graph = CrsGraph::new(vec![0, 2, 5, 7], vec![0, 1, 0, 1, 2, 1, 2], 3).unwrap();
        let matrix = CrsMatrix::new(Arc::new(graph), values.to_vec()).unwrap();
        (Triangles::new(&Serial, matrix.graph(), Grouping::Levels).unwrap(), matrix)
    };
    let factorised = |values| {
        let (mut triangles, matrix) = made(values);
        triangles.factorise(&Serial, &matrix)
    };
    let refused = |values| factorised(values).unwrap_err().to_string();
    assert_eq!(factorised([2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0]), Ok(0.0));
    // Singular: 1 % of the diagonal makes it definite.
    assert_eq!(factorised([1.0, -1.0, -1.0, 2.0, -1.0, -1.0, 1.0]), Ok(0.01));
    // Indefinite by 5 %: 0.01, 0.02, 0.04 and 0.08 are tried.
    assert_eq!(factorised([1.0, -1.05, -1.05, 1.0, 0.0, 0.0, 1.0]), Ok(0.08));
    assert_eq!(
        refused([1.0, -9.0, -9.0, 1.0, 0.0, 0.0, 1.0]),
        "IC(0): the pivot of row 1 is -4.775024390243902e1 with 0.64 of the diagonal added: expected a positive one; jacobi and gauss-seidel need no factors"
    );
    assert!(refused([2.0, -1.0, -1.0, 0.0, -1.0, -1.0, 2.0]).starts_with("diagonal[1] is 0e0: expected a number"));
    assert_eq!(
        refused([2.0, -1.0, -1.0, 2.0, -1.0, -0.5, 2.0]),
        "IC(0): entry (1, 2) is -1e0, and (2, 1) is -5e-1: expected a symmetric matrix"
    );
    // [2 -1 -1; -1 2 -1; . -1 2] lacks an entry below the diagonal.
    let graph = CrsGraph::new(vec![0, 3, 6, 8], vec![0, 1, 2, 0, 1, 2, 1, 2], 3).unwrap();
    let values = vec![2.0, -1.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0];
    let upper = CrsMatrix::new(Arc::new(graph), values).unwrap();
    let mut triangles = Triangles::new(&Serial, upper.graph(), Grouping::Levels).unwrap();
    let error = triangles.factorise(&Serial, &upper).unwrap_err();
    assert!(error.to_string().starts_with("IC(0): entry (0, 2) is -1e0, and (2, 0) is NaN"), "{error}");
    // Gauss-Seidel takes it: the triangles are those of the matrix.
    let (mut triangles, matrix) = made([2.0, -1.0, -1.0, 2.0, -1.0, -0.5, 2.0]);
    triangles.fill(&Serial, &matrix).unwrap();
    // (D + L) D^-1 (D + U) = [2 -1 0; -1 2.5 -1; 0 -0.5 2.25] times [1 1 1].
    let z = applied(&Serial, &triangles, &[1.0, 0.5, 1.75]);
    assert!(z.iter().all(|z| (z - 1.0).abs() < 1e-15), "{z:?}");
}

/// Both rows of a pattern that is not symmetric get one colour.
#[test]
fn groups_that_an_entry_joins_are_refused() {
    let graph = CrsGraph::new(vec![0, 2, 3], vec![0, 1, 1], 2).unwrap();
    for grouping in [Grouping::Colours, Grouping::Levels] {
        let refused = Triangles::new(&Threads::new(1).unwrap(), &graph, grouping).unwrap_err().to_string();
        assert!(refused.contains("entry (0, 1)") && refused.contains("symmetric pattern"), "{refused}");
    }
}
