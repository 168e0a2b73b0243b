//! Element matrices by sum-factorised moments: a batch stays in registers and the first-level cache.
//!
//! Formula and cost: [`element::moments`](crate::element::moments()). Memory traffic: gathered nodes in, the batch out.
//!
//! Shapes: `node_coord [node, axis]`, `solution [node]` -> `coords [i, axis, lane]`, `temperature [i, lane]`. Cost per
//! element: 32 bytes of node ids, 256 of coordinates and temperatures, most of them in cache since neighbours share them.

use super::{ElementBatch, ElementKernel, Evaluate, Wanted};
use crate::element::equations::Heat;
use crate::element::{self, DIM, HEX8_NODES};
use crate::error::check_length;
use crate::fill::host::any_equation::WIDTH;
use crate::mesh::ElemNode;
use crate::space::lanes::Lanes;
use crate::{Error, LocalOrdinal, Result};
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
use std::ops::Range;

/// [`element::moments`](crate::element::moments()) on batches of trilinear hexahedra; borrows their mesh data and is cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct FusedKernel<'a> {
    elem_node: &'a ElemNode,
    /// Nodes of each element.
    table: &'a [[LocalOrdinal; HEX8_NODES]],
    node_coord: &'a [[f64; DIM]],
    solution: &'a [f64],
    heat: Heat,
}

impl<'a> FusedKernel<'a> {
    /// Borrows trilinear hexahedra with coordinates and temperatures of every node of the table. The kernel does not look at the sign of
    /// det J.
    ///
    /// # Errors
    /// [`Error::Shape`] unless each array has one item per node of the table; [`Error::Invalid`] unless elements have 8
    /// nodes.
    pub fn new(elem_node: &'a ElemNode, node_coord: &'a [[f64; DIM]], solution: &'a [f64], heat: Heat) -> Result<Self> {
        check_length("element kernel", "node_coord", node_coord.len(), elem_node.node_count())?;
        check_length("element kernel", "solution", solution.len(), elem_node.node_count())?;
        if elem_node.nodes_per_elem() != HEX8_NODES {
            let nodes = elem_node.nodes_per_elem();
            return Err(Error::Invalid(format!("element kernel: elements have {nodes} nodes, expected {HEX8_NODES}")));
        }
        let table = elem_node.as_slice().as_chunks().0;
        Ok(FusedKernel { elem_node, table, node_coord, solution, heat })
    }
}

impl ElementKernel<HEX8_NODES> for FusedKernel<'_> {
    fn evaluator(&self, _: Wanted, _: Range<usize>) -> Result<Evaluate<'_, HEX8_NODES>> {
        Ok(Box::new(|batch, out| {
            evaluate(self, batch, out);
            Ok(())
        }))
    }

    fn elem_node(&self) -> Option<&ElemNode> {
        Some(self.elem_node)
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
// No version for AVX-512: it computes half lanes, too, since the compiler leaves part of wider arithmetic scalar, and takes 1.1 times as
// long on an Intel Xeon (64^3 nodes, one thread).
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn evaluate(kernel: &FusedKernel<'_>, elems: Range<usize>, out: &mut ElementBatch<HEX8_NODES>) {
    batch::<{ target_cfg_f!(target_feature = "fma") }>(kernel, elems, out);
}

#[inline(always)]
fn batch<const FUSED: bool>(kernel: &FusedKernel<'_>, elems: Range<usize>, out: &mut ElementBatch<HEX8_NODES>) {
    for (part, first) in elems.clone().step_by(WIDTH).enumerate() {
        let zero = Lanes::<FUSED, f64, WIDTH>::ZERO;
        let (mut coords, mut temperature) = ([[zero; DIM]; HEX8_NODES], [zero; HEX8_NODES]);
        // Lanes behind the last element repeat it.
        for lane in 0..WIDTH {
            let nodes = &kernel.table[(first + lane).min(elems.end - 1)];
            for i in 0..HEX8_NODES {
                let node = nodes[i] as usize;
                let x = kernel.node_coord[node];
                for d in 0..DIM {
                    coords[i][d].0[lane] = x[d];
                }
                temperature[i].0[lane] = kernel.solution[node];
            }
        }
        let first = part * WIDTH;
        let residual = element::moments(&coords, &temperature, kernel.heat, |row, column, entry| {
            out.matrix[row][column][first..][..WIDTH].copy_from_slice(&entry.0);
            if row != column {
                out.matrix[column][row][first..][..WIDTH].copy_from_slice(&entry.0);
            }
        });
        for m in 0..HEX8_NODES {
            out.residual[m][first..][..WIDTH].copy_from_slice(&residual[m].0);
        }
    }
}
