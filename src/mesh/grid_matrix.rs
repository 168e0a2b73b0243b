//! Matrices between the grid points of two meshes of one box: products of stencils along the axes, which are applied by their factors.
//!
//! ```text
//! A[(i, j, k), (l, m, n)] = x[i, l] y[j, m] z[k, n]     rows: grid points of one mesh, columns: those of another
//! y(i, j, k) = sum over l of x[i, l] (sum over n, m of y[j, m] z[k, n] x(l, m, n))
//! ```
//! Interpolation and its transpose have this form, whatever the coordinate map: it moves the points of both meshes alike, so that
//! weights follow from indices. Rows and columns are cut among ranks independently; a rank reads the columns of other ranks within the
//! hull of its rows' stencils, which all ranks compute from the boxes alone. Points that the elements of the columns do not have (of
//! `hex20`) have no entry. A row has the same bits on any number of ranks and threads, unless it is a sum over ranks.
//!
//! Memory: nothing for each node of a box on one rank; 4 bytes for each row and column where ranks share the box or nodes are listed.

use super::grid_columns::Columns;
use super::{IndexBox, Mesh, Stencil};
use crate::comm::{Communicator, Map, agree};
use crate::space::{Array, ExecutionSpace, MemorySpace};
use crate::{Error, LocalOrdinal, Result};

/// Sums that a task of the product on a host adds at a time, and most unknowns per node.
pub(super) const SUMS: usize = 512;

/// The entries of a stencil between two ranges of indices: those of row i are `offsets[i]..offsets[i + 1]`.
#[derive(Debug)]
pub(super) struct AxisEntries<M: MemorySpace> {
    /// `[row + 1]`.
    pub offsets: M::Array<u32>,
    /// `[entry]`, ascending in a row; the first and the last column of a row do not descend from row to row.
    pub columns: M::Array<u32>,
    /// `[entry]`.
    pub weights: M::Array<f64>,
}

/// A range of grid points, and the local indices of those that are nodes.
#[derive(Debug)]
pub(super) struct Points<M: MemorySpace> {
    pub counts: [u32; 3],
    /// `[node]` position for rows, `[position]` node or [`NONE`](super::grid_columns::NONE) for columns; `None`: the identity.
    pub numbers: Option<M::Array<LocalOrdinal>>,
}

/// This rank's rows of a matrix of three stencils, for interleaved unknowns.
#[derive(Debug)]
pub struct GridMatrix<M: MemorySpace> {
    pub(super) rows: Points<M>,
    pub(super) columns: Points<M>,
    pub(super) stencils: [AxisEntries<M>; 3],
    pub(super) dofs: usize,
    /// Nodes of the rows, and of the columns with ghosts.
    pub(super) nodes: [usize; 2],
    entries: usize,
}

impl<M: MemorySpace> GridMatrix<M> {
    /// Returns the number of nonzero entries; of grids with points that are no nodes, a bound.
    pub fn entries(&self) -> usize {
        self.dofs * self.entries
    }

    /// Lists the rows that have entries at this rank's own columns; where some grid points are no nodes, maybe more.
    pub fn rows_with_entries(
        [rows, columns]: [&Mesh<M>; 2],
        stencils: &[Stencil; 3],
        dofs: usize,
    ) -> Vec<LocalOrdinal> {
        let own = columns.part.owned();
        let of_axis = |axis: usize, row: u64| {
            let range = own.low[axis]..own.high[axis];
            stencils[axis].rows[row as usize].iter().any(|entry| range.contains(&entry.0))
        };
        let nodes = 0..rows.map.owned_count() as LocalOrdinal;
        let used = nodes.filter(|&node| (0..3).all(|axis| of_axis(axis, rows.grid_point(node)[axis])));
        used.flat_map(|node| (0..dofs as LocalOrdinal).map(move |dof| node * dofs as LocalOrdinal + dof)).collect()
    }
}

/// Whether a mesh numbers its own nodes otherwise than in grid order.
fn is_renumbered<M: MemorySpace>(mesh: &Mesh<M>) -> bool {
    mesh.listed.is_some() || mesh.part.interior() != mesh.part.owned()
}

/// Makes this rank's rows, and the map of their columns, see [`MeshSpace::grid_matrix`](super::MeshSpace::grid_matrix). `row_positions(mesh)` lists the positions of the
/// rows' nodes in their own range, `column_numbers(columns, range)` the columns' nodes in a range.
pub(super) fn grid_matrix<S: ExecutionSpace>(
    space: &S,
    comm: Option<&dyn Communicator>,
    meshes: [&Mesh<S::Memory>; 2],
    (stencils, dofs): (&[Stencil; 3], usize),
    row_positions: impl FnOnce(&Mesh<S::Memory>) -> Result<Array<S, LocalOrdinal>>,
    column_numbers: impl FnOnce(&Columns<'_, S::Memory>, &IndexBox) -> Result<Array<S, LocalOrdinal>>,
) -> Result<(GridMatrix<S::Memory>, Map)> {
    if dofs > SUMS {
        return Err(Error::Invalid(format!("grid_matrix: {dofs} unknowns per node: expected at most {SUMS}")));
    }
    let rows = meshes[0];
    let make = |columns: Columns<'_, S::Memory>| {
        let (own, of_columns) = (rows.part.owned(), columns.mesh.part.owned());
        let reads = columns.reads;
        let is_plain = !is_renumbered(columns.mesh) && reads.intersection(of_columns) == reads;
        let range = if is_plain { *of_columns } else { reads };
        let positions = is_renumbered(rows).then(|| row_positions(rows)).transpose()?;
        let numbers = (!is_plain).then(|| column_numbers(&columns, &range)).transpose()?;
        let along = |axis: usize| {
            let [from, to] = [own, &range].map(|points| points.low[axis]..points.high[axis]);
            let (offsets, columns, weights) = stencils[axis].lists(from, to);
            let [offsets, indices] = [space.upload(&offsets)?, space.upload(&columns)?];
            Ok((AxisEntries { offsets, columns: indices, weights: space.upload(&weights)? }, weights.len()))
        };
        let [x, y, z]: [Result<_>; 3] = [along(0), along(1), along(2)];
        let (x, y, z) = (x?, y?, z?);
        let counts = |points: &IndexBox| points.counts().map(|count| count as u32);
        let matrix = GridMatrix {
            rows: Points { counts: counts(own), numbers: positions },
            columns: Points { counts: counts(&range), numbers },
            dofs,
            nodes: [rows.map.owned_count(), columns.map.local_count()],
            entries: x.1 * y.1 * z.1,
            stencils: [x.0, y.0, z.0],
        };
        Ok((matrix, columns.map.expand(dofs)?))
    };
    match comm {
        Some(comm) => agree(comm, Columns::new(comm, meshes, stencils).and_then(make)),
        None => Columns::own(meshes, stencils).and_then(make),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::comm::ranks::on_ranks;
    use crate::element::ElementType;
    use crate::mesh::{BoxPart, BoxSpec, CoordinateMap, MeshSpace};
    use crate::space::{Serial, Threads};
    use crate::sparse::Operator;
    use std::collections::BTreeMap;

    type Entries = BTreeMap<(u64, u64), f64>;

    /// The entries of this rank's rows by global ids, from products with unit vectors.
    fn entries(comm: &dyn Communicator, meshes: [&Mesh; 2], stencils: &[Stencil; 3], dofs: usize) -> Entries {
        let threads = Threads::new(2).unwrap();
        let (matrix, map) = threads.grid_matrix(Some(comm), meshes, stencils, dofs).unwrap();
        // Ids of the columns travel as values do.
        let [rows, columns] = meshes.map(|mesh| (0..mesh.map.owned_count() as u32).map(|node| mesh.global_node(node)));
        let mut ids = vec![f64::NAN; map.local_count()];
        let id = |node: u64, dof: usize| (node as usize * dofs + dof) as f64;
        columns.enumerate().for_each(|(at, node)| (0..dofs).for_each(|dof| ids[dofs * at + dof] = id(node, dof)));
        crate::comm::Halo::new(&Serial, comm, &map).unwrap().update(&Serial, &mut ids).unwrap();
        let row_ids: Vec<f64> = rows.flat_map(|node| (0..dofs).map(move |dof| id(node, dof))).collect();
        let (mut found, mut y) = (Entries::new(), vec![f64::NAN; row_ids.len()]);
        for (column, column_id) in ids.into_iter().enumerate() {
            let mut x = vec![0.0; map.local_count()];
            x[column] = 1.0;
            matrix.apply(&threads, &mut x, &mut y).unwrap();
            let entries = row_ids.iter().zip(&y).filter(|(_, value)| **value != 0.0);
            entries.for_each(|(row, &value)| assert_eq!(found.insert((*row as u64, column_id as u64), value), None));
        }
        found
    }

    /// More rows than a task has: each interpolates linear functions.
    #[test]
    fn rows_of_several_tasks_interpolate_linear_functions() {
        let [fine, coarse] = [[33u64, 13, 11], [17, 7, 6]];
        let [rows, columns] = [fine, coarse].map(|nodes| {
            let spec = BoxSpec::unit(nodes, CoordinateMap::None).unwrap();
            Mesh::of_elements(&Solo, ElementType::Hex8, &BoxPart::new(&spec, 0, 1).unwrap()).unwrap()
        });
        assert!(rows.map.owned_count() > 4096);
        let stencils = [0, 1, 2].map(|axis| Stencil::linear(fine[axis], coarse[axis]));
        let value = |nodes: [u64; 3], id: u64| {
            let at = IndexBox::whole(nodes).at(id);
            (0..3).map(|axis| [1.0, -3.0, 7.0][axis] * at[axis] as f64 / (nodes[axis] - 1) as f64).sum::<f64>()
        };
        let (matrix, _) = Serial.grid_matrix(Some(&Solo), [&rows, &columns], &stencils, 1).unwrap();
        let mut x: Vec<f64> = (0..columns.map.owned_count() as u64).map(|id| value(coarse, id)).collect();
        let mut y = vec![f64::NAN; rows.map.owned_count()];
        assert!(
            matrix.apply(&Serial, &mut x[1..], &mut y).is_err() && matrix.apply(&Serial, &mut x, &mut y[1..]).is_err()
        );
        matrix.apply(&Serial, &mut x, &mut y).unwrap();
        for (row, image) in y.into_iter().enumerate() {
            let expected = value(fine, row as u64);
            assert!((image - expected).abs() < 1e-13, "row {row}: {image}, {expected}");
        }
        // Along an axis 17 rows have one entry and 16 have two, and so on; 11 rows are on 6 columns.
        assert_eq!(matrix.entries(), 49 * 19 * 16);
        for axis in 0..3 {
            let of_another = |at| Stencil::linear(fine[at], coarse[at] + u64::from(at == axis));
            let stencils = [0, 1, 2].map(of_another);
            let refused = [Some(&Solo as &dyn Communicator), None]
                .map(|comm| Serial.grid_matrix(comm, [&rows, &columns], &stencils, 1).map(drop));
            assert!(
                refused.iter().all(|refused| matches!(refused, Err(Error::Shape { array: "stencils", .. }))),
                "axis {axis}: {refused:?}"
            );
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
