//! Builds a CRS graph from an element-node table: count, scan, allocate, fill, sort.
//!
//! Row i of the graph has column j if some element contains both nodes. Rows are the owned nodes (local ids below
//! `rows`); columns are all nodes. The four strategies build identical [`CrsGraph`]s and [`ElemGraph`]s (tested) and
//! differ in cost:
//!
//! | strategy | method | source |
//! |---|---|---|
//! | [`Map`](Strategy::Map) | unique node pairs in a fixed-capacity lock-free table that reports failed inserts | Kokkos MiniFENL; Hoemmen and Edwards 2014, slides 15-17 |
//! | [`DashMap`](Strategy::DashMap) | unique node pairs in a general concurrent map that grows under locks | crate dashmap |
//! | [`Gather`](Strategy::Gather) | node -> element lists; each row gathers its elements' nodes, sorts, drops duplicates | |
//! | [`Sort`](Strategy::Sort) | all pairs, one sort, duplicates dropped | COO -> CSR as in PETSc, CuPy |
//!
//! The result depends neither on the number of threads nor on their timing, because columns are sorted and unique. A
//! GPU offers all strategies except `dashmap`; `graph/cuda` describes them and the meaning of their step times.

#[cfg(feature = "cuda")]
mod cuda;
mod dashmap;
mod elem_graph;
mod gather;
mod map;
mod node_elem;
mod pair_map;
mod pairs;
mod sort;
mod sorting_network;

pub use elem_graph::{ElemGraph, Position, Positions};
pub use node_elem::NodeElem;
pub use pair_map::{HashPlacement, Inserted, PairMap, PairMapView};

use crate::Result;
use crate::error::check_at_least;
use crate::mesh::ElemNode;
use crate::space::{ExecutionSpace, HostMemory, HostSpace, MemorySpace, StepTimes};
use crate::sparse::CrsGraph;
use std::sync::Arc;

/// Names of the steps in [`Graph::step_times`]; a report shows them as they are.
///
/// A strategy marks only the steps that it has. On a GPU a step holds all kernels launched since the last wait.
pub mod step {
    /// Node -> element lists.
    pub const LISTS: &str = "graph/lists";
    /// Keys of all node pairs.
    pub const PAIRS: &str = "graph/pairs";
    /// Entries per row, and whatever finds them (inserts into the pair map, sorting a row).
    pub const COUNT: &str = "graph/count";
    /// Row offsets, by an exclusive prefix sum of the counts.
    pub const SCAN: &str = "graph/scan";
    /// Memory for the columns.
    pub const ALLOCATE: &str = "graph/allocate";
    /// Columns of all rows. Not "fill", which names the assembly of values in a report.
    pub const COLUMNS: &str = "graph/columns";
    /// Sorting, of pairs or of the columns of each row.
    pub const SORT: &str = "graph/sort";
    /// Position of each element-matrix entry in its row.
    pub const ELEM_GRAPH: &str = "graph/elem_graph";
}

/// Method that finds the unique node pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// A lock-free, insert-only table of pairs with bounded probing. The table grows and is filled again when inserts
    /// fail.
    Map,
    /// The concurrent hash map of crate dashmap.
    DashMap,
    /// Each row gathers its columns from node -> element lists.
    #[default]
    Gather,
    /// Sorts all pairs.
    Sort,
}

impl Strategy {
    /// All strategies with their names.
    pub const ALL: [(Strategy, &'static str); 4] = [
        (Strategy::Map, "map"),
        (Strategy::DashMap, "dashmap"),
        (Strategy::Gather, "gather"),
        (Strategy::Sort, "sort"),
    ];
}

/// The sparsity pattern, and the position of each element-matrix entry in it: what assembly needs of the connectivity.
#[derive(Clone, Debug)]
pub struct Graph<M: MemorySpace = HostMemory> {
    /// Sparsity pattern: owned rows, owned and ghost columns.
    pub crs: Arc<CrsGraph<M>>,
    /// Position of each element-matrix entry in its row.
    pub elem: ElemGraph<M>,
    /// Time of each step.
    pub step_times: StepTimes,
}

impl Graph {
    /// Copies a graph into the memory of a space. The copy has no step times: nothing was built.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) when the memory is not available, [`Error::Device`](crate::Error::Device)
    /// when a device fails.
    pub fn upload<S: ExecutionSpace>(&self, space: &S) -> Result<Graph<S::Memory>> {
        let (crs, elem) = (Arc::new(self.crs.upload(space)?), self.elem.upload(space)?);
        Ok(Graph { crs, elem, step_times: StepTimes::default() })
    }
}

/// A space that can build graphs.
pub trait BuildGraph: ExecutionSpace {
    /// [`build`], once the sizes are checked.
    ///
    /// # Errors
    /// As [`build`].
    fn build_graph(
        &self,
        elem_node: &ElemNode<Self::Memory>,
        rows: usize,
        strategy: Strategy,
    ) -> Result<Graph<Self::Memory>>;
}

/// Builds the graph of rows `0..rows` from an element-node table.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when `rows` passes the table's nodes, [`Error::MapFull`](crate::Error::MapFull)
/// when the pair map stays too small, [`Error::Invalid`](crate::Error::Invalid) for a strategy that the space has not.
pub fn build<S: BuildGraph>(
    space: &S,
    elem_node: &ElemNode<S::Memory>,
    rows: usize,
    strategy: Strategy,
) -> Result<Graph<S::Memory>> {
    check_at_least("graph::build", "elem_node (its nodes)", elem_node.node_count(), rows)?;
    space.build_graph(elem_node, rows, strategy)
}

impl<S: HostSpace> BuildGraph for S {
    fn build_graph(&self, elem_node: &ElemNode, rows: usize, strategy: Strategy) -> Result<Graph> {
        let mut times = StepTimes::default();
        let (crs, elem) = match strategy {
            Strategy::Gather => gather::build(self, elem_node, rows, &mut times),
            Strategy::Map => {
                with_elem_graph(self, elem_node, map::build(self, elem_node, rows, &mut times)?, &mut times)
            }
            Strategy::DashMap => {
                with_elem_graph(self, elem_node, dashmap::build(self, elem_node, rows, &mut times), &mut times)
            }
            Strategy::Sort => {
                with_elem_graph(self, elem_node, sort::build(self, elem_node, rows, &mut times), &mut times)
            }
        };
        Ok(Graph { crs: Arc::new(crs), elem, step_times: times })
    }
}

fn with_elem_graph<S: HostSpace>(
    space: &S,
    elem_node: &ElemNode,
    crs: CrsGraph,
    times: &mut StepTimes,
) -> (CrsGraph, ElemGraph) {
    let elem = ElemGraph::locate(space, elem_node, &crs);
    times.mark(step::ELEM_GRAPH);
    (crs, elem)
}

crate::space::named_choice!(Strategy, "graph strategy");

#[cfg(test)]
mod tests {
    use super::Strategy;
    use super::*;
    use crate::space::{Serial, Threads};
    use proptest::prelude::{ProptestConfig, any, proptest};

    /// The pattern by definition: every pair of every element, in an ordered set.
    fn oracle(elem_node: &ElemNode, rows: usize) -> CrsGraph {
        let mut pairs = std::collections::BTreeSet::new();
        for nodes in elem_node.iter() {
            for &row in nodes.iter().filter(|&&row| (row as usize) < rows) {
                pairs.extend(nodes.iter().map(|&column| (row, column)));
            }
        }
        let mut row_map = vec![0u64; rows + 1];
        pairs.iter().for_each(|&(row, _)| row_map[row as usize + 1] += 1);
        (0..rows).for_each(|row| row_map[row + 1] += row_map[row]);
        CrsGraph::new(row_map, pairs.iter().map(|&(_, column)| column).collect(), elem_node.node_count()).unwrap()
    }

    fn check(elem_node: &ElemNode, rows: usize) {
        let expected = oracle(elem_node, rows);
        let mut first: Option<ElemGraph> = None;
        for (strategy, name) in Strategy::ALL {
            for threads in [1, 3] {
                let space = Threads::new(threads).unwrap();
                let graph = build(&space, elem_node, rows, strategy).unwrap();
                assert!(*graph.crs == expected, "{name}, {threads} threads: other pattern");
                for (elem, nodes) in elem_node.iter().enumerate() {
                    for (i, &row) in nodes.iter().enumerate() {
                        for (j, &column) in nodes.iter().enumerate() {
                            let entry = graph.elem.entry(&graph.crs, elem_node, elem, i, j);
                            assert_eq!(entry.is_some(), (row as usize) < rows);
                            assert!(entry.is_none_or(|e| graph.crs.row_range(row as usize).contains(&e)));
                            assert!(entry.is_none_or(|e| graph.crs.entries()[e] == column));
                        }
                    }
                }
                let first = first.get_or_insert_with(|| graph.elem.clone());
                assert!(*first == graph.elem, "{name}: other element graph");
            }
        }
    }

    /// Box of hexahedra, nodes numbered by `number`.
    fn hexes(n: usize, number: impl Fn(usize) -> u32) -> ElemNode {
        let id = |i: usize, j: usize, k: usize| number((k * n + j) * n + i);
        let mut nodes = Vec::new();
        for k in 0..n - 1 {
            for j in 0..n - 1 {
                for i in 0..n - 1 {
                    for k in [k, k + 1] {
                        nodes.extend([id(i, j, k), id(i + 1, j, k), id(i + 1, j + 1, k), id(i, j + 1, k)]);
                    }
                }
            }
        }
        ElemNode::new(nodes, 8, n * n * n).unwrap()
    }

    #[test]
    fn one_element_and_no_element() {
        check(&ElemNode::new(vec![2, 0, 1], 3, 5).unwrap(), 5);
        check(&ElemNode::new(vec![2, 0, 1], 3, 5).unwrap(), 1);
        check(&ElemNode::new(vec![], 8, 3).unwrap(), 3);
        check(&ElemNode::new(vec![], 8, 0).unwrap(), 0);
    }

    #[test]
    fn a_box_has_27_entries_in_an_inner_row() {
        let elem_node = hexes(7, |node| node as u32);
        check(&elem_node, 343);
        check(&elem_node, 200);
        let graph = build(&Serial, &elem_node, 343, Strategy::default()).unwrap();
        assert_eq!((graph.crs.nnz(), graph.crs.longest_row()), (19 * 19 * 19, 27));
    }

    #[test]
    fn a_scattered_numbering() {
        check(&hexes(8, |node| (node * 197 % 512) as u32), 512);
    }

    #[test]
    fn a_node_of_many_elements_and_long_rows() {
        let fan = (0..300u32).flat_map(|e| [0, 2 * e + 1, 2 * e + 2]).collect();
        check(&ElemNode::new(fan, 3, 601).unwrap(), 601);
    }

    #[test]
    fn columns_far_from_their_row() {
        let far = 1 << 27;
        let nodes = vec![0, 1, far, far + 1, 1, 2, far + 1, far + 2];
        check(&ElemNode::new(nodes, 4, (1 << 27) + 3).unwrap(), 3);
    }

    #[test]
    fn more_rows_than_nodes_is_an_error() {
        let elem_node = ElemNode::new(vec![0, 1], 2, 2).unwrap();
        assert!(build(&Serial, &elem_node, 3, Strategy::Sort).unwrap_err().to_string().contains("elem_node"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_table(nodes_per_elem in 1usize..10, elems in proptest::collection::vec(any::<u64>(), 0..60), spread in 10u64..200, owned in 0.0..1.0) {
            let mut nodes = Vec::new();
            for seed in elems {
                let (mut state, start) = (seed, nodes.len());
                while nodes.len() < start + nodes_per_elem {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let node = ((state >> 33) % spread) as u32;
                    if !nodes[start..].contains(&node) {
                        nodes.push(node);
                    }
                }
            }
            check(&ElemNode::new(nodes, nodes_per_elem, spread as usize).unwrap(), (owned * spread as f64) as usize);
        }
    }
}
