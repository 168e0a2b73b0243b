//! Choices of a deck by name: problem, operator, preconditioner, accuracy of linear solves, preset.

use crate::solve::Method;
use crate::space::named_choice;
use std::fmt::Display;

named_choice! { "problem";
    /// A problem with its boundary conditions and the solution that it is verified against.
    #[derive(Default)]
    pub enum ProblemKind {
        /// -K laplace(T) + T^2 = 0, T given at zmin and zmax.
        #[default]
        Heat = "heat",
        /// -laplace(u) = f, or with advection, u given on all faces.
        Poisson = "poisson",
        /// -div(k(x) grad u) = f, or with advection, u given on all faces.
        Diffusion = "diffusion",
        /// Linear elasticity, displacements given on all faces.
        Elasticity = "elasticity",
        /// miniFE's brick: -laplace(u) = 1. u is 1 at xmax and 0 on the other faces; 200 iterations of CG.
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

named_choice! { "operator";
    /// The linear operator of a solve.
    #[derive(Default)]
    pub enum Operator {
        /// A matrix, assembled in each Newton step and stored.
        #[default]
        Assembled = "assembled",
        /// The Jacobian applied by elements: neither graph nor matrix is stored.
        MatrixFree = "matrix-free",
    }
}

named_choice! { "solver";
    /// The Krylov method of the linear solves.
    #[derive(Default)]
    pub enum Solver {
        /// Conjugate gradients.
        #[default]
        Cg = "cg",
        /// GMRES, restarted after 30 iterations.
        Gmres = "gmres",
        /// BiCGStab.
        BiCgStab = "bicgstab",
    }
}

impl Solver {
    /// Returns the name of the method in text.
    pub const fn title(self) -> &'static str {
        match self {
            Solver::Cg => "CG",
            Solver::Gmres => "GMRES",
            Solver::BiCgStab => "BiCGStab",
        }
    }

    /// Describes a solve by method, variant of CG and preconditioner: "CG classic with mg".
    pub(in crate::run) fn described(self, variant: &dyn Display, preconditioner: Preconditioning) -> String {
        let method = if self == Solver::Cg { format!("CG {variant}") } else { self.title().into() };
        match preconditioner {
            Preconditioning::None => method,
            preconditioner => format!("{method} with {preconditioner}"),
        }
    }

    /// Returns the method of a linear solve.
    pub fn method(self) -> Method {
        match self {
            Solver::Cg => Method::Cg,
            Solver::Gmres => Method::Gmres { restart: 30 },
            Solver::BiCgStab => Method::BiCgStab,
        }
    }
}

named_choice! { "preconditioner";
    /// The preconditioner of the linear solves.
    #[derive(Default)]
    pub enum Preconditioning {
        /// None: plain CG.
        #[default]
        None = "none",
        /// The diagonal of the matrix.
        Jacobi = "jacobi",
        /// A polynomial of the matrix scaled by its diagonal.
        Chebyshev = "chebyshev",
        /// Symmetric Gauss-Seidel by colours.
        GaussSeidel = "gauss-seidel",
        /// Incomplete Cholesky factors without fill.
        Cholesky = "ic0",
        /// A multigrid V-cycle over coarser boxes.
        Multigrid = "mg",
        /// A multigrid V-cycle over aggregates of the matrix.
        Algebraic = "amg",
    }
}

impl Preconditioning {
    /// Whether it is a cycle over several levels.
    pub fn has_levels(self) -> bool {
        matches!(self, Preconditioning::Multigrid | Preconditioning::Algebraic)
    }

    /// Whether its set-up reads the matrix in CRS.
    pub fn reads_crs(self) -> bool {
        matches!(self, Preconditioning::Algebraic | Preconditioning::GaussSeidel | Preconditioning::Cholesky)
    }

    /// Whether it exists for symmetric matrices only.
    pub fn needs_symmetry(self) -> bool {
        matches!(self, Preconditioning::Algebraic | Preconditioning::Cholesky)
    }
}

named_choice! { "forcing";
    /// How accurately Newton's method solves for a step.
    #[derive(Default)]
    pub enum Forcing {
        /// To CG's tolerance.
        #[default]
        Fixed = "fixed",
        /// As far as the step can use (Eisenstat and Walker 1996).
        Adaptive = "adaptive",
    }
}

named_choice! { "preset";
    /// Algorithms of the settings that a deck leaves at `auto`.
    #[derive(Default)]
    pub enum Preset {
        /// Those of the papers from which this program comes, as in `inputs/papers.toml`. Node pairs in a concurrent map, a parallel scan,
        /// atomic scatter-add, Intrepid's contractions, CRS, a thread per row on a CPU and a warp per row on a GPU, classic CG.
        #[default]
        Papers = "papers",
        /// The fastest on the device.
        Fast = "fast",
        /// Earlier name of `papers`.
        Seeds = "seeds",
    }
}
