//! The library as its callers see it, without the program: sums by index pairs, files, partitions, elements, convergence, and readers
//! of foreign data.

#![allow(missing_docs, missing_debug_implementations, unsafe_code)]

mod convergence;
mod coo;
mod element_types;
#[cfg(all(feature = "cli", feature = "sprs"))]
mod fuzz;
#[cfg_attr(not(all(feature = "cli", feature = "sprs")), allow(dead_code))]
mod memory;
mod misuse;
mod partition;
#[cfg(feature = "cli")]
mod report;
mod residuals;
mod surfaces;
#[allow(dead_code)]
mod thread_ranks;
