//! What a deck means for problem, element and operator: its element kernel, its numbers of nodes and iterations.

use super::{Choice, Deck, Forcing, Operator, Preconditioning, Preset, ProblemKind, RowLanes, Solver};
use crate::element::ElementType;
use crate::element::equations::Jacobian;
use crate::fill::{Assemble, AssemblyChoice, Kernel, Strategy, Workset};
use crate::graph;
use crate::solve::CgVariant;
use crate::space::Scan;
use crate::sparse::Format;

/// Iterations of miniFE's CG.
pub(super) const MINIFE_ITERATIONS: usize = 200;

impl Deck {
    /// Whether the gallery has a fused element kernel for the run. That of heat on `hex8` has derivatives by hand and no advection.
    pub fn has_fused_kernel(&self) -> bool {
        let of_heat = self.problem.kind == ProblemKind::Heat && self.mesh.element == ElementType::Hex8;
        of_heat && self.fill.jacobian == Jacobian::Analytic && !self.has_advection()
    }

    /// Problem, element, advection and derivatives, for messages.
    pub(in crate::run) fn described(&self) -> String {
        let mut of_problem = format!("{} on {}", self.problem.kind, self.mesh.element);
        if self.has_advection() {
            let [x, y, z] = self.problem.advection;
            of_problem += &format!(" with advection {x},{y},{z}");
        }
        match self.fill.jacobian {
            Jacobian::Analytic => of_problem,
            jacobian => format!("{of_problem} with fill.jacobian (--jacobian) {jacobian}"),
        }
    }

    /// Returns the element kernel of the run. Unless the deck gives one, it is the fastest that the problem has.
    pub fn element_kernel(&self) -> Kernel {
        self.fill.kernel.or(if self.has_fused_kernel() { Kernel::Fused } else { Kernel::Table })
    }

    /// Returns the residual norm that a linear solve reaches, relative to the right-hand side. Unless the deck gives one, it is 1e-8, or
    /// 1e-11 for elements of degree 2, whose errors are smaller.
    pub fn cg_tolerance(&self) -> f64 {
        self.cg.tolerance.unwrap_or(if self.is_quadratic() { 1e-11 } else { 1e-8 })
    }

    /// Returns the residual norm that Newton's method reaches on a box, relative to the first. Unless the deck gives one, it is 1e-8, times
    /// (384 / N)^3.5 on N > 384 nodes along an edge: the error of the mesh falls as N^-2, and the error that a residual of the same norm
    /// leaves grows as N^1.5.
    pub fn newton_tolerance(&self, nodes: [u64; 3]) -> f64 {
        let longest = nodes.into_iter().max().unwrap_or(0).max(384) as f64;
        self.newton.tolerance.unwrap_or(1e-8 * (384.0 / longest).powf(3.5))
    }

    /// Whether elements have nodes at half cells.
    fn is_quadratic(&self) -> bool {
        self.mesh.element.degree() > 1
    }

    /// Returns the iterations of each linear solve, where their number is given. The deck gives it, or miniFE's convention unless the deck
    /// gives a tolerance.
    pub fn cg_iterations(&self) -> Option<usize> {
        let has_convention = self.problem.kind == ProblemKind::Minife && self.cg.tolerance.is_none();
        let convention = has_convention.then_some(MINIFE_ITERATIONS);
        self.cg.iterations.or(convention)
    }

    /// Returns the nodes along an edge where the deck gives none. They are 64, or 65 for elements with nodes at half cells.
    pub fn default_nodes(&self) -> u64 {
        if self.is_quadratic() { 65 } else { 64 }
    }

    /// The worksets of kernel `intrepid`.
    pub fn workset(&self) -> Workset {
        Workset { cells: self.fill.workset, layout: self.fill.layout.given(), variant: self.fill.variant }
    }

    /// Strategy and element kernel of the assembly on a space.
    pub(in crate::run) fn assembly<S: Assemble>(&self) -> AssemblyChoice {
        let strategy = Some(self.fill.strategy.or(S::STRATEGY));
        AssemblyChoice { strategy, kernel: self.element_kernel(), workset: self.workset() }
    }

    /// Returns the deck with the algorithms of its preset in place of `auto`. Of the preset `papers` a deterministic run gathers instead
    /// of adding atomically.
    pub(in crate::run) fn resolved(&self) -> Deck {
        let mut deck = self.clone();
        if deck.run.preset == Preset::Fast || !deck.has_matrix() {
            return deck;
        }
        let strategy = if deck.run.deterministic { Strategy::Gather } else { Strategy::Scatter };
        deck.graph.strategy = Choice::Given(deck.graph.strategy.or(graph::Strategy::Map));
        if deck.graph.scan == Scan::Auto {
            deck.graph.scan = Scan::Parallel;
        }
        deck.fill.strategy = Choice::Given(deck.fill.strategy.or(strategy));
        deck.fill.kernel = Choice::Given(deck.fill.kernel.or(Kernel::Intrepid));
        deck.matrix.format = Choice::Given(deck.matrix.format.or(Format::Crs));
        if deck.solver() == Solver::Cg {
            deck.cg.variant = Choice::Given(deck.cg.variant.or(CgVariant::Classic));
        }
        deck.cg.preconditioner = Choice::Given(deck.cg.preconditioner.or_default());
        deck.newton.forcing = Choice::Given(deck.newton.forcing.or_default());
        if deck.matrix.lanes == RowLanes::Auto {
            deck.matrix.lanes = RowLanes::Warp;
        }
        deck
    }

    /// Whether the equation has a term v . grad u, and a matrix that is not symmetric.
    pub fn has_advection(&self) -> bool {
        self.problem.advection != [0.0; 3]
    }

    /// Returns the Krylov method of the linear solves. Unless the deck gives one, it is CG where the matrix is symmetric.
    pub fn solver(&self) -> Solver {
        self.cg.solver.or(if self.has_advection() { Solver::Gmres } else { Solver::Cg })
    }

    /// The preconditioner of the linear solves.
    pub fn preconditioning(&self) -> Preconditioning {
        self.cg.preconditioner.or_default()
    }

    /// Whether Newton's method solves for each step only as far as it can use. It does not for a linear problem, whose one step is the
    /// solution, nor for a given number of iterations.
    pub fn is_inexact(&self) -> bool {
        let suited = if self.preconditioning().has_levels() { Forcing::Adaptive } else { Forcing::Fixed };
        let is_given = self.problem.kind.is_linear() || self.cg_iterations().is_some();
        !is_given && self.newton.forcing.or(suited) == Forcing::Adaptive
    }

    /// Whether a run stores a matrix.
    pub fn has_matrix(&self) -> bool {
        self.cg.operator == Operator::Assembled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_matrix_are_refused_without_one() {
        use crate::contraction::Variant;
        use crate::space::Layout;
        use crate::sparse::Precision;
        let mut deck = Deck::default();
        deck.cg.operator = Operator::MatrixFree;
        deck.check().unwrap();
        let refused = |change: &dyn Fn(&mut Deck), part: &str| {
            let mut deck = deck.clone();
            change(&mut deck);
            let message = deck.check().unwrap_err().to_string();
            assert!(
                message.starts_with("cg.operator (--operator): matrix-free: ") && message.contains(part),
                "{message}"
            );
            deck.cg.operator = Operator::Assembled;
            deck.check().unwrap();
        };
        refused(&|deck| deck.matrix.format = Choice::Given(Format::Pattern), "matrix.format (--format) is pattern");
        refused(&|deck| deck.matrix.values = Precision::F32, "matrix.values (--matrix) is f32");
        refused(&|deck| deck.fill.kernel = Choice::Given(Kernel::Fused), "fill.kernel (--kernel) is fused");
        refused(&|deck| deck.graph.strategy = Choice::Given(graph::Strategy::Map), "graph.strategy (--graph) is map");
        refused(&|deck| deck.graph.scan = Scan::Serial, "graph.scan (--scan) is serial");
        refused(&|deck| deck.fill.workset = Some(64), "fill.workset (--workset) is 64");
        refused(&|deck| deck.fill.layout = Choice::Given(Layout::Left), "fill.layout (--layout) is left");
        refused(&|deck| deck.fill.variant = Variant::Flat, "fill.variant (--variant) is flat");
    }
}
