//! Numbers of a rank's part of the mesh, by which plans state their bytes before they are made.

use crate::element::ElementType;
use crate::sparse::{MatrixSizes, RowShape};

/// Numbers of a rank's part of the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Owned nodes.
    pub owned: u64,
    /// Ghosts.
    pub ghosts: u64,
    /// Elements.
    pub elems: u64,
    /// Elements along x and y.
    pub layer: [u64; 2],
    /// Entries of the graph of nodes.
    pub nnz: u64,
    /// Corners of elements at owned nodes.
    pub corners: u64,
    /// Nodes sent in an exchange; for elements other than `hex8` taken to be the number of ghosts.
    pub sent: u64,
    /// Nodes that the boundary conditions fix.
    pub fixed: u64,
    /// Entries beside the diagonal, of the graph of nodes, that the boundary conditions clear.
    pub cleared: u64,
    /// Of `hex8`, rows, at most, of slices that list their columns: at ends of the interior and outside of it, where ids do not follow
    /// the lines of the box.
    pub listed: u64,
    /// Of `hex8`, rows, at most, of slices whose tables have 9 offsets more, at ends of lines beside other ranks.
    pub padded: u64,
    /// Nodes of an element.
    pub nodes: u64,
    /// Points of an element's cubature rule.
    pub cubature: u64,
    /// Unknowns of a node.
    pub dofs: u64,
    /// Entries of the longest row of the graph of nodes.
    pub longest: u64,
    /// Entries, if all rows of a line of nodes along x had those of its longest.
    pub lined: u64,
    /// Points of the grid that the part owns, nodes or not.
    pub points: u64,
    /// Elements of all cells that the part looks at.
    pub looked_at: u64,
}

impl Sizes {
    /// Returns whether the mesh is generated in the memory of the space, not made on the host.
    pub fn is_generated(&self) -> bool {
        self.nodes == ElementType::Hex8.nodes() as u64
    }

    /// Returns the number of nodes, owned ones and ghosts.
    pub fn local(&self) -> u64 {
        self.owned + self.ghosts
    }

    /// Returns the number of owned unknowns.
    pub fn rows(&self) -> u64 {
        self.dofs * self.owned
    }

    /// Returns the number of unknowns, owned ones and ghosts.
    pub fn columns(&self) -> u64 {
        self.dofs * self.local()
    }

    /// Returns the number of entries of the matrix.
    pub fn entries(&self) -> u64 {
        self.dofs * self.dofs * self.nnz
    }

    /// Returns the number of unknowns of an element.
    pub fn per_elem(&self) -> u64 {
        self.dofs * self.nodes
    }

    /// Returns the number of entries that the boundary conditions clear: pairs of different nodes, and of a fixed node with itself.
    pub fn cleared_entries(&self) -> u64 {
        self.dofs * self.dofs * self.cleared + self.dofs * (self.dofs - 1) * self.fixed
    }

    /// Returns the numbers of the matrix.
    pub fn matrix(&self) -> MatrixSizes {
        let &Sizes { dofs, listed, padded, .. } = self;
        let numbers = [self.rows(), self.entries(), dofs * dofs * self.lined, dofs * self.longest];
        let [rows, entries, lined, longest] = numbers.map(|number| number as usize);
        let shape = RowShape { rows, entries, padded: lined, longest, irregular: 0, is_symmetric: true };
        MatrixSizes { shape, dofs, listed, padded }
    }
}
