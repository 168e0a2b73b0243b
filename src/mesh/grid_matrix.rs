//! Matrices between the grid points of two meshes of one box: products of stencils along the axes.
//!
//! ```text
//! A[(i, j, k), (l, m, n)] = x[i, l] y[j, m] z[k, n]     rows: grid points of one mesh, columns: those of another
//! ```
//! Interpolation and its transpose have this form, whatever the coordinate map: it moves the points of both meshes alike, so that
//! weights follow from indices. Rows and columns are cut among ranks independently; a rank reads the columns of other ranks within the
//! hull of its rows' stencils, which all ranks compute from the boxes alone. Points that the elements of the columns do not have (of
//! `hex20`) have no entry. Entries of a row are in grid order, x fastest, which is not that of local columns on ranks. 12 bytes per entry: 3.4 entries per row where a grid of twice the spacing is interpolated.

use super::element_part::{cell_elements, node_places};
use super::{BoxParts, IndexBox, Mesh, Stencil};
use crate::comm::{Communicator, Map, Neighbour, agree};
use crate::space::{HostSpace, MemorySpace, try_push, try_reserve};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows of a task.
const ROWS: usize = 4096;

/// Makes this rank's rows of the matrix of three stencils, for `dofs` interleaved unknowns per node, and the map of its columns.
/// Collective.
///
/// # Errors
/// [`Error::Shape`] for stencils of other grids, [`Error::OutOfMemory`], on one rank with [`Error::Elsewhere`] on all others.
pub(super) fn grid_matrix<S: HostSpace, M: MemorySpace>(
    space: &S,
    comm: &dyn Communicator,
    [rows, columns]: [&Mesh<M>; 2],
    stencils: &[Stencil; 3],
    dofs: usize,
) -> Result<(CrsMatrix, Map)> {
    agree(comm, {
        Columns::new(comm, [rows, columns], stencils).and_then(|columns| {
            let map = columns.map.expand(dofs)?;
            let matrix = matrix(space, rows, &columns, stencils, dofs)?;
            Ok((matrix, map))
        })
    })
}

/// The columns that a rank reads.
pub(super) struct Columns<'a, M: MemorySpace> {
    pub mesh: &'a Mesh<M>,
    whole: IndexBox,
    pub map: Map,
    /// Of each neighbour: the points that this rank reads, their ids where some points are no nodes, and the first local index.
    pub ghosts: Vec<(IndexBox, Option<Vec<GlobalOrdinal>>, LocalOrdinal)>,
}

impl<'a, M: MemorySpace> Columns<'a, M> {
    pub fn new(comm: &dyn Communicator, [rows, mesh]: [&'a Mesh<M>; 2], stencils: &[Stencil; 3]) -> Result<Self> {
        for (axis, stencil) in stencils.iter().enumerate() {
            let found = [stencil.rows.len(), stencil.columns as usize];
            let expected = [rows, mesh].map(|mesh| mesh.spec().nodes()[axis] as usize);
            if found != expected {
                let (operation, array) = ("grid_matrix", "stencils");
                return Err(Error::Shape { operation, array, actual: found.into(), expected: expected.into() });
            }
        }
        let (me, ranks) = (comm.rank(), comm.size());
        let [row_parts, column_parts] = [BoxParts::new(rows.spec(), ranks)?, BoxParts::new(mesh.spec(), ranks)?];
        let read_by = |rank| {
            let owned = row_parts.owned(rank);
            IndexBox::from_axes(|axis| stencils[axis].hull(owned.low[axis]..owned.high[axis]))
        };
        let (degree, shapes) = cell_elements(mesh.element);
        let places = node_places(degree, &shapes);
        let is_everywhere = places.len() as u64 == degree.pow(3);
        let whole = IndexBox::whole(mesh.spec().nodes());
        let is_node = |point: &[u64; 3]| is_everywhere || is_place(&places, degree, point);
        let (mine, reads) = (column_parts.owned(me), read_by(me));
        let mut first = mesh.map.owned_count() as LocalOrdinal;
        let (mut neighbours, mut ghosts) = (Vec::new(), Vec::new());
        for rank in (0..ranks).filter(|&rank| rank != me) {
            let (received, sent) = (column_parts.owned(rank).intersection(&reads), mine.intersection(&read_by(rank)));
            if received.count() == 0 && sent.count() == 0 {
                continue;
            }
            let mut ids = Vec::new();
            received.iter().filter(is_node).try_for_each(|at| try_push("ghost ids", &mut ids, whole.position(at)))?;
            let mut send = Vec::new();
            for point in sent.iter().filter(is_node) {
                try_push("nodes to send", &mut send, mesh.owned_node(point).unwrap_or(LocalOrdinal::MAX))?;
            }
            let receive = first..first + ids.len() as LocalOrdinal;
            ghosts.push((received, (!is_everywhere).then_some(ids), first));
            first = receive.end;
            neighbours.push(Neighbour { rank, send, receive });
        }
        let map = Map::new(mesh.map.global_count(), mesh.map.owned_count(), neighbours)?;
        Ok(Columns { mesh, whole, map, ghosts })
    }

    /// The local index of a grid point, if it is a node.
    fn local(&self, point: [u64; 3]) -> Option<LocalOrdinal> {
        if self.mesh.part.owned().contains(point) {
            return self.mesh.owned_node(point);
        }
        let (points, ids, first) = self.ghosts.iter().find(|(points, ..)| points.contains(point))?;
        let at = match ids {
            None => points.position(point),
            Some(ids) => ids.binary_search(&self.whole.position(point)).ok()? as u64,
        };
        Some(first + at as LocalOrdinal)
    }
}

fn is_place(places: &BTreeSet<[u64; 3]>, degree: u64, point: &[u64; 3]) -> bool {
    places.contains(&point.map(|index| index % degree))
}

/// Rows of one task.
#[derive(Default)]
struct Block {
    lengths: Vec<usize>,
    entries: Vec<(LocalOrdinal, f64)>,
}

/// The matrix in local indices.
fn matrix<S: HostSpace, M: MemorySpace>(
    space: &S,
    rows: &Mesh<M>,
    columns: &Columns<'_, M>,
    [along_x, along_y, along_z]: &[Stencil; 3],
    dofs: usize,
) -> Result<CrsMatrix> {
    let owned = rows.map.owned_count();
    let mut blocks: Vec<Block> = (0..owned.div_ceil(ROWS)).map(|_| Block::default()).collect();
    space.try_for_each(blocks.par_iter_mut().enumerate(), |(at, block)| {
        let nodes = at * ROWS..owned.min((at + 1) * ROWS);
        try_reserve("lengths of rows", &mut block.lengths, nodes.len())?;
        for node in nodes {
            let [i, j, k] = rows.grid_point(node as LocalOrdinal).map(|index| index as usize);
            let (before, [xs, ys, zs]) = (block.entries.len(), [&along_x.rows[i], &along_y.rows[j], &along_z.rows[k]]);
            for (&(z, c), &(y, b)) in zs.iter().flat_map(|z| ys.iter().map(move |y| (z, y))) {
                for &(x, a) in xs {
                    if let Some(column) = columns.local([x, y, z]) {
                        try_push("interpolation", &mut block.entries, (column, a * b * c))?;
                    }
                }
            }
            block.lengths.push(block.entries.len() - before);
        }
        Ok(())
    })?;
    let nnz = dofs * blocks.iter().map(|block| block.entries.len()).sum::<usize>();
    let (mut row_map, mut entries, mut values) = (Vec::new(), Vec::new(), Vec::new());
    try_reserve("row offsets", &mut row_map, dofs * owned + 1)?;
    try_reserve("columns", &mut entries, nnz)?;
    try_reserve("weights", &mut values, nnz)?;
    row_map.push(0 as RowOffset);
    for block in blocks {
        let mut start = 0;
        for length in block.lengths {
            let of_node = &block.entries[start..start + length];
            for dof in 0..dofs {
                entries.extend(of_node.iter().map(|entry| entry.0 * dofs as LocalOrdinal + dof as LocalOrdinal));
                values.extend(of_node.iter().map(|entry| entry.1));
                row_map.push(entries.len() as RowOffset);
            }
            start += length;
        }
    }
    let graph = CrsGraph::trusted(row_map, entries, dofs * columns.map.local_count());
    CrsMatrix::new(Arc::new(graph), values)
}
