//! Numbering of several degrees of freedom (dofs) per node, and the sparsity pattern of the dofs made from that of the nodes.
//!
//! ```text
//!                    dof of (node, field), B dofs per node
//! interleaved        B node + field
//! by field           rows field + node          owned nodes: 0..rows
//!                    B node + field             ghosts, which stay grouped by their owners
//! ```
//! A graph of nodes costs 4 bytes per pair of nodes where one of dofs costs 4 B^2, and is built on elements with B times fewer
//! nodes. [`BlockCrsMatrix`](super::BlockCrsMatrix) needs no other; [`DofMap::expand`] makes the graph of dofs for a matrix of single
//! values.

use super::CrsGraph;
use crate::error::check_length;
use crate::space::{HostSpace, split_at, try_zeroed};
use crate::{Error, LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;

/// Order of the dofs of the owned nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DofOrder {
    /// All dofs of a node are adjacent.
    #[default]
    Interleaved,
    /// All nodes' dofs of one field are adjacent.
    ByField,
}

/// Numbering of `dofs` dofs per node for `rows` owned nodes of `columns` local ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DofMap {
    dofs: usize,
    rows: usize,
    columns: usize,
    order: DofOrder,
}

impl DofMap {
    /// Numbers the dofs of owned nodes `0..rows` and ghosts `rows..columns`.
    ///
    /// # Errors
    /// [`Error::Invalid`] without a dof per node or with more owned than local nodes, [`Error::TooLarge`] when a local dof exceeds
    /// 32 bits.
    pub fn new(dofs: usize, rows: usize, columns: usize, order: DofOrder) -> Result<Self> {
        if dofs == 0 || rows > columns {
            let found = format!("{dofs} dofs per node, {rows} owned of {columns} local nodes");
            return Err(Error::Invalid(format!("DofMap::new: {found}; expected 1 dof or more, and owned <= local")));
        }
        match columns.checked_mul(dofs).filter(|&count| count < LocalOrdinal::MAX as usize) {
            Some(_) => Ok(DofMap { dofs, rows, columns, order }),
            None => Err(Error::TooLarge {
                what: "dof map".into(),
                needed: format!("{dofs} dofs on each of {columns} nodes"),
                limit: format!("{} local dofs (32 bits)", LocalOrdinal::MAX - 1),
            }),
        }
    }

    /// Returns the number of dofs per node.
    pub fn dofs_per_node(&self) -> usize {
        self.dofs
    }

    /// Returns the number of dofs of owned nodes.
    pub fn rows(&self) -> usize {
        self.dofs * self.rows
    }

    /// Returns the number of dofs of all local nodes.
    pub fn columns(&self) -> usize {
        self.dofs * self.columns
    }

    /// Returns the local dof of a field at a node.
    ///
    /// # Panics
    /// When there is no such node or field.
    #[inline(always)]
    pub fn dof(&self, node: usize, field: usize) -> usize {
        assert!(node < self.columns && field < self.dofs, "node {node}, field {field}: no dof");
        match self.order {
            DofOrder::ByField if node < self.rows => field * self.rows + node,
            _ => node * self.dofs + field,
        }
    }

    /// Returns the node and the field of an owned dof.
    ///
    /// # Panics
    /// When there is no such dof.
    #[inline(always)]
    pub fn node_of_row(&self, dof: usize) -> (usize, usize) {
        assert!(dof < self.rows(), "dof {dof} is not owned");
        match self.order {
            DofOrder::Interleaved => (dof / self.dofs, dof % self.dofs),
            DofOrder::ByField => (dof % self.rows, dof / self.rows),
        }
    }

    /// Returns where the entry of `(position, field)` stands in the row of a dof, whose node has `owned` owned and in all `len`
    /// neighbours; `position` is that of the neighbour in the node's row.
    #[inline(always)]
    pub(super) fn position(&self, position: usize, field: usize, owned: usize) -> usize {
        match self.order {
            DofOrder::ByField if position < owned => field * owned + position,
            _ => position * self.dofs + field,
        }
    }

    /// Returns how many of a node's neighbours, which ascend, are owned.
    #[inline(always)]
    pub(super) fn owned_of(&self, columns: &[LocalOrdinal]) -> usize {
        columns.partition_point(|&column| (column as usize) < self.rows)
    }

    /// Returns the graph of the dofs: row (i, c) has the columns (j, d) of all neighbours j of node i and all fields d, ascending.
    /// Cost: 4 B^2 bytes written and 4 B bytes read per entry of `nodes`, in parallel.
    ///
    /// # Errors
    /// [`Error::Shape`] when the graph has other rows or columns than the map; [`Error::OutOfMemory`].
    pub fn expand<S: HostSpace>(&self, space: &S, nodes: &CrsGraph) -> Result<CrsGraph> {
        self.check("DofMap::expand", nodes)?;
        let mut row_map = try_zeroed::<RowOffset>("row offsets of dofs", self.rows() + 1)?;
        for dof in 0..self.rows() {
            let (node, _) = self.node_of_row(dof);
            row_map[dof + 1] = row_map[dof] + (self.dofs * nodes.row(node).len()) as RowOffset;
        }
        let mut entries = try_zeroed::<LocalOrdinal>("columns of dofs", self.dofs * self.dofs * nodes.nnz())?;
        for_each_row(space, &row_map, &mut entries, |dof, entries| {
            let columns = nodes.row(self.node_of_row(dof).0);
            let owned = self.owned_of(columns);
            for (position, &column) in columns.iter().enumerate() {
                for field in 0..self.dofs {
                    entries[self.position(position, field, owned)] = self.dof(column as usize, field) as LocalOrdinal;
                }
            }
            Ok(())
        })?;
        Ok(CrsGraph::trusted(row_map, entries, self.columns()))
    }

    pub(super) fn check(&self, operation: &'static str, nodes: &CrsGraph) -> Result<()> {
        check_length(operation, "nodes (rows)", nodes.rows(), self.rows)?;
        check_length(operation, "nodes (columns)", nodes.columns(), self.columns)
    }
}

/// Calls `f(row, items)` with the items of each row, chunks of rows in parallel.
pub(super) fn for_each_row<S: HostSpace, T: Send>(
    space: &S,
    row_map: &[RowOffset],
    items: &mut [T],
    f: impl Fn(usize, &mut [T]) -> Result<()> + Send + Sync,
) -> Result<()> {
    let rows = row_map.len() - 1;
    let bounds = (0..=rows.div_ceil(S::CHUNK)).map(|chunk| row_map[rows.min(chunk * S::CHUNK)] as usize);
    space.try_for_each(split_at(items, bounds).into_par_iter().enumerate(), |(chunk, mut items)| {
        for row in chunk * S::CHUNK..rows.min((chunk + 1) * S::CHUNK) {
            let (own, rest) = items.split_at_mut((row_map[row + 1] - row_map[row]) as usize);
            f(row, own)?;
            items = rest;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};

    /// Two owned nodes and two ghosts.
    fn nodes() -> CrsGraph {
        CrsGraph::new(vec![0, 3, 6], vec![0, 1, 2, 0, 1, 3], 4).unwrap()
    }

    #[test]
    fn graphs_of_dofs_equal_those_by_hand() {
        let expanded = |order| DofMap::new(2, 2, 4, order).unwrap().expand(&Serial, &nodes()).unwrap();
        let graph = expanded(DofOrder::Interleaved);
        assert_eq!(graph.row_map(), &[0, 6, 12, 18, 24]);
        assert_eq!((graph.row(0), graph.row(3)), (&[0, 1, 2, 3, 4, 5][..], &[0, 1, 2, 3, 6, 7][..]));
        // By field: owned dofs (0,0) (1,0) (0,1) (1,1), then ghosts node by node.
        let graph = expanded(DofOrder::ByField);
        assert_eq!((graph.row(0), graph.row(1)), (&[0, 1, 2, 3, 4, 5][..], &[0, 1, 2, 3, 6, 7][..]));
        let one_sided = CrsGraph::new(vec![0, 2, 3], vec![1, 3, 1], 4).unwrap();
        let graph = DofMap::new(2, 2, 4, DofOrder::ByField).unwrap().expand(&Serial, &one_sided).unwrap();
        assert_eq!((graph.row(0), graph.row(1), graph.row(2)), (&[1, 3, 6, 7][..], &[1, 3][..], &[1, 3, 6, 7][..]));
    }

    #[test]
    fn both_orders_number_each_dof_once_and_threads_change_nothing() {
        let (row_map, entries): (Vec<u64>, Vec<u32>) =
            ((0..=9000).map(|i| 2 * i).collect(), { (0..9000u32).flat_map(|i| [i, 9000 + i % 77]).collect() });
        let nodes = CrsGraph::new(row_map, entries, 9077).unwrap();
        for order in [DofOrder::Interleaved, DofOrder::ByField] {
            let map = DofMap::new(3, 9000, 9077, order).unwrap();
            let mut seen = vec![0; map.columns()];
            (0..9077).for_each(|node| (0..3).for_each(|field| seen[map.dof(node, field)] += 1));
            assert!(seen.iter().all(|&times| times == 1));
            for dof in [0, 1, 8999, 9000, 26999] {
                let (node, field) = map.node_of_row(dof);
                assert_eq!(map.dof(node, field), dof);
            }
            let graph = map.expand(&Serial, &nodes).unwrap();
            assert_eq!(graph, map.expand(&Threads::new(3).unwrap(), &nodes).unwrap());
            // Checks the order of each row.
            let (row_map, entries) = graph.into_arrays();
            CrsGraph::new(row_map, entries, map.columns()).unwrap();
        }
    }

    #[test]
    fn maps_that_cannot_be_are_refused() {
        let refused =
            |dofs, rows, columns| DofMap::new(dofs, rows, columns, DofOrder::Interleaved).unwrap_err().to_string();
        assert!(refused(0, 1, 1).contains("0 dofs per node"));
        assert!(refused(1, 2, 1).contains("2 owned of 1 local"));
        assert!(refused(3, 1, 1 << 31).contains("3 dofs on each of 2147483648 nodes"));
        assert!(refused(1 << 40, 1, 1 << 40).contains("32 bits"));
        let map = DofMap::new(3, 2, 3, DofOrder::Interleaved).unwrap();
        assert!(map.expand(&Serial, &nodes()).unwrap_err().to_string().contains("nodes (columns)"));
    }
}
