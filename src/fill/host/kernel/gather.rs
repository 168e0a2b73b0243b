//! Gathers nodal values of a batch of elements, one element per lane.
//!
//! Shapes: `node_coord [node, axis]`, `solution [node]` -> `coords [i, axis, lane]`, `temperature [i, lane]`. Cost per
//! element: 32 bytes of node ids, 256 of coordinates and temperatures, most of them in cache since neighbours share them.

use crate::element::equations::Heat;
use crate::element::{DIM, HEX8_NODES};
use crate::error::check_length;
use crate::mesh::ElemNode;
use crate::space::lanes::Lanes;
use crate::{Error, LocalOrdinal, Result};

/// The mesh data from which element kernels compute; borrowed and cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    pub(super) elem_node: &'a ElemNode,
    /// Nodes of each element.
    table: &'a [[LocalOrdinal; HEX8_NODES]],
    node_coord: &'a [[f64; DIM]],
    solution: &'a [f64],
    pub(super) heat: Heat,
}

/// Coordinates and temperatures of a part of a batch.
pub(super) struct Gathered<const FUSED: bool, const WIDTH: usize> {
    pub coords: [[Lanes<FUSED, f64, WIDTH>; DIM]; HEX8_NODES],
    pub temperature: [Lanes<FUSED, f64, WIDTH>; HEX8_NODES],
}

impl<'a> Elements<'a> {
    /// Borrows trilinear hexahedra with coordinates and temperatures of every node of the table. The kernels of these elements do not
    /// look at the sign of det J.
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
        Ok(Elements { elem_node, table, node_coord, solution, heat })
    }

    /// Gathers `WIDTH` elements from `first` on; lanes past `end` repeat the last element.
    #[inline(always)]
    pub(super) fn gather<const FUSED: bool, const WIDTH: usize>(
        &self,
        first: usize,
        end: usize,
    ) -> Gathered<FUSED, WIDTH> {
        let mut gathered =
            Gathered { coords: [[Lanes::ZERO; DIM]; HEX8_NODES], temperature: [Lanes::ZERO; HEX8_NODES] };
        for lane in 0..WIDTH {
            let nodes = &self.table[(first + lane).min(end - 1)];
            for i in 0..HEX8_NODES {
                let node = nodes[i] as usize;
                let x = self.node_coord[node];
                for d in 0..DIM {
                    gathered.coords[i][d].0[lane] = x[d];
                }
                gathered.temperature[i].0[lane] = self.solution[node];
            }
        }
        gathered
    }
}
