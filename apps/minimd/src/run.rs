//! A run: lattice, steps, and what is printed and measured.

use crate::alone::alone;
use crate::args::Args;
use crate::bins::Bins;
use crate::domain::Domain;
use crate::fluid::{Fluid, Method};
use crate::neighbours::first_width;
use crate::report::{Line, Report, Seconds};
use crate::space::Space;
use crate::start::{atoms, lattice};
use crate::thermo::State;
use minifenl::comm::{Communicator, agree};
use minifenl::space::{ExecutionSpace, FreeMemory};
use minifenl::{Error, Result};
use std::time::Instant;

/// Runs the fluid on a space; `show` gets each line of states when it is known, and may fail on one rank.
///
/// # Errors
/// [`Error::Invalid`] for a box, ranks or a time step that the fluid cannot have, [`Error::TooLarge`] for atoms or bins beyond memory;
/// those of `show`. [`Error::Alone`] for a failure that the other ranks do not know.
pub fn run<S: Space>(
    space: &S,
    comm: &dyn Communicator,
    args: &Args,
    show: &mut dyn FnMut(&Line) -> Result<()>,
) -> Result<Report> {
    let edges = args.cells.0.map(|cells| cells as f64 * lattice(args.density));
    let is_half = args.lists.is_half(S::SYNCHRONOUS);
    let count = args.atoms();
    let domain = Domain::new(edges, args.cutoff + args.skin, comm.rank(), comm.size())?;
    let bins = agree(comm, Bins::new(&domain))?;
    let free = agree(comm, space.free_bytes(comm))?;
    let on_host = FreeMemory::now().share(comm.ranks_on_node() as u64);
    agree(comm, check_memory::<S>(count / comm.size(), bins.count(), is_half, [free, on_host]))?;
    let start = atoms(comm, &domain, args.cells.0, args.density, args.temperature);
    let own = start[0].len() / 3;
    let none = || format!("no atoms on rank {} of {}: expected fewer ranks or more --cells", comm.rank(), comm.size());
    agree(comm, if own > 0 { Ok(()) } else { Err(Error::Invalid(none())) })?;
    let grid = domain.grid;
    let method = Method { is_half, sorts: args.sort.is_yes(), cutoff: args.cutoff };
    let mut fluid = Fluid::new(space, comm, domain, bins, method, start)?;
    let mut lines = Vec::new();
    let mut note = |fluid: &Fluid<'_, S>, step: usize, seconds: f64| {
        check(comm, fluid.owned(), count, step)?;
        let state = fluid.state(count)?;
        let line = Line { step, state, seconds };
        agree(comm, show(&line))?;
        lines.push(line);
        check_speed(&state, args, step)
    };
    note(&fluid, 0, 0.0)?;
    comm.barrier();
    let (mut seconds, begin) = (Seconds::default(), Instant::now());
    for step in 1..=args.steps {
        let mut clock = Instant::now();
        let mut lap = |phase: &mut f64| {
            *phase += clock.elapsed().as_secs_f64();
            clock = Instant::now();
        };
        fluid.start(args.dt)?;
        lap(&mut seconds.motion);
        if step % args.rebuild == 0 {
            fluid.migrate(step)?;
            lap(&mut seconds.ranks);
            fluid.list()?;
            lap(&mut seconds.lists);
        } else {
            fluid.follow()?;
            lap(&mut seconds.ranks);
        }
        fluid.push()?;
        lap(&mut seconds.force);
        fluid.end(args.dt)?;
        lap(&mut seconds.motion);
        if step % args.thermo == 0 || step == args.steps {
            note(&fluid, step, begin.elapsed().as_secs_f64())?;
        }
    }
    space.fence().map_err(alone(comm))?;
    comm.barrier();
    seconds.total = begin.elapsed().as_secs_f64();
    Ok(Report::new(space, comm.size(), grid, is_half, count, args, lines, seconds))
}

/// Refuses more atoms and bins of a rank than free memory holds, in the space and on the host: vectors in two orders, lists, and bounds of
/// bins thrice in the space; the first positions and velocities on the host.
pub fn check_memory<S: ExecutionSpace>(atoms: usize, bins: usize, is_half: bool, free: [u64; 2]) -> Result<()> {
    let lists = 4 * (first_width(is_half) + first_width(is_half) / 8);
    let (items, bounds) = (atoms as u64, 8 * bins as u64);
    let [inside, copies] = [items * (200 + lists as u64) + 3 * bounds, items * 50];
    let check = |memory: &str, needed: u64, free: u64| {
        let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
        let what = format!("{atoms} atoms in {bins} bins: {memory}");
        let error = || Error::TooLarge { what, needed: mib(needed), limit: format!("{} free", mib(free)) };
        if needed <= free { Ok(()) } else { Err(error()) }
    };
    if S::SYNCHRONOUS {
        return check("memory", inside + copies, free[0].min(free[1]));
    }
    check("GPU memory", inside, free[0])?;
    check("memory", copies, free[1])
}

/// Refuses a state whose atoms cross the reach of their lists within a step, on average, or have no finite speed.
fn check_speed(state: &State, args: &Args, step: usize) -> Result<()> {
    let way = args.dt * (3.0 * state.temperature).sqrt();
    if way < args.cutoff + args.skin {
        return Ok(());
    }
    let State { temperature, .. } = state;
    Err(Error::Invalid(format!(
        "step {step}: T = {temperature:.3e}, atoms move {way:.1e} a step: the time step is too long (--dt)"
    )))
}

/// Compares the atoms of all ranks with those of the start.
fn check(comm: &dyn Communicator, owned: usize, count: usize, step: usize) -> Result<()> {
    let mut sum = [owned as u64];
    comm.all_sum_u64(&mut sum);
    if sum[0] == count as u64 {
        return Ok(());
    }
    Err(Error::Invalid(format!("step {step}: {} of {count} atoms are left: the time step is too long (--dt)", sum[0])))
}
