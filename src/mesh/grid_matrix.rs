//! Matrices between the grid points of two meshes of one box: products of stencils along the axes.
//!
//! ```text
//! A[(i, j, k), (l, m, n)] = x[i, l] y[j, m] z[k, n]     rows: grid points of one mesh, columns: those of another
//! ```
//! Interpolation and its transpose have this form, whatever the coordinate map: it moves the points of both meshes alike, so that
//! weights follow from indices. Rows and columns are cut among ranks independently; a rank reads the columns of other ranks within the
//! hull of its rows' stencils, which all ranks compute from the boxes alone. Points that the elements of the columns do not have (of
//! `hex20`) have no entry. Entries of a row are in grid order, x fastest, which is not that of local columns on ranks. 12 bytes per entry: 3.4 entries per row where a grid of twice the spacing is interpolated.

use super::cell_elements::CellElements;
use super::{BoxParts, IndexBox, Mesh, Stencil};
use crate::comm::{Communicator, Map, Neighbour, agree};
use crate::space::{MemorySpace, Threads, offsets, split_at, try_push, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};
use rayon::prelude::*;
use std::sync::Arc;

/// Rows of a task.
const ROWS: usize = 4096;

/// Makes this rank's rows of the matrix of three stencils, for `dofs` interleaved unknowns per node, and the map of its columns.
/// Collective.
///
/// # Errors
/// [`Error::Shape`] for stencils of other grids, [`Error::OutOfMemory`], on one rank with [`Error::Elsewhere`] on all others.
pub(super) fn grid_matrix<M: MemorySpace>(
    space: &Threads,
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

/// Term of a coordinate that no interior point has: three of them do not overflow, and a local index is smaller.
const OUTSIDE: u64 = 1 << 60;

/// Terms of the local indices of interior points, along each axis.
fn interior_terms<M: MemorySpace>(mesh: &Mesh<M>) -> [Vec<u64>; 3] {
    let (inner, mut stride) = (mesh.part.interior(), 1);
    [0, 1, 2].map(|axis| {
        let range = inner.low[axis]..inner.high[axis];
        let term = |at: u64| if range.contains(&at) { (at - range.start) * stride } else { OUTSIDE };
        let terms = (0..mesh.spec().nodes()[axis]).map(term).collect();
        stride *= range.end - range.start;
        // Listed nodes have an order of their own.
        if mesh.listed.is_none() { terms } else { vec![OUTSIDE; mesh.spec().nodes()[axis] as usize] }
    })
}

/// The columns that a rank reads.
pub(super) struct Columns<'a, M: MemorySpace> {
    pub mesh: &'a Mesh<M>,
    whole: IndexBox,
    /// Along each axis: terms whose sum is the local index of an interior point; [`OUTSIDE`] at other coordinates.
    interior: [Vec<u64>; 3],
    pub map: Map,
    /// Whether every grid point is a node.
    is_everywhere: bool,
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
        let cells = CellElements::new(mesh.element);
        let is_everywhere = cells.places.len() as u64 == cells.degree.pow(3);
        let whole = IndexBox::whole(mesh.spec().nodes());
        let is_node = |point: &[u64; 3]| is_everywhere || cells.is_node(*point);
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
        Ok(Columns { mesh, whole, interior: interior_terms(mesh), map, is_everywhere, ghosts })
    }

    /// The local index of a grid point, if it is a node.
    fn local(&self, point: [u64; 3]) -> Option<LocalOrdinal> {
        let [x, y, z] = [0, 1, 2].map(|axis| self.interior[axis][point[axis] as usize]);
        if x + y + z < OUTSIDE {
            return Some((x + y + z) as LocalOrdinal);
        }
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

/// Calls `entry` with the columns and weights of the row of a node, x fastest.
#[inline(always)]
fn visit<M: MemorySpace>(
    rows: &Mesh<M>,
    columns: &Columns<'_, M>,
    [along_x, along_y, along_z]: &[Stencil; 3],
    node: usize,
    mut entry: impl FnMut(LocalOrdinal, f64),
) {
    let [i, j, k] = rows.grid_point(node as LocalOrdinal).map(|index| index as usize);
    for &(z, c) in &along_z.rows[k] {
        for &(y, b) in &along_y.rows[j] {
            for &(x, a) in &along_x.rows[i] {
                if let Some(column) = columns.local([x, y, z]) {
                    entry(column, a * b * c);
                }
            }
        }
    }
}

/// The matrix in local indices: lengths of rows, their offsets, then entries.
fn matrix<M: MemorySpace>(
    space: &Threads,
    rows: &Mesh<M>,
    columns: &Columns<'_, M>,
    stencils: &[Stencil; 3],
    dofs: usize,
) -> Result<CrsMatrix> {
    let owned = rows.map.owned_count();
    let length = |node: usize| {
        if !columns.is_everywhere {
            let mut count = 0;
            visit(rows, columns, stencils, node, |_, _| count += 1);
            return count;
        }
        let point = rows.grid_point(node as LocalOrdinal);
        (0..3).map(|axis| stencils[axis].rows[point[axis] as usize].len()).product()
    };
    let mut lengths = try_zeroed::<u32>("lengths of rows", dofs * owned)?;
    space.for_each(lengths.par_chunks_mut(dofs * ROWS).enumerate(), |(task, lengths)| {
        for (node, lengths) in (task * ROWS..).zip(lengths.chunks_exact_mut(dofs)) {
            lengths.fill(length(node) as u32);
        }
    });
    let row_map = offsets(space, &lengths)?;
    let nnz = row_map[dofs * owned] as usize;
    let (mut entries, mut values) = (try_zeroed("columns", nnz)?, try_zeroed::<f64>("weights", nnz)?);
    let ends = || (0..=owned.div_ceil(ROWS)).map(|task| row_map[dofs * owned.min(task * ROWS)] as usize);
    let pieces = split_at(&mut entries, ends()).into_par_iter().zip(split_at(&mut values, ends()));
    space.for_each(pieces.enumerate(), |(task, (mut entries, mut values))| {
        for node in task * ROWS..owned.min((task + 1) * ROWS) {
            let length = lengths[dofs * node] as usize;
            let (of_row, weights);
            (of_row, entries) = entries.split_at_mut(dofs * length);
            (weights, values) = values.split_at_mut(dofs * length);
            let mut at = 0;
            visit(rows, columns, stencils, node, |column, weight| {
                for dof in 0..dofs {
                    of_row[dof * length + at] = column * dofs as LocalOrdinal + dof as LocalOrdinal;
                    weights[dof * length + at] = weight;
                }
                at += 1;
            });
        }
    });
    let graph = CrsGraph::trusted(row_map, entries, dofs * columns.map.local_count());
    CrsMatrix::new(Arc::new(graph), values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::comm::ranks::on_ranks;
    use crate::element::ElementType;
    use crate::mesh::{BoxPart, BoxSpec, CoordinateMap};
    use crate::space::{Serial, Threads};
    use std::collections::BTreeMap;

    type Entries = BTreeMap<(u64, u64), f64>;

    /// The entries of this rank's rows by global ids, and whether the map delivers the columns that the entries read.
    fn entries(comm: &dyn Communicator, meshes: [&Mesh; 2], stencils: &[Stencil; 3], dofs: usize) -> Entries {
        let (matrix, map) = grid_matrix(&Threads::new(2).unwrap(), comm, meshes, stencils, dofs).unwrap();
        // Ids of the columns travel as values do.
        let [rows, columns] = meshes.map(|mesh| (0..mesh.map.owned_count() as u32).map(|node| mesh.global_node(node)));
        let mut ids = vec![f64::NAN; map.local_count()];
        let id = |node: u64, dof: usize| (node as usize * dofs + dof) as f64;
        columns.enumerate().for_each(|(at, node)| (0..dofs).for_each(|dof| ids[dofs * at + dof] = id(node, dof)));
        crate::comm::Halo::new(&Serial, comm, &map).unwrap().update(&Serial, &mut ids).unwrap();
        let mut found = Entries::new();
        for (row, node) in
            rows.enumerate().flat_map(|(at, node)| (0..dofs).map(move |dof| (dofs * at + dof, id(node, dof))))
        {
            for at in matrix.graph().row_range(row) {
                let column = ids[matrix.graph().entries()[at] as usize];
                assert_eq!(found.insert((node as u64, column as u64), matrix.values()[at]), None);
            }
        }
        found
    }

    /// More rows than a task has: each interpolates linear functions, by entries that have the ids of the columns.
    #[test]
    fn rows_of_several_tasks_interpolate_linear_functions() {
        let [fine, coarse] = [[33u64, 13, 11], [17, 7, 6]];
        let [rows, columns] = [fine, coarse].map(|nodes| {
            let spec = BoxSpec::unit(nodes, CoordinateMap::None).unwrap();
            Mesh::of_elements(&Solo, ElementType::Hex8, &BoxPart::new(&spec, 0, 1).unwrap()).unwrap()
        });
        assert!(rows.map.owned_count() > ROWS);
        let stencils = [0, 1, 2].map(|axis| Stencil::linear(fine[axis], coarse[axis]));
        let value = |nodes: [u64; 3], id: u64| {
            let at = IndexBox::whole(nodes).at(id);
            (0..3).map(|axis| [1.0, -3.0, 7.0][axis] * at[axis] as f64 / (nodes[axis] - 1) as f64).sum::<f64>()
        };
        let mut images: BTreeMap<u64, f64> = BTreeMap::new();
        for ((row, column), weight) in entries(&Solo, [&rows, &columns], &stencils, 1) {
            *images.entry(row).or_default() += weight * value(coarse, column);
        }
        assert_eq!(images.len(), rows.map.owned_count());
        for (row, image) in images {
            assert!((image - value(fine, row)).abs() < 1e-13, "row {row}: {image}, {}", value(fine, row));
        }
        for axis in 0..3 {
            let of_another = |at| Stencil::linear(fine[at], coarse[at] + u64::from(at == axis));
            let refused = Columns::new(&Solo, [&rows, &columns], &[0, 1, 2].map(of_another)).map(drop);
            assert!(matches!(refused, Err(Error::Shape { array: "stencils", .. })), "axis {axis}: {refused:?}");
        }
    }

    /// Rows and columns on any number of ranks are those of the product of stencils, for every element.
    #[test]
    fn matrices_of_ranks_are_the_products_of_stencils() {
        let spec = |nodes| BoxSpec::unit(nodes, CoordinateMap::None).unwrap();
        for (element, name) in ElementType::volumes() {
            let (fine, coarse) = (spec([7, 9, 5]), spec(if element.degree() == 2 { [4, 5, 3] } else { [4, 5, 5] }));
            let stencil = |axis: usize| {
                Stencil::linear(fine.nodes()[axis], coarse.nodes()[axis]).without_ends([axis == 2, false])
            };
            let down = [0, 1, 2].map(stencil);
            let up = down.each_ref().map(Stencil::transposed);
            let mesh = |comm: &dyn Communicator, spec: &BoxSpec, element| {
                Mesh::of_elements(comm, element, &BoxPart::new(spec, comm.rank(), comm.size()).unwrap()).unwrap()
            };
            let both = |comm: &dyn Communicator, dofs| {
                let (fine, coarse) = (mesh(comm, &fine, element), mesh(comm, &coarse, element.of_degree_one()));
                [entries(comm, [&fine, &coarse], &down, dofs), entries(comm, [&coarse, &fine], &up, dofs)]
            };
            let [whole, back] = both(&Solo, 1);
            let ids: std::collections::BTreeSet<u64> = {
                let fine = mesh(&Solo, &fine, element);
                (0..fine.map.owned_count() as u32).map(|node| fine.global_node(node)).collect()
            };
            let weight = |of: &Stencil, row: u64, column: u64| {
                of.rows[row as usize].iter().find(|entry| entry.0 == column).map_or(0.0, |entry| entry.1)
            };
            let [rows, columns] = [&fine, &coarse].map(|spec| IndexBox::whole(spec.nodes()));
            for (row, column) in ids.iter().flat_map(|&row| (0..columns.count()).map(move |column| (row, column))) {
                let (at, from) = (rows.at(row), columns.at(column));
                let expected: f64 = (0..3).map(|axis| weight(&down[axis], at[axis], from[axis])).product();
                let found =
                    [whole.get(&(row, column)), back.get(&(column, row))].map(|value| value.copied().unwrap_or(0.0));
                assert!(
                    found.iter().all(|value| (value - expected).abs() < 1e-15),
                    "{name}: {row} {column} {found:?} {expected}"
                );
            }
            // Each dof of a node has the entries of the node.
            let expanded = |one: &Entries, dofs: u64| -> Entries {
                let of_dof = |dof: u64| {
                    one.iter().map(move |(&(row, column), &weight)| ((dofs * row + dof, dofs * column + dof), weight))
                };
                (0..dofs).flat_map(of_dof).collect()
            };
            for (ranks, dofs) in [(2, 1), (5, 1), (3, 3)] {
                let alone = [&whole, &back].map(|one| expanded(one, dofs as u64));
                let parts = on_ranks(ranks, |comm| both(comm, dofs));
                for (which, alone) in alone.iter().enumerate() {
                    let joined: Entries = parts.iter().flat_map(|part| part[which].clone()).collect();
                    assert!(joined == *alone, "{name} on {ranks} ranks, {dofs} dofs, matrix {which}");
                }
            }
        }
    }
}
