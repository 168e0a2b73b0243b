//! Preconditioners of CG by name.

use crate::space::named_choice;

/// The preconditioner of the linear solves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preconditioning {
    /// None: plain CG.
    #[default]
    None,
    /// The diagonal of the matrix.
    Jacobi,
    /// A polynomial of the matrix scaled by its diagonal.
    Chebyshev,
    /// A multigrid V-cycle over coarser boxes.
    Multigrid,
}

impl Preconditioning {
    /// All with their names.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::None, "none"), (Self::Jacobi, "jacobi"), (Self::Chebyshev, "chebyshev"), (Self::Multigrid, "mg")];
}
named_choice!(Preconditioning, "preconditioner");
