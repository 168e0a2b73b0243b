//! Plans against sums made pair by pair in a map, in the order of the input.

use super::{Combinations, Coo, ElementIndices};
use crate::contraction::Sum;
use crate::graph::CooIndex;
use crate::space::{Item, Serial, Threads};
use crate::sparse::CrsMatrix;
use std::collections::BTreeMap;

/// A generator (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit as u64) as usize
    }

    /// A number whose sums depend on their order.
    fn value(&mut self) -> f64 {
        (self.below(1 << 30) as f64 - 5e8) * 2f64.powi(self.below(60) as i32 - 30)
    }
}

/// Entries and their sums, which start at `start`.
fn by_map(pairs: impl Iterator<Item = (i64, i64)>, values: &[f64], start: f64) -> BTreeMap<(i64, i64), f64> {
    let mut sums = BTreeMap::new();
    for ((i, j), &value) in pairs.zip(values).filter(|((i, j), _)| *i >= 0 && *j >= 0) {
        *sums.entry((i, j)).or_insert(start) += value;
    }
    sums
}

/// Compares graph and values, bit by bit.
fn assert_same(plan: &Coo, values: &[f64], expected: &BTreeMap<(i64, i64), f64>, case: &str) {
    let graph = plan.graph();
    let found: Vec<(i64, i64)> = (0..graph.rows())
        .flat_map(|row| graph.row(row).iter().map(move |&column| (row as i64, column.into())))
        .collect();
    assert_eq!(found, expected.keys().copied().collect::<Vec<_>>(), "{case}");
    for (((row, column), expected), value) in expected.iter().zip(values) {
        assert_eq!(value.to_bits(), expected.to_bits(), "{case}: entry {row}, {column}: {value} {expected}");
    }
}

/// Plans on several numbers of threads, with both kinds of sums.
fn check<I: CooIndex>(rows: usize, columns: usize, i: &[I], j: &[I], case: &str) {
    let mut random = Random(i.len() as u64 + 77);
    let values: Vec<f64> = i.iter().map(|_| random.value()).collect();
    let wide = |index: &I| index.get().map_or(-1, |index| index as i64);
    let pairs = || i.iter().map(wide).zip(j.iter().map(wide));
    for threads in [1, 2, 4] {
        let space = Threads::new(threads).unwrap();
        let plan = Coo::new(&space, rows, columns, i, j).unwrap();
        let case = format!("{case}, {threads} threads");
        assert_eq!(
            (plan.graph().rows(), plan.graph().columns(), plan.value_count()),
            (rows, columns, i.len()),
            "{case}"
        );
        let mut matrix = plan.matrix().unwrap();
        plan.set_values(&space, &vec![f64::NAN; i.len()], Sum::Overwrite, &mut matrix).unwrap();
        plan.set_values(&space, &values, Sum::Overwrite, &mut matrix).unwrap();
        assert_same(&plan, matrix.values(), &by_map(pairs(), &values, 0.0), &case);
        let mut matrix = CrsMatrix::new(plan.graph().clone(), vec![0.1; plan.graph().nnz()]).unwrap();
        plan.set_values(&space, &values, Sum::Into, &mut matrix).unwrap();
        assert_same(&plan, matrix.values(), &by_map(pairs(), &values, 0.1), &case);
        // Columns of rows are checked as those of a caller are.
        let graph = plan.graph();
        crate::sparse::CrsGraph::new(graph.row_map().to_vec(), graph.entries().to_vec(), columns).unwrap();
        let (mut sums, mut expected) = (vec![f64::NAN; rows], vec![0.0; rows]);
        plan.sum_rows(&space, &values, Sum::Overwrite, &mut sums).unwrap();
        for ((i, j), value) in pairs().zip(&values).filter(|((i, j), _)| *i >= 0 && *j >= 0) {
            let _ = j;
            expected[i as usize] += value;
        }
        assert_eq!(sums, expected, "{case}");
    }
}

#[test]
fn random_patterns_equal_sums_pair_by_pair() {
    let mut random = Random(1);
    for case in 0..60 {
        let (rows, columns) = (1 + random.below(300), 1 + random.below(300));
        let count = random.below(6000);
        let mut index = |limit: usize| random.below(limit + limit / 8 + 1) as i64 - (limit / 8 + 1) as i64;
        let (i, j): (Vec<i64>, Vec<i64>) = (0..count).map(|_| (index(rows), index(columns))).unzip();
        check(rows, columns, &i, &j, &format!("case {case}"));
        let narrow = |wide: &[i64]| wide.iter().map(|&index| index as i32).collect::<Vec<_>>();
        check(rows, columns, &narrow(&i), &narrow(&j), &format!("case {case} of 32 bits"));
    }
}

#[test]
fn odd_patterns_equal_sums_pair_by_pair() {
    let mut random = Random(2);
    check::<u32>(0, 0, &[], &[], "nothing");
    check::<u32>(7, 3, &[], &[], "no pairs");
    check(5, 5, &[-1i32; 9], &[2; 9], "rows ignored");
    check(5, 5, &[2i32; 9], &[-1; 9], "columns ignored");
    check(1, 9000, &[0u64; 9000], &(0..9000).rev().collect::<Vec<_>>(), "one row");
    check(9000, 1, &(0..9000).rev().collect::<Vec<_>>(), &[0usize; 9000], "one column");
    check(3, 3, &[1i32; 70_000], &[2; 70_000], "one entry");
    // Rows around the lengths at which positions change their type and tables give way to sorting.
    for length in [254usize, 255, 256, 257, 2047, 2048, 2049, 4100, 65_535, 65_536, 65_537] {
        let i: Vec<u32> = (0..length).map(|k| if k % 50 == 0 { 0 } else { 2 }).collect();
        let j: Vec<u32> = (0..length).map(|_| random.below(length) as u32).collect();
        check(3, length, &i, &j, &format!("random row of {length}"));
        let distinct: Vec<u32> = (0..length as u32).rev().collect();
        check(3, length, &vec![1; length], &distinct, &format!("row of {length}"));
    }
    // Columns that fall on few places of a small table, and the largest numbers.
    let far: Vec<u32> = (0..500).map(|k| (k % 90) << 20).collect();
    check(2, 1 << 27, &[1; 500], &far, "multiples of a power of two");
    check(1, (1 << 32) - 2, &[0u32; 3], &[u32::MAX - 2, 0, u32::MAX - 2], "largest column");
    // Several pieces of rows, long and short ones in turn.
    let i: Vec<u32> = (0..200_000).map(|k| if k % 3 == 0 { 77 } else { random.below(500) as u32 }).collect();
    let j: Vec<u32> = (0..200_000).map(|_| random.below(400) as u32).collect();
    check(500, 400, &i, &j, "many pieces");
}

/// Random tables, also with several rows and columns per element other than these.
#[test]
fn element_matrices_equal_their_pairs() {
    let mut random = Random(3);
    for (case, (a, b)) in
        [(1, 1), (4, 4), (3, 3), (8, 8), (2, 5), (5, 2), (24, 24), (1, 12), (60, 60)].into_iter().enumerate()
    {
        for has_ignored in [false, true] {
            let (rows, columns, elems) = (1 + random.below(400), 1 + random.below(400), random.below(120));
            let mut index =
                |limit: usize| random.below(limit + 9 * usize::from(has_ignored)) as i64 - 9 * i64::from(has_ignored);
            let rows_of: Vec<i64> = (0..elems * a).map(|_| index(rows)).collect();
            let columns_of: Vec<i64> = (0..elems * b).map(|_| index(columns)).collect();
            let place = |k: usize| (rows_of[k / b], columns_of[k / b / a * b + k % b]);
            let pairs = || (0..elems * a * b).map(place);
            let values: Vec<f64> = pairs().map(|_| random.value()).collect();
            // The same as pairs, whose rows come in runs of b.
            let (i, j): (Vec<i64>, Vec<i64>) = pairs().unzip();
            check(rows, columns, &i, &j, &format!("pairs of case {case}"));
            let loads: Vec<f64> = rows_of.iter().map(|_| random.value()).collect();
            let mut expected = vec![0.5; rows];
            rows_of
                .iter()
                .zip(&loads)
                .filter(|(row, _)| **row >= 0)
                .for_each(|(&row, load)| expected[row as usize] += load);
            for threads in [1, 2, 4] {
                let (space, case) = (Threads::new(threads).unwrap(), format!("case {case}, {threads} threads"));
                let tables = (
                    ElementIndices { indices: &rows_of, per_elem: a },
                    ElementIndices { indices: &columns_of, per_elem: b },
                );
                let plan = Coo::from_elements(&space, rows, columns, tables.0, tables.1).unwrap();
                assert_eq!(plan.value_count(), values.len());
                let mut matrix = plan.matrix().unwrap();
                plan.set_values(&space, &values, Sum::Overwrite, &mut matrix).unwrap();
                assert_same(&plan, matrix.values(), &by_map(pairs(), &values, 0.0), &case);
                let mut sums = vec![0.5; rows];
                plan.sum_rows(&space, &loads, Sum::Into, &mut sums).unwrap();
                assert_eq!(sums, expected, "{case}");
            }
        }
    }
}

#[test]
fn wrong_sizes_and_indices_are_named() {
    let new = |i: &[i32], j: &[i32]| Coo::new(&Serial, 4, 3, i, j).unwrap_err().to_string();
    assert_eq!(new(&[0, 1], &[0]), "Coo::new: `j` has extents [1], expected [2]");
    assert!(new(&[0, 4], &[0, 0]).starts_with("i[1] is 4, expected a row in 0..4"));
    assert!(new(&[0, 3], &[0, 3]).starts_with("j[1] is 3, expected a column in 0..3"));
    let large = Coo::new::<u32>(&Serial, u32::MAX as usize, 3, &[], &[]).unwrap_err().to_string();
    assert!(large.contains("4294967295 rows"), "{large}");
    let table = |indices, per_elem| ElementIndices { indices, per_elem };
    let elements = |rows, columns| Coo::from_elements::<i32>(&Serial, 4, 3, rows, columns).unwrap_err().to_string();
    assert!(elements(table(&[0, 1, 2], 2), table(&[0], 1)).contains("`rows_of` has 3 indices, 2 per element"));
    assert!(elements(table(&[0, 1], 2), table(&[0], 0)).contains("`columns_of` has 1 indices"));
    assert!(elements(table(&[0, 1], 2), table(&[0, 1], 1)).contains("columns_of (elements)"));
    assert!(elements(table(&[0, 1, 2, 5], 2), table(&[0, 1], 1)).starts_with("rows_of[1, 1] is 5, expected a row"));
    assert!(
        elements(table(&[0, 1], 1), table(&[0, 1, 2, 3], 2)).starts_with("columns_of[1, 1] is 3, expected a column")
    );

    let plan = Coo::new(&Serial, 2, 2, &[0, 1], &[1, 0]).unwrap();
    let other = Coo::new(&Serial, 2, 2, &[0, 1], &[0, 1]).unwrap();
    let equal = Coo::new(&Serial, 2, 2, &[1, 0, 0], &[0, 1, 1]).unwrap();
    let mut matrix = plan.matrix().unwrap();
    let set = |values: &[f64], matrix: &mut _| plan.set_values(&Serial, values, Sum::Into, matrix);
    assert!(set(&[1.0; 3], &mut matrix).unwrap_err().to_string().contains("`values` has extents [3], expected [2]"));
    let error = set(&[1.0; 2], &mut other.matrix().unwrap()).unwrap_err().to_string();
    assert!(error.contains("the matrix is on another graph: its row 0 has columns [0]"), "{error}");
    set(&[1.0, 2.0], &mut equal.matrix().unwrap()).unwrap();
    assert!(plan.sum_rows(&Serial, &[1.0; 2], Sum::Into, &mut [0.0; 3]).unwrap_err().to_string().contains("`rows`"));
}

/// f32, whole and complex numbers.
#[test]
fn any_number_is_summed() {
    let plan = Coo::new(&Serial, 2, 2, &[1, 0, 1, 1], &[1, 0, 1, 0]).unwrap();
    fn sums<V: Item + num_traits::Zero>(plan: &Coo, values: [V; 4]) -> Vec<V> {
        let mut matrix = plan.matrix().unwrap();
        plan.set_values(&Serial, &values, Sum::Overwrite, &mut matrix).unwrap();
        matrix.into_parts().1
    }
    assert_eq!(sums(&plan, [1.0f32, 2.0, 4.0, 8.0]), [2.0, 8.0, 5.0]);
    assert_eq!(sums(&plan, [1u64, 2, 4, 8]), [2, 8, 5]);
    #[cfg(feature = "complex")]
    {
        let complex = |[re, im]: [f64; 2]| num_complex::Complex::new(re, im);
        let values = [[1.0, 3.0], [2.0, -1.0], [4.0, 0.5], [8.0, 0.0]].map(complex);
        assert_eq!(sums(&plan, values), [[2.0, -1.0], [8.0, 0.0], [5.0, 3.5]].map(complex));
    }
}

/// C^T A C by dense products, from random element matrices whose values are small integers, so that no order rounds.
#[test]
fn constrained_sums_equal_dense_products() {
    let mut random = Random(4);
    for case in 0..40 {
        let (dofs, elems, per_elem) = (4 + random.below(20), random.below(30), 1 + random.below(4));
        let is_free: Vec<bool> = (0..dofs).map(|dof| dof == 0 || random.below(3) > 0).collect();
        let free: Vec<u32> = (0..dofs as u32).filter(|&dof| is_free[dof as usize]).collect();
        let mut constrained: Vec<(u32, Vec<(u32, f64)>)> = Vec::new();
        // Neither ascending nor descending, since the order of the list does not matter.
        for dof in (0..dofs as u32).rev().filter(|&dof| !is_free[dof as usize]) {
            let term = |random: &mut Random| (free[random.below(free.len())], random.below(5) as f64 - 2.0);
            constrained.push((dof, (0..random.below(4)).map(|_| term(&mut random)).collect()));
        }
        let third = constrained.len() / 3;
        constrained.rotate_left(third);
        let combinations = Combinations::new(dofs, &constrained).unwrap();
        let mut c = vec![vec![0.0; free.len()]; dofs];
        (0..).zip(&free).for_each(|(number, &dof): (usize, _)| c[dof as usize][number] = 1.0);
        for (dof, terms) in &constrained {
            for &(other, weight) in terms {
                c[*dof as usize][free.binary_search(&other).unwrap()] += weight;
            }
        }
        let table: Vec<i32> = (0..elems * per_elem).map(|_| random.below(dofs + 1) as i32 - 1).collect();
        let values: Vec<f64> = (0..elems * per_elem * per_elem).map(|_| random.below(19) as f64 - 9.0).collect();
        let (mut a, mut i, mut j) = (vec![vec![0.0; dofs]; dofs], vec![], vec![]);
        for (k, value) in values.iter().enumerate() {
            let (slot, b) = (k / per_elem, k % per_elem);
            i.push(table[slot]);
            j.push(table[slot / per_elem * per_elem + b]);
            if i[k] >= 0 && j[k] >= 0 {
                a[i[k] as usize][j[k] as usize] += value;
            }
        }
        let expected = |p: usize, q: usize| -> f64 {
            (0..dofs).flat_map(|i| (0..dofs).map(move |j| (i, j))).map(|(i, j)| c[i][p] * a[i][j] * c[j][q]).sum()
        };
        assert!(combinations.pairs(&[dofs as i64], &[0]).unwrap_err().to_string().starts_with("i[0] is"));
        assert!(combinations.pairs(&[0], &[dofs as i64]).unwrap_err().to_string().starts_with("j[0] is"));
        assert!(combinations.pairs(&[0], &[0, 0]).unwrap_err().to_string().contains("`j`"));
        assert!(combinations.pairs(&i, &j).unwrap().values(&vec![0.0; values.len() + 1]).is_err());
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let pairs = combinations.pairs(&i, &j).unwrap();
            let plan = Coo::new(&space, free.len(), free.len(), pairs.rows(), pairs.columns()).unwrap();
            let (mut matrix, values) = (plan.matrix().unwrap(), pairs.values(&values).unwrap());
            plan.set_values(&space, &values, Sum::Overwrite, &mut matrix).unwrap();
            plan.set_values(&space, &values, Sum::Into, &mut matrix).unwrap();
            for (p, q) in (0..free.len()).flat_map(|p| (0..free.len()).map(move |q| (p, q))) {
                let found = matrix.get(p, q as u32).unwrap_or(0.0);
                assert_eq!(found, 2.0 * expected(p, q), "case {case}, {threads} threads: entry {p}, {q}");
            }
        }
    }
}

/// Offsets of 8 bytes, 4 per slot and bound; positions of 1 byte, of 2 where a row may have more than 255 columns.
#[test]
fn the_bytes_of_a_plan_are_those_by_hand() {
    let plan = Coo::new(&Serial, 3, 4, &[0, 2, 2, 0, 1], &[1, 3, 3, 0, 2]).unwrap();
    assert_eq!(plan.bytes(), 8 * 4 + 4 * 5 + 5 + 4 * 2);
    // Runs of 2: a slot each.
    let plan = Coo::new(&Serial, 3, 4, &[0, 0, 2, 2, 1, 1], &[1, 3, 3, 0, 2, 1]).unwrap();
    assert_eq!(plan.bytes(), 8 * 4 + 4 * 3 + 6 + 4 * 2);
    let (i, j): (Vec<u32>, Vec<u32>) = (0..300).map(|k| (k % 2, k)).unzip();
    let long: Vec<u32> = (0..600).map(|k| u32::from(k == 300)).collect();
    let columns: Vec<u32> = (0..600).collect();
    assert_eq!(Coo::new(&Serial, 2, 300, &i, &j).unwrap().bytes(), 8 * 3 + 4 * 300 + 300 + 4 * 2);
    assert_eq!(Coo::new(&Serial, 2, 600, &long, &columns).unwrap().bytes(), 8 * 3 + 4 * 600 + 2 * 600 + 4 * 2);
}
