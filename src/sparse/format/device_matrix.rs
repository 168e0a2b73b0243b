//! A matrix on a GPU whose values are assembled where its products read them.
//!
//! | made for | assembly writes | products read | kept besides the values |
//! |---|---|---|---|
//! | format `crs` | CRS | CRS | columns and row offsets |
//! | other formats, directly | slices | slices | tables, and columns of slices without one |
//! | other formats, copied | CRS | slices | CRS columns and row offsets, and the values in CRS |
//! | values in f32 | the same, in f64 | a rounded copy, in the same format | the same, and the values in f64 |
//!
//! Assembly into slices needs no CRS values and, once the positions of element matrices are places in the slices, no CRS graph. It
//! saves 216 bytes of values and 116 bytes of graph per node of a box. In symmetric halves it writes each pair of entries once, above the
//! diagonal; mirrored entries have no position. Values in f32 are half as many bytes again, since the true residual of a solve reads the
//! assembled ones.

use super::copy::DeviceCopy;
use super::registry::SMALL_ON_GPU;
use super::slices::{SliceLayout, WIDEST};
use super::{
    ByRows, DeviceCrs, Format, Formats, GraphOf, MatrixOf, MatrixSizes, MatrixStorage, Precision, RowLayout, RowShape,
    SlicedEll,
};
use crate::space::ExecutionSpace;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory};
use crate::sparse::{CrsGraph, CrsMatrix, Lanes, Operator};
use crate::{Error, Result};
use std::sync::Arc;

/// A matrix on a GPU in a storage format.
#[derive(Debug)]
pub struct DeviceMatrix {
    kind: Kind,
    values: Precision,
}

#[derive(Debug)]
enum Kind {
    /// Assembled in CRS, and copied where products read another storage.
    Crs(DeviceCrs, DeviceCopy),
    /// Assembled in slices, and rounded where products read f32.
    Slices(SlicedEll<f64>, Option<SlicedEll<f32>>),
}

impl DeviceMatrix {
    /// Returns a matrix of a graph, with arbitrary values until it is assembled. With `direct`, formats other than
    /// `crs` are assembled in slices; in `symmetric` the assembly has to be that of a symmetric matrix.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    pub fn new(space: &Cuda, storage: MatrixStorage, direct: bool, graph: &Arc<GraphOf<Cuda>>) -> Result<Self> {
        let MatrixStorage { format, values, .. } = storage;
        let kind = if direct && storage.holds_assembled_slices() {
            let slices = SlicedEll::new(space, format == Format::Symmetric, graph)?;
            let rounded = if values == Precision::F32 { Some(SlicedEll::like(space, &slices)?) } else { None };
            Kind::Slices(slices, rounded)
        } else {
            let crs = CrsMatrix::unfilled_on(space, graph.clone())?;
            Kind::Crs(crs.into(), (format.maker().on_device)(space, values, graph)?)
        };
        Ok(DeviceMatrix { kind, values })
    }

    /// Returns the bytes of the values, assembled and as products read them, with tables and columns of slices.
    pub fn bytes(storage: MatrixStorage, direct: bool, sizes: &MatrixSizes) -> u64 {
        match storage.values {
            Precision::F32 if direct => {
                storage.copy_bytes(sizes, true) + 8 * (storage.format.maker().lengths)(sizes, true)[0]
            }
            Precision::F64 if direct => storage.copy_bytes(sizes, true),
            _ => 8 * sizes.shape.entries as u64 + storage.copy_bytes(sizes, true),
        }
    }

    /// Returns the values that products read in CRS, if they are kept and no number of threads per row was asked for.
    pub(crate) fn crs(&self) -> Option<CrsValues<'_>> {
        match &self.kind {
            Kind::Crs(crs, _) if self.values == Precision::F64 => {
                crs.lanes.is_none().then_some(CrsValues::Double(&crs.matrix))
            }
            Kind::Crs(_, Some(copy)) => copy.single_crs().map(CrsValues::Single),
            Kind::Crs(..) | Kind::Slices(..) => None,
        }
    }

    /// Returns the values that assembly writes, padding included.
    pub fn values(&self) -> &CudaArray<f64> {
        match &self.kind {
            Kind::Crs(crs, _) => crs.matrix.values(),
            Kind::Slices(slices, _) => slices.values(),
        }
    }

    /// Returns the slices if assembly writes to them.
    pub(crate) fn assembled_slices(&self) -> Option<&SlicedEll<f64>> {
        match &self.kind {
            Kind::Slices(slices, _) => Some(slices),
            Kind::Crs(..) => None,
        }
    }

    /// Releases the graph of slices that assembly writes to.
    pub(crate) fn release_graph(&mut self, space: &Cuda) -> Result<()> {
        let Kind::Slices(slices, rounded) = &mut self.kind else { return Ok(()) };
        slices.release_graph(space)?;
        rounded.as_mut().map_or(Ok(()), |rounded| rounded.release_graph(space))
    }

    /// Returns the layout of the values that assembly writes.
    pub(crate) fn layout(&self) -> RowLayout<'_> {
        match &self.kind {
            Kind::Crs(crs, _) => RowLayout::of_graph(crs.matrix.graph()),
            Kind::Slices(slices, _) => slices.layout(),
        }
    }

    /// Returns the values that assembly writes and their layout.
    pub(crate) fn assembled(&mut self) -> (RowLayout<'_>, &mut CudaArray<f64>) {
        match &mut self.kind {
            Kind::Crs(crs, _) => {
                let (graph, values) = crs.matrix.parts_mut();
                (RowLayout::of_graph(graph), values)
            }
            Kind::Slices(slices, _) => slices.assembled(),
        }
    }
}

/// A matrix in CRS by the type of its values.
pub(crate) enum CrsValues<'a> {
    Double(&'a MatrixOf<Cuda>),
    Single(&'a CrsMatrix<f32, CudaMemory>),
}

impl Formats for Cuda {
    type Matrix = DeviceMatrix;

    fn operator(matrix: &DeviceMatrix) -> &dyn Operator<Cuda> {
        match &matrix.kind {
            Kind::Crs(_, Some(copy)) => &**copy,
            Kind::Crs(crs, None) => crs,
            Kind::Slices(_, Some(rounded)) => rounded,
            Kind::Slices(slices, None) => slices,
        }
    }

    fn in_f64(matrix: &DeviceMatrix) -> &dyn Operator<Cuda> {
        match &matrix.kind {
            _ if matrix.values == Precision::F64 => Self::operator(matrix),
            Kind::Crs(crs, _) => crs,
            Kind::Slices(slices, _) => slices,
        }
    }

    fn update(&self, matrix: &mut DeviceMatrix) -> Result<bool> {
        match &mut matrix.kind {
            Kind::Crs(crs, Some(copy)) => copy.update(self, &crs.matrix).map(|_| true),
            Kind::Slices(slices, Some(rounded)) => rounded.round_slices(self, slices).map(|()| true),
            Kind::Crs(_, None) | Kind::Slices(_, None) => Ok(false),
        }
    }

    const FORMAT: Format = Format::Pattern;

    // Tables have at most so many entries per row, and lists no halves. Small systems are copied from CRS, and the halves of a copy are
    // checked. Lists move 12 bytes per entry, as CRS does; a CG iteration in CRS takes 4 to 25 % more time per byte.
    const BY_ROWS: ByRows = |shape, keeps_crs| {
        let RowShape { rows, entries, padded, longest, is_symmetric, .. } = shape;
        match (longest > WIDEST, entries <= rows.saturating_mul(WIDEST)) {
            _ if keeps_crs => (Format::Crs, "read by the set-up of the preconditioner"),
            (true, _) if padded > entries + entries / 8 => (Format::Crs, "long rows of uneven length"),
            (_, true) if is_symmetric && rows > SMALL_ON_GPU => {
                (Format::Symmetric, "symmetric equation, many short rows")
            }
            (_, true) => (Format::Pattern, "not symmetric, or few rows"),
            (_, false) => (Format::Pattern, "long rows of even length"),
        }
    };

    fn row_shape(&self, graph: &GraphOf<Cuda>, is_symmetric: bool) -> Result<RowShape> {
        let [padded, longest] = SliceLayout::padded(self, graph)?;
        Ok(RowShape { rows: graph.rows(), entries: graph.nnz(), padded, longest, irregular: 0, is_symmetric })
    }

    fn has_lanes(format: Format) -> bool {
        format == Format::Crs
    }

    fn set_lanes(matrix: &mut DeviceMatrix, lanes: Lanes) {
        if let Kind::Crs(crs, copy) = &mut matrix.kind {
            crs.lanes = Some(lanes);
            copy.iter_mut().for_each(|copy| copy.set_lanes(lanes));
        }
    }

    fn crs(matrix: &DeviceMatrix) -> Result<&MatrixOf<Cuda>> {
        match &matrix.kind {
            Kind::Crs(DeviceCrs { matrix, .. }, _) => Ok(matrix),
            Kind::Slices(..) => Err(Error::Invalid("matrix: assembled in slices, expected format crs".into())),
        }
    }

    fn assembled<'a>(&self, matrix: &'a DeviceMatrix, copy: &'a mut Option<CrsMatrix>) -> Result<&'a CrsMatrix> {
        let matrix = Self::crs(matrix)?;
        let kept = match copy.take() {
            Some(kept) => kept,
            None => {
                let graph = matrix.graph();
                let (row_map, entries) = (self.download(graph.row_map())?, self.download(graph.entries())?);
                CrsMatrix::zero(Arc::new(CrsGraph::trusted(row_map, entries, graph.columns())))
            }
        };
        let copy = copy.insert(kept);
        self.read(matrix.values(), copy.values_mut())?;
        Ok(copy)
    }

    fn assembled_len(matrix: &DeviceMatrix) -> usize {
        matrix.values().len()
    }

    fn values_mut(matrix: &mut DeviceMatrix) -> &mut CudaArray<f64> {
        matrix.assembled().1
    }
}
