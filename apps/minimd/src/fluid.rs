//! The fluid on one rank: atoms, ghosts, lists and forces in the memory of a space, and the steps that move them.

use crate::alone::alone;
use crate::bins::{Bins, Sorted, reordered};
use crate::domain::Domain;
use crate::forces::{Pairs, Slabs};
use crate::functions::{Both, End, Ghosts, Squares, Start};
use crate::migrate::{Seen, borders, exchange};
use crate::neighbours::Neighbours;
use crate::space::Space;
use crate::thermo::State;
use minifenl::Result;
use minifenl::comm::{Communicator, Halo};
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
    owned: usize,
    x: Array<S, f64>,
    v: Array<S, f64>,
    f: Array<S, f64>,
    /// Ghosts: their number, sources and shifts.
    ghosts: (usize, Array<S, u32>, Array<S, f64>),
    halo: Halo<S>,
    sorted: Sorted,
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
        let nothing = borders(comm, &domain, &[])?;
        let empty = || {
            Ok(Fluid {
                owned: 0,
                x: space.zeros(0)?,
                v: space.zeros(0)?,
                f: space.zeros(0)?,
                ghosts: (0, space.zeros(0)?, space.zeros(0)?),
                halo: Halo::new(space, comm, &nothing.map)?,
                lists: Neighbours::new(space, method.is_half)?,
                sorted: Sorted::default(),
                slabs: None,
                space,
                comm,
                domain,
                bins,
                method,
            })
        };
        let mut fluid = empty().map_err(alone(comm))?;
        fluid.place(x, v, 0)?;
        fluid.list()?;
        fluid.push()?;
        Ok(fluid)
    }

    /// Atoms of this rank.
    pub fn owned(&self) -> usize {
        self.owned
    }

    /// Positions, velocities and forces of the owned atoms, on the host.
    pub fn arrays(&self) -> Result<[Vec<f64>; 3]> {
        let read = |from: &Array<S, f64>| {
            let mut out = vec![0.0; 3 * self.owned];
            self.space.read(from, &mut out).map(|()| out)
        };
        Ok([read(&self.x)?, read(&self.v)?, read(&self.f)?])
    }

    /// First half of a step: moves the atoms by `dt`.
    pub fn start(&mut self, dt: f64) -> Result<()> {
        let (f, v, x) =
            (S::Memory::slice(&self.f), S::Memory::slice_mut(&mut self.v), S::Memory::slice_mut(&mut self.x));
        self.space.for_items(3 * self.owned, &Start { dt }, [f], [v, x]).map_err(alone(self.comm))
    }

    /// Second half of a step.
    pub fn end(&mut self, dt: f64) -> Result<()> {
        let v = S::Memory::slice_mut(&mut self.v);
        self.space.for_items(3 * self.owned, &End { dt }, [S::Memory::slice(&self.f)], [v]).map_err(alone(self.comm))
    }

    /// Moves the ghosts with the atoms that they are images of.
    pub fn follow(&mut self) -> Result<()> {
        let x = S::Memory::slice_mut(&mut self.x);
        self.halo.update(self.space, x).map_err(alone(self.comm))?;
        let (ghosts, sources, shifts) = &self.ghosts;
        let owned = Ghosts { owned: self.owned as f64 };
        self.space
            .for_indices(*ghosts, &owned, [S::Memory::slice(shifts)], [S::Memory::slice(sources)], [x])
            .map_err(alone(self.comm))
    }

    /// Gives each atom to the rank where it is now, and finds the ghosts; `step` is for messages.
    pub fn migrate(&mut self, step: usize) -> Result<()> {
        let [x, v, _] = self.arrays().map_err(alone(self.comm))?;
        self.place(x, v, step)
    }

    fn place(&mut self, mut x: Vec<f64>, mut v: Vec<f64>, step: usize) -> Result<()> {
        exchange(self.comm, &self.domain, &mut x, &mut v, step)?;
        if self.method.sorts {
            let order = self.bins.sort(&x, x.len() / 3).order;
            (x, v) = (reordered(&order, &x), reordered(&order, &v));
        }
        let seen = borders(self.comm, &self.domain, &x)?;
        self.hold(x, v, seen).map_err(alone(self.comm))
    }

    /// Takes atoms and ghosts into the memory of the space.
    fn hold(&mut self, mut x: Vec<f64>, v: Vec<f64>, seen: Seen) -> Result<()> {
        let Seen { sources, shifts, x: ghosts, map } = seen;
        self.owned = x.len() / 3;
        x.extend(ghosts);
        self.ghosts = (sources.len(), self.space.upload(&sources)?, self.space.upload(&shifts)?);
        self.halo = Halo::new(self.space, self.comm, &map)?;
        (self.v, self.f) = (self.space.upload(&v)?, self.space.zeros(x.len())?);
        self.x = self.space.upload(&x)?;
        self.sorted = self.bins.sort(&x, self.owned);
        Ok(())
    }

    /// Lists the neighbours of the atoms.
    pub fn list(&mut self) -> Result<()> {
        self.build_lists().map_err(alone(self.comm))
    }

    fn build_lists(&mut self) -> Result<()> {
        let (space, sorted) = (self.space, &self.sorted);
        self.lists.build(space, S::Memory::slice(&self.x), &self.bins, sorted, self.domain.reach)?;
        let bounds = match space.threads() {
            1 => Some(vec![0, self.owned as u32]),
            threads => self.bins.slabs(sorted, 2 * threads).filter(|_| self.method.sorts),
        };
        self.slabs = match bounds.filter(|_| S::SYNCHRONOUS && self.method.is_half) {
            Some(bounds) => Some(Slabs::new(space, &bounds)?),
            None => None,
        };
        Ok(())
    }

    /// Computes the forces.
    pub fn push(&mut self) -> Result<()> {
        let pairs =
            Pairs { x: S::Memory::slice(&self.x), lists: &self.lists, owned: self.owned, cutoff: self.method.cutoff };
        pairs.forces(self.space, self.slabs.as_ref(), S::Memory::slice_mut(&mut self.f)).map_err(alone(self.comm))
    }

    /// Temperature, energy and pressure over all ranks. Collective.
    pub fn state(&self, atoms: usize) -> Result<State> {
        let pairs =
            Pairs { x: S::Memory::slice(&self.x), lists: &self.lists, owned: self.owned, cutoff: self.method.cutoff };
        let Both { energy, virial } = pairs.energy(self.space).map_err(alone(self.comm))?;
        let squares = self
            .space
            .reduce_items(3 * self.owned, &Squares {}, [S::Memory::slice(&self.v)])
            .map_err(alone(self.comm))?;
        let mut sums = [squares, energy, virial];
        self.comm.all_sum(&mut sums);
        Ok(State::of(sums, atoms, self.domain.edges))
    }
}
