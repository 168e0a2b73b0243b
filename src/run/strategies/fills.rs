//! All strategies of the assembly with all element kernels, on the same graph and in CRS.

use super::compared::{Compared, Promise};
use super::study::{Study, TOLERANCE, largest_difference, waves};
use crate::Result;
use crate::element::ElementType;
use crate::element::equations::{Heat, Jacobian, Model, ModelEquation, Scalar};
use crate::fill::{AssemblyChoice, FieldOn, Kernel, StoredSystem, Strategy, Workset};
use crate::graph;
use crate::mesh::Face;
use crate::run::Job;
use crate::run::forecast::Choices;
use crate::space::{Array, MemorySpace};
use crate::sparse::{Format, MatrixStorage};

/// The assembled equation.
pub(super) const HEAT: Model =
    Model { equation: ModelEquation::Scalar(Scalar::Heat(Heat::new(2.0))), jacobian: Jacobian::Analytic };

/// The elements of the study.
pub(super) fn elements<'a, S: Job>(study: &Study<'a, S>) -> FieldOn<'a, S::Memory> {
    let mesh = study.mesh;
    FieldOn { element: ElementType::Hex8, elem_node: &mesh.elem_node, node_coord: S::Memory::slice(&mesh.node_coord) }
}

/// Returns a matrix of the mesh in a storage format, for a strategy of the assembly.
pub(super) fn system<S: Job>(
    study: &Study<'_, S>,
    strategy: Strategy,
    storage: MatrixStorage,
) -> Result<StoredSystem<S>> {
    let Study { space, mesh, .. } = study;
    let graph = graph::build(*space, &mesh.elem_node, mesh.map.owned_count(), graph::Strategy::default())?;
    let fixed = space.on_faces(mesh, [Face::ZMin, Face::ZMax])?;
    let conditions = space.dirichlet(&graph.crs, S::Memory::slice(&fixed))?;
    space.stored_system(strategy, storage, graph, conditions)
}

pub(super) fn measure<S: Job>(study: &Study<'_, S>) -> Result<Vec<Compared>> {
    let &Study { space, mesh, .. } = study;
    let (mut reference, mut all) = (None, Vec::new());
    // Scatter with plain additions comes last: what its atomics cost.
    let strategies = Strategy::ALL.map(|(strategy, name)| (Some(strategy), name)).into_iter().chain([(None, "unsafe")]);
    for (given, strategy_name) in strategies {
        for (kernel, kernel_name) in Kernel::ALL {
            let strategy = given.unwrap_or(Strategy::Scatter);
            let choices = Choices { fill: strategy, kernel, ..study.papers };
            let compared = Compared {
                step: "fill",
                name: format!("{strategy_name}, {kernel_name}"),
                is_papers: (given, kernel) == (Some(study.papers.fill), study.papers.kernel),
                tolerance: TOLERANCE,
                promise: match given {
                    None => Promise::Nothing,
                    Some(strategy) if strategy.is_reproducible() => Promise::SameBits,
                    Some(_) => Promise::AnyOrder,
                },
                ..Compared::default()
            };
            let prepare = || {
                let system = system(study, strategy, Format::Crs.into())?;
                let choice = AssemblyChoice { strategy: given, kernel, workset: Workset::default() };
                let assembly = space.assembly(choice, &HEAT, elements(study), &system)?;
                let residual: Array<S, f64> = space.zeros(mesh.map.owned_count())?;
                Ok((system, assembly, space.upload(&waves(study))?, residual))
            };
            let compared = study.measured(
                compared,
                &choices,
                (&mut reference, largest_difference),
                prepare,
                |(system, assembly, temperature, residual)| {
                    let (node_coord, temperature) = (S::Memory::slice(&mesh.node_coord), S::Memory::slice(temperature));
                    space.assemble(assembly, node_coord, temperature, system, S::Memory::slice_mut(residual))
                },
                |(system, _, _, residual), ()| {
                    Ok(vec![space.download(S::crs(&system.matrix)?.values())?, space.download(residual)?])
                },
            );
            all.push(compared?);
        }
    }
    Ok(Compared::with_ratios(all))
}
