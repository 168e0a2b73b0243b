//! The columns that a rank reads of a matrix between the grid points of two meshes.

use super::cell_elements::CellElements;
use super::{BoxParts, IndexBox, Mesh, Stencil};
use crate::comm::{Communicator, Map, Neighbour};
use crate::space::{MemorySpace, Threads, try_push, try_zeroed};
use crate::{Error, LocalOrdinal, Result};

/// In place of the local index of a grid point that is no node.
pub(super) const NONE: LocalOrdinal = LocalOrdinal::MAX;

/// The columns that a rank reads.
pub(super) struct Columns<'a, M: MemorySpace> {
    pub mesh: &'a Mesh<M>,
    pub map: Map,
    /// The points of each neighbour that this rank reads, and the first local index.
    pub ghosts: Vec<(IndexBox, LocalOrdinal)>,
    /// The points whose columns this rank's rows have.
    pub reads: IndexBox,
}

/// The columns that the rows of some points read, if stencils and meshes fit.
fn hull<M: MemorySpace>(meshes: [&Mesh<M>; 2], stencils: &[Stencil; 3], rows: &IndexBox) -> Result<IndexBox> {
    for (axis, stencil) in stencils.iter().enumerate() {
        let found = [stencil.rows.len(), stencil.columns as usize];
        let expected = meshes.map(|mesh| mesh.spec().nodes()[axis] as usize);
        if found != expected {
            let (operation, array) = ("grid_matrix", "stencils");
            return Err(Error::Shape { operation, array, actual: found.into(), expected: expected.into() });
        }
    }
    Ok(IndexBox::from_axes(|axis| stencils[axis].hull(rows.low[axis]..rows.high[axis])))
}

/// Whether a grid point is a node of a mesh.
fn is_node<M: MemorySpace>(mesh: &Mesh<M>) -> impl Fn(&[u64; 3]) -> bool {
    let cells = CellElements::new(mesh.element);
    let is_everywhere = cells.places.len() as u64 == cells.degree.pow(3);
    move |point| is_everywhere || cells.is_node(*point)
}

impl<'a, M: MemorySpace> Columns<'a, M> {
    /// The columns of this rank's rows, with ghosts of other ranks.
    pub fn new(comm: &dyn Communicator, [rows, mesh]: [&'a Mesh<M>; 2], stencils: &[Stencil; 3]) -> Result<Self> {
        let (me, ranks) = (comm.rank(), comm.size());
        let [row_parts, column_parts] = [BoxParts::new(rows.spec(), ranks)?, BoxParts::new(mesh.spec(), ranks)?];
        let reads = hull([rows, mesh], stencils, &row_parts.owned(me))?;
        let is_node = is_node(mesh);
        let mine = column_parts.owned(me);
        let mut first = mesh.map.owned_count() as LocalOrdinal;
        let (mut neighbours, mut ghosts) = (Vec::new(), Vec::new());
        for rank in (0..ranks).filter(|&rank| rank != me) {
            let read_by = hull([rows, mesh], stencils, &row_parts.owned(rank))?;
            let (received, sent) = (column_parts.owned(rank).intersection(&reads), mine.intersection(&read_by));
            if received.count() == 0 && sent.count() == 0 {
                continue;
            }
            let mut send = Vec::new();
            for point in sent.iter().filter(&is_node) {
                try_push("nodes to send", &mut send, mesh.owned_node(point).unwrap_or(NONE))?;
            }
            let receive = first..first + received.iter().filter(&is_node).count() as LocalOrdinal;
            ghosts.push((received, first));
            first = receive.end;
            neighbours.push(Neighbour { rank, send, receive });
        }
        let map = Map::new(mesh.map.global_count(), mesh.map.owned_count(), neighbours)?;
        Ok(Columns { mesh, map, ghosts, reads })
    }

    /// The columns of all rows, which this rank has, at its own nodes of a mesh that ranks share.
    pub fn own([rows, mesh]: [&'a Mesh<M>; 2], stencils: &[Stencil; 3]) -> Result<Self> {
        let reads = hull([rows, mesh], stencils, rows.part.owned())?.intersection(mesh.part.owned());
        let own = mesh.map.owned_count();
        Ok(Columns { mesh, map: Map::new(own as u64, own, Vec::new())?, ghosts: Vec::new(), reads })
    }

    /// Lists the local indices of the points of a range; [`NONE`] where a point is no node.
    pub fn numbers(&self, range: &IndexBox) -> Result<Vec<LocalOrdinal>> {
        let mut numbers = try_zeroed("columns of grid points", range.count() as usize)?;
        numbers.fill(NONE);
        let mut set = |(point, node): ([u64; 3], LocalOrdinal)| {
            if range.contains(point) {
                numbers[range.position(point) as usize] = node;
            }
        };
        (0..self.mesh.map.owned_count() as LocalOrdinal).for_each(|node| set((self.mesh.grid_point(node), node)));
        let is_node = is_node(self.mesh);
        self.ghosts.iter().for_each(|(points, first)| points.iter().filter(&is_node).zip(*first..).for_each(&mut set));
        Ok(numbers)
    }
}

/// Lists the positions of a mesh's own nodes in their range.
pub(super) fn positions<M: MemorySpace>(space: &Threads, mesh: &Mesh<M>) -> Result<Vec<LocalOrdinal>> {
    let own = mesh.part.owned();
    space.map(mesh.map.owned_count(), |node| own.position(mesh.grid_point(node as LocalOrdinal)) as LocalOrdinal)
}
