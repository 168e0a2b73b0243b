//! The kernel files that `graph` launches.

use crate::space::cuda::{KernelFile, kernel_file};

/// Counting, filling and sorting of rows; entries of element matrices.
pub static GRAPH: KernelFile = kernel_file!("graph");
/// The hash map of node pairs.
pub static GRAPH_MAP: KernelFile = kernel_file!("graph_map");
/// Several degrees of freedom per node.
pub static DOFS: KernelFile = kernel_file!("dofs");

/// Files that are compiled as they are, for a list of all kernels.
pub static KERNEL_FILES: [&KernelFile; 3] = [&GRAPH, &GRAPH_MAP, &DOFS];
