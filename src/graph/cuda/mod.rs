//! Graphs on a GPU: launches of `kernels/graph.cu`.

mod lists;

use crate::Result;
use crate::space::cuda::{Argument, Cuda, Grid};

/// Threads of a block, as in the kernels.
const THREADS: u32 = 256;

impl Cuda {
    /// One thread an item.
    fn graph_items(&self, name: &'static str, items: usize, arguments: &mut [Argument]) -> Result<()> {
        self.launch("graph", name, Grid::cover(items, THREADS), arguments)
    }
}

/// Bits that hold the numbers `0..=largest`.
fn bits_of(largest: usize) -> u32 {
    usize::BITS - largest.leading_zeros()
}
