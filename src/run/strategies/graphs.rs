//! All strategies of the graph.

use super::compared::{Compared, Promise};
use super::study::{Numbers, Study};
use crate::Result;
use crate::graph::{self, Graph, Strategy, with_positions};
use crate::run::Job;
use crate::run::forecast::Choices;
use crate::space::try_collect;

/// Row offsets, columns, and positions of element-matrix entries. All are exact in f64.
pub(in crate::run) fn numbers<S: Job>(space: &S, graph: &Graph<S::Memory>) -> Result<Numbers> {
    fn floats<T: Into<f64>>(numbers: Vec<T>) -> Result<Vec<f64>> {
        try_collect("numbers of a graph", numbers.into_iter().map(Into::into))
    }
    let positions = with_positions!(graph.elem.positions(), positions => floats(space.download(positions)?))?;
    let row_map = space.download(graph.crs.row_map())?.into_iter().map(|offset| offset as f64);
    let row_map = try_collect("numbers of a graph", row_map)?;
    Ok(vec![row_map, floats(space.download(graph.crs.entries())?)?, positions])
}

/// The number of entries that differ.
pub(in crate::run) fn unequal(found: &Numbers, expected: &Numbers) -> f64 {
    let count =
        |(a, b): (&Vec<f64>, &Vec<f64>)| a.len().abs_diff(b.len()) + a.iter().zip(b).filter(|(a, b)| a != b).count();
    found.iter().zip(expected).map(count).sum::<usize>() as f64
}

pub(super) fn measure<S: Job>(study: &Study<'_, S>) -> Result<Vec<Compared>> {
    let &Study { space, mesh, .. } = study;
    let mut reference = None;
    let all = Strategy::ALL.into_iter().map(|(strategy, name)| {
        let choices = Choices { graph: strategy, ..study.papers };
        let compared = Compared {
            step: "graph",
            name: name.into(),
            is_papers: strategy == study.papers.graph,
            promise: Promise::Identical,
            ..Compared::default()
        };
        study.measured(
            compared,
            &choices,
            (&mut reference, unequal),
            || Ok(()),
            |()| graph::build(space, &mesh.elem_node, mesh.map.owned_count(), strategy),
            |(), graph| numbers(space, graph),
        )
    });
    Ok(Compared::with_ratios(all.collect::<Result<_>>()?))
}
