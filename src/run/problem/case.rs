//! A problem on a box: equation, boundary conditions, exact solution, and what its verdict compares.
//!
//! | problem | exact solution | given |
//! |---|---|---|
//! | heat | [`Analytic`] | T at zmin and zmax, with advection on all faces |
//! | poisson, diffusion | [`Wave`] | u on all faces |
//! | elasticity | an amplitude times a wave | u on all faces |
//! | minife | a series, at the node nearest to the centre | u = 1 at xmax, 0 on the other faces |

use super::brick;
use crate::element::equations::{
    AdvectedHeat, AdvectedWave, Heat, Model, ModelEquation, Poisson, Scalar, Wave, WaveDiffusion, WaveElasticity,
};
use crate::element::{Analytic, ElementType};
use crate::mesh::{BoxSpec, Face};
use crate::run::Deck;
use crate::run::deck::ProblemKind;
use std::f64::consts::PI;

/// Angle that the wave passes along each edge of the box, and its phase.
const ANGLES: [f64; 3] = [2.0, 1.5, 1.0];
const PHASE: f64 = 0.3;
/// How the coefficient of diffusion varies: d times the edges.
const VARIATION: [f64; 3] = [0.5, -0.75, 0.25];
/// Displacement of the elastic wave, and Lame's parameters.
const AMPLITUDE: [f64; 3] = [1.0, -0.5, 0.75];
const LAME: [f64; 2] = [1.5, 1.0];

/// A problem on a box.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) struct Case {
    pub kind: ProblemKind,
    pub model: Model,
    /// The exact solution of heat.
    analytic: Option<Analytic>,
    size: [f64; 3],
    /// Whether boundary conditions fix the nodes of all faces, or those of zmin and zmax.
    pub fixes_all_faces: bool,
    /// Temperatures at zmin and zmax where the verdict is by the errors at nodes: of heat on `hex8` without advection.
    at_nodes: Option<[f64; 2]>,
}

impl Case {
    /// Returns the largest h |v| / k along an axis, with k = K of heat, else k >= 1: twice the Peclet number of the elements.
    pub fn advection_ratio(&self, deck: &Deck, spec: &BoxSpec) -> f64 {
        let cells = spec.nodes().map(|nodes| (nodes - 1) as f64);
        let ratios = self.ratios_of_one_cell(deck, spec);
        (0..3).map(|axis| ratios[axis] / cells[axis]).fold(0.0, f64::max)
    }

    /// h |v| / k of a single cell along each axis.
    fn ratios_of_one_cell(&self, deck: &Deck, spec: &BoxSpec) -> [f64; 3] {
        let k = self.heat().map_or(1.0, |heat| heat.conductivity);
        [0, 1, 2].map(|axis| deck.problem.advection[axis].abs() * spec.size()[axis] / k)
    }

    /// Returns the nodes along the edges with which h |v| / k is 2 or less, at least those of the box, for elements of its degree.
    pub fn nodes_for_advection(&self, deck: &Deck, spec: &BoxSpec) -> [u64; 3] {
        let (ratios, degree) = (self.ratios_of_one_cell(deck, spec), deck.mesh.element.degree() as u64);
        [0, 1, 2].map(|axis| {
            let cells = ((ratios[axis] / 2.0).ceil() as u64).div_ceil(degree).saturating_mul(degree);
            cells.saturating_add(1).max(spec.nodes()[axis])
        })
    }

    /// The deck's problem on this box.
    pub fn new(deck: &Deck, spec: &BoxSpec) -> Self {
        let (kind, size) = (deck.problem.kind, spec.size());
        let per_edge = |values: [f64; 3]| [0, 1, 2].map(|axis| values[axis] / size[axis]);
        let (wave, phase, velocity) = (per_edge(ANGLES), PHASE, deck.problem.advection);
        let diffusion = |direction| {
            ModelEquation::Scalar(match deck.has_advection() {
                true => Scalar::Advected(AdvectedWave { direction, velocity, wave, phase }),
                false => Scalar::Wave(WaveDiffusion { direction, wave, phase }),
            })
        };
        let exact = Analytic::new(deck.problem.t_min, deck.problem.t_max, 0.0, size[2]);
        let equation = match kind {
            ProblemKind::Heat => ModelEquation::Scalar(match (exact.heat(), deck.has_advection()) {
                (Heat { conductivity }, true) => {
                    Scalar::AdvectedHeat(AdvectedHeat { conductivity, velocity, profile: exact.profile() })
                }
                (heat, false) => Scalar::Heat(heat),
            }),
            ProblemKind::Poisson => diffusion([0.0; 3]),
            ProblemKind::Diffusion => diffusion(per_edge(VARIATION)),
            ProblemKind::Elasticity => {
                let [lambda, mu] = LAME;
                ModelEquation::Elastic(WaveElasticity { lambda, mu, amplitude: AMPLITUDE, wave, phase })
            }
            ProblemKind::Minife => ModelEquation::Scalar(Scalar::Poisson(Poisson { load: 1.0 })),
        };
        let model = Model { equation, jacobian: deck.fill.jacobian };
        let fixes_all_faces = kind != ProblemKind::Heat || deck.has_advection();
        let is_nodal = !fixes_all_faces && deck.mesh.element == ElementType::Hex8;
        let at_nodes = is_nodal.then_some([deck.problem.t_min, deck.problem.t_max]);
        let analytic = (kind == ProblemKind::Heat).then_some(exact);
        Case { kind, model, analytic, size, fixes_all_faces, at_nodes }
    }

    /// The problem without advection, whose matrix is symmetric positive definite on elements of any size.
    pub fn without_advection(self, deck: &Deck, spec: &BoxSpec) -> Self {
        let mut deck = deck.clone();
        deck.problem.advection = [0.0; 3];
        Case { model: Case::new(&deck, spec).model, ..self }
    }

    /// The exact solution at a point, zero in unused components. For miniFE's brick a series, which takes a millisecond.
    pub fn at(&self, x: [f64; 3]) -> [f64; 3] {
        let value = match (&self.analytic, self.model.equation) {
            (Some(exact), _) => exact.at(x[2]),
            (None, ModelEquation::Elastic(equation)) => return equation.exact(x),
            (
                None,
                ModelEquation::Scalar(
                    Scalar::Wave(WaveDiffusion { wave: direction, phase, .. })
                    | Scalar::Advected(AdvectedWave { wave: direction, phase, .. }),
                ),
            ) => Wave { direction, phase }.at(x),
            (None, ModelEquation::Scalar(_)) => brick::at(x),
        };
        [value, 0.0, 0.0]
    }

    /// The exact solution whose bound the errors at the nodes have to keep; `None` where errors are taken at the cubature points.
    pub fn nodal(&self) -> Option<&Analytic> {
        self.analytic.as_ref().filter(|_| self.at_nodes.is_some())
    }

    /// Returns conductivity and reaction of heat, with or without advection; `None` for other problems.
    pub fn heat(&self) -> Option<Heat> {
        self.analytic.as_ref().map(Analytic::heat)
    }

    /// The faces whose nodes boundary conditions fix.
    pub fn fixed_faces(&self) -> &'static [Face] {
        if self.fixes_all_faces { &Face::ALL } else { &[Face::ZMin, Face::ZMax] }
    }

    /// The values at fixed nodes, if each face has one; 0 on faces that are not listed, later ones override earlier ones on edges.
    pub fn constants(&self) -> Option<Vec<(Face, f64)>> {
        match (self.kind, self.at_nodes) {
            // On the edges of xmax miniFE imposes 1 last.
            (ProblemKind::Minife, _) => Some(vec![(Face::XMax, 1.0)]),
            (_, Some([low, high])) => Some(vec![(Face::ZMin, low), (Face::ZMax, high)]),
            _ => None,
        }
    }

    /// Estimates the algebraic error of a residual norm, relative to `scale` = max|u|, for a number of nodes: ||F|| / lambda /
    /// sqrt(nodes), where lambda is a lower bound of the lowest eigenvalue of the equation times volume / nodes. With u fixed on all
    /// faces, it is pi^2 sum_i size_i^-2 for -laplace, no less for k >= 1 and with a constant velocity, whose term is skew-symmetric,
    /// and mu times that for elasticity (Korn's inequality).
    pub fn algebraic_error(&self, residual: f64, scale: f64, nodes: f64) -> f64 {
        let volume: f64 = self.size.iter().product();
        if let Some(exact) = &self.analytic {
            return exact.algebraic_error(residual, self.size[2], volume, nodes);
        }
        let mu = if self.kind == ProblemKind::Elasticity { LAME[1] } else { 1.0 };
        let lambda = mu * self.size.iter().map(|edge| (PI / edge).powi(2)).sum::<f64>() * volume / nodes;
        residual / lambda / nodes.sqrt() / scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::CoordinateMap;

    fn case(kind: ProblemKind, size: [f64; 3]) -> Case {
        let mut deck = Deck::default();
        deck.problem.kind = kind;
        Case::new(&deck, &BoxSpec::new([5; 3], size, CoordinateMap::None).unwrap())
    }

    #[test]
    fn solutions_scale_with_the_box() {
        for kind in [ProblemKind::Poisson, ProblemKind::Diffusion, ProblemKind::Elasticity] {
            let (unit, long) = (case(kind, [1.0; 3]), case(kind, [4.0, 0.5, 2.0]));
            assert!(
                unit.at([0.25, 0.5, 0.75]).iter().zip(long.at([1.0, 0.25, 1.5])).all(|(a, b)| (a - b).abs() < 1e-15)
            );
        }
    }

    #[test]
    fn conditions_are_those_of_the_table() {
        let (heat, brick) = (case(ProblemKind::Heat, [1.0; 3]), case(ProblemKind::Minife, [1.0; 3]));
        assert_eq!((heat.fixed_faces(), brick.fixed_faces()), (&[Face::ZMin, Face::ZMax][..], &Face::ALL[..]));
        assert!((heat.at([0.0, 0.5, 1.0])[0] - 2.0).abs() < 1e-14);
        assert_eq!(heat.constants(), Some(vec![(Face::ZMin, 1.0), (Face::ZMax, 2.0)]));
        assert_eq!(brick.constants(), Some(vec![(Face::XMax, 1.0)]));
        assert_eq!(case(ProblemKind::Poisson, [1.0; 3]).constants(), None);
        let mut deck = Deck::default();
        deck.problem.advection = [1.0, 0.0, 2.0];
        let advected = Case::new(&deck, &BoxSpec::unit([5; 3], CoordinateMap::None).unwrap());
        assert!(advected.fixes_all_faces && advected.constants().is_none() && advected.nodal().is_none());
    }

    /// The residual of the lowest mode of -laplace on the box, times volume / nodes.
    #[test]
    fn the_algebraic_error_of_the_lowest_mode_is_exact() {
        let (poisson, nodes, norm) = (case(ProblemKind::Poisson, [1.0, 2.0, 0.5]), 1000.0, 1e-6);
        let lambda = PI * PI * (1.0 + 0.25 + 4.0) * 1.0 / nodes;
        let found = poisson.algebraic_error(lambda * norm, 2.0, nodes);
        assert!((found / (norm / nodes.sqrt() / 2.0) - 1.0).abs() < 1e-12);
        // Lame's mu is 1.
        assert_eq!(case(ProblemKind::Elasticity, [1.0, 2.0, 0.5]).algebraic_error(lambda * norm, 2.0, nodes), found);
    }
}
