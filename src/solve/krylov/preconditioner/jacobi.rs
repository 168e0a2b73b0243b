//! The diagonal of the matrix, or its diagonal blocks, as a preconditioner.

use super::Preconditioner;
use crate::Result;
use crate::blas::Blas;
use crate::space::{ExecutionSpace, Slice};
use crate::sparse::{CrsMatrix, MatrixOf, Spmv, inverse_of_blocks, inverse_of_diagonal};

/// Jacobi preconditioner: z_i = r_i / a_ii over the owned unknowns, on every space. It helps where the rows of a matrix differ in
/// scale, and is exact for diagonal matrices.
///
/// M^-1 is stored as a matrix with one entry per row: 20 bytes per row; an application reads 28 and writes 8. A rank needs its own
/// rows only, so that several ranks give the same iterations as one but for the rounding of sums.
///
/// ```
/// use minifenl::comm::Solo;
/// use minifenl::solve::{CgParams, CgWorkspace, Jacobi, LinearSystem, cg};
/// use minifenl::sparse::{CrsGraph, CrsMatrix};
/// use minifenl::space::Serial;
/// use std::sync::Arc;
///
/// // [ 2   -1 ]       [   1 ]
/// // [-1  1e8 ]  x  = [ 1e8 ]
/// let graph = CrsGraph::new(vec![0, 2, 4], vec![0, 1, 0, 1], 2)?;
/// let a = CrsMatrix::new(Arc::new(graph), vec![2.0, -1.0, -1.0, 1e8])?;
/// let (mut work, mut x, b) = (CgWorkspace::new(&Serial, 2, 2)?, vec![0.0; 2], vec![1.0, 1e8]);
/// let preconditioner = &mut Jacobi::new(&Serial, &a.diagonal()?)?;
/// let mut system = LinearSystem { operator: &a, preconditioner, comm: &Solo, rhs: &b[..] };
/// let params = CgParams::new(1e-12, 2);
/// cg(&Serial, &mut system, &mut x, params, &mut work, &mut |_, _| Ok(()))?;
/// assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-7), "{x:?}");
/// # Ok::<(), minifenl::Error>(())
/// ```
#[derive(Debug)]
pub struct Jacobi<S: ExecutionSpace> {
    inverse: MatrixOf<S>,
}

impl<S: ExecutionSpace> Jacobi<S> {
    /// Makes the preconditioner from the diagonal of the owned rows, such as [`CrsMatrix::diagonal`].
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) naming the first row whose diagonal entry is not positive, or whose inverse is not
    /// finite; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(space: &S, diagonal: &[f64]) -> Result<Self> {
        Ok(Jacobi { inverse: inverse_of_diagonal(diagonal)?.upload(space)? })
    }

    /// Makes the preconditioner from the diagonal blocks of `dofs` rows, those of a node with `dofs` unknowns: z = (inverse of the block) r.
    /// Stores 12 `dofs` + 8 bytes per row. The matrix is in the memory of the host; ghost columns are ignored.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) unless `dofs` divides the rows, and naming the first block that is singular;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn of_blocks(space: &S, matrix: &CrsMatrix, dofs: usize) -> Result<Self> {
        Ok(Jacobi { inverse: inverse_of_blocks(matrix, dofs)?.upload(space)? })
    }
}

impl<S: Blas + Spmv<f64>> Preconditioner<S> for Jacobi<S> {
    fn apply(&mut self, space: &S, n: usize, r: &Slice<S, f64>, z: &mut Slice<S, f64>) -> Result<()> {
        crate::error::check_length("Jacobi", "diagonal", self.inverse.graph().rows(), n)?;
        space.spmv(&self.inverse, r, z)
    }
}
