//! What a deck means for problem and element: whether the run is the heat problem on `hex8`, its numbers of nodes and iterations.

use super::{CgDeck, Deck, Nodes, ProblemDeck, ProblemKind};
use crate::element::ElementType;
use crate::{Error, Result};

/// Iterations of miniFE's CG.
const MINIFE_ITERATIONS: usize = 200;

impl Deck {
    /// Whether the run is another one than the heat problem on `hex8`, which has kernels of its own.
    pub fn is_model(&self) -> bool {
        self.problem.kind != ProblemKind::Heat || self.mesh.element != ElementType::Hex8
    }

    /// The iterations of each linear solve, where their number is given: by the deck, or by miniFE's convention unless the deck
    /// gives a tolerance.
    pub fn cg_iterations(&self) -> Option<usize> {
        let by_tolerance = self.cg.tolerance != CgDeck::default().tolerance;
        let convention = (self.problem.kind == ProblemKind::Minife && !by_tolerance).then_some(MINIFE_ITERATIONS);
        self.cg.iterations.or(convention)
    }

    /// Nodes along an edge where the deck gives none: 64, or 65 for elements with nodes at half cells.
    pub fn default_nodes(&self) -> u64 {
        if self.mesh.element.nodes() > 8 { 65 } else { 64 }
    }

    /// Checks that problem and element go together with the other settings.
    pub(super) fn check_model(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::Invalid(what));
        let (element, kind) = (self.mesh.element, self.problem.kind);
        if element.dim() != 3 {
            return refuse(format!(
                "mesh.element (--element): {element}: the box has 3 dimensions; choose one of hex8, hex20, hex27, tet4, tet10, wedge6"
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
        if self.is_model() && self.run.vtk.is_some() {
            return refuse(format!(
                "run.vtk (--vtk): files for VTK hold problem heat on hex8, and this is {kind} on {element}; leave it out"
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
}
