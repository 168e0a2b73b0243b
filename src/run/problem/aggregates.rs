//! The algebraic preconditioner of a problem: smoothed aggregation of its matrix alone, whatever mesh and element it comes from.

use super::linear::System;
use super::multigrid::work;
use crate::comm::{Halo, agree};
use crate::run::Job;
use crate::run::cost::Cost;
use crate::run::report::LevelReport;
use crate::solve::{DistributedOperator, NearNull, Preconditioner, SmoothedAggregation, SolveInfo};
use crate::space::try_reserve;
use crate::sparse::Operator;
use crate::{Error, Result};

/// The levels of a problem's matrix.
pub(super) struct Aggregates<S: Job> {
    /// Made once the matrix has values.
    levels: Option<SmoothedAggregation<S>>,
    /// Exchanges the ghosts of the finest level within a cycle.
    halo: Halo<S>,
    pace: Pace,
}

/// Iterations per decimal digit of the first solve with the levels' values, and whether the last one needed many more.
#[derive(Debug, Default)]
struct Pace {
    first: Option<f64>,
    is_slow: bool,
}

impl Pace {
    /// Compares a solve with the first one.
    fn note(&mut self, info: &SolveInfo) {
        let rate = info.iterations as f64 / (info.rhs / info.residual).log10();
        if rate.is_finite() && rate > 0.0 {
            self.is_slow = rate > STALE * *self.first.get_or_insert(rate);
        }
    }
}

/// Growth of the iterations per digit with values of an earlier matrix, beyond which the levels are refilled.
const STALE: f64 = 1.5;

/// Constants, or rigid body modes where the unknowns are displacements.
fn near_null<S: Job>(fine: &System<'_, S>) -> Result<NearNull> {
    let (mesh, dofs) = (fine.input.mesh, fine.case.model.dofs());
    let owned = mesh.map.owned_count();
    if dofs != 3 {
        return NearNull::constants(owned, dofs);
    }
    let mut points = Vec::new();
    try_reserve("coordinates", &mut points, owned)?;
    points.extend((0..owned).map(|node| mesh.point(node as u32).0));
    NearNull::rigid_body_modes(&points)
}

impl<S: Job> Aggregates<S> {
    /// Prepares the exchange of the finest level. All ranks call it together.
    pub fn new(fine: &System<'_, S>) -> Result<Self> {
        let links = fine.input.links;
        let halo = agree(links.comm(), links.halo(fine.space, fine.map()))?;
        Ok(Aggregates { levels: None, halo, pace: Pace::default() })
    }

    /// Makes the levels of the matrix, or refills them with its new values if the solve with the older ones was slow. All ranks call it
    /// together.
    pub fn prepare(&mut self, fine: &System<'_, S>) -> Result<()> {
        if self.levels.is_some() && !self.pace.is_slow {
            return Ok(());
        }
        self.pace = Pace::default();
        let (space, links) = (fine.space, fine.input.links);
        let matrix = agree(links.comm(), fine.stored().and_then(S::crs))?;
        match &mut self.levels {
            Some(levels) => levels.refill(space, links, matrix),
            None => {
                let near_null = agree(links.comm(), near_null(fine))?;
                self.levels = Some(SmoothedAggregation::new(space, links, (matrix, fine.map()), near_null)?);
                Ok(())
            }
        }
    }

    /// Compares a solve with the first one that had the levels' values. Ranks have the same numbers.
    pub fn note(&mut self, info: &SolveInfo) {
        self.pace.note(info);
    }

    /// Calls `work` with the cycle.
    pub fn with_cycle<R>(
        &mut self,
        fine: &System<'_, S>,
        work: impl FnOnce(&mut dyn Preconditioner<S>) -> Result<R>,
    ) -> Result<R> {
        let interior = fine.input.links.apart(fine.interior_rows());
        let operator = DistributedOperator::new(S::operator(fine.stored()?), &mut self.halo, interior)?;
        let levels = self.levels.as_mut().ok_or_else(|| Error::Invalid("preconditioner: expected a matrix".into()))?;
        levels.with_cycle(&operator, |cycle| work(cycle))
    }

    /// Whether there are levels of a matrix.
    pub fn is_prepared(&self) -> bool {
        self.levels.is_some()
    }

    /// Rows and entries of the coarser levels of a run on `ranks` ranks.
    pub fn numbers(&self, ranks: usize) -> Vec<LevelReport> {
        let Some(levels) = &self.levels else { return Vec::new() };
        let numbers = levels.levels().1.zip(1..).map(|(matrix, level)| {
            let [rows, entries] = [matrix.graph().rows(), matrix.graph().nnz()].map(|count| count as u64);
            LevelReport { ranks: if levels.is_replicated(level) { 1 } else { ranks }, rows, entries, seconds: 0.0 }
        });
        numbers.collect()
    }

    /// Returns what a cycle moves and computes on this rank.
    pub fn cost(&self, fine: &System<'_, S>) -> Cost {
        let Some(levels) = &self.levels else { return Cost::default() };
        let ((levels, coarse), finest) = (levels.levels(), fine.product());
        let coarse = coarse.map(|matrix| [Operator::<S>::bytes(matrix) as u64, matrix.graph().nnz() as u64]);
        work(levels, [[finest.bytes, finest.flops / 2]].into_iter().chain(coarse))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Solves end at other tolerances where steps are inexact: only the iterations per digit tell.
    #[test]
    fn levels_are_stale_where_a_digit_takes_half_as_many_iterations_more() {
        let mut pace = Pace::default();
        let mut note = |iterations, digits| {
            let (rhs, residual) = (10.0, 10f64.powi(1 - digits));
            pace.note(&SolveInfo { iterations, rhs, residual, ..SolveInfo::default() });
            pace.is_slow
        };
        // Two per digit; as many; just not too many; too many; again fewer. A solve of no digit says nothing.
        assert_eq!(
            [(4, 2), (20, 10), (29, 10), (31, 10), (6, 2), (7, 2), (9, 0)].map(|(k, digits)| note(k, digits)),
            [false, false, false, true, false, true, true]
        );
    }
}
