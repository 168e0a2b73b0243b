//! A matrix on a GPU whose values are assembled where its products read them.
//!
//! | made for | assembly writes | products read | kept besides the values |
//! |---|---|---|---|
//! | format `crs` | CRS | CRS | columns and row offsets |
//! | other formats, directly | slices | slices | tables, and columns of slices without one |
//! | other formats | CRS | slices | CRS columns and row offsets, and the values in CRS |
//!
//! Assembly into slices needs no CRS values and, once the positions of element matrices are places in the slices, no CRS graph. It
//! saves 216 bytes of values and 136 bytes of graph per node of a box.

use super::{Format, Formats, RowLayout, SlicedEll, Stored};
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
}

impl DeviceMatrix {
    /// Returns a matrix of a graph, with arbitrary values until it is assembled. With `direct`, formats other than `crs` are
    /// assembled in slices.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    pub fn new(space: &Cuda, format: Format, direct: bool, graph: &Arc<CrsGraph<CudaMemory>>) -> Result<Self> {
        let crs = || CrsMatrix::unfilled_on(space, graph.clone());
        let kind = match (format, direct) {
            (Format::Crs, _) => Kind::Crs(crs()?),
            (Format::Sell | Format::Pattern, true) => Kind::Slices(SlicedEll::new(space, format, graph)?),
            (Format::Sell | Format::Pattern, false) => Kind::Both(crs()?, SlicedEll::new(space, format, graph)?),
        };
        Ok(DeviceMatrix { kind, lanes: None })
    }

    /// Returns the matrix as products read it. Its values are those of the last [`update`](Formats::update).
    pub fn view(&self) -> Stored<'_> {
        match &self.kind {
            Kind::Crs(crs) => Stored::of_crs(crs).with_lanes(self.lanes),
            Kind::Slices(slices) => Stored::of_slices(slices),
            Kind::Both(crs, slices) => Stored::of_both(crs, slices),
        }
    }

    /// Returns the values that assembly writes, padding included.
    pub fn values(&self) -> &CudaArray<f64> {
        match &self.kind {
            Kind::Crs(crs) | Kind::Both(crs, _) => crs.values(),
            Kind::Slices(slices) => slices.values(),
        }
    }

    /// Returns the slices if assembly writes to them.
    pub(crate) fn assembled_slices(&mut self) -> Option<&mut SlicedEll<f64>> {
        match &mut self.kind {
            Kind::Slices(slices) => Some(slices),
            Kind::Crs(_) | Kind::Both(..) => None,
        }
    }

    /// Returns the layout of the values that assembly writes.
    pub(crate) fn layout(&self) -> RowLayout<'_> {
        match &self.kind {
            Kind::Crs(crs) | Kind::Both(crs, _) => RowLayout::of_graph(crs.graph()),
            Kind::Slices(slices) => slices.layout(),
        }
    }

    /// Returns the values that assembly writes and their layout.
    pub(crate) fn assembled(&mut self) -> (RowLayout<'_>, &mut CudaArray<f64>) {
        match &mut self.kind {
            Kind::Crs(crs) | Kind::Both(crs, _) => {
                let (graph, values) = crs.parts_mut();
                (RowLayout::of_graph(graph), values)
            }
            Kind::Slices(slices) => slices.assembled(),
        }
    }
}

impl Formats for Cuda {
    type Matrix = DeviceMatrix;

    fn update(&self, matrix: &mut DeviceMatrix) -> Result<bool> {
        match &mut matrix.kind {
            Kind::Crs(_) | Kind::Slices(_) => Ok(false),
            Kind::Both(crs, slices) => slices.update(self, crs).map(|()| true),
        }
    }

    const FORMATS: &'static [Format] = &[Format::Crs, Format::Sell, Format::Pattern];

    fn has_lanes(format: Format) -> bool {
        format == Format::Crs
    }

    fn set_lanes(matrix: &mut DeviceMatrix, lanes: Lanes) {
        matrix.lanes = Some(lanes);
    }

    fn values_mut(matrix: &mut DeviceMatrix) -> &mut CudaArray<f64> {
        matrix.assembled().1
    }
}
