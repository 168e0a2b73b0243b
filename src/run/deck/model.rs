//! What a deck means for problem, element and operator: its element kernel, its numbers of nodes and iterations.

use super::{Choice, Deck, Nodes, Operator, ProblemDeck, ProblemKind};
use crate::element::ElementType;
use crate::element::equations::Jacobian;
use crate::fill::Kernel;
use crate::sparse::Precision;
use crate::{Error, Result};

/// Iterations of miniFE's CG.
const MINIFE_ITERATIONS: usize = 200;

impl Deck {
    /// Whether the gallery of element kernels has a fused one for the run: heat on `hex8` with derivatives by hand.
    pub fn has_fused_kernel(&self) -> bool {
        let of_heat = self.problem.kind == ProblemKind::Heat && self.mesh.element == ElementType::Hex8;
        of_heat && self.fill.jacobian == Jacobian::Analytic
    }

    /// Problem, element and derivatives, for messages.
    pub(in crate::run) fn described(&self) -> String {
        let of_problem = format!("{} on {}", self.problem.kind, self.mesh.element);
        match self.fill.jacobian {
            Jacobian::Analytic => of_problem,
            jacobian => format!("{of_problem} with fill.jacobian (--jacobian) {jacobian}"),
        }
    }

    /// The element kernel of the run: the fastest that the problem has, unless the deck gives one.
    pub fn element_kernel(&self) -> Kernel {
        self.fill.kernel.or(if self.has_fused_kernel() { Kernel::Fused } else { Kernel::Contraction })
    }

    /// The residual norm that a linear solve has to reach, relative to the right-hand side: 1e-8 unless the deck gives one, or 1e-11 for
    /// elements of degree 2, whose errors are smaller.
    pub fn cg_tolerance(&self) -> f64 {
        self.cg.tolerance.unwrap_or(if self.is_quadratic() { 1e-11 } else { 1e-8 })
    }

    /// Whether elements have nodes at half cells.
    fn is_quadratic(&self) -> bool {
        self.mesh.element.degree() > 1
    }

    /// The iterations of each linear solve, where their number is given: by the deck, or by miniFE's convention unless the deck
    /// gives a tolerance.
    pub fn cg_iterations(&self) -> Option<usize> {
        let has_convention = self.problem.kind == ProblemKind::Minife && self.cg.tolerance.is_none();
        let convention = has_convention.then_some(MINIFE_ITERATIONS);
        self.cg.iterations.or(convention)
    }

    /// Nodes along an edge where the deck gives none: 64, or 65 for elements with nodes at half cells.
    pub fn default_nodes(&self) -> u64 {
        if self.is_quadratic() { 65 } else { 64 }
    }

    /// Checks that problem and element go together with the other settings.
    pub(super) fn check_model(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::Invalid(what));
        let (element, kind) = (self.mesh.element, self.problem.kind);
        if element.dim() != 3 {
            let volumes = ElementType::volume_names();
            return refuse(format!(
                "mesh.element (--element): {element}: the box has 3 dimensions; choose one of {volumes}"
            ));
        }
        let default = ProblemDeck::default();
        for (name, value, default) in
            [("t_min", self.problem.t_min, default.t_min), ("t_max", self.problem.t_max, default.t_max)]
        {
            if kind != ProblemKind::Heat && value != default {
                let flag = name.replace('_', "-");
                return refuse(format!(
                    "problem.{name} (--{flag}): {value}: only the problem heat has temperatures, and problem.kind (--problem) is {kind}"
                ));
            }
        }
        if !self.has_fused_kernel() && self.fill.kernel == Choice::Given(Kernel::Fused) {
            return refuse(format!(
                "fill.kernel (--kernel): fused: only problem heat on hex8 has this kernel, and this is {}; give auto or contraction",
                self.described()
            ));
        }
        if kind == ProblemKind::Minife && (self.mesh.size != [1.0; 3] || self.mesh.nodes_per_rank.is_some()) {
            return refuse(
                "problem.kind (--problem): minife: its box is the unit cube; give mesh.nodes (--nodes) and leave out mesh.size (--size)"
                    .into(),
            );
        }
        Ok(())
    }

    /// Checks the nodes of the whole box against the element.
    pub(super) fn check_points(&self, nodes: Nodes) -> Result<()> {
        let element = self.mesh.element;
        let even = nodes.edges().into_iter().find(|edge| edge % 2 == 0).filter(|_| element.nodes() > 8);
        even.map_or(Ok(()), |edge| {
            Err(Error::Invalid(format!(
                "mesh.nodes (--nodes): {edge} nodes along an edge: {element} has nodes at half cells; give odd numbers, such as {}",
                edge + 1
            )))
        })
    }

    /// Whether a run stores a matrix.
    pub fn has_matrix(&self) -> bool {
        self.cg.operator == Operator::Assembled
    }

    /// Refuses settings of a matrix where none is stored.
    pub(super) fn check_operator(&self) -> Result<()> {
        if self.has_matrix() {
            return Ok(());
        }
        let given = [
            ("matrix.format (--format)", self.matrix.format.given().map(|format| format.to_string())),
            (
                "matrix.values (--matrix)",
                Some(self.matrix.values).filter(|&v| v != Precision::F64).map(|v| v.to_string()),
            ),
            ("fill.kernel (--kernel)", self.fill.kernel.given().map(|kernel| kernel.to_string())),
        ];
        match given.into_iter().find_map(|(key, value)| value.map(|value| (key, value))) {
            None => Ok(()),
            Some((key, value)) => Err(Error::Invalid(format!(
                "cg.operator (--operator): matrix-free: {key} is {value}, and no matrix is stored; leave one of them out"
            ))),
        }
    }
}

#[test]
fn settings_of_a_matrix_are_refused_without_one() {
    use crate::sparse::Format;
    let mut deck = Deck::default();
    deck.cg.operator = Operator::MatrixFree;
    deck.check().unwrap();
    let refused = |change: &dyn Fn(&mut Deck), part: &str| {
        let mut deck = deck.clone();
        change(&mut deck);
        let message = deck.check().unwrap_err().to_string();
        assert!(message.starts_with("cg.operator (--operator): matrix-free: ") && message.contains(part), "{message}");
        deck.cg.operator = Operator::Assembled;
        deck.check().unwrap();
    };
    refused(&|deck| deck.matrix.format = Choice::Given(Format::Pattern), "matrix.format (--format) is pattern");
    refused(&|deck| deck.matrix.values = Precision::F32, "matrix.values (--matrix) is f32");
    refused(&|deck| deck.fill.kernel = Choice::Given(Kernel::Fused), "fill.kernel (--kernel) is fused");
}
