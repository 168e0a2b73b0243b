//! Builds a CRS graph from an element-node table: count, scan, allocate, fill, sort.
//!
//! Row i of the graph has column j if some element contains both nodes. Rows are the owned nodes (local ids below
//! `rows`); columns are all nodes. The four strategies build identical [`CrsGraph`]s and [`ElemGraph`]s (tested) and
//! differ in cost:
//!
//! | strategy | method | source |
//! |---|---|---|
//! | [`Map`](Strategy::Map) | unique node pairs in a lock-free table with fixed room per row, which reports failed inserts ([`PairMap`]) | Kokkos MiniFENL; Hoemmen and Edwards 2014, slides 15-17 |
//! | [`DashMap`](Strategy::DashMap) | unique undirected node pairs in a general concurrent map that grows under locks | crate dashmap |
//! | [`Gather`](Strategy::Gather) | node -> element lists; each row gathers its elements' nodes, sorts, drops duplicates | |
//! | [`Sort`](Strategy::Sort) | all pairs, one sort, duplicates dropped | COO -> CSR as in PETSc, CuPy |
//!
//! The result depends neither on the number of threads nor on their timing, because columns are sorted and unique. A
//! GPU offers all strategies except `dashmap`; `graph/cuda` describes them and the meaning of their step times.
//!
//! ```
//! use minifenl::{graph, mesh::ElemNode, space::Threads};
//!
//! // Two triangles with the edge 1-2 in common.
//! let (space, elem_node) = (Threads::new(2)?, ElemNode::new(vec![0, 1, 2, 2, 1, 3], 3, 4)?);
//! for (strategy, name) in graph::Strategy::ALL {
//!     let graph = graph::build(&space, &elem_node, 4, strategy)?;
//!     assert_eq!(graph.crs.row_map(), &[0, 3, 7, 11, 14], "{name}");
//!     assert_eq!((graph.crs.row(0), graph.crs.row(3)), (&[0, 1, 2][..], &[1, 2, 3][..]), "{name}");
//! }
//! # Ok::<(), minifenl::Error>(())
//! ```

#[cfg(feature = "cuda")]
mod cuda;
mod dofs;
mod elem_graph;
mod groups;
mod host;
#[cfg(feature = "cuda")]
mod kernel_files;
mod map_stats;
mod node_elem;
mod slots;
pub mod step;

pub use dofs::bytes;
pub use elem_graph::{ElemGraph, Position, Positions};
pub(crate) use elem_graph::{with_position_type, with_positions};
pub use groups::build_groups;
pub(crate) use host::RowUnion;
pub use host::{Inserted, PairMap, PairMapView};
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;
pub use map_stats::{MapCounts, MapStats};
pub use node_elem::NodeElem;
pub use slots::CooIndex;
pub(crate) use slots::{IGNORED, Slots};

use crate::Result;
use crate::error::{check_at_least, check_length};
use crate::mesh::{ElemNode, Sizes};
use crate::space::{ExecutionSpace, HostMemory, MemorySpace, StepTimes, Threads};
use crate::sparse::CrsGraph;
use std::sync::Arc;

/// Method that finds the unique node pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// A lock-free, insert-only table of pairs, with a slot for each insert into a row.
    Map,
    /// The concurrent hash map of crate dashmap (feature `dashmap`).
    #[cfg(feature = "dashmap")]
    DashMap,
    /// Each row gathers its columns from node -> element lists.
    #[default]
    Gather,
    /// Sorts all pairs.
    Sort,
}

impl Strategy {
    /// All strategies with their names.
    pub const ALL: [(Strategy, &'static str); 3 + cfg!(feature = "dashmap") as usize] = [
        (Strategy::Map, "map"),
        #[cfg(feature = "dashmap")]
        (Strategy::DashMap, "dashmap"),
        (Strategy::Gather, "gather"),
        (Strategy::Sort, "sort"),
    ];
}

/// The sparsity pattern, and the element-node table with its positions in the pattern: what assembly needs of the
/// connectivity. Clones share the arrays.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Graph<M: MemorySpace = HostMemory> {
    /// Sparsity pattern: owned rows, owned and ghost columns.
    pub crs: Arc<CrsGraph<M>>,
    /// The element-node table of the graph, with the position of each element-matrix entry.
    pub elem: ElemGraph<M>,
    /// Time of each step.
    pub step_times: StepTimes,
    /// Statistics of the pair map, of [`Strategy::Map`] only.
    pub map_stats: Option<MapStats>,
}

impl Graph {
    /// Finds a table's elements in a pattern that contains all their pairs, and maybe more: that of another program, or of
    /// several tables. Costs a search per pair of nodes of an element.
    ///
    /// # Errors
    /// [`Error::MissingEntry`](crate::Error::MissingEntry) when the pattern lacks a pair, [`Error::Shape`](crate::Error::Shape)
    /// unless it has a column per node and no more rows, [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is
    /// not available.
    pub fn on_pattern(space: &Threads, elem_node: &ElemNode, crs: Arc<CrsGraph>) -> Result<Self> {
        const NAME: &str = "Graph::on_pattern";
        check_length(NAME, "crs (columns)", crs.columns(), elem_node.node_count())?;
        check_at_least(NAME, "elem_node (its nodes)", elem_node.node_count(), crs.rows())?;
        let mut step_times = StepTimes::default();
        let elem = ElemGraph::locate(space, elem_node, &crs)?;
        step_times.mark(step::ELEM_GRAPH);
        Ok(Graph { crs, elem, step_times, map_stats: None })
    }

    /// Copies a graph with its table into the memory of a space. The copy has no step times: nothing was built.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available, [`Error::Device`](crate::Error::Device)
    /// when a device fails.
    pub fn upload<S: ExecutionSpace>(&self, space: &S) -> Result<Graph<S::Memory>> {
        let (crs, elem) = (Arc::new(self.crs.upload(space)?), self.elem.upload(space)?);
        Ok(Graph { crs, elem, step_times: StepTimes::default(), map_stats: None })
    }
}

/// An execution space that can build graphs.
pub trait BuildGraph: ExecutionSpace {
    /// Builds the graph as [`build`], which checks the sizes first.
    ///
    /// # Errors
    /// Those of [`build`].
    fn build_graph(
        &self,
        elem_node: &ElemNode<Self::Memory>,
        rows: usize,
        strategy: Strategy,
    ) -> Result<Graph<Self::Memory>>;

    /// Returns the bytes in use at the peak of [`build_graph`](Self::build_graph), and those of its columns at the end.
    fn build_bytes(strategy: Strategy, sizes: &Sizes) -> [u64; 2];

    /// Gives graphs of the same rows and columns the union of their patterns, as [`build_groups`].
    ///
    /// # Errors
    /// Those of [`build_groups`].
    fn unite_graphs(&self, graphs: Vec<Graph<Self::Memory>>) -> Result<Vec<Graph<Self::Memory>>>;
}

/// Builds the graph of rows `0..rows` from an element-node table.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when `rows` exceeds the number of nodes,
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available,
/// [`Error::Invalid`](crate::Error::Invalid) when the space does not offer the strategy, and for repeated nodes on a GPU.
pub fn build<S: BuildGraph>(
    space: &S,
    elem_node: &ElemNode<S::Memory>,
    rows: usize,
    strategy: Strategy,
) -> Result<Graph<S::Memory>> {
    check_at_least("graph::build", "elem_node (its nodes)", elem_node.node_count(), rows)?;
    space.build_graph(elem_node, rows, strategy)
}

crate::space::named_choice!(Strategy, "graph strategy");

#[cfg(test)]
mod tests;
