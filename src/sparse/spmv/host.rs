//! SpMV on Serial and Threads: one task per block of rows.

use super::{CrsMatrix, RowProduct, Spmv, StoredValue, check_vectors};
use crate::blas::Reductions;
use crate::error::{check_at_least, check_length};
use crate::space::Threads;
use crate::{Error, Result};
use rayon::prelude::*;

impl<V: StoredValue> Spmv<V> for Threads {
    const ROW_BLOCK: usize = Threads::CHUNK;

    fn spmv(&self, a: &CrsMatrix<V>, x: &[f64], y: &mut [f64]) -> Result<()> {
        check_vectors("spmv", a.graph(), [x.len(), y.len()])?;
        let rows = a.graph().rows();
        self.for_each(y[..rows].par_chunks_mut(Threads::CHUNK).enumerate(), |(block, y)| {
            V::rows(a, block * Threads::CHUNK, x, y);
        });
        Ok(())
    }

    fn spmv_dot(&self, a: &CrsMatrix<V>, product: RowProduct<'_, Threads>) -> Result<()> {
        let x = product.x;
        check_vectors("spmv_dot", a.graph(), [x.len(), product.y.len()])?;
        dot_of_pieces(self, a.graph().rows(), Threads::CHUNK, product, |first, y, partials| {
            partials[0] = V::rows_dot(a, first, x, y);
        })
    }
}

/// Multiplies rows of a matrix with `all` rows in pieces of `each` rows, a multiple of a chunk: `product(first, y, partials)` writes y = A x
/// from row `first` on and the share of x.y of each chunk. The sum goes to the slot of `sums` as in [`Spmv::spmv_dot`].
pub(in crate::sparse) fn dot_of_pieces(
    space: &Threads,
    all: usize,
    each: usize,
    RowProduct { rows, exchange, x, y, sums, slot }: RowProduct<'_, Threads>,
    product: impl Fn(usize, &mut [f64], &mut [f64]) + Send + Sync,
) -> Result<()> {
    if rows.start > rows.end || rows.end > all {
        return Err(Error::Invalid(format!("spmv_dot: rows {rows:?} of a matrix of {all} rows")));
    }
    if exchange.is_some() {
        return Err(Error::Invalid("spmv_dot: products on hosts exchange no ghosts".into()));
    }
    check_at_least("spmv_dot", "x", x.len(), rows.end)?;
    if sums.is_stopped()? {
        return Ok(());
    }
    let Reductions { partials, scalars, .. } = sums;
    check_at_least("spmv_dot", "scalars", scalars.len(), slot + 1)?;
    let blocks = rows.start / Threads::CHUNK..rows.end.div_ceil(Threads::CHUNK);
    // A range that began inside a block would overwrite the partial sum of the range before.
    check_length("spmv_dot", "rows (its start in its block)", rows.start % Threads::CHUNK, 0)?;
    check_at_least("spmv_dot", "partials", partials.len(), blocks.end)?;
    let end = blocks.end;
    let pieces =
        y[rows.clone()].par_chunks_mut(each).zip(partials[blocks].par_chunks_mut(each / Threads::CHUNK)).enumerate();
    space.for_each(pieces, |(piece, (y, partials))| product(rows.start + piece * each, y, partials));
    // The last range adds the partial sums of all ranges, in the order of an undivided product: a split changes no bit.
    if rows.end == all {
        scalars[slot] = partials[..end].iter().sum();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};
    use crate::sparse::CrsGraph;
    use std::sync::Arc;

    /// [1 0 2; 0 0 0; 0 3 4]
    fn three() -> CrsMatrix {
        let graph = CrsGraph::new(vec![0, 2, 2, 4], vec![0, 2, 1, 2], 3).unwrap();
        CrsMatrix::new(Arc::new(graph), vec![1.0, 2.0, 3.0, 4.0]).unwrap()
    }

    #[test]
    fn products_equal_those_by_hand() {
        let x = vec![1.0, 10.0, 100.0];
        let mut poisoned = vec![f64::NAN; 3];
        Serial.spmv(&three(), &x, &mut poisoned).unwrap();
        assert_eq!(poisoned, [201.0, 0.0, 430.0]);
    }

    #[test]
    fn blocks_and_threads_change_no_bit() {
        let rows = 3 * Threads::CHUNK + 17;
        let row_map = (0..=rows as u64).map(|i| 2 * i).collect();
        let entries: Vec<u32> = (0..rows as u32).flat_map(|i| [i, rows as u32 + (i * 7) % 31]).collect();
        let values = (0..2 * rows).map(|i| (i as f64 * 0.37).sin()).collect();
        let matrix = CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, rows + 31).unwrap()), values).unwrap();
        let x: Vec<f64> = (0..rows + 31).map(|i| (i as f64 * 0.11).cos()).collect();
        let (mut y, mut sums) = (vec![0.0; rows], Reductions::new(&Serial, rows, 3).unwrap());
        Serial
            .spmv_dot(&matrix, RowProduct { rows: 0..rows, exchange: None, x: &x, y: &mut y, sums: &mut sums, slot: 1 })
            .unwrap();
        let expected: f64 = y.iter().zip(&x).map(|(y, x)| y * x).sum();
        assert!((sums.scalars[1] - expected).abs() < 1e-10 * rows as f64);
        let threads = Threads::new(3).unwrap();
        let (mut y2, mut sums2) = (vec![0.0; rows], Reductions::new(&threads, rows, 3).unwrap());
        let split = 2 * Threads::CHUNK;
        for part in [0..split, split..rows] {
            threads
                .spmv_dot(
                    &matrix,
                    RowProduct { rows: part, exchange: None, x: &x, y: &mut y2, sums: &mut sums2, slot: 1 },
                )
                .unwrap();
        }
        assert_eq!((&y, &sums.partials, &sums.scalars), (&y2, &sums2.partials, &sums2.scalars));
        (sums.scalars[2], sums.stop) = (1.0, Some(2));
        let mut untouched = vec![7.0; rows];
        let before = sums.scalars.clone();
        Serial
            .spmv_dot(
                &matrix,
                RowProduct { rows: 0..rows, exchange: None, x: &x, y: &mut untouched, sums: &mut sums, slot: 1 },
            )
            .unwrap();
        assert!(untouched.iter().all(|&y| y == 7.0) && sums.scalars == before);
    }

    /// Whole numbers, so that every order of summation gives the same bits: rows of 0 to 9 entries, one of 700, more than
    /// two chunks of rows, more columns than rows.
    #[test]
    fn products_equal_plain_sums_above_one_chunk() {
        const ROWS: usize = 2 * 4096 + 808;
        const COLUMNS: usize = ROWS + 33;
        let mut triples: Vec<(usize, usize, f64)> = vec![];
        for row in 0..ROWS {
            let count = if row == 4095 { 700 } else { row % 10 };
            let first = if row == 4095 { 0 } else { row * 13 % 8000 };
            triples.extend((0..count).map(|k| (row, first + 11 * k, ((row * 7 + k * 5) % 19) as f64 - 9.0)));
        }
        let mut row_map = vec![0u64; ROWS + 1];
        triples.iter().for_each(|&(row, ..)| row_map[row + 1] += 1);
        (0..ROWS).for_each(|row| row_map[row + 1] += row_map[row]);
        let graph = CrsGraph::new(row_map, triples.iter().map(|t| t.1 as u32).collect(), COLUMNS).unwrap();
        let matrix = CrsMatrix::new(Arc::new(graph), triples.iter().map(|t| t.2).collect()).unwrap();
        let single = CrsMatrix::new(matrix.graph().clone(), triples.iter().map(|t| t.2 as f32).collect()).unwrap();
        let x: Vec<f64> = (0..COLUMNS).map(|i| (i * 31 % 101) as f64 - 50.0).collect();
        let mut product = vec![0.0; ROWS];
        triples.iter().for_each(|&(row, column, value)| product[row] += value * x[column]);
        let dot: f64 = product.iter().zip(&x).map(|(y, x)| y * x).sum();

        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            // Nothing of y is read, and nothing written behind the rows.
            let before: Vec<f64> = (0..ROWS).map(|_| f64::NAN).chain([7.5]).collect();
            let (mut y, mut z) = (before.clone(), before);
            space.spmv(&matrix, &x, &mut y).unwrap();
            space.spmv(&single, &x, &mut z).unwrap();
            let expected = [&product[..], &[7.5]].concat();
            assert!(y == expected && z == expected, "{threads} threads");
            // Whole, and in ranges that end at blocks and at the last row.
            for bounds in [&[0, ROWS][..], &[0, 4096, ROWS], &[0, 4096, 8192, ROWS], &[0, 0, 8192, ROWS]] {
                let mut y = vec![f64::NAN; ROWS];
                let mut sums = Reductions::new(&space, ROWS, 2).unwrap();
                sums.partials.fill(f64::NAN);
                for ends in bounds.windows(2) {
                    space
                        .spmv_dot(
                            &matrix,
                            RowProduct {
                                rows: ends[0]..ends[1],
                                exchange: None,
                                x: &x,
                                y: &mut y,
                                sums: &mut sums,
                                slot: 1,
                            },
                        )
                        .unwrap();
                }
                assert!(y == product && sums.scalars == [0.0, dot], "{bounds:?}, {threads} threads");
            }
            let mut sums = Reductions::new(&space, ROWS, 2).unwrap();
            let inside = space.spmv_dot(
                &matrix,
                RowProduct {
                    rows: 100..ROWS,
                    exchange: None,
                    x: &x,
                    y: &mut vec![0.0; ROWS],
                    sums: &mut sums,
                    slot: 1,
                },
            );
            assert!(inside.unwrap_err().to_string().contains("its start in its block"));
        }
    }

    #[test]
    fn short_vectors_are_refused() {
        let error = Serial.spmv(&three(), &[0.0; 2], &mut [0.0; 3]).unwrap_err().to_string();
        assert!(error.contains("`x`") && error.contains("[2]") && error.contains("[3]"), "{error}");
        // Rows that the matrix lacks, and a dot with rows for which x has no item.
        #[expect(clippy::reversed_empty_ranges)]
        let reversed = 1..0;
        for rows in [0..4, 4..4, reversed] {
            let mut sums = Reductions::new(&Serial, 3, 1).unwrap();
            let refused = Serial
                .spmv_dot(
                    &three(),
                    RowProduct { rows, exchange: None, x: &[0.0; 3], y: &mut [0.0; 9], sums: &mut sums, slot: 0 },
                )
                .unwrap_err();
            assert!(refused.to_string().contains("of a matrix of 3 rows"), "{refused}");
        }
        let tall = CrsMatrix::<f64>::zero(Arc::new(CrsGraph::new(vec![0, 1, 1, 1], vec![0], 1).unwrap()));
        let mut sums = Reductions::new(&Serial, 3, 1).unwrap();
        let refused = Serial
            .spmv_dot(
                &tall,
                RowProduct { rows: 0..3, exchange: None, x: &[0.0; 1], y: &mut [0.0; 3], sums: &mut sums, slot: 0 },
            )
            .unwrap_err();
        assert!(refused.to_string().contains("spmv_dot: `x`"), "{refused}");
    }
}
