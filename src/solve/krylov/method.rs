//! Krylov methods by name.

/// Method of a linear solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Conjugate gradients: for symmetric positive definite matrices, or semidefinite ones with a [`NullSpace`](crate::solve::NullSpace).
    #[default]
    Cg,
    /// Restarted GMRES: for any matrix. Keeps `restart` + 2 vectors; 30 is usual.
    Gmres {
        /// Iterations between restarts: 1 to 4096, other numbers count as the nearest of these.
        restart: usize,
    },
    /// BiCGStab: for any matrix, with 6 vectors and two products per iteration; less robust than GMRES.
    BiCgStab,
    /// MINRES: for symmetric matrices, definite or not, with a symmetric positive definite preconditioner; 8 vectors. Singular systems that
    /// have a solution are solved.
    MinRes,
}

impl Method {
    /// Number of vectors that its workspace has beside M^-1 v; 0 for CG, which has a workspace of its own.
    pub(in crate::solve) fn vectors(self) -> usize {
        match self {
            Method::Cg => 0,
            Method::Gmres { restart } => restart + 1,
            Method::BiCgStab => 5,
            Method::MinRes => 7,
        }
    }

    /// Returns the bytes of its workspace for these numbers of owned and of all unknowns.
    #[cfg(feature = "cli")]
    pub(crate) fn bytes(self, rows: u64, columns: u64) -> u64 {
        if self == Method::Cg { 0 } else { 8 * (self.vectors() as u64 * rows + columns) }
    }
}
