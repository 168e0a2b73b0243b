//! What a case's exact solution says about the field of a run, on all ranks.
//!
//! | case | errors | bound |
//! |---|---|---|
//! | heat on `hex8` without advection | at the nodes | [`Analytic::error_bound`], of interpolation on elements of this spacing |
//! | miniFE's brick | at the nodes nearest to the centre, where its series converges | h^2 with h the largest extent of an element |
//! | any other | at the cubature points | three times the error of interpolating the exact solution |

use super::deck::ProblemKind;
use super::problem::{Case, Outcome};
use super::steps::Ended;
use super::{Analytic, Deck, Job, Phases};
use crate::Result;
use crate::blas::Reductions;
use crate::comm::{Communicator, Transport, agree};
use crate::fill::{FieldErrors, FieldOn, field_errors};
use crate::graph::MapStats;
use crate::mesh::Mesh;
use crate::solve::Reason;
use crate::space::{Array, HostMemory, MemorySpace};

/// Factor by which the error may exceed the error of interpolating the exact solution, both at the cubature points.
const SAFETY: f64 = 3.0;

/// Errors of a field, and what they are compared with.
pub(super) struct Judged {
    /// Largest error, relative to the largest exact value.
    pub error_max: f64,
    /// Error in the L2 norm, relative to that of the exact solution.
    pub error_l2: f64,
    /// Bound of `error_max`.
    pub error_bound: f64,
    /// Estimate of the error that the solver left.
    pub algebraic_error: f64,
    /// Whether the equation's matrix is symmetric.
    pub is_symmetric: bool,
    /// Unknowns that no condition fixes.
    pub free: u64,
    /// Largest spacing of elements along z.
    pub spacing: f64,
}

/// A run whose iteration has ended, on this rank.
pub(super) struct Run<'a, S: Job> {
    pub space: &'a S,
    pub deck: &'a Deck,
    pub comm: &'a dyn Communicator,
    pub case: &'a Case,
    pub mesh: &'a Mesh<S::Memory>,
    pub field: &'a Array<S, f64>,
    pub newton: &'a Ended,
    pub phases: &'a Phases,
    pub map_stats: Option<MapStats>,
    pub outcome: &'a Outcome,
    pub transport: Transport,
    /// Seconds of the run.
    pub seconds: f64,
    /// Largest number of bytes in use.
    pub peak: u64,
}

/// Compares a field with the exact solution of its case. All ranks call it together.
pub(super) fn judged<S: Job>(run: &Run<'_, S>) -> Result<Judged> {
    let Run { space, comm, case, mesh, newton, .. } = *run;
    let (errors, spacing) = match case.nodal() {
        Some(exact) => agree(comm, at_nodes(run, exact).and_then(|errors| Ok((errors, space.spacing(mesh, 2)?))))?,
        None => at_points(run)?,
    };
    let mut largest = [errors.max, errors.interpolation, errors.scale, spacing];
    // Ranks add squares, not norms.
    let mut squares = [errors.square, errors.scale_square];
    comm.all_max(&mut largest);
    comm.all_sum(&mut squares);
    let [max, interpolation, scale, spacing] = largest;
    let fixed = agree(comm, fixed(run))?;
    let owned = mesh.map.owned_count() as u64;
    let mut free = [case.model.dofs() as u64 * (owned - fixed)];
    comm.all_sum_u64(&mut free);
    Ok(Judged {
        error_max: max / scale,
        error_l2: (squares[0] / squares[1]).sqrt(),
        error_bound: case.nodal().map_or(SAFETY * interpolation / scale, |exact| exact.error_bound(spacing)),
        algebraic_error: match newton.info.reason {
            Reason::Zero => 0.0,
            Reason::RelativeTolerance | Reason::AbsoluteTolerance | Reason::Iterations => {
                case.algebraic_error(newton.info.residual, scale, mesh.map.global_count() as f64)
            }
        },
        is_symmetric: case.model.is_symmetric(),
        free: free[0],
        spacing,
    })
}

/// Number of owned nodes that boundary conditions fix.
fn fixed<S: Job>(run: &Run<'_, S>) -> Result<u64> {
    let Run { space, mesh, case, .. } = run;
    let fixed = space.download(&space.on_faces(mesh, case.fixed_faces().iter().copied())?)?;
    Ok(fixed[..mesh.map.owned_count()].iter().map(|&is_fixed| u64::from(is_fixed)).sum())
}

/// Returns errors at this rank's nodes; sums over nodes take the place of integrals.
fn at_nodes<S: Job>(run: &Run<'_, S>, exact: &Analytic) -> Result<FieldErrors> {
    let Run { space, mesh, field, .. } = *run;
    let n = mesh.map.owned_count();
    let (exact, mut error) = (space.sample(exact, S::Memory::slice(&mesh.node_coord), n)?, space.zeros(n)?);
    let (exact, error) = (S::Memory::slice(&exact), S::Memory::slice_mut(&mut error));
    space.axpby(n, 1.0, S::Memory::slice(field), -1.0, exact, error)?;
    let mut sums = Reductions::new(space, n, 2)?;
    let partials = S::Memory::slice_mut(&mut sums.partials);
    let (max, scale) = (space.max_abs(n, error, partials)?, space.max_abs(n, exact, partials)?);
    let mut squares = [0.0; 2];
    for (slot, vector) in [&*error, exact].into_iter().enumerate() {
        space.dot(n, vector, vector, &mut sums, slot)?;
    }
    space.read(&sums.scalars, &mut squares)?;
    let [square, scale_square] = squares;
    Ok(FieldErrors { max, scale, square, scale_square, interpolation: 0.0 })
}

/// The errors at points that are not nodes, by threads of the host, and the extent of an element along z.
fn at_points<S: Job>(run: &Run<'_, S>) -> Result<(FieldErrors, f64)> {
    let Run { space, comm, case, .. } = *run;
    // The matrix is freed by now: a copy of the tables is small beside it.
    let mesh = agree(comm, run.mesh.download(space))?;
    let errors = match case.kind {
        ProblemKind::Minife => near_the_centre(run, &mesh)?,
        _ => agree(comm, {
            let (owned, dofs) = (mesh.map.owned_count(), case.model.dofs());
            let field = space.host().and_then(|host| Ok((host, space.download(run.field)?)));
            field.and_then(|(host, field)| field_errors(&host, on_host(&mesh), owned, dofs, &field, &|x| case.at(x)))
        })?,
    };
    Ok((errors, mesh.extent(2)))
}

/// The errors of miniFE's brick on this rank. `interpolation` is h^2 / 3, with h the extent of an element: the error is 0.55 to 0.59 h^2
/// on `hex8`.
fn near_the_centre<S: Job>(run: &Run<'_, S>, mesh: &Mesh) -> Result<FieldErrors> {
    let Run { space, comm, case, .. } = *run;
    let coord = &mesh.node_coord[..mesh.map.owned_count()];
    let distance = |x: &[f64; 3]| x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>();
    let mut nearest = [coord.iter().map(|x| -distance(x)).fold(f64::NEG_INFINITY, f64::max)];
    comm.all_max(&mut nearest);
    let values = agree(comm, space.download(run.field))?;
    let mut errors = FieldErrors { scale: 1.0, ..FieldErrors::default() };
    for (x, u) in coord.iter().zip(values).filter(|(x, _)| -distance(x) == nearest[0]) {
        let [exact, ..] = case.at(*x);
        errors = errors.with(FieldErrors {
            max: (u - exact).abs(),
            interpolation: (0..3).map(|axis| mesh.extent(axis).powi(2) / 3.0).fold(0.0, f64::max),
            scale: 1.0,
            square: (u - exact).powi(2),
            scale_square: exact.powi(2),
        });
    }
    Ok(errors)
}

/// The elements of a mesh in the host's memory.
pub(super) fn on_host(mesh: &Mesh) -> FieldOn<'_, HostMemory> {
    FieldOn { element: mesh.element, elem_node: &mesh.elem_node, node_coord: &mesh.node_coord }
}
