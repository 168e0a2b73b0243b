//! A level and the next coarser one: prolongator, restriction and the plans of the Galerkin product.
//!
//! ```text
//! P  = P0 - 4 / (3 lambda) D^-1 A P0        lambda: largest eigenvalue of D^-1 A        rows of P0 of A's ghosts come from their owners
//! R  = P^T                                  entries at aggregates of other ranks go to their owners
//! A' = R (A P)                              rows of A P of R's ghosts come from their owners
//! ```
//! Other values of A on the same graph keep P and R: a refill computes both products on their plans and has no other step.

use super::ghost_rows::GhostRows;
use super::numbering::Numbering;
use super::restriction::restriction;
use super::tentative::Tentative;
use super::{Aggregate, NearNull};
use crate::comm::{Communicator, Links, Map, agree};
use crate::space::Array;
use crate::sparse::{CrsMatrix, MatrixOf, Spgemm};
use crate::{LocalOrdinal, Result};

/// Factor of the smoothing of the prolongator, which is the best for its energy (Vanek, Mandel and Brezina 1996).
const OMEGA: f64 = 4.0 / 3.0;

/// What a refill needs.
#[derive(Debug)]
pub(super) struct Coarsening<S: Aggregate> {
    /// P with the rows of A's ghosts, where there are other ranks.
    prolongator: Option<GhostRows<S>>,
    /// A P with the rows of R's ghosts.
    products: GhostRows<S>,
    a_p: Spgemm<S::Memory>,
    r_a_p: Spgemm<S::Memory>,
    /// Coarse rows without a fine one: 1 on the diagonal leaves the matrix definite.
    empty: Array<S, LocalOrdinal>,
}

/// A matrix, and the map of its columns.
type Mapped<S> = (CrsMatrix<f64, <S as crate::space::ExecutionSpace>::Memory>, Map);

/// A coarser level.
pub(super) struct Coarser<S: Aggregate> {
    pub coarsening: Coarsening<S>,
    /// P and R.
    pub transfers: [Mapped<S>; 2],
    /// A', without values.
    pub coarse: Mapped<S>,
    pub near_null: NearNull<S::Memory>,
}

impl<S: Aggregate> Coarsening<S> {
    /// Coarsens a matrix, given D^-1 and the largest eigenvalue of D^-1 A. Collective.
    pub fn plan(
        space: &S,
        links: &Links<'_, S>,
        (a, map): (&MatrixOf<S>, &Map),
        near_null: &NearNull<S::Memory>,
        (inverse, largest): (&Array<S, f64>, f64),
    ) -> Result<Coarser<S>> {
        let (comm, width) = (links.comm(), near_null.count());
        let cut = || {
            let nodes = space.nodes(a, near_null.dofs())?;
            let (of_node, count) = space.aggregates(&nodes, a.graph(), near_null.dofs())?;
            Ok((space.tentative(near_null, &of_node, count, &nodes.is_fixed)?, count))
        };
        let (Tentative { prolongator: p0, near_null, empty }, count) = agree(comm, cut())?;
        let numbering = Numbering::new(comm, count)?;
        let own = numbering.columns(comm, Vec::new())?;
        let (p0_rows, columns) = GhostRows::of(space, links, map, &p0, (&own, &numbering, width))?;
        let all = p0_rows.as_ref().map_or(&p0, |rows| &rows.matrix);
        let p = agree(comm, smoothed(space, a, all, inverse, OMEGA / largest, width))?;
        drop((p0, p0_rows));
        let (prolongator, read) = GhostRows::of(space, links, map, &p, (&columns, &numbering, width))?;
        let all = prolongator.as_ref().map_or(&p, |rows| &rows.matrix);
        let a_p = agree(comm, Spgemm::new(space, a.graph(), all.graph(), width))?;
        let (r, fine) = restriction(space, comm, &p, (&columns, &numbering, width))?;
        let (products, all) = GhostRows::new(space, links, &fine.map, a_p.graph(), (&read, &numbering, width))?;
        let planned = || {
            let r_a_p = Spgemm::new(space, r.graph(), products.matrix.graph(), width)?;
            let coarse = (CrsMatrix::zeros_on(space, r_a_p.graph().clone())?, all.map.expand(width)?);
            Ok((r_a_p, coarse, columns.map.expand(width)?, space.take(empty)?))
        };
        let (r_a_p, coarse, map, empty) = agree(comm, planned())?;
        let coarsening = Coarsening { prolongator, products, a_p, r_a_p, empty };
        Ok(Coarser { coarsening, transfers: [(p, map), (r, fine.map)], coarse, near_null })
    }

    /// Computes the coarse matrix of a fine one on the graph of the plan, with P and R: 2 flops per pair of entries in both products.
    /// Collective.
    pub fn refill(
        &mut self,
        space: &S,
        comm: &dyn Communicator,
        [a, p, r]: [&MatrixOf<S>; 3],
        coarse: &mut MatrixOf<S>,
    ) -> Result<()> {
        let Coarsening { prolongator, products, a_p, r_a_p, empty } = self;
        let p = prolongator.as_ref().map_or(p, |rows| &rows.matrix);
        agree(comm, a_p.values(space, a, p, products.matrix.parts_mut().1))?;
        agree(comm, products.refresh(space))?;
        let computed = r_a_p.values(space, r, &products.matrix, coarse.parts_mut().1);
        agree(comm, computed.and_then(|()| space.set_diagonal(empty, coarse)))
    }
}

/// P0 - omega D^-1 A P0.
fn smoothed<S: Aggregate>(
    space: &S,
    a: &MatrixOf<S>,
    p0: &MatrixOf<S>,
    inverse: &Array<S, f64>,
    omega: f64,
    width: usize,
) -> Result<MatrixOf<S>> {
    let plan = Spgemm::new(space, a.graph(), p0.graph(), width)?;
    let mut p = CrsMatrix::zeros_on(space, plan.graph().clone())?;
    plan.values(space, a, p0, p.parts_mut().1)?;
    space.smooth(&mut p, p0, inverse, -omega, width)?;
    Ok(p)
}

/// Five points of a second difference; the last four form one aggregate. D^-1 A times its constant is computed by hand.
#[test]
fn a_smoothed_prolongator_is_that_by_hand() {
    use crate::space::Threads;
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
        let p = smoothed(&Threads::new(threads).unwrap(), &a, &p0, &vec![0.25; 5], 0.75, 1).unwrap();
        // A P0 is -0.5, 1.5, 1, 1, 1.5.
        assert_eq!(p.values(), &[0.09375, 0.21875, 0.3125, 0.3125, 0.21875], "{threads} threads");
    }
}
