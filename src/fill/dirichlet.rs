//! Dirichlet conditions by symmetric elimination: clears the rows and columns of fixed nodes except for the diagonal.
//!
//! The diagonal keeps its assembled value, which has the magnitude of the other diagonal entries. (A 1 beside entries of
//! size h is an outlier in the spectrum and makes CG histories depend on the order of summation.) The unknown of a fixed
//! node is its Newton correction, zero, so the residual of other rows does not change. The entries to clear are listed
//! once; each application reads 8 and writes 8 bytes per listed entry: O(surface), not O(volume).

use crate::mesh::Sizes;
use crate::space::{ExecutionSpace, HostMemory, MemorySpace, Slice};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, LocalOrdinal, Result, RowOffset};

/// The rows and entries that a set of fixed nodes clears.
#[derive(Clone, Debug)]
pub struct Dirichlet<M: MemorySpace = HostMemory> {
    pub(super) rows: M::Array<LocalOrdinal>,
    pub(super) entries: M::Array<RowOffset>,
    /// Lengths of `rows` and `entries`.
    pub(super) lengths: (usize, usize),
    pub(super) row_count: usize,
    /// Number of values of the matrix, padding included.
    pub(super) values: usize,
    /// Number of the graph that the entries are of.
    pub(super) graph: u64,
}

impl Dirichlet {
    /// Returns the bytes of the lists.
    pub fn bytes(sizes: &Sizes) -> u64 {
        4 * sizes.dofs * sizes.fixed + 8 * sizes.cleared_entries()
    }
}

impl<M: MemorySpace> Dirichlet<M> {
    /// Lists what to clear. `fixed[node]` is 0 for a free node, for every column of the graph, owned and ghost. On a GPU
    /// the order of the lists is not fixed, and the host waits once, for their lengths.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless `fixed` has one item per column and each row a column of its own,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new<S: Boundary<Memory = M>>(space: &S, graph: &CrsGraph<M>, fixed: &M::Slice<u8>) -> Result<Self> {
        space.dirichlet(graph, fixed)
    }

    /// Clears the listed entries of the matrix and the residual of fixed rows; does not wait for a GPU.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless the matrix is on the graph of [`new`](Self::new) or a copy of it,
    /// [`Error::Shape`] when the residual has fewer items than rows.
    pub fn apply<S: Boundary<Memory = M>>(
        &self,
        space: &S,
        matrix: &mut CrsMatrix<f64, M>,
        residual: &mut M::Slice<f64>,
    ) -> Result<()> {
        self.check("Dirichlet::apply", matrix.graph())?;
        space.apply_dirichlet(self, M::slice_mut(matrix.values_mut()), residual)
    }

    /// Refuses a matrix on another graph.
    pub(super) fn check(&self, name: &str, graph: &CrsGraph<M>) -> Result<()> {
        if self.graph != graph.number() {
            let expected = "expected the graph that the conditions were made for, or a copy of it";
            return Err(Error::Invalid(format!("{name}: the matrix is on another graph: {expected}")));
        }
        Ok(())
    }

    /// Returns the number of entries and residuals that an application writes.
    pub fn len(&self) -> usize {
        self.lengths.0 + self.lengths.1
    }

    /// Returns whether there is nothing to clear.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An execution space that imposes [`Dirichlet`] conditions.
pub trait Boundary: ExecutionSpace {
    /// Lists what the fixed nodes clear, as [`Dirichlet::new`].
    ///
    /// # Errors
    /// Those of [`Dirichlet::new`].
    fn dirichlet(&self, graph: &CrsGraph<Self::Memory>, fixed: &Slice<Self, u8>) -> Result<Dirichlet<Self::Memory>>;

    /// Returns the bytes in use while the conditions are listed, those of [`Dirichlet::bytes`] among them.
    fn listing_bytes(sizes: &Sizes) -> u64;

    /// Clears what is listed of a matrix's values and of a residual, as [`Dirichlet::apply`].
    ///
    /// # Errors
    /// Those of [`Dirichlet::apply`].
    fn apply_dirichlet(
        &self,
        conditions: &Dirichlet<Self::Memory>,
        values: &mut Slice<Self, f64>,
        residual: &mut Slice<Self, f64>,
    ) -> Result<()>;

    /// Clears the fixed items of a vector alone.
    ///
    /// # Errors
    /// Those of [`Dirichlet::apply`].
    fn clear_fixed(&self, conditions: &Dirichlet<Self::Memory>, vector: &mut Slice<Self, f64>) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};
    use std::sync::Arc;

    #[test]
    fn rows_and_columns_vanish_and_the_diagonal_stays() {
        let graph = Arc::new(CrsGraph::new(vec![0, 4, 8, 12], vec![0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], 4).unwrap());
        let mut matrix = CrsMatrix::new(graph.clone(), (1..=12).map(f64::from).collect()).unwrap();
        let mut residual = vec![1.0, 2.0, 3.0, 4.0];
        let fixed = vec![0, 1, 0, 255];
        let conditions = Dirichlet::new(&Threads::new(2).unwrap(), &graph, &fixed).unwrap();
        conditions.apply(&Serial, &mut matrix, &mut residual).unwrap();
        assert_eq!(matrix.values(), &[1.0, 0.0, 3.0, 0.0, 0.0, 6.0, 0.0, 0.0, 9.0, 0.0, 11.0, 0.0]);
        assert_eq!(residual, [1.0, 0.0, 3.0, 4.0]);
        assert!(Dirichlet::new(&Serial, &graph, &fixed[1..]).is_err());
        let refused = conditions.apply(&Serial, &mut matrix, &mut [1.0; 2]).unwrap_err().to_string();
        assert!(refused.contains("`residual`"), "{refused}");
        let tall = CrsGraph::new(vec![0, 1, 1, 1], vec![0], 1).unwrap();
        let refused = Dirichlet::new(&Serial, &tall, &[1]).unwrap_err().to_string();
        assert!(refused.contains("graph (columns)"), "{refused}");
    }

    /// K u = b with K = tridiag(-1, 2, -1): the fixed end values are the ends of a straight line.
    #[test]
    fn imposed_values_are_moved_to_the_right_side() {
        let entries = vec![0, 1, 0, 1, 2, 1, 2, 3, 2, 3];
        let graph = Arc::new(CrsGraph::new(vec![0, 2, 5, 8, 10], entries, 4).unwrap());
        let values = vec![1.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 1.0];
        let mut matrix = CrsMatrix::new(graph.clone(), values.clone()).unwrap();
        let mut rhs = vec![5.0, 0.0, 0.5, 5.0];
        let conditions = Dirichlet::new(&Serial, &graph, &[1, 0, 0, 1]).unwrap();
        conditions.apply_with(&Serial, &mut matrix, &mut rhs, &[7.0, f64::NAN, f64::NAN, 4.0]).unwrap();
        assert_eq!(matrix.values(), &[1.0, 0.0, 0.0, 2.0, -1.0, -1.0, 2.0, 0.0, 0.0, 1.0]);
        assert_eq!(rhs, [7.0, 7.0, 4.5, 4.0]);
        // By hand: 2 u1 - u2 = 7, 2 u2 - u1 = 4.5.
        let u = [7.0, 18.5 / 3.0, 16.0 / 3.0, 4.0];
        assert!((2.0 * u[1] - u[2] - rhs[1]).abs() < 1e-14 && (2.0 * u[2] - u[1] - rhs[2]).abs() < 1e-14);

        let mut matrix = CrsMatrix::new(graph.clone(), values).unwrap();
        let mut refused = |rhs: usize, values: usize| {
            let given = conditions.apply_with(&Serial, &mut matrix, &mut vec![1.0; rhs], &vec![0.0; values]);
            given.unwrap_err().to_string()
        };
        assert!(refused(3, 4).contains("`rhs`") && refused(4, 5).contains("`values`"));
        let no_diagonal = Arc::new(CrsGraph::new(vec![0, 1, 2], vec![1, 1], 2).unwrap());
        let conditions = Dirichlet::new(&Serial, &no_diagonal, &[1, 0]).unwrap();
        let mut matrix = CrsMatrix::new(no_diagonal, vec![3.0, 4.0]).unwrap();
        let mut rhs = vec![1.0, 2.0];
        let refused = conditions.apply_with(&Serial, &mut matrix, &mut rhs, &[1.0; 2]).unwrap_err().to_string();
        assert!(refused.contains("row 0 is fixed and has no diagonal entry"), "{refused}");
        assert_eq!((matrix.values(), &rhs), (&vec![3.0, 4.0], &vec![1.0, 2.0]));
        let diagonal = Arc::new(CrsGraph::new(vec![0, 1, 2], vec![0, 1], 2).unwrap());
        let conditions = Dirichlet::new(&Serial, &diagonal, &[1, 0]).unwrap();
        for value in [0.0, f64::NAN] {
            let mut matrix = CrsMatrix::new(diagonal.clone(), vec![value, 4.0]).unwrap();
            let refused = conditions.apply_with(&Serial, &mut matrix, &mut rhs, &[1.0; 2]).unwrap_err().to_string();
            assert!(refused.contains(&format!("row 0 is fixed and its diagonal entry is {value}")), "{refused}");
            assert_eq!((matrix.values()[1], &rhs), (4.0, &vec![1.0, 2.0]));
        }
        // Any other number will do.
        let mut matrix = CrsMatrix::new(diagonal, vec![-2.0, 4.0]).unwrap();
        conditions.apply_with(&Serial, &mut matrix, &mut rhs, &[3.0, f64::NAN]).unwrap();
        assert_eq!(rhs, [-6.0, 2.0]);
    }

    /// More than two chunks of rows, with fixed rows at the ends of chunks, against the definition.
    #[test]
    fn conditions_equal_their_definition_above_one_chunk() {
        const ROWS: usize = 9000;
        const COLUMNS: usize = ROWS + 50;
        let (mut row_map, mut entries) = (vec![0], vec![]);
        for row in 0..ROWS {
            let mut columns = vec![row, (row + 1) % ROWS, (row * 7 + 3) % ROWS, ROWS + row % 50];
            columns.sort_unstable();
            columns.dedup();
            entries.extend(columns.into_iter().map(|column| column as u32));
            row_map.push(entries.len() as u64);
        }
        let graph = Arc::new(CrsGraph::new(row_map.clone(), entries.clone(), COLUMNS).unwrap());
        let every_third = (0..COLUMNS).map(|node| u8::from(node % 3 == 0)).collect();
        let at_ends = (0..COLUMNS).map(|node| u8::from([4095, 4096, 8191, 8192, 8999].contains(&node))).collect();
        let ghosts = (0..COLUMNS).map(|node| u8::from(node >= ROWS)).collect();
        // The first columns of rows 4096 and 8192, with which chunks begin.
        let first_columns = (0..COLUMNS).map(|node| u8::from([1675, 3347].contains(&node))).collect();
        for fixed in [every_third, at_ends, ghosts, first_columns, vec![1; COLUMNS], vec![0; COLUMNS]] {
            let (mut values, mut residual) = (vec![], vec![]);
            let mut written = 0;
            for row in 0..ROWS {
                for at in row_map[row] as usize..row_map[row + 1] as usize {
                    let column = entries[at] as usize;
                    let cleared = column != row && (fixed[row] != 0 || fixed[column] != 0);
                    written += usize::from(cleared);
                    values.push(if cleared { 0.0 } else { 1.0 + at as f64 });
                }
                written += usize::from(fixed[row] != 0);
                residual.push(if fixed[row] != 0 { 0.0 } else { 1.0 + row as f64 });
            }
            for threads in [1, 3] {
                let space = Threads::new(threads).unwrap();
                let assembled = (0..entries.len()).map(|at| 1.0 + at as f64).collect();
                let mut matrix = CrsMatrix::new(graph.clone(), assembled).unwrap();
                let mut found: Vec<f64> = (0..ROWS).map(|row| 1.0 + row as f64).collect();
                let conditions = Dirichlet::new(&space, &graph, &fixed).unwrap();
                assert_eq!((conditions.len(), conditions.is_empty()), (written, written == 0));
                conditions.apply(&space, &mut matrix, &mut found).unwrap();
                assert!(*matrix.values() == values && found == residual, "{threads} threads");

                // Whole numbers, so that the order of the sums does not matter.
                let imposed = |node: usize| (node % 13) as f64 - 6.0;
                let given: Vec<f64> =
                    (0..COLUMNS).map(|node| if fixed[node] != 0 { imposed(node) } else { f64::NAN }).collect();
                let assembled = |at: usize| 1.0 + at as f64;
                let mut lifted: Vec<f64> = (0..ROWS).map(|row| 1.0 + row as f64).collect();
                let mut matrix = CrsMatrix::new(graph.clone(), (0..entries.len()).map(assembled).collect()).unwrap();
                conditions.apply_with(&space, &mut matrix, &mut lifted, &given).unwrap();
                assert!(*matrix.values() == values, "{threads} threads");
                for row in 0..ROWS {
                    let in_row = row_map[row] as usize..row_map[row + 1] as usize;
                    let sum = |of: &dyn Fn(usize) -> bool| -> f64 {
                        let listed = in_row.clone().filter(|&at| of(entries[at] as usize));
                        listed.map(|at| assembled(at) * imposed(entries[at] as usize)).sum()
                    };
                    let expected = match fixed[row] {
                        0 => 1.0 + row as f64 - sum(&|column| fixed[column] != 0),
                        _ => sum(&|column| column == row),
                    };
                    assert_eq!(lifted[row], expected, "{threads} threads, row {row}");
                }
            }
        }
    }
}
