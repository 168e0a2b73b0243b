//! Strategy `colour` on a GPU: elements of one colour share no node and add to their rows in parallel, without atomics.
//!
//! The GPU finds the colours in rounds (see `kernels/colour.cu`); they depend on the table alone. Each number receives one
//! term per launch, in the order of colours: bitwise reproducible. A mesh of hexahedra needs about 15 colours; a node with
//! very many elements needs as many colours, rounds and launches as it has elements.

use crate::Result;
use crate::fill::kernel_files::COLOUR;
use crate::mesh::ElemNode;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments};

const THREADS: u32 = 256;
/// Colours per mask of a node.
const MASKED: u32 = u64::BITS;
/// Rounds between two checks of the host whether any element is left. A check waits for the GPU; a round without elements is short.
const ROUNDS: usize = 4;

/// The elements, sorted by colour.
#[derive(Debug)]
pub(super) struct Colour {
    list: CudaArray<u32>,
    /// Start of each colour in the list, and the end of the last one.
    bounds: Vec<usize>,
}

impl Colour {
    pub(super) fn new(space: &Cuda, elem_node: &ElemNode<CudaMemory>) -> Result<Self> {
        let elems = elem_node.elem_count();
        let grid = Grid::cover(elems, THREADS);
        let (colours, bound) = colours(space, elem_node)?;
        let mut counts = space.zeros::<u32>(bound)?;
        space.launch(&COLOUR, "colour_count", grid, arguments![elems as u64, &colours, &mut counts])?;
        let counts = space.download(&counts)?;
        let mut bounds = vec![0];
        let mut next = Vec::with_capacity(bound);
        for count in counts {
            let first = bounds[bounds.len() - 1];
            next.push(first as u32);
            if count > 0 {
                bounds.push(first + count as usize);
            }
        }
        let (mut next, mut list) = (space.upload(&next)?, space.unfilled::<u32>(elems)?);
        space.launch(&COLOUR, "colour_list", grid, arguments![elems as u64, &colours, &mut next, &mut list])?;
        Ok(Colour { list, bounds })
    }

    /// Returns the size of each colour and its part of the list.
    pub(super) fn parts(&self) -> impl Iterator<Item = (usize, Argument)> {
        self.bounds.windows(2).map(|ends| (ends[1] - ends[0], Argument::from_item(&self.list, ends[0])))
    }
}

/// Returns the colour of each element, and a bound above all colours.
fn colours(space: &Cuda, elem_node: &ElemNode<CudaMemory>) -> Result<(CudaArray<u32>, usize)> {
    let (elems, nn, nodes) = (elem_node.elem_count(), elem_node.nodes_per_elem() as u32, elem_node.nodes());
    let (grid, count) = (Grid::cover(elems, THREADS), elems as u64);
    let mut colours = space.unfilled::<u32>(elems)?;
    // No colour yet.
    space.fill_bytes(&mut colours, 0xff)?;
    let mut best = space.unfilled::<u64>(elem_node.node_count())?;
    let mut masks = space.zeros::<u64>(elem_node.node_count())?;
    let (mut left, mut waiting) = (space.zeros::<u32>(1)?, space.zeros::<u32>(1)?);
    let is_set = |flag: &CudaArray<u32>| -> Result<bool> {
        let mut host = [0];
        space.read(flag, &mut host)?;
        Ok(host[0] != 0)
    };
    let mut base = 0;
    loop {
        for _ in 0..ROUNDS {
            space.fill_bytes(&mut best, 0)?;
            space.fill_bytes(&mut left, 0)?;
            space.launch(&COLOUR, "colour_claim", grid, arguments![count, nn, nodes, &colours, &mut best])?;
            #[rustfmt::skip]
            let arguments =
                arguments![count, nn, base, nodes, &best, &mut masks, &mut colours, &mut left, &mut waiting];
            space.launch(&COLOUR, "colour_choose", grid, arguments)?;
        }
        if is_set(&left)? {
            continue;
        }
        // The masks of 64 colours were full at some nodes: their elements take part again with the next 64.
        if !is_set(&waiting)? {
            return Ok((colours, (base + MASKED) as usize));
        }
        base += MASKED;
        space.fill_bytes(&mut masks, 0)?;
        space.fill_bytes(&mut waiting, 0)?;
        space.launch(&COLOUR, "colour_wake", grid, arguments![count, &mut colours])?;
    }
}
