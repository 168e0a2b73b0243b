//! A level and the next coarser one: prolongator, restriction and the plans of the Galerkin product.
//!
//! ```text
//! P  = P0 - 4 / (3 lambda) D^-1 A P0        lambda: largest eigenvalue of D^-1 A        rows of P0 of A's ghosts come from their owners
//! R  = P^T                                  reads own rows of P and those of A's ghosts, since the pattern of A is symmetric
//! A' = R (A P)                              rows of A P of A's ghosts come from their owners
//! ```
//! Other values of A on the same graph keep P and R: a refill computes both products on their plans, with the ghosts' rows of A P between them. Of a small A' every
//! rank gets all rows; P then has the columns of all ranks, and R r is gathered.

use super::gathered::{Gathered, gathered_vectors};
use super::ghost_rows::{GhostRows, extended};
use super::rows::Extension;
use super::tentative::Tentative;
use super::{Aggregate, NearNull};
use crate::comm::{Communicator, Links, Map, agree};
use crate::solve::numbering::{Columns, Numbering};
use crate::solve::{DistributedMatrix, Transfer, gathers};
use crate::space::{Array, try_collect};
use crate::sparse::{CrsGraph, CrsMatrix, MatrixOf, Spgemm};
use crate::{LocalOrdinal, Result};

/// Factor of the smoothing of the prolongator, which is the best for its energy (Vanek, Mandel and Brezina 1996).
const OMEGA: f64 = 4.0 / 3.0;

/// What a refill needs.
#[derive(Debug)]
pub(super) struct Coarsening<S: Aggregate> {
    /// P with the rows of A's ghosts, where there are other ranks.
    prolongator: Option<GhostRows<S>>,
    /// A P with the rows of A's ghosts.
    products: GhostRows<S>,
    a_p: Spgemm<S::Memory>,
    r_a_p: Spgemm<S::Memory>,
    /// Coarse rows without a fine one: 1 on the diagonal leaves the matrix definite.
    empty: Array<S, LocalOrdinal>,
    /// This rank's rows of A', where every rank has the whole.
    pub gathered: Option<Gathered<S>>,
}

/// A matrix, and the map of its columns.
type Mapped<S> = (CrsMatrix<f64, <S as crate::space::ExecutionSpace>::Memory>, Map);

/// A coarser level.
pub(super) struct Coarser<S: Aggregate> {
    pub coarsening: Coarsening<S>,
    /// P and R.
    pub transfer: Transfer<S>,
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
        let (comm, width) = (links.comm(), near_null.count);
        let Tentative { prolongator: p0, near_null, empty } = agree(comm, space.tentative(a, near_null))?;
        let count = p0.graph().columns() / width;
        let numbering = Numbering::new(comm, count)?;
        let own = numbering.columns(comm, Vec::new())?;
        let (p0_rows, columns) = GhostRows::of(space, links, map, &p0, (&own, &numbering, width))?;
        let all = p0_rows.as_ref().map_or(&p0, |rows| &rows.matrix);
        let p = agree(comm, smoothed(space, a, all, inverse, OMEGA / largest, width))?;
        drop((p0, p0_rows));
        let (prolongator, read) = GhostRows::of(space, links, map, &p, (&columns, &numbering, width))?;
        let all = prolongator.as_ref().map_or(&p, |rows| &rows.matrix);
        let turned = || {
            let a_p = Spgemm::new(space, a.graph(), all.graph(), width)?;
            Ok((a_p, first_rows(space, space.transpose(all)?, count * width)?))
        };
        let (a_p, r) = agree(comm, turned())?;
        let (products, all) = GhostRows::new(space, links, map, (a_p.graph(), None), (&read, &numbering, width))?;
        let planned = || {
            let r_a_p = Spgemm::new(space, r.graph(), products.matrix.graph(), width)?;
            let coarse = (CrsMatrix::zeros_on(space, r_a_p.graph().clone())?, all.map.expand(width)?);
            Ok((r_a_p, coarse, columns.map.expand(width)?, space.upload(&empty)?))
        };
        let (r_a_p, coarse, of_p, empty) = agree(comm, planned())?;
        let mut coarsening = Coarsening { prolongator, products, a_p, r_a_p, empty, gathered: None };
        let unknowns = coarse.1.global_count();
        let entries = p.graph().nnz() + r.graph().nnz();
        if comm.size() == 1 || !gathers(unknowns, comm.size()) {
            let [prolongation, restriction] =
                [(p, &of_p), (r, map)].map(|rows| agree(comm, DistributedMatrix::new(space, links, rows)));
            let transfer = Transfer { prolongation: prolongation?, restriction: restriction?, entries };
            return Ok(Coarser { coarsening, transfer, coarse, near_null });
        }
        let (unknowns, first) = (unknowns as usize, numbering.first() * width as u64);
        // No row of R is empty: each aggregate has a free row.
        let used = try_collect("rows of a restriction", 0..r.graph().rows() as LocalOrdinal);
        let restriction = DistributedMatrix::gathered(space, links, (r, map), (first, unknowns), used)?;
        let map = agree(comm, Map::new(unknowns as u64, unknowns, Vec::new()))?;
        let prolongation = with_global_columns(space, &p, (&columns, width), unknowns)
            .and_then(|p| DistributedMatrix::new(space, links.alone(), (p, &map)));
        let transfer = Transfer { prolongation: agree(comm, prolongation)?, restriction, entries };
        let (own, whole) = Gathered::plan(space, comm, coarse.0, (&all, width))?;
        coarsening.gathered = Some(own);
        let near_null = gathered_vectors(space, comm, &near_null)?;
        Ok(Coarser { coarsening, transfer, coarse: (whole, map), near_null })
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
        let Coarsening { prolongator, products, a_p, r_a_p, empty, gathered } = self;
        let p = prolongator.as_ref().map_or(p, |rows| &rows.matrix);
        agree(comm, a_p.values(space, a, p, products.matrix.parts_mut().1))?;
        agree(comm, products.refresh(space))?;
        let own = gathered.as_mut().map_or(&mut *coarse, |gathered| &mut gathered.own);
        let computed = r_a_p.values(space, r, &products.matrix, own.parts_mut().1);
        agree(comm, computed.and_then(|()| space.set_diagonal(empty, own)))?;
        gathered.as_ref().map_or(Ok(()), |gathered| gathered.refresh(space, comm, coarse))
    }
}

/// Keeps the first rows of a matrix.
fn first_rows<S: Aggregate>(space: &S, matrix: MatrixOf<S>, rows: usize) -> Result<MatrixOf<S>> {
    let (graph, columns, more) = (matrix.graph(), matrix.graph().columns(), CrsGraph::trusted(vec![0], Vec::new(), 0));
    if graph.rows() == rows {
        return Ok(matrix);
    }
    let kept = space.picked(graph, &[rows as LocalOrdinal])?.0[0] as usize;
    let extension = Extension { rows, kept, columns, owned: columns, width: 1, ghosts: Vec::new(), more };
    extended(space, graph, Some(matrix.values()), extension)
}

/// Renumbers the columns of P, groups of `width` unknowns, by their global ids.
fn with_global_columns<S: Aggregate>(
    space: &S,
    p: &MatrixOf<S>,
    (of_p, width): (&Columns, usize),
    columns: usize,
) -> Result<MatrixOf<S>> {
    let ids = (0..of_p.map.local_count() as LocalOrdinal).map(|local| of_p.id(local) as LocalOrdinal);
    let (graph, ghosts) = (p.graph(), try_collect("columns", ids)?);
    let (rows, kept, more) = (graph.rows(), graph.nnz(), CrsGraph::trusted(vec![0], Vec::new(), 0));
    let extension = Extension { rows, kept, columns, owned: 0, width, ghosts, more };
    extended(space, graph, Some(p.values()), extension)
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
