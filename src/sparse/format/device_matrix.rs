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
//! saves 216 bytes of values and 136 bytes of graph per node of a box. In symmetric halves it writes each pair of entries once, above the
//! diagonal; entries of the lower half have no place. Values in f32 are half as many bytes again, since the true residual of a solve reads the
//! assembled ones.

use super::choice::SMALL_ON_GPU;
use super::slice_layout::{SliceLayout, WIDEST};
use super::{
    ByRows, DeviceOperator, Format, Formats, MatrixStorage, Precision, RowLayout, RowShape, SlicedEll, Stored,
};
use crate::Result;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory};
use crate::sparse::{CrsGraph, CrsMatrix, Lanes};
use std::sync::Arc;

/// A matrix on a GPU in a storage format.
#[derive(Debug)]
pub struct DeviceMatrix {
    kind: Kind,
    /// Threads per row of products in CRS; `None`: as many as suit the mean row.
    lanes: Option<Lanes>,
}

#[derive(Debug)]
enum Kind {
    Crs(CrsMatrix<f64, CudaMemory>),
    Slices(SlicedEll<f64>),
    /// Assembled in CRS and copied to slices.
    Both(CrsMatrix<f64, CudaMemory>, SlicedEll<f64>),
    /// Assembled in CRS and rounded.
    Single(CrsMatrix<f64, CudaMemory>, Rounded),
    /// Assembled in slices and rounded.
    SingleSlices(SlicedEll<f64>, SlicedEll<f32>),
}

/// A matrix in single precision.
#[derive(Debug)]
enum Rounded {
    Crs(CrsMatrix<f32, CudaMemory>),
    Slices(SlicedEll<f32>),
}

impl DeviceMatrix {
    /// Returns a matrix of a graph, with arbitrary values until it is assembled. With `direct`, formats other than
    /// `crs` are assembled in slices; in `symmetric` the assembly has to be that of a symmetric matrix.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had; those of [`Formats::check_storage`].
    pub fn new(space: &Cuda, storage: MatrixStorage, direct: bool, graph: &Arc<CrsGraph<CudaMemory>>) -> Result<Self> {
        Cuda::check_storage(storage)?;
        let format = storage.format;
        let crs = || CrsMatrix::unfilled_on(space, graph.clone());
        let direct = direct && storage.holds_assembled_slices();
        let kind = match format {
            Format::Crs if storage.values == Precision::F32 => {
                let single = CrsMatrix::from_parts(graph.clone(), space.unfilled(graph.nnz())?);
                Kind::Single(crs()?, Rounded::Crs(single))
            }
            _ if storage.values == Precision::F32 && direct => {
                let slices = SlicedEll::new(space, format, graph)?;
                let rounded = SlicedEll::like(space, &slices)?;
                Kind::SingleSlices(slices, rounded)
            }
            _ if storage.values == Precision::F32 => {
                Kind::Single(crs()?, Rounded::Slices(SlicedEll::new(space, format, graph)?))
            }
            Format::Crs => Kind::Crs(crs()?),
            _ if direct => Kind::Slices(SlicedEll::new(space, format, graph)?),
            _ => Kind::Both(crs()?, SlicedEll::new(space, format, graph)?),
        };
        Ok(DeviceMatrix { kind, lanes: None })
    }

    /// Returns the matrix as products read it. Its values are those of the last [`update`](Formats::update).
    pub fn operator(&self) -> DeviceOperator<'_> {
        match &self.kind {
            Kind::Single(_, Rounded::Crs(crs)) => DeviceOperator::Single(Stored::of_crs(crs).with_lanes(self.lanes)),
            Kind::Single(_, Rounded::Slices(slices)) | Kind::SingleSlices(_, slices) => {
                DeviceOperator::Single(Stored::of_slices(slices))
            }
            _ => DeviceOperator::Double(self.view()),
        }
    }

    /// Returns the matrix with the values in f64. They are those of the last [`update`](Formats::update), or as assembled where
    /// products read rounded ones.
    pub fn view(&self) -> Stored<'_> {
        match &self.kind {
            Kind::Crs(crs) | Kind::Single(crs, _) => Stored::of_crs(crs).with_lanes(self.lanes),
            Kind::Slices(slices) | Kind::SingleSlices(slices, _) => Stored::of_slices(slices),
            Kind::Both(crs, slices) => Stored::of_both(crs, slices),
        }
    }

    /// Returns the values that assembly writes, padding included.
    pub fn values(&self) -> &CudaArray<f64> {
        match &self.kind {
            Kind::Crs(crs) | Kind::Both(crs, _) | Kind::Single(crs, _) => crs.values(),
            Kind::Slices(slices) | Kind::SingleSlices(slices, _) => slices.values(),
        }
    }

    /// Returns the slices if assembly writes to them.
    pub(crate) fn assembled_slices(&self) -> Option<&SlicedEll<f64>> {
        match &self.kind {
            Kind::Slices(slices) | Kind::SingleSlices(slices, _) => Some(slices),
            Kind::Crs(_) | Kind::Both(..) | Kind::Single(..) => None,
        }
    }

    /// Releases the graph of slices that assembly writes to.
    pub(crate) fn release_graph(&mut self, space: &Cuda) -> Result<()> {
        match &mut self.kind {
            Kind::Slices(slices) => slices.release_graph(space),
            Kind::SingleSlices(slices, rounded) => {
                slices.release_graph(space)?;
                rounded.release_graph(space)
            }
            Kind::Crs(_) | Kind::Both(..) | Kind::Single(..) => Ok(()),
        }
    }

    /// Returns the layout of the values that assembly writes.
    pub(crate) fn layout(&self) -> RowLayout<'_> {
        match &self.kind {
            Kind::Crs(crs) | Kind::Both(crs, _) | Kind::Single(crs, _) => RowLayout::of_graph(crs.graph()),
            Kind::Slices(slices) | Kind::SingleSlices(slices, _) => slices.layout(),
        }
    }

    /// Returns the values that assembly writes and their layout.
    pub(crate) fn assembled(&mut self) -> (RowLayout<'_>, &mut CudaArray<f64>) {
        match &mut self.kind {
            Kind::Crs(crs) | Kind::Both(crs, _) | Kind::Single(crs, _) => {
                let (graph, values) = crs.parts_mut();
                (RowLayout::of_graph(graph), values)
            }
            Kind::Slices(slices) | Kind::SingleSlices(slices, _) => slices.assembled(),
        }
    }
}

impl Formats for Cuda {
    type Matrix = DeviceMatrix;

    fn update(&self, matrix: &mut DeviceMatrix) -> Result<bool> {
        match &mut matrix.kind {
            Kind::Crs(_) | Kind::Slices(_) => Ok(false),
            Kind::Both(crs, slices) => slices.update(self, crs).map(|()| true),
            Kind::SingleSlices(slices, rounded) => rounded.round_slices(self, slices).map(|()| true),
            Kind::Single(crs, Rounded::Slices(slices)) => slices.round(self, crs).map(|()| true),
            Kind::Single(crs, Rounded::Crs(single)) => self.round(crs, single).map(|()| true),
        }
    }

    const FORMATS: &'static [Format] = &[Format::Crs, Format::Sell, Format::Pattern, Format::Symmetric];

    const FORMAT: Format = Format::Pattern;

    // Tables have at most so many entries per row, and lists no halves. Small systems are copied from CRS, and the halves of a copy are
    // checked. Lists move 12 bytes per entry, as CRS does; a CG iteration in CRS takes 4 to 25 % more time per byte.
    const BY_ROWS: Option<ByRows> = Some(|shape| {
        let RowShape { rows, entries, padded, longest, is_symmetric } = shape;
        match (longest > WIDEST, entries <= rows.saturating_mul(WIDEST)) {
            (true, _) if padded > entries + entries / 8 => (Format::Crs, "long rows of uneven length"),
            (_, true) if is_symmetric && rows > SMALL_ON_GPU => {
                (Format::Symmetric, "symmetric equation, many short rows")
            }
            (_, true) => (Format::Pattern, "not symmetric, or few rows"),
            (_, false) => (Format::Pattern, "long rows of even length"),
        }
    });

    fn row_shape(&self, graph: &CrsGraph<CudaMemory>, is_symmetric: bool) -> Result<RowShape> {
        let [padded, longest] = SliceLayout::padded(self, graph)?;
        Ok(RowShape { rows: graph.rows(), entries: graph.nnz(), padded, longest, is_symmetric })
    }

    fn check_storage(_: MatrixStorage) -> Result<()> {
        Ok(())
    }

    fn has_lanes(format: Format) -> bool {
        format == Format::Crs
    }

    fn set_lanes(matrix: &mut DeviceMatrix, lanes: Lanes) {
        matrix.lanes = Some(lanes);
    }

    fn assembled_len(matrix: &DeviceMatrix) -> usize {
        matrix.values().len()
    }

    fn values_mut(matrix: &mut DeviceMatrix) -> &mut CudaArray<f64> {
        matrix.assembled().1
    }
}
