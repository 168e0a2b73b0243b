//! The problems that a deck chooses from.

use crate::space::named_choice;

/// A problem with its boundary conditions and the solution that it is verified against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProblemKind {
    /// -K laplace(T) + T^2 = 0, T given at zmin and zmax.
    #[default]
    Heat,
    /// -laplace(u) = f, u given on all faces.
    Poisson,
    /// -div(k grad u) = f with a coefficient that varies, u given on all faces.
    Diffusion,
    /// Linear elasticity, displacements given on all faces.
    Elasticity,
    /// miniFE's brick: -laplace(u) = 1, u = 1 at xmax and 0 on the other faces, 200 iterations of CG.
    Minife,
}

impl ProblemKind {
    /// All problems with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (ProblemKind::Heat, "heat"),
        (ProblemKind::Poisson, "poisson"),
        (ProblemKind::Diffusion, "diffusion"),
        (ProblemKind::Elasticity, "elasticity"),
        (ProblemKind::Minife, "minife"),
    ];

    /// Returns the equation as text.
    pub const fn equation(self) -> &'static str {
        match self {
            ProblemKind::Heat => "-K laplace(T) + T^2 = 0",
            ProblemKind::Poisson => "-laplace(u) = f",
            ProblemKind::Diffusion => "-div(k(x) grad u) = f",
            ProblemKind::Elasticity => "-div(lambda tr(eps) I + 2 mu eps) = f",
            ProblemKind::Minife => "-laplace(u) = 1",
        }
    }

    /// Returns whether one linear solve gives the solution.
    pub const fn is_linear(self) -> bool {
        !matches!(self, ProblemKind::Heat)
    }

    /// Returns the number of unknowns per node.
    pub const fn dofs(self) -> usize {
        if matches!(self, ProblemKind::Elasticity) { 3 } else { 1 }
    }
}

named_choice!(ProblemKind, "problem");
