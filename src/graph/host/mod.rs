//! Graphs on host memory.
//!
//! One file per strategy: [`gather`] builds both graphs in one pass; [`map`], [`dashmap`] and [`sort`] build the sparsity
//! pattern, and [`positions`] then finds the element graph in it.

#[cfg(feature = "dashmap")]
mod dashmap;
mod gather;
mod groups;
mod lists;
mod map;
mod pair_insert;
mod pair_map;
mod positions;
mod smaller;
mod sort;
mod sorting_network;
mod unite_row;

pub use pair_insert::{Inserted, PairMapView};
pub use pair_map::PairMap;
pub(crate) use unite_row::RowUnion;

use super::{BuildGraph, ElemGraph, Graph, Strategy, step};
use crate::Result;
use crate::mesh::{ElemNode, Sizes};
use crate::space::{StepTimes, Threads};
use crate::sparse::CrsGraph;
use std::sync::Arc;

impl BuildGraph for Threads {
    fn build_graph(&self, elem_node: &ElemNode, rows: usize, strategy: Strategy) -> Result<Graph> {
        let (mut times, mut map_stats) = (StepTimes::default(), None);
        let (crs, elem) = match strategy {
            Strategy::Gather => gather::build(self, elem_node, rows, &mut times)?,
            Strategy::Map => {
                let (crs, stats) = map::build(self, elem_node, rows, &mut times)?;
                map_stats = Some(stats);
                with_elem_graph(self, elem_node, crs, &mut times)?
            }
            #[cfg(feature = "dashmap")]
            Strategy::DashMap => {
                with_elem_graph(self, elem_node, dashmap::build(self, elem_node, rows, &mut times)?, &mut times)?
            }
            Strategy::Sort => {
                with_elem_graph(self, elem_node, sort::build(self, elem_node, rows, &mut times)?, &mut times)?
            }
        };
        Ok(Graph { crs: Arc::new(crs), elem, step_times: times, map_stats })
    }

    fn build_bytes(strategy: Strategy, sizes: &Sizes) -> [u64; 2] {
        let (pattern, positions) = (CrsGraph::bytes(sizes.owned, sizes.nnz), ElemGraph::bytes(sizes));
        let found = match strategy {
            Strategy::Gather => gather::bytes(sizes) + pattern + positions,
            Strategy::Map => map::bytes(sizes) + pattern,
            #[cfg(feature = "dashmap")]
            Strategy::DashMap => dashmap::bytes(sizes, pattern),
            Strategy::Sort => sort::bytes(sizes) + pattern,
        };
        [found.max(pattern + positions), 4 * sizes.nnz]
    }

    fn unite_graphs(&self, graphs: Vec<Graph>) -> Result<Vec<Graph>> {
        groups::unite(self, graphs)
    }
}

fn with_elem_graph(
    space: &Threads,
    elem_node: &ElemNode,
    crs: CrsGraph,
    times: &mut StepTimes,
) -> Result<(CrsGraph, ElemGraph)> {
    let elem = ElemGraph::locate_in(space, elem_node, &crs, true)?;
    times.mark(step::ELEM_GRAPH);
    Ok((crs, elem))
}
