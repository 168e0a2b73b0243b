//! Working memory of the kernel: one workset per thread, kept between assemblies.

use super::array::Array;
use crate::contraction::Contraction;
use crate::element::{BasisTables, DIM};
use crate::error::check_length;
use crate::fill::{ContractionCalls, Workset};
use crate::mesh::Sizes;
use crate::space::Layout;
use crate::space::lanes::LANES;
use crate::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Bytes of a workset by default.
const BYTES: usize = 256 << 10;

/// The arrays of a workset.
#[derive(Debug, Default)]
pub(super) struct Workspace<const D: usize> {
    /// phi `[cell, m, p, 0]`.
    pub phi: Array,
    /// g `[cell, m, p, k]`.
    pub gradients: Array,
    /// G `[cell, (c, d, n), p, k]`.
    pub right: Array,
    /// H `[cell, (c, d, n), p, 0]`.
    pub weighted: Array,
    /// w det J flux `[cell, c, p, k]`.
    pub flux: Array,
    /// w det J source `[cell, c, p, 0]`.
    pub source: Array,
    /// A `[cell, D c + d, m, n]`.
    pub matrix: Array,
    /// R `[cell, c, m, 0]`.
    pub residual: Array,
}

/// Worksets of an equation of `D` unknowns per node on elements of one type, for a number of threads.
#[derive(Debug)]
pub struct Worksets<const D: usize> {
    slots: Vec<Mutex<Workspace<D>>>,
    /// Values of the basis `[p][m]`.
    values: Vec<f64>,
    nodes: usize,
    cells: usize,
    layout: Layout,
    calls: [AtomicU64; Contraction::ALL.len()],
}

impl<const D: usize> Worksets<D> {
    /// Makes worksets for `elems` elements with these tables, and allocates that of the first thread. Sizes are rounded up to whole
    /// batches of [`LANES`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the memory is not available.
    pub fn new(tables: &BasisTables, elems: usize, workset: Workset, threads: usize) -> Result<Self> {
        let (nodes, points) = (tables.nodes, tables.weights.len());
        let worksets = Worksets {
            slots: (0..threads.max(1)).map(|_| Mutex::default()).collect(),
            values: tables.values.clone(),
            nodes,
            cells: cells(workset, elems, [nodes, points, D]),
            layout: workset.layout.unwrap_or(Layout::Left),
            calls: Default::default(),
        };
        drop(worksets.take()?);
        Ok(worksets)
    }

    /// Returns the calls of contractions so far.
    pub fn calls(&self) -> ContractionCalls {
        ContractionCalls(self.calls.each_ref().map(|calls| calls.load(Ordering::Relaxed)))
    }

    /// Returns the cells of a workset.
    pub fn cells(&self) -> usize {
        self.cells
    }

    pub(super) fn count(&self, contraction: Contraction) {
        self.calls[contraction as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Refuses tables of another element.
    pub(super) fn check(&self, name: &'static str, tables: &BasisTables) -> Result<()> {
        check_length(name, "worksets (nodes)", self.nodes, tables.nodes)?;
        check_length(name, "worksets (values)", self.values.len(), tables.values.len())
    }

    /// Returns a workset that no other thread uses.
    pub(super) fn take(&self) -> Result<MutexGuard<'_, Workspace<D>>> {
        let Some(mut free) = self.slots.iter().find_map(|slot| slot.try_lock().ok()) else {
            let threads = self.slots.len();
            return Err(Error::Invalid(format!("worksets: all {threads} are in use, expected one for each thread")));
        };
        if free.phi.is_empty() {
            *free = self.workspace()?;
        }
        Ok(free)
    }

    fn workspace(&self) -> Result<Workspace<D>> {
        let &Worksets { nodes, cells, layout, ref values, .. } = self;
        let points = values.len() / nodes;
        let array = |sizes: [usize; 3]| Array::new(layout, [cells, sizes[0], sizes[1], sizes[2]]);
        Ok(Workspace {
            phi: Array::replicated(layout, [cells, nodes, points], |m, p| values[p * nodes + m])?,
            gradients: array([nodes, points, DIM])?,
            right: array([D * D * nodes, points, DIM])?,
            weighted: array([D * D * nodes, points, 1])?,
            flux: array([D, points, DIM])?,
            source: array([D, points, 1])?,
            matrix: array([D * D, nodes, nodes])?,
            residual: array([D, nodes, 1])?,
        })
    }
}

/// Returns the cells of a workset for `elems` elements of some nodes, points and dofs per node.
fn cells(workset: Workset, elems: usize, of: [usize; 3]) -> usize {
    let cells = workset.cells.unwrap_or(BYTES / bytes_per_cell(of));
    cells.min(elems).next_multiple_of(LANES).max(LANES)
}

/// Returns the bytes of a cell: phi and g, G and H, flux and source, A, R.
fn bytes_per_cell([nodes, points, dofs]: [usize; 3]) -> usize {
    let (pairs, rows) = (dofs * dofs, dofs * nodes);
    8 * (points * (4 * nodes + 4 * pairs * nodes + 4 * dofs) + rows * rows + rows)
}

/// Returns the bytes of a thread's workset.
pub(in crate::fill::host) fn workset_bytes(workset: Workset, sizes: &Sizes) -> u64 {
    let of = [sizes.nodes, sizes.cubature, sizes.dofs].map(|count| count as usize);
    (super::array::row(cells(workset, sizes.elems as usize, of)) * bytes_per_cell(of)) as u64
}
