//! Symmetric Gauss-Seidel and incomplete Cholesky factors as preconditioners: a sweep forward and one backward.

use super::Preconditioner;
use crate::comm::Staging;
use crate::error::check_length;
use crate::space::{Array, MemorySpace, Slice, Threads};
use crate::sparse::{CrsGraph, CrsMatrix, Grouping, Sweep, Triangles};
use crate::{Error, Result};
use std::sync::Arc;

/// Which numbers the triangles of [`Sweeps`] have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Matrix,
    Factors,
}

impl Values {
    /// Factors of the rows' own order are better ones, and have hundreds of groups: too many launches for a device.
    fn grouping<S: Sweep>(self) -> Grouping {
        match self {
            Values::Factors if S::SYNCHRONOUS => Grouping::Levels,
            _ => Grouping::Colours,
        }
    }
}

/// z = M^-1 r with M = (D + L) D^-1 (D + L^T): symmetric Gauss-Seidel with the entries of the matrix, or IC(0) with factors on its pattern.
///
/// Rows are taken by the colours of the matrix's graph, on hosts those of factors by the level sets of their own order. A rank needs the entries between its own rows only: on several ranks M is block
/// diagonal. The host prepares the triangles, and a device copies them. Stores 16 bytes per entry and 40 per row; an application moves 12 and
/// 88.
///
/// ```
/// use minifenl::solve::{Options, Sweeps, solve};
/// use minifenl::sparse::{CrsGraph, CrsMatrix};
/// use minifenl::space::Serial;
/// use std::sync::Arc;
///
/// // [ 2 -1  0]       [1]
/// // [-1  2 -1]  x  = [0]
/// // [ 0 -1  2]       [1]
/// let graph = CrsGraph::new(vec![0, 2, 5, 7], vec![0, 1, 0, 1, 2, 1, 2], 3)?;
/// let a = CrsMatrix::new(Arc::new(graph), vec![2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0])?;
/// // A tridiagonal matrix has no fill: its factors are complete.
/// let (mut factors, b, mut x) = (Sweeps::incomplete_cholesky(&Serial, &a)?, vec![1.0, 0.0, 1.0], vec![0.0; 3]);
/// let info = solve(&Serial, &a, &b, &mut x, Options { preconditioner: Some(&mut factors), ..Options::default() })?;
/// assert!(info.iterations == 1 && x.iter().all(|x| (x - 1.0).abs() < 1e-12));
/// # Ok::<(), minifenl::Error>(())
/// ```
#[derive(Debug)]
pub struct Sweeps<S: Sweep> {
    host: Threads,
    values: Values,
    triangles: S::Triangles,
    graph: Arc<CrsGraph>,
    shift: f64,
    work: (u64, u64),
    /// `[place]`
    y: Array<S, f64>,
}

impl<S: Staging + Sweep> Sweeps<S> {
    /// Makes the symmetric Gauss-Seidel preconditioner of a matrix in the memory of the host. M is symmetric if the matrix is.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) naming the first row whose diagonal entry is missing, 0 or not finite;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory); a device's failure.
    pub fn gauss_seidel(space: &S, matrix: &CrsMatrix) -> Result<Self> {
        Self::new(space, matrix, Values::Matrix)
    }

    /// Factorises a matrix in the memory of the host. Where a pivot is not positive, a share of the diagonal is added to it:
    /// [`shift`](Self::shift).
    ///
    /// # Errors
    /// As [`gauss_seidel`](Self::gauss_seidel); [`Error::Invalid`](crate::Error::Invalid) naming an entry that differs from its mirror image,
    /// [`Error::Pivot`](crate::Error::Pivot) if no share helps.
    pub fn incomplete_cholesky(space: &S, matrix: &CrsMatrix) -> Result<Self> {
        Self::new(space, matrix, Values::Factors)
    }

    fn new(space: &S, matrix: &CrsMatrix, values: Values) -> Result<Self> {
        let (host, graph) = (space.host()?, matrix.graph());
        let mut made = Triangles::new(&host, graph, values.grouping::<S>())?;
        let shift = fill(&mut made, &host, matrix, values)?;
        let (work, y) = (made.work(), space.zeros(graph.rows())?);
        Ok(Sweeps { host, values, triangles: space.take_triangles(made)?, graph: graph.clone(), shift, work, y })
    }

    /// Takes other values of the matrix, on the graph that the preconditioner was made for.
    ///
    /// # Errors
    /// Those of the constructors; [`Error::Invalid`](crate::Error::Invalid) for a matrix on another graph.
    pub fn refill(&mut self, space: &S, matrix: &CrsMatrix) -> Result<()> {
        let Sweeps { host, values, triangles, graph, shift, .. } = self;
        let found = matrix.graph();
        let is_equal = || (graph.row_map(), graph.entries()) == (found.row_map(), found.entries());
        if !(found.is_copy_of(graph) || is_equal()) {
            return Err(Error::Invalid(
                "Sweeps::refill: the matrix is on another graph, expected that of the preconditioner".into(),
            ));
        }
        space.refill_triangles(triangles, |triangles| {
            *shift = fill(triangles, host, matrix, *values)?;
            Ok(())
        })
    }

    /// Returns the share of the diagonal that the factorisation added to it to keep pivots positive; 0 in most cases.
    pub fn shift(&self) -> f64 {
        self.shift
    }

    /// Returns the bytes and flops of an application.
    pub fn work(&self) -> (u64, u64) {
        self.work
    }

    /// Returns the bytes for a matrix of so many rows and entries, with those of the set-up.
    pub fn bytes(rows: u64, entries: u64) -> u64 {
        Triangles::bytes(rows, entries)
    }
}

fn fill(triangles: &mut Triangles, host: &Threads, matrix: &CrsMatrix, values: Values) -> Result<f64> {
    match values {
        Values::Matrix => triangles.fill(host, matrix).map(|()| 0.0),
        Values::Factors => triangles.factorise(host, matrix),
    }
}

impl<S: Staging + Sweep> Preconditioner<S> for Sweeps<S> {
    fn is_costly(&self) -> bool {
        true
    }

    fn apply(&mut self, space: &S, n: usize, r: &Slice<S, f64>, z: &mut Slice<S, f64>) -> Result<()> {
        let y = S::Memory::slice_mut(&mut self.y);
        check_length("Sweeps", "rows", S::Memory::len(&*y), n)?;
        space.sweep(&self.triangles, r, y, z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Serial;

    fn matrix(row_map: &[u64], columns: &[u32]) -> CrsMatrix {
        let graph = CrsGraph::new(row_map.to_vec(), columns.to_vec(), 3).unwrap();
        CrsMatrix::new(Arc::new(graph), vec![2.0; columns.len()]).unwrap()
    }

    #[test]
    fn a_matrix_on_another_graph_is_refused() {
        let tridiagonal = || matrix(&[0, 2, 5, 7], &[0, 1, 0, 1, 2, 1, 2]);
        let mut sweeps = Sweeps::gauss_seidel(&Serial, &tridiagonal()).unwrap();
        sweeps.refill(&Serial, &tridiagonal()).unwrap();
        let corners = matrix(&[0, 3, 4, 7], &[0, 1, 2, 1, 0, 1, 2]);
        for other in [matrix(&[0, 1, 2, 3], &[0, 1, 2]), corners] {
            let error = sweeps.refill(&Serial, &other).unwrap_err().to_string();
            assert!(error.contains("on another graph"), "{error}");
        }
    }
}
