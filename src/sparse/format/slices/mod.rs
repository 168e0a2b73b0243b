//! The formats `pattern` and `symmetric`: slices of 32 rows that share tables of column - row. Hosts lay them out anew for their vector
//! registers, GPUs for warps ([`SlicedEll`]).

mod copies;
mod faults;
#[cfg(test)]
mod host_assembled_tests;
mod host_blocks;
mod host_layout;
mod host_multiply;
mod host_nodes;
mod host_places;
#[cfg(test)]
mod host_refusals_tests;
mod host_rows;
mod host_slices;
mod host_sweep;
mod host_sweep_layout;
mod host_symmetry;
#[cfg(test)]
mod host_tests;
mod host_unions;
mod host_update;
#[cfg(feature = "cuda")]
mod slice_layout;
#[cfg(feature = "cuda")]
mod sliced_ell;
#[cfg(feature = "cuda")]
mod sliced_operator;

pub(super) use copies::{PATTERN, SYMMETRIC};
pub(super) use faults::{first_fault, not_stored};
pub(super) use host_layout::irregular_rows;
pub(super) use host_places::Places;
pub(crate) use host_places::{HostRows, NO_PLACE, RowPlaces};
pub(super) use host_slices::HostSlices;
#[cfg(feature = "cuda")]
pub(crate) use sliced_ell::RowLayout;
#[cfg(feature = "cuda")]
pub use sliced_ell::{SliceArrays, SlicedEll};
#[cfg(feature = "cuda")]
pub(super) use {
    slice_layout::{SliceLayout, WIDEST},
    sliced_ell::verdict,
};
