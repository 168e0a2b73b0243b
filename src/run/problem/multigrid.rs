//! The preconditioner of a problem on a box, and its coarser boxes: meshes, operators by the same element kernels, transfers.
//!
//! ```text
//! box of level l + 1    about half the cells of level l along its shortest edges; elements of degree 2 go to degree 1 on their cells first
//! operator              assembled on that box at the interpolated unknowns, with the same boundary conditions, without advection;
//!                       on the finest box that of the run, stored or matrix-free
//! transfers             linear interpolation by indices, and its transpose without entries at fixed nodes
//! ```

use super::discrete::{Discrete, Marks};
use super::input::ProblemInput;
use super::linear::System;
use crate::Result;
use crate::blas::Collective;
use crate::comm::{Halo, Links, agree};
use crate::graph;
use crate::mesh::{Face, GridMatrix, Mesh, Stencil};
use crate::run::Job;
use crate::run::cost::Cost;
use crate::run::deck::Preconditioning;
use crate::run::report::LevelReport;
use crate::solve::{DistributedMatrix, DistributedOperator, Hierarchy, Level, Preconditioner, Smoothing, Transfer};
use crate::space::{Array, ExecutionSpace, MemorySpace, Slice};
use crate::sparse::Operator;

/// Seed of the vector from which eigenvalues are estimated.
pub(super) const SEED: u64 = 0x6569_6765;

/// A matrix on a mesh, with the exchange of its columns.
pub(super) struct OnMesh<'a, S: Job> {
    pub(super) system: System<'a, S>,
    pub(super) halo: Halo<S>,
    pub(super) unknowns: Array<S, f64>,
    residual: Array<S, f64>,
    /// Interpolates the unknowns of the next finer box, where the matrix depends on them; with room for these, and their number.
    sampling: Option<(Between<S>, Array<S, f64>, usize)>,
}

/// The levels of boxes.
pub(super) type BoxHierarchy<S> = Hierarchy<S, GridMatrix<<S as ExecutionSpace>::Memory>>;

/// The levels of a problem.
pub(super) struct Multigrid<'a, S: Job> {
    pub(super) coarse: Vec<OnMesh<'a, S>>,
    pub(super) hierarchy: BoxHierarchy<S>,
    /// Exchanges the ghosts of the finest level within a cycle.
    halo: Halo<S>,
}

/// Returns whether this rank has all nodes of a mesh.
fn is_replicated<M: MemorySpace>(mesh: &Mesh<M>) -> bool {
    mesh.map.owned_count() as u64 == mesh.map.global_count()
}

/// Returns the connections of the ranks that share a mesh.
fn sharing<'l, S: Job>(links: &'l Links<'l, S>, mesh: &Mesh<S::Memory>) -> &'l Links<'l, S> {
    if is_replicated(mesh) { links.alone() } else { links }
}

/// A matrix between the grid points of two boxes.
type Between<S> = DistributedMatrix<S, GridMatrix<<S as ExecutionSpace>::Memory>>;

/// Makes the matrix of stencils between two meshes, rows and columns. Where the ranks share the columns and each has all rows, each multiplies
/// by its columns and all add the products.
fn between<S: Job>(
    fine: &Discrete<'_, S>,
    [rows, columns]: [&Mesh<S::Memory>; 2],
    stencil: impl Fn(usize) -> Stencil,
) -> Result<Between<S>> {
    let (space, links, dofs) = (fine.space, fine.input.links, fine.case.model.dofs());
    let (meshes, stencils) = ([rows, columns], [0, 1, 2].map(stencil));
    if is_replicated(rows) && !is_replicated(columns) {
        let (matrix, map) = agree(links.comm(), space.grid_matrix(None, meshes, &stencils, dofs))?;
        let (all, used) = (dofs * rows.map.owned_count(), GridMatrix::rows_with_entries(meshes, &stencils, dofs));
        return DistributedMatrix::gathered(space, links, (matrix, &map), (0, all), Ok(used));
    }
    let on = sharing(links, columns);
    let (matrix, map) = agree(links.comm(), space.grid_matrix(Some(on.comm()), meshes, &stencils, dofs))?;
    agree(links.comm(), DistributedMatrix::new(space, on, (matrix, &map)))
}

/// Makes the transfers between two meshes.
fn transfer<S: Job>(
    fine: &Discrete<'_, S>,
    finer: &Mesh<S::Memory>,
    coarser: &Mesh<S::Memory>,
) -> Result<Transfer<S, GridMatrix<S::Memory>>> {
    const ENDS: [[Face; 2]; 3] = [[Face::XMin, Face::XMax], [Face::YMin, Face::YMax], [Face::ZMin, Face::ZMax]];
    let fixed = fine.case.fixed_faces();
    let interpolation = |axis: usize| {
        let [rows, columns] = [finer, coarser].map(|mesh| mesh.spec().nodes()[axis]);
        Stencil::linear(rows, columns)
    };
    let prolongation = between(fine, [finer, coarser], interpolation)?;
    // Residuals vanish at fixed nodes, and so do the corrections there that this matrix's transpose would interpolate.
    let restriction = between(fine, [coarser, finer], |axis| {
        interpolation(axis).without_ends(ENDS[axis].map(|face| fixed.contains(&face))).transposed()
    })?;
    let entries = prolongation.matrix().entries() + restriction.matrix().entries();
    Ok(Transfer { prolongation, restriction, entries })
}

/// Nodes per edge above which the boundary hardly shows in the largest eigenvalue of D^-1 A.
const FEW: u64 = 16;

/// Largest quotient of two axes' refinements that changes the largest eigenvalue of D^-1 A by some per cent only.
const UNEVEN: f64 = 1.05;

/// Whether a mesh refines a coarser one alike along all axes, and that is fine enough for an estimate of eigenvalues.
fn is_refined<M: MemorySpace>(finer: &Mesh<M>, coarser: &Mesh<M>) -> bool {
    let [fine, coarse] = [finer, coarser].map(|mesh| mesh.spec().nodes());
    let by = [0, 1, 2].map(|axis| (fine[axis] - 1) as f64 / (coarse[axis] - 1) as f64);
    let is_even = by.iter().all(|a| by.iter().all(|b| a / b <= UNEVEN));
    finer.element == coarser.element && is_even && coarse.iter().all(|&nodes| nodes > FEW)
}

impl<'a, S: Job> OnMesh<'a, S> {
    /// Prepares the matrix of a coarser mesh beside that of the next finer one.
    fn new(fine: &Discrete<'a, S>, finer: &Mesh<S::Memory>, mesh: &'a Mesh<S::Memory>) -> Result<Self> {
        let ProblemInput { deck, links, phases, progress, .. } = fine.input;
        let (space, comm, mut unused) = (fine.space, links.comm(), Marks::<S>::new());
        let on = sharing(links, mesh);
        let input = ProblemInput { deck, links: on, mesh, coarse: &[], phases, progress };
        let mut discrete = agree(comm, Discrete::new(space, input))?;
        discrete.case = discrete.case.without_advection(deck, mesh.spec());
        let strategy = deck.graph.strategy.or_default();
        let nodes = graph::build(space, &mesh.elem_node, mesh.map.owned_count(), strategy);
        let graph = agree(comm, nodes.and_then(|nodes| space.dof_graph(nodes, discrete.case.model.dofs())))?;
        let system = agree(comm, System::new(discrete, Some(graph), &mut unused))?;
        let halo = agree(comm, on.halo(space, system.map()))?;
        let sampling = if deck.problem.kind.is_linear() {
            None
        } else {
            let spacing = |axis: usize| [mesh, finer].map(|mesh| mesh.spec().nodes()[axis]);
            let sampling = between(fine, [mesh, finer], |axis| {
                let [rows, columns] = spacing(axis);
                Stencil::linear(rows, columns)
            })?;
            let room = agree(comm, space.zeros(Operator::<S>::columns(sampling.matrix())))?;
            Some((sampling, room, system.case.model.dofs() * finer.map.owned_count()))
        };
        let (rows, columns) = (system.map().owned_count(), system.map().local_count());
        let vectors = space.zeros(columns).and_then(|unknowns| Ok((unknowns, space.zeros(rows)?)));
        let (unknowns, residual) = agree(comm, vectors)?;
        Ok(OnMesh { system, halo, unknowns, residual, sampling })
    }

    /// Assembles at the unknowns of the next finer box.
    pub(super) fn assemble(&mut self, finer: &Slice<S, f64>) -> Result<()> {
        let (space, mut unused) = (self.system.space, Marks::<S>::new());
        let unknowns = S::Memory::slice_mut(&mut self.unknowns);
        if let Some((sampling, room, count)) = &mut self.sampling {
            let room = S::Memory::slice_mut(room);
            space.copy(*count, finer, room)?;
            sampling.apply(space, room, unknowns)?;
            self.halo.update(space, unknowns)?;
        }
        let residual = S::Memory::slice_mut(&mut self.residual);
        self.system.assemble(unknowns, residual, &mut unused)
    }

    /// Copies the assembled values to the storage format.
    pub(super) fn update(&mut self) -> Result<()> {
        self.system.update(&mut Marks::<S>::new())
    }

    /// Lends the matrix with its exchange.
    pub(super) fn part<'p>(&'p mut self) -> Part<'p, 'a, S> {
        (&self.system, &mut self.halo)
    }
}

impl<'a, S: Job> Multigrid<'a, S> {
    /// Prepares all levels; `None` without a preconditioner. All ranks call it together.
    pub fn new(fine: &System<'a, S>, marks: &mut Marks<S>) -> Result<Option<Self>> {
        let (space, ProblemInput { deck, links, mesh, coarse: meshes, .. }) = (fine.space, &fine.input);
        let smoothing = match deck.preconditioning() {
            Preconditioning::Jacobi => Smoothing::JACOBI,
            Preconditioning::Chebyshev => Smoothing::ALONE,
            Preconditioning::Multigrid => Smoothing::FOR_CYCLES,
            _ => return Ok(None),
        };
        let before = agree(links.comm(), space.mark())?;
        let all: Vec<&Mesh<S::Memory>> = [*mesh].into_iter().chain(*meshes).collect();
        let pairs = all.iter().zip(*meshes);
        let coarse = pairs.map(|(finer, mesh)| OnMesh::new(fine, finer, mesh)).collect::<Result<Vec<_>>>()?;
        let mut levels: Vec<Level<S, GridMatrix<S::Memory>>> = Vec::new();
        let systems = [fine].into_iter().chain(coarse.iter().map(|coarse| &coarse.system));
        for (at, system) in systems.enumerate() {
            let below = meshes.get(at).map(|coarser| transfer(fine, all[at], coarser)).transpose()?;
            let above = levels.last().and_then(Level::transfer);
            let sizes = [system.map().owned_count(), system.map().local_count()];
            let mut level = agree(links.comm(), Level::new(space, sizes, above, below))?;
            // With advection on the finest box, too: Lanczos' method needs a symmetric matrix, such as that of the coarser one without it.
            level.is_refined = meshes.get(at).is_some_and(|coarser| is_refined(all[at], coarser));
            levels.push(level);
        }
        let rows = coarse.last().map_or(0, |coarse| coarse.system.map().owned_count());
        let hierarchy = agree(links.comm(), Hierarchy::new(space, links, levels, rows, smoothing))?;
        let halo = agree(links.comm(), links.halo(space, fine.map()))?;
        marks.push(("setup/preconditioner", before, space.mark()?));
        Ok(Some(Multigrid { coarse, hierarchy, halo }))
    }

    /// Assembles the coarser matrices at the unknowns of the finest level, and prepares smoothers and the last level. All ranks call it
    /// together.
    pub fn prepare(&mut self, fine: &System<'a, S>, unknowns: &Slice<S, f64>) -> Result<()> {
        let Multigrid { coarse, hierarchy, halo } = self;
        assemble(coarse, unknowns)?;
        let mut parts = vec![(fine, halo)];
        parts.extend(coarse.iter_mut().map(OnMesh::part));
        prepare(hierarchy, parts, true)
    }

    /// Calls `work` with the cycle.
    pub fn with_cycle<R>(
        &mut self,
        fine: &System<'a, S>,
        work: impl FnOnce(&mut dyn Preconditioner<S>) -> Result<R>,
    ) -> Result<R> {
        let Multigrid { coarse, hierarchy, halo } = self;
        let mut parts = vec![(fine, halo)];
        parts.extend(coarse.iter_mut().map(OnMesh::part));
        with_operators(parts, |operators| work(&mut hierarchy.cycle(operators)))
    }
}

impl<S: Job> Multigrid<'_, S> {
    /// Rows and entries of the coarser levels.
    pub fn numbers(&self) -> Vec<LevelReport> {
        self.coarse.iter().map(|coarse| coarse.system.level()).collect()
    }

    /// Returns what a cycle moves and computes on this rank: per level the products, the updates of vectors, the transfers.
    pub fn cost(&self, fine: &System<'_, S>) -> Cost {
        let finest = [fine.product()].into_iter();
        let products = finest.chain(self.coarse.iter().map(|coarse| coarse.system.product()));
        work(&self.hierarchy.levels, products.map(|product| [product.bytes, product.flops / 2]))
    }
}

/// Adds the work of levels whose products move these bytes and have these entries.
pub(super) fn work<S: Job, A: Operator<S>>(levels: &[Level<S, A>], products: impl Iterator<Item = [u64; 2]>) -> Cost {
    let mut cost = Cost::default();
    for (level, [bytes, entries]) in levels.iter().zip(products) {
        let (bytes, flops) = level.work(bytes, entries);
        (cost.bytes, cost.flops) = (cost.bytes + bytes, cost.flops + flops);
    }
    cost
}

/// A matrix on a mesh with its exchange, lent.
pub(super) type Part<'p, 'a, S> = (&'p System<'a, S>, &'p mut Halo<S>);

/// Assembles stored matrices, finest first, at the unknowns of the next finer box.
pub(super) fn assemble<S: Job>(coarse: &mut [OnMesh<'_, S>], unknowns: &Slice<S, f64>) -> Result<()> {
    let mut finer = unknowns;
    for coarse in coarse {
        coarse.assemble(finer)?;
        coarse.update()?;
        finer = S::Memory::slice(&coarse.unknowns);
    }
    Ok(())
}

/// Prepares the smoothers of the coarsest levels, which have these matrices, and with `inverts` the last level.
pub(super) fn prepare<S: Job>(
    hierarchy: &mut BoxHierarchy<S>,
    parts: Vec<Part<'_, '_, S>>,
    inverts: bool,
) -> Result<()> {
    let Some((first, _)) = parts.first() else { return Ok(()) };
    let (space, links, finer) = (first.space, first.input.links, hierarchy.levels.len() - parts.len());
    for ((system, _), level) in parts.iter().zip(&mut hierarchy.levels[finer..]) {
        let made = system.inverse_diagonal(S::Memory::slice_mut(&mut level.inverse));
        if system.input.links.is_alone() { agree(links.comm(), made)? } else { made? }
    }
    let systems: Vec<&System<'_, S>> = parts.iter().map(|part| part.0).collect();
    with_operators(parts, |operators| {
        hierarchy.prepare_smoothers(space, links, &operators, |at, vector| systems[at].scatter_by_id(SEED, vector))?;
        if inverts { hierarchy.invert_last(space, links, operators[operators.len() - 1]) } else { Ok(()) }
    })
}

/// Calls `work` with the distributed operators of the levels.
pub(super) fn with_operators<'p, 'a, S: Job, R>(
    parts: Vec<Part<'p, 'a, S>>,
    work: impl FnOnce(Vec<&dyn Operator<S>>) -> Result<R>,
) -> Result<R> {
    let distributed = parts.into_iter().map(|(system, halo)| {
        let interior = system.input.links.apart(system.interior_rows());
        DistributedOperator::new(system.operator(false), halo, interior)
    });
    let operators = distributed.collect::<Result<Vec<_>>>()?;
    work(operators.iter().map(|operator| operator as &dyn Operator<S>).collect())
}
