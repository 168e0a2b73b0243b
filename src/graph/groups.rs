//! Several element groups in one sparsity pattern: tetrahedra beside hexahedra, boundary faces beside both.
//!
//! Each group's graph is built by itself. Then the patterns are united row by row (count, scan, fill of the sorted unions). A
//! group whose pattern is the union keeps its positions: the volume elements beside boundary faces. The positions of other groups
//! are found again by binary search in the rows of the union.
//!
//! Cost beside the groups' graphs: on a host two merges of each row (4 bytes per entry of every group read, 4 per entry of the
//! union written), on a GPU one radix sort of all entries (16 bytes each while it runs).

use super::{BuildGraph, Graph, Strategy, build};
use crate::error::check_length;
use crate::mesh::ElemNode;
use crate::{Error, Result};

/// Builds the graphs of several element-node tables on a common sparsity pattern. The tables number the same nodes
/// and may have any numbers of nodes per element; each may be empty. Graph g of the result has the elements of
/// `tables[g]`; a plan of the assembly is made for each.
///
/// ```
/// use minifenl::contraction::Sum;
/// use minifenl::fill::{Fill, Parts, Strategy, element_fn};
/// use minifenl::{graph, mesh::ElemNode, space::Threads, sparse::CrsMatrix};
///
/// // A triangle, and a segment at its edge 1-2 that continues to node 3.
/// let space = Threads::new(2)?;
/// let (triangles, segments) = (ElemNode::new(vec![0, 1, 2], 3, 4)?, ElemNode::new(vec![1, 2, 2, 3], 2, 4)?);
/// let graphs = graph::build_groups(&space, &[&triangles, &segments], 4, graph::Strategy::default())?;
/// assert_eq!((graphs[0].crs.row(0), graphs[1].crs.row(2)), (&[0, 1, 2][..], &[0, 1, 2, 3][..]));
///
/// let (mut matrix, mut rhs) = (CrsMatrix::zero(graphs[0].crs.clone()), vec![0.0; 4]);
/// let inside = element_fn(|_| ([[1.0; 3]; 3], [1.0; 3]));
/// Fill::<3>::new(&space, Strategy::Gather, &graphs[0])?.assemble(&space, &inside, &mut matrix, &mut rhs)?;
/// let edges = element_fn(|_| ([[10.0; 2]; 2], [10.0; 2]));
/// let parts = Parts::Both(&mut matrix, &mut rhs);
/// Fill::<2>::new(&space, Strategy::Gather, &graphs[1])?.assemble_parts(&space, &edges, Sum::Into, parts)?;
/// assert_eq!((matrix.get(1, 2), matrix.get(2, 2), rhs), (Some(11.0), Some(21.0), vec![1.0, 11.0, 21.0, 10.0]));
/// # Ok::<(), minifenl::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] without a table, [`Error::Shape`] when the tables have different numbers of nodes, and those of [`build`].
pub fn build_groups<S: BuildGraph>(
    space: &S,
    tables: &[&ElemNode<S::Memory>],
    rows: usize,
    strategy: Strategy,
) -> Result<Vec<Graph<S::Memory>>> {
    let Some((first, others)) = tables.split_first() else {
        return Err(Error::Invalid("graph::build_groups: there is no table: expected 1 or more".into()));
    };
    for table in others {
        check_length("graph::build_groups", "tables (their nodes)", table.node_count(), first.node_count())?;
    }
    let graphs: Result<Vec<_>> = tables.iter().map(|table| build(space, table, rows, strategy)).collect();
    if others.is_empty() { graphs } else { space.unite_graphs(graphs?) }
}

#[cfg(test)]
mod tests;
