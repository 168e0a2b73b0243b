//! The kernel files that `graph` launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Counting, filling and sorting of rows; entries of element matrices.
pub static GRAPH: KernelFile = kernel_file!("graph");
/// The hash map of node pairs.
pub static GRAPH_MAP: KernelFile = kernel_file!("graph_map");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 2] = [&GRAPH, &GRAPH_MAP];
