//! Nested iteration: Newton's method on the coarse boxes of a multigrid preconditioner, coarsest first. Each box starts from the
//! interpolated solution of the next coarser one, so that the finest one starts with about the error of the discretisation.

use super::discrete::Marks;
use super::linear::System;
use super::multigrid::{self, BoxHierarchy, Multigrid, OnMesh};
use crate::Result;
use crate::blas::Collective;
use crate::comm::{agree, failing};
use crate::run::Job;
use crate::solve::{
    CgParams, CgWorkspace, LinearSystem, NewtonInfo, NewtonParams, NonlinearProblem, SolveInfo, cg, newton,
};
use crate::space::{Array, MemorySpace, Slice};

/// Newton's limits on the coarsest box, and on a box between, whose start is good.
const COARSEST: NewtonParams = NewtonParams { is_inexact: true, ..NewtonParams::new(1e-6, 20) };
const BETWEEN: NewtonParams = NewtonParams { max_iterations: 1, ends_at_limit: true, ..COARSEST };

/// CG's limits where Newton's method gives no tolerance.
const SOLVES: CgParams = CgParams::new(1e-3, 200);

/// The problem on a coarse box, with all coarser ones.
pub(super) struct OnBox<'m, 'a, S: Job> {
    pub(super) boxes: &'m mut [OnMesh<'a, S>],
    pub(super) hierarchy: &'m mut BoxHierarchy<S>,
    pub(super) workspace: CgWorkspace<S>,
    /// Whether the last level is inverted before the next solve.
    pub(super) inverts: bool,
}

impl<S: Job> NonlinearProblem<S> for OnBox<'_, '_, S> {
    fn rows(&self) -> usize {
        self.boxes[0].system.map().owned_count()
    }

    fn assemble(&mut self, x: &mut Slice<S, f64>, residual: &mut Slice<S, f64>) -> Result<()> {
        let OnMesh { system, halo, .. } = &mut self.boxes[0];
        halo.update(system.space, x)?;
        system.assemble(x, residual, &mut Marks::<S>::new())
    }

    fn residual(&mut self, x: &mut Slice<S, f64>, residual: &mut Slice<S, f64>) -> Result<bool> {
        let OnMesh { system, halo, .. } = &mut self.boxes[0];
        halo.update(system.space, x)?;
        system.residual(x, residual, &mut Marks::<S>::new())
    }

    fn solve(
        &mut self,
        x: &Slice<S, f64>,
        residual: &Slice<S, f64>,
        delta: &mut Slice<S, f64>,
        forcing: Option<f64>,
    ) -> Result<SolveInfo> {
        let OnBox { boxes, hierarchy, workspace, inverts } = self;
        multigrid::assemble(&mut boxes[1..], x)?;
        boxes[0].update()?;
        multigrid::prepare(hierarchy, boxes.iter_mut().map(OnMesh::part).collect(), std::mem::take(inverts))?;
        let (space, links) = (boxes[0].system.space, boxes[0].system.input.links);
        space.fill(boxes[0].system.map().owned_count(), 0.0, delta)?;
        let params = CgParams { tolerance: forcing.unwrap_or(SOLVES.tolerance), ..SOLVES };
        multigrid::with_operators(boxes.iter_mut().map(OnMesh::part).collect(), |operators| {
            let operator = operators[0];
            let mut cycle = hierarchy.cycle(operators);
            let mut system = LinearSystem { operator, preconditioner: &mut cycle, comm: links, rhs: residual };
            cg(space, &mut system, delta, params, workspace, &mut |_, _| Ok(()))
        })
    }
}

impl<'a, S: Job> Multigrid<'a, S> {
    /// Overwrites x, the start, by boundary values and the interpolated solution of the next coarser box; returns whether there is one.
    /// All ranks call it together.
    pub fn nested_start(&mut self, fine: &System<'a, S>, x: &mut Slice<S, f64>) -> Result<bool> {
        let comm = fine.input.links.comm();
        for at in (0..self.coarse.len()).rev() {
            let mut improved = tolerated(self.solve_on_box(fine.space, at));
            if self.coarse[at].system.input.links.is_alone() {
                // Each rank has solved by itself.
                improved = agree(comm, improved).map(|improved| failing(comm, !improved).is_none());
            }
            if !improved? {
                return Ok(false);
            }
        }
        let Multigrid { coarse, hierarchy, .. } = self;
        let Some(coarser) = coarse.first() else { return Ok(false) };
        add_interpolated(fine, hierarchy, (0, S::Memory::slice(&coarser.unknowns)), x)?;
        Ok(true)
    }

    /// Solves on a coarse box from the solution of the next coarser one; returns whether its residual has not grown.
    fn solve_on_box(&mut self, space: &S, at: usize) -> Result<bool> {
        let Multigrid { coarse, hierarchy, .. } = self;
        let (count, system) = (coarse.len(), &coarse[at].system);
        let (rows, columns) = (system.map().owned_count(), system.map().local_count());
        let (links, mut unknowns): (_, Array<S, f64>) = (system.input.links, system.start()?);
        let start = S::Memory::slice_mut(&mut unknowns);
        if at + 1 < count {
            let (boxes, coarser) = coarse.split_at_mut(at + 1);
            let coarser = (at + 1, S::Memory::slice(&coarser[0].unknowns));
            add_interpolated(&boxes[at].system, hierarchy, coarser, start)?;
        }
        let workspace = CgWorkspace::new(space, rows, columns)?;
        let is_coarsest = at + 1 == count;
        let mut problem = OnBox { boxes: &mut coarse[at..], hierarchy, workspace, inverts: is_coarsest };
        let (params, mut info) = (if is_coarsest { COARSEST } else { BETWEEN }, NewtonInfo::default());
        newton(space, links, &mut problem, start, params, &mut |_, _| Ok(()), &mut info)?;
        coarse[at].unknowns = unknowns;
        Ok(info.residual <= info.initial_residual)
    }
}

/// Takes an end of a solve that all ranks find alike, such as one without convergence, for a start that improves nothing: the boundary
/// values serve then.
fn tolerated(improved: Result<bool>) -> Result<bool> {
    match improved {
        Err(error) if error.is_collective() => Ok(false),
        improved => improved,
    }
}

/// Adds the unknowns of level `at + 1`, interpolated, to the boundary values in x.
fn add_interpolated<S: Job>(
    system: &System<'_, S>,
    hierarchy: &mut BoxHierarchy<S>,
    (at, coarse): (usize, &Slice<S, f64>),
    x: &mut Slice<S, f64>,
) -> Result<()> {
    let (space, n) = (system.space, system.map().owned_count());
    let Some(interpolated) = hierarchy.interpolated(space, at, coarse)? else { return Ok(()) };
    agree(system.input.links.comm(), system.clear_fixed(interpolated))?;
    space.axpy(n, 1.0, interpolated, x)
}
