//! The workspace of a general method, and its solves.

use super::Solve;
use super::bicgstab::bicgstab;
use super::gmres::gmres;
use super::minres::minres;
use crate::blas::{Blas, Reductions};
use crate::solve::krylov::cg::CgParams;
use crate::solve::krylov::method::Method;
use crate::solve::krylov::{LinearSystem, SolveInfo};
use crate::space::{Array, Slice};
use crate::{Error, Result};

/// The vectors and scalars of a method, allocated before its collective calls.
#[derive(Debug)]
pub(crate) struct KrylovWorkspace<S: Blas> {
    method: Method,
    /// M^-1 v for the product with A: has room for ghosts.
    z: Array<S, f64>,
    sums: Reductions<S>,
    vectors: Vec<Array<S, f64>>,
}

impl<S: Blas> KrylovWorkspace<S> {
    /// Allocates for these numbers of owned and of all unknowns; nothing but scalars for CG, which has a workspace of its own.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub(crate) fn new(space: &S, method: Method, rows: usize, columns: usize) -> Result<Self> {
        let (vectors, columns) = (method.vectors(), if method == Method::Cg { 0 } else { columns });
        // The last slot takes the sum of a product, which no method needs.
        let sums = Reductions::new(space, rows, vectors.max(3) + 1)?;
        let vectors = (0..vectors).map(|_| space.zeros(rows)).collect::<Result<_>>()?;
        Ok(KrylovWorkspace { method, z: space.zeros(columns)?, sums, vectors })
    }

    /// Solves A x = b from the given x by the method of the workspace, which is not CG. A solve that ends with an error after its first sum
    /// leaves its numbers in `stopped`.
    pub(crate) fn solve(
        &mut self,
        space: &S,
        system: &mut LinearSystem<'_, S>,
        x: &mut Slice<S, f64>,
        params: CgParams,
        observe: &mut dyn FnMut(usize, f64) -> Result<()>,
        stopped: &mut Option<SolveInfo>,
    ) -> Result<SolveInfo> {
        let KrylovWorkspace { method, z, sums, vectors } = self;
        let name = match *method {
            Method::Gmres { .. } => "GMRES",
            Method::MinRes => "MINRES",
            Method::BiCgStab | Method::Cg => "BiCGStab",
        };
        let mut solve = Solve { space, system, method: name, x, z, sums, params, info: SolveInfo::default() };
        let solved = match *method {
            Method::Gmres { restart } => gmres(&mut solve, vectors, restart, observe),
            Method::MinRes => minres(&mut solve, vectors, observe),
            Method::BiCgStab | Method::Cg => bicgstab(&mut solve, vectors, observe),
        };
        let is_stopped = solved.as_ref().is_err_and(Error::is_collective) && solve.info.target > 0.0;
        *stopped = is_stopped.then_some(solve.info);
        solved.map(|()| solve.info)
    }
}
