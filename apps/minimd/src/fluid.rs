//! The fluid on one rank: atoms, ghosts, lists and forces in the memory of a space, and the steps that move them.

use crate::alone::alone;
use crate::bins::{Bins, Sorted};
use crate::borders::{Borders, Seen};
use crate::domain::Domain;
use crate::forces::{Pairs, Slabs};
use crate::functions::{Both, End, Squares, Start};
use crate::neighbours::Neighbours;
use crate::owners::{Atoms, exchange};
use crate::space::Space;
use crate::thermo::State;
use minifenl::Result;
use minifenl::comm::Communicator;
use minifenl::space::{Array, MemorySpace};

/// How forces and lists are computed.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Pairs of owned atoms stand in one list.
    pub is_half: bool,
    /// Atoms are sorted by bin whenever neighbour lists are rebuilt.
    pub sorts: bool,
    /// Forces reach to this distance.
    pub cutoff: f64,
}

/// Atoms of a rank with all that their motion needs.
pub struct Fluid<'a, S: Space> {
    space: &'a S,
    comm: &'a dyn Communicator,
    domain: Domain,
    method: Method,
    bins: Bins,
    atoms: Atoms<S>,
    f: Array<S, f64>,
    borders: Borders<S>,
    seen: Seen<S>,
    sorted: Sorted<S>,
    lists: Neighbours<S>,
    slabs: Option<Slabs<S>>,
}

impl<'a, S: Space> Fluid<'a, S> {
    /// Places atoms at `x` with velocities `v`, [atom, axis], in the part of a rank, and finds their neighbours and forces.
    ///
    /// # Errors
    /// Those of the ranks, and those of the space as [`Error::Alone`](minifenl::Error::Alone), here and below.
    pub fn new(
        space: &'a S,
        comm: &'a dyn Communicator,
        domain: Domain,
        bins: Bins,
        method: Method,
        [x, v]: [Vec<f64>; 2],
    ) -> Result<Self> {
        let here = || {
            let atoms = Atoms { count: x.len() / 3, x: space.upload(&x)?, v: space.upload(&v)? };
            let lists = Neighbours::new(space, method.is_half, &bins)?;
            Ok((atoms, Borders::new(space, &domain, comm.rank())?, lists))
        };
        let (mut atoms, borders, lists) = here().map_err(alone(comm))?;
        let Placed { f, seen, sorted } = place(space, comm, &domain, &bins, &borders, method, &mut atoms, 0)?;
        let mut fluid =
            Fluid { space, comm, domain, method, bins, atoms, f, borders, seen, sorted, lists, slabs: None };
        fluid.list()?;
        fluid.push()?;
        Ok(fluid)
    }

    /// Atoms of this rank.
    pub fn owned(&self) -> usize {
        self.atoms.count
    }

    /// Positions, velocities and forces of the owned atoms, on the host.
    #[cfg(test)]
    pub fn arrays(&self) -> Result<[Vec<f64>; 3]> {
        let read = |from: &Array<S, f64>| {
            let mut out = vec![0.0; 3 * self.atoms.count];
            self.space.read(from, &mut out).map(|()| out)
        };
        Ok([read(&self.atoms.x)?, read(&self.atoms.v)?, read(&self.f)?])
    }

    /// First half of a step: moves the atoms by `dt`.
    pub fn start(&mut self, dt: f64) -> Result<()> {
        let Atoms { count, x, v } = &mut self.atoms;
        let (f, moved) = (S::Memory::slice(&self.f), [v, x].map(S::Memory::slice_mut));
        self.space.for_items(3 * *count, &Start { dt }, [f], moved).map_err(alone(self.comm))
    }

    /// Second half of a step.
    pub fn end(&mut self, dt: f64) -> Result<()> {
        let v = S::Memory::slice_mut(&mut self.atoms.v);
        let numbers = 3 * self.atoms.count;
        self.space.for_items(numbers, &End { dt }, [S::Memory::slice(&self.f)], [v]).map_err(alone(self.comm))
    }

    /// Moves the ghosts with the atoms that they are images of.
    pub fn follow(&mut self) -> Result<()> {
        let x = S::Memory::slice_mut(&mut self.atoms.x);
        self.borders.follow(self.space, &mut self.seen, x).map_err(alone(self.comm))
    }

    /// Gives each atom to the rank where it is now, and finds the ghosts; `step` is for messages.
    pub fn migrate(&mut self, step: usize) -> Result<()> {
        let Fluid { space, comm, domain, method, bins, borders, atoms, .. } = self;
        let placed = place(*space, *comm, domain, bins, borders, *method, atoms, step)?;
        Placed { f: self.f, seen: self.seen, sorted: self.sorted } = placed;
        Ok(())
    }

    /// Lists the neighbours of the atoms.
    pub fn list(&mut self) -> Result<()> {
        self.build_lists().map_err(alone(self.comm))
    }

    fn build_lists(&mut self) -> Result<()> {
        let (space, sorted) = (self.space, &self.sorted);
        self.lists.build(space, S::Memory::slice(&self.atoms.x), &self.bins, sorted, &self.domain)?;
        let bounds = match space.threads() {
            _ if !S::SYNCHRONOUS || !self.method.is_half => None,
            1 => Some(vec![0, sorted.owned as u32]),
            threads if self.method.sorts => self.bins.slabs(space, sorted, &self.lists.counts, threads)?,
            _ => None,
        };
        self.slabs = bounds.map(|bounds| Slabs::new(space, &bounds)).transpose()?;
        Ok(())
    }

    /// Computes the forces.
    pub fn push(&mut self) -> Result<()> {
        let f = S::Memory::slice_mut(&mut self.f);
        let pairs = pairs(&self.atoms, &self.lists, self.method.cutoff);
        pairs.forces(self.space, self.slabs.as_ref(), f).map_err(alone(self.comm))
    }

    /// Temperature, energy and pressure over all ranks. Collective.
    pub fn state(&self, atoms: usize) -> Result<State> {
        let found = pairs(&self.atoms, &self.lists, self.method.cutoff).energy(self.space);
        let Both { energy, virial } = found.map_err(alone(self.comm))?;
        let (numbers, v) = (3 * self.atoms.count, S::Memory::slice(&self.atoms.v));
        let squares = self.space.reduce_items(numbers, &Squares {}, [v]).map_err(alone(self.comm))?;
        let mut sums = [squares, energy, virial];
        self.comm.all_sum(&mut sums);
        Ok(State::of(sums, atoms, self.domain.edges))
    }
}

fn pairs<'b, S: Space>(atoms: &'b Atoms<S>, lists: &'b Neighbours<S>, cutoff: f64) -> Pairs<'b, S> {
    Pairs { x: S::Memory::slice(&atoms.x), lists, owned: atoms.count, cutoff }
}

/// What belongs to the atoms until the next lists.
struct Placed<S: Space> {
    f: Array<S, f64>,
    seen: Seen<S>,
    sorted: Sorted<S>,
}

/// Gives atoms to their owners, sorts them and finds the ghosts; positions have those of the ghosts behind them.
fn place<S: Space>(
    space: &S,
    comm: &dyn Communicator,
    domain: &Domain,
    bins: &Bins,
    borders: &Borders<S>,
    method: Method,
    atoms: &mut Atoms<S>,
    step: usize,
) -> Result<Placed<S>> {
    exchange(space, comm, domain, atoms, step)?;
    let sorted = bins.sort(space, S::Memory::slice(&atoms.x), atoms.count).map_err(alone(comm))?;
    if method.sorts {
        *atoms = atoms.reordered(space, &sorted.order, atoms.count, 0).map_err(alone(comm))?;
    }
    let mut seen = borders.find(space, comm, domain, S::Memory::slice(&atoms.x), atoms.count)?;
    let all = atoms.count + seen.count;
    let finish = || -> Result<_> {
        let (mut x, f) = (space.to_be_written(3 * all)?, space.zeros(3 * all)?);
        space.copy(3 * atoms.count, S::Memory::slice(&atoms.x), S::Memory::slice_mut(&mut x))?;
        borders.follow(space, &mut seen, S::Memory::slice_mut(&mut x))?;
        let sorted = bins.with_ghosts(space, S::Memory::slice(&x), seen.count, sorted, method.sorts)?;
        Ok((x, f, sorted))
    };
    let (x, f, sorted) = finish().map_err(alone(comm))?;
    atoms.x = x;
    Ok(Placed { f, seen, sorted })
}
