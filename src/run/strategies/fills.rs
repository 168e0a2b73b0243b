//! All strategies of the assembly with all element kernels, on the same graph and in CRS.

use super::compared::{Compared, Promise};
use super::study::{Rounds, Study, TOLERANCE, difference, same_bits, waves};
use crate::Result;
use crate::comm::agree;
use crate::element::ElementType;
use crate::element::equations::{Heat, Jacobian, Model, ModelEquation, Scalar};
use crate::fill::{FieldOn, Kernel, StoredSystem, Strategy};
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

/// The result of an assembly: values, then the residual.
fn numbers<S: Job>(space: &S, system: &mut StoredSystem<S>, residual: &Array<S, f64>) -> Result<[Vec<f64>; 2]> {
    Ok([space.download(S::values_mut(&mut system.matrix))?, space.download(residual)?])
}

pub(super) fn measure<S: Job>(study: &Study<'_, S>) -> Result<Vec<Compared>> {
    let mut reference: Option<[Vec<f64>; 2]> = None;
    let mut all = Vec::new();
    for (strategy, strategy_name) in Strategy::ALL {
        for (kernel, kernel_name) in Kernel::ALL {
            let choices = Choices { fill: strategy, kernel, ..study.papers };
            study.fits(&choices)?;
            let measured = rounds(study, strategy, kernel, &mut reference)?;
            let name = ("fill", format!("{strategy_name}, {kernel_name}"));
            let is_seeds = (strategy, kernel) == (study.papers.fill, study.papers.kernel);
            let promise = if strategy == Strategy::Scatter { Promise::AnyOrder } else { Promise::SameBits };
            all.push(study.compared(name, is_seeds, &choices, (TOLERANCE, promise), measured)?);
        }
    }
    Ok(Compared::with_ratios(all))
}

fn rounds<S: Job>(
    study: &Study<'_, S>,
    strategy: Strategy,
    kernel: Kernel,
    reference: &mut Option<[Vec<f64>; 2]>,
) -> Result<Option<Rounds>> {
    let &Study { space, mesh, comm, .. } = study;
    let prepared = system(study, strategy, Format::Crs.into()).and_then(|system| {
        let assembly = space.assembly(strategy, kernel, &HEAT, elements(study), &system)?;
        Ok((system, assembly, space.upload(&waves(study))?, space.zeros(mesh.map.owned_count())?))
    });
    let Some((mut system, mut assembly, temperature, mut residual)) = study.offered(prepared)? else { return Ok(None) };
    let mut assemble = |system: &mut StoredSystem<S>, residual: &mut Array<S, f64>| {
        let (node_coord, temperature) = (S::Memory::slice(&mesh.node_coord), S::Memory::slice(&temperature));
        study.timed(|| space.assemble(&mut assembly, node_coord, temperature, system, S::Memory::slice_mut(residual)))
    };
    // Warms up.
    assemble(&mut system, &mut residual)?;
    let first = agree(comm, numbers(space, &mut system, &residual))?;
    let mut seconds = Vec::new();
    for _ in 0..study.rounds {
        seconds.push(assemble(&mut system, &mut residual)?.0);
    }
    let last = agree(comm, numbers(space, &mut system, &residual))?;
    let is_repeatable = first.iter().zip(&last).all(|(first, last)| same_bits(first, last));
    let expected = reference.get_or_insert(first);
    let largest = last.iter().zip(&*expected).map(|(found, expected)| difference(found, expected));
    Ok(Some(Rounds { seconds, difference: largest.fold(0.0, larger), is_repeatable }))
}

/// The larger number; NaN if one is NaN.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}
