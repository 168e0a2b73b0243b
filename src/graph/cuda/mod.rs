//! Builds graphs on a GPU, with the kernels in `kernels/{graph,graph_map,dofs}.cu`.
//!
//! | strategy | method |
//! |---|---|
//! | gather | tables of 8 nodes per element, rows of at most 8 elements and 32 columns: one thread per row, one pass ([`gather`]) |
//! | | up to 1024 gathered nodes per row: one warp per row in shared memory, count and fill ([`gather`]) |
//! | | longer rows: as sort |
//! | map | pairs in a lock-free table with a slot for each insert into a row ([`map`]) |
//! | sort | all pairs, one radix sort ([`sort`]): 1 KiB per element of 8 nodes |
//! | dashmap | not available: the map is a host data structure |
//!
//! The graphs equal the host's, entry for entry. Launches are asynchronous: a step's time is recorded at the next size
//! read-back and covers all launches before it; launches after the last read-back belong to no step. Gather on short
//! rows reads one size at its end, so its step `graph/columns` covers the whole build.

mod builder;
mod dofs;
mod gather;
mod groups;
mod lists;
mod map;
mod sort;

use super::{BuildGraph, ElemGraph, Graph, Strategy};
use crate::Result;
use crate::mesh::{ElemNode, Sizes};
use crate::space::StepTimes;
use crate::space::cuda::{Cuda, CudaMemory};
use crate::sparse::CrsGraph;
use builder::Builder;
use std::sync::Arc;

impl BuildGraph for Cuda {
    fn build_graph(
        &self,
        elem_node: &ElemNode<CudaMemory>,
        rows: usize,
        strategy: Strategy,
    ) -> Result<Graph<CudaMemory>> {
        let builder = Builder::new(self, elem_node, rows)?;
        let (mut times, mut map_stats) = (StepTimes::default(), None);
        let (crs, elem) = match strategy {
            Strategy::Gather => builder.gather(&mut times)?,
            Strategy::Map => {
                let (built, stats) = builder.map(&mut times)?;
                map_stats = Some(stats);
                built
            }
            Strategy::Sort => builder.sort(&mut times)?,
            #[cfg(feature = "dashmap")]
            Strategy::DashMap => {
                let advice = "available on the host only; choose map, gather or sort on a GPU";
                return Err(crate::Error::Invalid(format!("graph strategy dashmap: {advice}")));
            }
        };
        Ok(Graph { crs: Arc::new(crs), elem, step_times: times, map_stats })
    }

    fn build_bytes(strategy: Strategy, sizes: &Sizes) -> [u64; 2] {
        let kept = CrsGraph::bytes(sizes.owned, sizes.nnz) + ElemGraph::bytes(sizes);
        let found = match strategy {
            Strategy::Gather => match gather::short_bytes(sizes) {
                Some(bytes) => return bytes,
                None => gather::bytes(sizes, kept),
            },
            Strategy::Map => map::bytes(sizes, kept),
            _ => sort::bytes(sizes, kept),
        };
        [found.max(kept), 4 * sizes.nnz]
    }

    fn unite_graphs(&self, graphs: Vec<Graph<CudaMemory>>) -> Result<Vec<Graph<CudaMemory>>> {
        groups::unite(self, graphs)
    }
}
