//! Slices on a host whose values are assembled in place, without the matrix in CRS.

use super::host_places::{HostRows, InSlices, Places};
use super::host_slices::HostSlices;
use crate::Result;
use crate::space::Threads;
use crate::sparse::CrsGraph;
use std::sync::Arc;

/// A matrix in slices, and where assembly adds to it.
#[derive(Debug)]
pub(crate) struct AssembledSlices {
    slices: HostSlices,
    places: Places,
}

impl AssembledSlices {
    /// Lays out a graph; all values are 0.
    ///
    /// # Errors
    /// Those of [`HostSlices::new`].
    pub fn new(space: &Threads, graph: &Arc<CrsGraph>, symmetric: bool) -> Result<Self> {
        let slices = HostSlices::new(space, graph, symmetric)?;
        let places = Places::new(space, graph, slices.layout())?;
        Ok(AssembledSlices { slices, places })
    }

    /// The matrix as products read it.
    pub fn slices(&self) -> &HostSlices {
        &self.slices
    }

    /// The rows and the values.
    pub fn parts(&self) -> (HostRows<'_>, &[f64]) {
        let (graph, layout, values) = self.slices.parts();
        (HostRows::Slices(InSlices { graph, layout, places: &self.places }), values)
    }

    /// The rows and the values, writable.
    pub fn parts_mut(&mut self) -> (HostRows<'_>, &mut [f64]) {
        let (graph, layout, values) = self.slices.parts_mut();
        (HostRows::Slices(InSlices { graph, layout, places: &self.places }), values)
    }
}
