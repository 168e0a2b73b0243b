//! All strategies of the graph. Rounds are interleaved, so that a slow moment of the machine does not meet one strategy alone.

use super::compared::{Compared, Promise};
use super::study::{Rounds, Study};
use crate::Result;
use crate::comm::agree;
use crate::graph::{self, Graph, Positions, Strategy};
use crate::run::Job;
use crate::run::forecast::Choices;

/// A graph as plain numbers: row offsets, columns, positions of element-matrix entries.
struct Numbers {
    row_map: Vec<u64>,
    entries: Vec<u32>,
    positions: Vec<u32>,
}

impl Numbers {
    fn of<S: Job>(space: &S, graph: &Graph<S::Memory>) -> Result<Self> {
        let positions = match graph.elem.positions() {
            Positions::U8(positions) => space.download(positions)?.into_iter().map(u32::from).collect(),
            Positions::U16(positions) => space.download(positions)?.into_iter().map(u32::from).collect(),
            Positions::U32(positions) => space.download(positions)?,
        };
        let (row_map, entries) = (space.download(graph.crs.row_map())?, space.download(graph.crs.entries())?);
        Ok(Numbers { row_map, entries, positions })
    }

    /// Returns the number of entries that differ.
    fn unequal(&self, other: &Self) -> f64 {
        fn count<T: PartialEq>(a: &[T], b: &[T]) -> usize {
            a.len().abs_diff(b.len()) + a.iter().zip(b).filter(|(a, b)| a != b).count()
        }
        let different = count(&self.row_map, &other.row_map)
            + count(&self.entries, &other.entries)
            + count(&self.positions, &other.positions);
        different as f64
    }
}

pub(super) fn measure<S: Job>(study: &Study<'_, S>) -> Result<Vec<Compared>> {
    let &Study { space, mesh, rounds, .. } = study;
    let build = |strategy| graph::build(space, &mesh.elem_node, mesh.map.owned_count(), strategy);
    // Warms up, and finds out what the device offers.
    let (mut all, mut reference) = (Vec::new(), None);
    for (strategy, name) in Strategy::ALL {
        let choices = Choices { graph: strategy, ..study.papers };
        study.fits(&choices)?;
        let built = study.offered(build(strategy).and_then(|graph| Numbers::of(space, &graph)))?;
        let measured = built.map(|found| {
            let difference = reference.as_ref().map_or(0.0, |reference: &Numbers| found.unequal(reference));
            reference.get_or_insert(found);
            Rounds { seconds: vec![], difference, is_repeatable: true }
        });
        all.push((strategy, name, choices, measured));
    }
    for round in 1..=rounds {
        for (strategy, _, _, measured) in &mut all {
            let Some(measured) = measured else { continue };
            let (seconds, graph) = study.timed(|| build(*strategy))?;
            measured.seconds.push(seconds);
            if round == rounds
                && let Some(reference) = &reference
            {
                let again = agree(study.comm, Numbers::of(space, &graph))?;
                let different = again.unequal(reference);
                measured.is_repeatable = different == measured.difference;
                measured.difference = measured.difference.max(different);
            }
        }
    }
    let lines = all.into_iter().map(|(strategy, name, choices, rounds)| {
        let is_seeds = strategy == study.papers.graph;
        study.compared(("graph", name.into()), is_seeds, &choices, (0.0, Promise::Identical), rounds)
    });
    Ok(Compared::with_ratios(lines.collect::<Result<Vec<_>>>()?))
}
