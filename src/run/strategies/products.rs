//! Products in all formats and, where threads can share a row, with all numbers of threads. The matrix has no boundary conditions.

use super::compared::Compared;
use super::fills::{HEAT, elements, system};
use super::study::{Study, TOLERANCE, largest_difference, waves};
use crate::Result;
use crate::comm::agree;
use crate::fill::{Kernel, StoredSystem};
use crate::run::Job;
use crate::run::forecast::Choices;
use crate::space::MemorySpace;
use crate::sparse::{Format, Lanes};

pub(super) fn measure<S: Job>(study: &Study<'_, S>) -> Result<Vec<Compared>> {
    let &Study { space, mesh, .. } = study;
    let (mut all, mut expected) = (Vec::new(), None);
    for (format, _) in Format::ALL {
        let choices = Choices { storage: format.into(), ..study.papers };
        let mut system = agree(study.comm, assembled(study, format))?;
        if expected.is_none() {
            expected = Some(vec![agree(study.comm, by_rows(study, &system))?]);
        }
        let lanes: Vec<Option<Lanes>> =
            if S::has_lanes(format) { Lanes::ALL.map(|(lanes, _)| Some(lanes)).into() } else { vec![None] };
        // The warp per row of the papers comes first.
        for lanes in lanes.into_iter().rev() {
            if let Some(lanes) = lanes {
                S::set_lanes(&mut system.matrix, lanes);
            }
            let compared = Compared {
                step: "product",
                name: match lanes {
                    Some(Lanes::Warp) => format!("{format}, warp per row"),
                    Some(lanes) => format!("{format}, {lanes} per row"),
                    None => format.to_string(),
                },
                is_papers: format == study.papers.storage.format && lanes.is_none_or(|lanes| lanes == Lanes::Warp),
                tolerance: TOLERANCE,
                ..Compared::default()
            };
            let matrix = S::operator(&system.matrix);
            let compared = study.measured(
                compared,
                &choices,
                (&mut expected, largest_difference),
                || Ok((space.upload(&waves(study))?, space.zeros(mesh.map.owned_count())?)),
                |(x, y)| matrix.apply(space, S::Memory::slice_mut(x), S::Memory::slice_mut(y)),
                |(_, y), ()| Ok(vec![space.download(y)?]),
            );
            all.push(compared?);
        }
    }
    Ok(Compared::with_ratios(all))
}

/// A matrix with values, ready for products.
fn assembled<S: Job>(study: &Study<'_, S>, format: Format) -> Result<StoredSystem<S>> {
    let &Study { space, mesh, .. } = study;
    let mut system = system(study, S::STRATEGY, format.into())?;
    let mut assembly = space.assembly((S::STRATEGY, Kernel::default()).into(), &HEAT, elements(study), &system)?;
    let (temperature, mut residual) = (space.upload(&waves(study))?, space.zeros(mesh.map.owned_count())?);
    let (node_coord, temperature) = (S::Memory::slice(&mesh.node_coord), S::Memory::slice(&temperature));
    space.assemble(&mut assembly, node_coord, temperature, &mut system, S::Memory::slice_mut(&mut residual))?;
    space.update(&mut system.matrix)?;
    Ok(system)
}

/// y = A x by one thread of the host, row by row, from the arrays of a matrix in CRS.
fn by_rows<S: Job>(study: &Study<'_, S>, system: &StoredSystem<S>) -> Result<Vec<f64>> {
    let (mut copy, x) = (None, waves(study));
    let matrix = study.space.assembled(&system.matrix, &mut copy)?;
    let (graph, values) = (matrix.graph(), matrix.values());
    let row = |row: usize| {
        let entries = graph.row(row).iter().zip(&values[graph.row_range(row)]);
        entries.map(|(&column, value)| value * x[column as usize]).sum()
    };
    Ok((0..graph.rows()).map(row).collect())
}
