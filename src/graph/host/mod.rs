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
        let mut step_times = StepTimes::default();
        let (crs, elem, map_stats) = match strategy {
            Strategy::Gather => {
                let (crs, elem) = gather::build(self, elem_node, rows, &mut step_times)?;
                (crs, Some(elem), None)
            }
            Strategy::Map => {
                let (crs, stats) = map::build(self, elem_node, rows, &mut step_times)?;
                (crs, None, Some(stats))
            }
            #[cfg(feature = "dashmap")]
            Strategy::DashMap => (dashmap::build(self, elem_node, rows, &mut step_times)?, None, None),
            Strategy::Sort => (sort::build(self, elem_node, rows, &mut step_times)?, None, None),
        };
        let elem = elem.map_or_else(|| ElemGraph::locate_in(self, elem_node, &crs, true), Ok)?;
        step_times.mark(step::ELEM_GRAPH);
        Ok(Graph { crs: Arc::new(crs), elem, step_times, map_stats })
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
