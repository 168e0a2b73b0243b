//! A level and the next coarser one: prolongator, restriction and the plans of the Galerkin product.
//!
//! ```text
//! P  = P0 - 4 / (3 lambda) D^-1 A P0        lambda: largest eigenvalue of D^-1 A        rows of P0 of A's ghosts come from their owners
//! R  = P^T                                  entries at aggregates of other ranks go to their owners
//! A' = R (A P)                              rows of A P of R's ghosts come from their owners
//! ```
//! Other values of A on the same graph keep P and R: a refill computes both products on their plans and has no other step.

use super::aggregates::aggregates;
use super::ghost_rows::GhostRows;
use super::nodes::Nodes;
use super::numbering::Numbering;
use super::restriction::restriction;
use super::tentative::{Tentative, tentative};
use super::{NearNull, STRONG};
use crate::Result;
use crate::comm::{Communicator, Map, agree};
use crate::space::Threads;
use crate::sparse::{CrsMatrix, Spgemm};

/// Factor of the smoothing of the prolongator, which is the best for its energy (Vanek, Mandel and Brezina 1996).
const OMEGA: f64 = 4.0 / 3.0;

/// What a refill needs.
#[derive(Debug)]
pub(super) struct Coarsening {
    /// P with the rows of A's ghosts, and A P with those of R's.
    prolongator: GhostRows,
    products: GhostRows,
    restriction: CrsMatrix,
    a_p: Spgemm,
    r_a_p: Spgemm,
    pub coarse: CrsMatrix,
    /// Places of the diagonal entries of coarse rows without a fine one: 1 there leaves the matrix definite.
    empty: Vec<usize>,
}

/// A coarser level.
pub(super) struct Coarser {
    pub coarsening: Coarsening,
    /// P and R with the maps of their columns.
    pub transfers: [(CrsMatrix, Map); 2],
    /// The columns of the coarse matrix.
    pub map: Map,
    pub near_null: NearNull,
}

impl Coarsening {
    /// Coarsens a matrix, given D^-1 and the largest eigenvalue of D^-1 A. The coarse matrix has no values yet. Collective.
    pub fn plan(
        space: &Threads,
        comm: &dyn Communicator,
        (a, map): (&CrsMatrix, &Map),
        near_null: &NearNull,
        (inverse, largest): (&[f64], f64),
    ) -> Result<Coarser> {
        let width = near_null.count();
        let cut = || {
            let nodes = Nodes::new(space, a, near_null.dofs(), STRONG)?;
            let (of_node, count) = aggregates(&nodes, a.graph(), near_null.dofs())?;
            Ok((tentative(near_null, &of_node, count, &nodes.is_fixed)?, count))
        };
        let (Tentative { prolongator: p0, near_null, empty }, count) = agree(comm, cut())?;
        let numbering = Numbering::new(comm, count)?;
        let own = numbering.columns(comm, Vec::new())?;
        let (mut p0_rows, columns) = GhostRows::new(space, comm, map, p0.graph(), (&own, &numbering, width))?;
        p0_rows.own_values().copy_from_slice(p0.values());
        p0_rows.refresh(space)?;
        let p = agree(comm, smoothed(space, a, &p0_rows.matrix, inverse, OMEGA / largest, width))?;
        drop((p0, p0_rows));
        let (mut prolongator, read) = GhostRows::new(space, comm, map, p.graph(), (&columns, &numbering, width))?;
        prolongator.own_values().copy_from_slice(p.values());
        prolongator.refresh(space)?;
        let a_p = agree(comm, Spgemm::new(space, a.graph(), prolongator.matrix.graph(), width))?;
        let (restriction, fine) = restriction(space, comm, &p, (&columns, &numbering, width))?;
        let (products, all) = GhostRows::new(space, comm, &fine.map, a_p.graph(), (&read, &numbering, width))?;
        let planned = || {
            let r_a_p = Spgemm::new(space, restriction.graph(), products.matrix.graph(), width)?;
            let coarse = CrsMatrix::zeros_on(space, r_a_p.graph().clone())?;
            let transfers = [(p, columns.map.expand(width)?), (restriction.clone(), fine.map.clone())];
            Ok((r_a_p, coarse, transfers, all.map.expand(width)?))
        };
        let (r_a_p, coarse, transfers, map) = agree(comm, planned())?;
        let place = |&row: &usize| {
            let at = coarse.graph().row(row).iter().position(|&column| column as usize == row)?;
            Some(coarse.graph().row_range(row).start + at)
        };
        let empty = empty.iter().filter_map(place).collect();
        let coarsening = Coarsening { prolongator, products, restriction, a_p, r_a_p, coarse, empty };
        Ok(Coarser { coarsening, transfers, map, near_null })
    }

    /// Computes the coarse matrix of a fine one on the graph of the plan: 2 flops per pair of entries in both products. Collective.
    pub fn refill(&mut self, space: &Threads, comm: &dyn Communicator, a: &CrsMatrix) -> Result<()> {
        let Coarsening { prolongator, products, restriction, a_p, r_a_p, coarse, empty } = self;
        agree(comm, a_p.values(space, a, &prolongator.matrix, products.own_values()))?;
        products.refresh(space)?;
        agree(comm, r_a_p.values(space, restriction, &products.matrix, coarse.parts_mut().1))?;
        let values = coarse.parts_mut().1;
        empty.iter().for_each(|&at| values[at] = 1.0);
        Ok(())
    }
}

/// P0 - omega D^-1 A P0.
fn smoothed(
    space: &Threads,
    a: &CrsMatrix,
    p0: &CrsMatrix,
    inverse: &[f64],
    omega: f64,
    width: usize,
) -> Result<CrsMatrix> {
    let plan = Spgemm::new(space, a.graph(), p0.graph(), width)?;
    let mut p = CrsMatrix::zeros_on(space, plan.graph().clone())?;
    plan.values(space, a, p0, p.parts_mut().1)?;
    let (graph, values) = p.parts_mut();
    space.for_rows(8 * space.concurrency(), graph.row_map(), values, |row, values| {
        values.iter_mut().for_each(|value| *value *= -omega * inverse[row]);
        let Some(first) = p0.graph().row(row).first() else { return };
        // The diagonal of A has brought the columns of P0 to the row.
        if let Ok(at) = graph.row(row).binary_search(first) {
            let given = &p0.values()[p0.graph().row_range(row)];
            values[at..][..width].iter_mut().zip(given).for_each(|(value, given)| *value += given);
        }
    });
    Ok(p)
}

/// Five points of a second difference; the last four form one aggregate. D^-1 A times its constant is computed by hand.
#[test]
fn a_smoothed_prolongator_is_that_by_hand() {
    use crate::sparse::CrsGraph;
    use std::sync::Arc;
    let matrix = |row_map, entries, columns, values| {
        CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, columns).unwrap()), values).unwrap()
    };
    let entries = vec![0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4];
    let values = entries
        .iter()
        .zip([0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4])
        .map(|(&column, row)| if column == row { 4.0 } else { -1.0 });
    let a = matrix(vec![0, 2, 5, 8, 11, 13], entries.clone(), 5, values.collect());
    let p0 = matrix(vec![0, 0, 1, 2, 3, 4], vec![0; 4], 1, vec![0.5; 4]);
    for threads in [1, 3] {
        let p = smoothed(&Threads::new(threads).unwrap(), &a, &p0, &[0.25; 5], 0.75, 1).unwrap();
        // A P0 is -0.5, 1.5, 1, 1, 1.5.
        assert_eq!(p.values(), &[0.09375, 0.21875, 0.3125, 0.3125, 0.21875], "{threads} threads");
    }
}
