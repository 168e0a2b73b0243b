//! A matrix on a host, and what products read of it.
//!
//! | made for | assembly writes | products read |
//! |---|---|---|
//! | format `crs` | CRS | CRS |
//! | `pattern`, `symmetric`, directly | slices | slices |
//! | `pattern`, `symmetric`, copied | CRS | slices |
//! | values in f32 | CRS, in f64 | a rounded copy, in the same format |
//!
//! Assembly into slices saves the values in CRS, 216 bytes per node of a box, and the copying. In symmetric halves it writes each pair of
//! entries once, above the diagonal.

use super::copy::HostCopy;
use super::slices::{HostRows, HostSlices, Places, irregular_rows};
use super::{ByRows, Format, Formats, MatrixSizes, MatrixStorage, Precision, RowShape};
use crate::space::Threads;
use crate::sparse::{CrsGraph, CrsMatrix, Operator};
use crate::{Error, Result};
use std::sync::Arc;

/// Most rows of a rank for which `auto` takes CRS: there the set-up of slices costs what their products save.
const SMALL: usize = 1 << 15;

/// `auto` takes slices if at most one row in this many lies in a slice without a table: such rows are no faster than in CRS.
const IRREGULAR: usize = 4;

/// A matrix on a host in a storage.
#[derive(Debug)]
pub struct HostMatrix {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Assembled in CRS.
    Crs {
        crs: CrsMatrix,
        /// What products read in place of the assembled matrix.
        copy: HostCopy,
        /// Whether the copy has the assembled values.
        is_copied: bool,
    },
    /// Assembled in slices.
    Slices(Box<InSlices>),
}

/// Slices with the places where assembly adds to them.
#[derive(Debug)]
struct InSlices {
    slices: HostSlices,
    places: Places,
}

impl HostMatrix {
    /// Returns a matrix of a graph that is assembled in CRS, with arbitrary values until then.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had; those of the format.
    pub fn new(space: &Threads, storage: MatrixStorage, graph: Arc<CrsGraph>) -> Result<Self> {
        let copy = (storage.format.maker().on_host)(space, storage.values, &graph)?;
        let crs = CrsMatrix::unfilled_on(space, graph)?;
        Ok(HostMatrix { kind: Kind::Crs { crs, copy, is_copied: false } })
    }

    /// Returns a matrix of a graph that is assembled as products read it, where the storage [allows it](Self::is_direct). In `symmetric` the
    /// assembly has to be that of a symmetric matrix.
    pub(crate) fn direct(space: &Threads, storage: MatrixStorage, graph: Arc<CrsGraph>) -> Result<Self> {
        if !Self::is_direct(storage) {
            return Self::new(space, storage, graph);
        }
        let slices = HostSlices::new(space, &graph, storage.format == Format::Symmetric)?;
        let places = slices.places(space)?;
        Ok(HostMatrix { kind: Kind::Slices(Box::new(InSlices { slices, places })) })
    }

    /// Whether assembly can write the values that products read, in slices.
    pub(crate) fn is_direct(storage: MatrixStorage) -> bool {
        storage.holds_assembled_slices() && storage.values == Precision::F64
    }

    /// Returns the bytes of the values and of what products read in their place.
    pub fn bytes(storage: MatrixStorage, direct: bool, sizes: &MatrixSizes) -> u64 {
        let copy = storage.copy_bytes(sizes, false);
        // A place per node.
        let assembled = if direct { 4 * sizes.shape.rows / sizes.dofs as usize } else { 8 * sizes.shape.entries };
        assembled as u64 + copy
    }

    /// Returns the rows and the values that assembly writes.
    pub(crate) fn parts(&self) -> (HostRows<'_>, &[f64]) {
        match &self.kind {
            Kind::Crs { crs, .. } => (HostRows::Crs(crs.graph()), crs.values()),
            Kind::Slices(own) => own.slices.parts(&own.places),
        }
    }

    /// Returns the rows and the values that assembly writes, these writable.
    pub(crate) fn parts_mut(&mut self) -> (HostRows<'_>, &mut [f64]) {
        match &mut self.kind {
            Kind::Crs { crs, is_copied, .. } => {
                *is_copied = false;
                let (graph, values) = crs.parts_mut();
                (HostRows::Crs(graph), values)
            }
            Kind::Slices(own) => own.slices.parts_mut(&own.places),
        }
    }

    /// Returns the graph.
    pub fn graph(&self) -> &Arc<CrsGraph> {
        match &self.kind {
            Kind::Crs { crs, .. } => crs.graph(),
            Kind::Slices(own) => own.slices.graph(),
        }
    }

    /// Returns the matrix as products read it: in its storage after an [`update`](Formats::update), as it is assembled before.
    pub fn operator(&self) -> &dyn Operator<Threads> {
        match &self.kind {
            Kind::Crs { copy: Some(copy), is_copied: true, .. } => &**copy,
            Kind::Crs { crs, .. } => crs,
            Kind::Slices(own) => &own.slices,
        }
    }
}

impl Formats for Threads {
    type Matrix = HostMatrix;

    fn operator(matrix: &HostMatrix) -> &dyn Operator<Threads> {
        matrix.operator()
    }

    fn in_f64(matrix: &HostMatrix) -> &dyn Operator<Threads> {
        match &matrix.kind {
            Kind::Crs { crs, .. } => crs,
            Kind::Slices(own) => &own.slices,
        }
    }

    fn update(&self, matrix: &mut HostMatrix) -> Result<bool> {
        let Kind::Crs { crs, copy: Some(copy), is_copied } = &mut matrix.kind else { return Ok(false) };
        if !*is_copied {
            copy.update(self, crs)?;
        }
        Ok(!std::mem::replace(is_copied, true))
    }

    const FORMAT: Format = Format::Crs;

    const BY_ROWS: ByRows = |shape, _| match shape {
        RowShape { rows, .. } if rows <= SMALL => (Format::Crs, "a rank has at most 32768 rows"),
        RowShape { rows, irregular, .. } if IRREGULAR * irregular > rows => (Format::Crs, "irregular rows"),
        RowShape { is_symmetric: true, .. } => (Format::Symmetric, "symmetric equation, many regular rows"),
        _ => (Format::Pattern, "not symmetric, many regular rows"),
    };

    fn row_shape(&self, graph: &CrsGraph, is_symmetric: bool) -> Result<RowShape> {
        let rows = graph.rows();
        let irregular = if rows > SMALL { irregular_rows(self, graph)? } else { 0 };
        Ok(RowShape { rows, entries: graph.nnz(), padded: 0, longest: 0, irregular, is_symmetric })
    }

    fn crs(matrix: &HostMatrix) -> Result<&CrsMatrix> {
        match &matrix.kind {
            Kind::Crs { crs, .. } => Ok(crs),
            Kind::Slices(_) => Err(Error::Invalid("matrix: assembled in slices, expected format crs".into())),
        }
    }

    fn assembled<'a>(&self, matrix: &'a HostMatrix, _: &'a mut Option<CrsMatrix>) -> Result<&'a CrsMatrix> {
        Self::crs(matrix)
    }

    fn assembled_len(matrix: &HostMatrix) -> usize {
        matrix.parts().1.len()
    }

    fn values_mut(matrix: &mut HostMatrix) -> &mut [f64] {
        matrix.parts_mut().1
    }
}
