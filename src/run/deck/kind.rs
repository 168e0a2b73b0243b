//! The problems that a deck chooses from.

use crate::space::named_choice;

named_choice! { "problem";
    /// A problem with its boundary conditions and the solution that it is verified against.
    #[derive(Default)]
    pub enum ProblemKind {
        /// -K laplace(T) + T^2 = 0, T given at zmin and zmax.
        #[default]
        Heat = "heat",
        /// -laplace(u) = f, u given on all faces.
        Poisson = "poisson",
        /// -div(k grad u) = f with a coefficient that varies, u given on all faces.
        Diffusion = "diffusion",
        /// Linear elasticity, displacements given on all faces.
        Elasticity = "elasticity",
        /// miniFE's brick: -laplace(u) = 1, u = 1 at xmax and 0 on the other faces, 200 iterations of CG.
        Minife = "minife",
    }
}

impl ProblemKind {
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
