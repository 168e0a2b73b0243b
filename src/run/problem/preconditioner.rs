//! The preconditioner of a problem: cycles over coarser boxes or over aggregates of the matrix, or sweeps by its triangles.

use super::aggregates::Aggregates;
use super::discrete::Marks;
use super::linear::System;
use super::multigrid::{Multigrid, SEED};
use super::sweeps::Triangular;
use crate::Result;
use crate::run::Job;
use crate::run::cost::Cost;
use crate::run::deck::Preconditioning;
use crate::run::report::LevelReport;
use crate::solve::{Preconditioner, SolveInfo};
use crate::space::{Array, MemorySpace, Slice};

/// A preconditioner of any kind.
pub(super) enum Levels<'a, S: Job> {
    Boxes(Multigrid<'a, S>),
    Aggregates(Aggregates<S>),
    Sweeps(Triangular<S>),
}

impl<'a, S: Job> Levels<'a, S> {
    /// Prepares what does not depend on the values of the matrix; `None` without a preconditioner. All ranks call it together.
    pub fn new(fine: &System<'a, S>, marks: &mut Marks<S>) -> Result<Option<Self>> {
        match fine.input.deck.preconditioning() {
            Preconditioning::Algebraic => Ok(Some(Levels::Aggregates(Aggregates::new(fine)?))),
            sweeps @ (Preconditioning::GaussSeidel | Preconditioning::Cholesky) => {
                Ok(Some(Levels::Sweeps(Triangular::new(sweeps))))
            }
            _ => Ok(Multigrid::new(fine, marks)?.map(Levels::Boxes)),
        }
    }

    /// Returns whether coarser boxes may give Newton's method a better start.
    pub fn starts(&self) -> bool {
        matches!(self, Levels::Boxes(multigrid) if !multigrid.coarse.is_empty())
    }

    /// Overwrites x, the start, by a better one; returns whether there is one. All ranks call it together.
    pub fn nested_start(&mut self, fine: &System<'a, S>, x: &mut Slice<S, f64>) -> Result<bool> {
        match self {
            Levels::Boxes(multigrid) => multigrid.nested_start(fine, x),
            Levels::Aggregates(_) | Levels::Sweeps(_) => Ok(false),
        }
    }

    /// Prepares the preconditioner for the values that were assembled at these unknowns. All ranks call it together.
    pub fn prepare(&mut self, fine: &System<'a, S>, unknowns: &Slice<S, f64>) -> Result<()> {
        match self {
            Levels::Boxes(multigrid) => multigrid.prepare(fine, unknowns),
            Levels::Aggregates(aggregates) => aggregates.prepare(fine),
            Levels::Sweeps(sweeps) => sweeps.prepare(fine),
        }
    }

    /// Takes note of how a solve went.
    pub fn note(&mut self, info: &SolveInfo) {
        if let Levels::Aggregates(aggregates) = self {
            aggregates.note(info);
        }
    }

    /// Calls `work` with the preconditioner.
    pub fn with_preconditioner<R>(
        &mut self,
        fine: &System<'a, S>,
        work: impl FnOnce(&mut dyn Preconditioner<S>) -> Result<R>,
    ) -> Result<R> {
        match self {
            Levels::Boxes(multigrid) => multigrid.with_cycle(fine, work),
            Levels::Aggregates(aggregates) => aggregates.with_cycle(fine, work),
            Levels::Sweeps(sweeps) => work(sweeps.preconditioner()?),
        }
    }

    /// Returns what an application moves and computes on this rank.
    pub fn cost(&self, fine: &System<'_, S>) -> Cost {
        match self {
            Levels::Boxes(multigrid) => multigrid.cost(fine),
            Levels::Aggregates(aggregates) => aggregates.cost(fine),
            Levels::Sweeps(sweeps) => sweeps.cost(),
        }
    }

    /// Times the levels of an application, the second of two. All ranks call it together.
    pub fn levels(&mut self, fine: &System<'a, S>) -> Result<Vec<LevelReport>> {
        let (space, n) = (fine.space, fine.map().owned_count());
        let mut levels = vec![fine.level()];
        levels.extend(match self {
            Levels::Boxes(multigrid) => multigrid.numbers(),
            Levels::Aggregates(aggregates) => aggregates.numbers(fine.input.links.comm().size()),
            Levels::Sweeps(_) => Vec::new(),
        });
        let is_prepared = match self {
            Levels::Boxes(_) => true,
            Levels::Aggregates(aggregates) => aggregates.is_prepared(),
            Levels::Sweeps(sweeps) => sweeps.is_prepared(),
        };
        // Newton's method made no step, or none whose matrix could be factorised.
        if !is_prepared {
            return Ok(levels);
        }
        let (mut r, mut z): (Array<S, f64>, Array<S, f64>) = (space.zeros(n)?, space.zeros(n)?);
        let (r, z) = (S::Memory::slice_mut(&mut r), S::Memory::slice_mut(&mut z));
        fine.scatter_by_id(SEED, r)?;
        let mut visited = Vec::new();
        let mut visit = |level| {
            visited.push((level, space.mark()?));
            Ok(())
        };
        self.with_preconditioner(fine, |preconditioner| {
            preconditioner.apply(space, n, r, z)?;
            preconditioner.apply_visiting(space, n, r, z, &mut visit)
        })?;
        visited.push((0, space.mark()?));
        add_times(&mut levels, &visited, |before, after| space.between(before, after))?;
        Ok(levels)
    }
}

/// Adds the time from each visit to the next one to the level that is visited.
pub(super) fn add_times<M>(
    levels: &mut [LevelReport],
    visited: &[(usize, M)],
    between: impl Fn(&M, &M) -> Result<f64>,
) -> Result<()> {
    for two in visited.windows(2) {
        levels[two[0].0].seconds += between(&two[0].1, &two[1].1)?;
    }
    Ok(())
}
