//! Bytes of the plans that both spaces make: the mesh that a host makes, graphs, hash tables, element matrices.

use super::{Choices, Sizes};
use crate::fill::{self, Kernel};

impl Sizes {
    /// Bytes of the mesh: tables of elements and nodes, and the nodes to send.
    pub(super) fn mesh(&self) -> u64 {
        4 * self.nodes * self.elems + 25 * self.local()
    }

    /// Bytes that the host needs at most to make a mesh with listed ids, and what stays of it.
    pub(super) fn listed_mesh(&self) -> [u64; 2] {
        let &Sizes { owned, ghosts, sent, nodes, .. } = self;
        let (local, table) = (self.local(), 4 * nodes * self.elems);
        let kept = self.mesh() + 8 * local + 4 * sent;
        let slots = |items: u64| (items * 8).div_ceil(7).next_power_of_two();
        // A list that doubles until it has N ids, beside the half as large one before; then the directory.
        let list = 12 * owned.next_power_of_two();
        let directory = list.max(8 * owned.next_power_of_two() + 8 * owned).max(24 * owned);
        // A table that grows for the ghosts.
        let numbers = 17 * if ghosts == 0 { slots(owned) } else { slots(owned) + slots(2 * owned) };
        let numbered = 8 * local + table + (table + 12 * owned).max(33 * local + 4 * sent);
        [8 * nodes * self.looked_at + 8 * self.points + numbers + directory.max(numbered), kept]
    }

    /// Bytes of a position in a row of `dofs` unknowns per node.
    fn position(&self, dofs: u64) -> u64 {
        match dofs * self.longest {
            0..=255 => 1,
            256..=65_535 => 2,
            _ => 4,
        }
    }

    /// Bytes of the positions of the graph of nodes.
    pub(super) fn positions(&self) -> u64 {
        self.position(1) * self.nodes * self.nodes * self.elems
    }

    /// Bytes of what addresses element matrices in the matrix: positions and, with several unknowns per node, a table of unknowns.
    pub(super) fn places(&self) -> u64 {
        match self.dofs {
            1 => self.positions(),
            dofs => (self.position(dofs) * self.per_elem() + 4) * self.per_elem() * self.elems,
        }
    }

    /// Bytes of the graph of unknowns, and the peak while it is built: `built` is that of the graph of nodes, whose entries take
    /// `entries` bytes at its end.
    pub(super) fn graphs(&self, built: u64, entries: u64) -> [u64; 2] {
        if self.dofs == 1 {
            return [8 * self.owned + entries + self.places(), built];
        }
        let expanded = 8 * self.rows() + 4 * self.entries() + self.places();
        [expanded, built.max(8 * self.owned + entries + self.positions() + expanded)]
    }

    /// Bytes of the unknowns that an operator without a matrix keeps, at most: equations of several unknowns are linear and keep none.
    pub(super) fn kept_unknowns(&self) -> u64 {
        if self.dofs == 1 { 8 * self.columns() } else { 0 }
    }

    /// Bytes of Dirichlet conditions.
    pub(super) fn conditions(&self) -> u64 {
        4 * self.dofs * self.fixed + 8 * self.cleared_entries()
    }

    /// Bytes of an element's matrix and residual, as hosts store it.
    pub(super) fn matrix(&self) -> u64 {
        8 * self.per_elem() * (self.per_elem() + 1)
    }

    /// Bytes of the element matrices that a host's gather keeps in the set-up and in the solve.
    pub(super) fn matrices_on_host(&self, threads: u64) -> [u64; 2] {
        const LANES: u64 = crate::space::lanes::LANES as u64;
        let &Sizes { elems, layer, ghosts, .. } = self;
        let all = self.matrix() * elems;
        // Each piece of rows and each thread has a batch where it is too large for the stack.
        let batches = if self.per_elem() > 8 { threads * LANES * self.matrix() } else { 0 };
        // A row reads elements of two layers. The window also holds the batches at its ends.
        let reach = layer[0] * layer[1] + layer[0] + 1;
        let window = (reach.div_ceil(LANES) + 1).min(elems.div_ceil(LANES)) * LANES * self.matrix();
        // Two threads both compute the elements between their rows.
        let twice = (threads - 1) * (reach + LANES);
        match () {
            () if 4 * twice > elems => [all + batches; 2],
            // The window of the thread whose rows end the interior and begin the shell spans all elements, if there is one.
            () if ghosts > 0 => [all + batches, all + batches + (threads - 1) * window],
            // Each thread allocates its window at its first assembly.
            () => [batches, batches + threads * window],
        }
    }

    /// Bytes of a stored element matrix on a GPU, by contractions all of it, else the half of a symmetric one, and of its residual.
    pub(super) fn element_matrix(&self, kernel: Kernel) -> u64 {
        let rows = self.per_elem();
        let entries = if kernel == Kernel::Intrepid { rows * rows } else { rows * (rows + 1) / 2 };
        8 * (entries + rows)
    }

    /// Number of element matrices that a GPU's gather stores at once.
    pub(super) fn window_on_gpu(&self, kernel: Kernel) -> u64 {
        const BLOCK: u64 = 128;
        let &Sizes { elems, layer: [x, y], ghosts, .. } = self;
        // As many as hold the bytes of hexahedra of one unknown, in steps of 4096.
        let step = (fill::step_of(elems as usize) as u64 * 352 / self.element_matrix(kernel)).next_multiple_of(1 << 12);
        // From the first element of a block's first row to the last of its last row. Few rows of the shell fill a layer.
        let layers = if ghosts > 0 { 2 + BLOCK / (x + y).max(1) } else { 1 };
        let reach = layers * x * y + x + BLOCK;
        if step >= elems || reach >= step.max(elems / 8) { elems } else { elems.min(step + reach) }
    }

    /// Bytes between the kernels of the assembly on a GPU: operands of a workset, or coefficients at points, at most 64 MiB where one
    /// kernel does not do all.
    pub(super) fn coefficients(&self, choices: &Choices) -> u64 {
        let &Sizes { nodes, dofs, elems, cubature, .. } = self;
        if choices.kernel == Kernel::Intrepid {
            let cell = 8 * cubature * (3 * nodes + 4 * dofs * dofs * nodes + 4 * dofs);
            let cells = choices.workset.cells.map_or((32 << 20) / cell + 16, |cells| cells as u64);
            return cells.min(elems) * cell;
        }
        if self.per_elem() <= 8 { 0 } else { (64 << 20).min(1024 * self.per_elem() * elems) }
    }
}
