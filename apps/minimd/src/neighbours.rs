//! Neighbour lists in the memory of a space.

use crate::bins::{Bins, Sorted};
use crate::domain::Domain;
use crate::functions::{Largest, List};
use crate::space::Space;
use minifenl::space::{Array, ExecutionSpace, Layout, MemorySpace, Slice};
use minifenl::{Error, Result};

/// Room of each list at first: what a fluid of density 0.84 needs up to 2.8.
pub fn first_width(is_half: bool) -> usize {
    if is_half { 64 } else { 112 }
}

/// Returns the items of lists; refuses more than a GPU can index, by 32 bits with a sign.
pub fn check_items<S: ExecutionSpace>(atoms: usize, width: usize) -> Result<usize> {
    let items = atoms * width;
    let error = || Error::TooLarge {
        what: "array of neighbour lists on a GPU".into(),
        needed: format!("{atoms} x {width} items"),
        limit: format!("{} items", i32::MAX),
    };
    if S::SYNCHRONOUS || items <= i32::MAX as usize { Ok(items) } else { Err(error()) }
}

/// Lists of the owned atoms, made anew from time to time.
#[derive(Debug)]
pub struct Neighbours<S: Space> {
    /// First bin of each row around a bin.
    rows: Array<S, u32>,
    /// Neighbours of each atom.
    pub counts: Array<S, u32>,
    /// The lists; neighbour k of atom i stands at `i * steps[0] + k * steps[1]`.
    pub list: Array<S, u32>,
    /// See `list`.
    pub steps: [f64; 2],
    /// Whether a pair of owned atoms stands in one list only.
    pub is_half: bool,
    /// Room of a list.
    width: usize,
    /// Atoms that have room.
    room: usize,
}

impl<S: Space> Neighbours<S> {
    /// Lists without room.
    ///
    /// # Errors
    /// Those of the space, here and below.
    pub fn new(space: &S, is_half: bool, bins: &Bins) -> Result<Self> {
        let (rows, counts, list) = (space.upload(&bins.rows)?, space.zeros(0)?, space.zeros(0)?);
        Ok(Neighbours { rows, counts, list, steps: [0.0; 2], is_half, width: first_width(is_half), room: 0 })
    }

    /// Lists the neighbours of the owned atoms up to the reach of a part.
    pub fn build(
        &mut self,
        space: &S,
        x: &Slice<S, f64>,
        bins: &Bins,
        sorted: &Sorted<S>,
        domain: &Domain,
    ) -> Result<()> {
        let (owned, [low, high]) = (sorted.owned, domain.deep());
        if owned > self.room {
            self.room = owned + owned / 8;
            self.grow(space, self.width)?;
        }
        loop {
            let list = List {
                reach: domain.reach,
                is_half: f64::from(self.is_half),
                low,
                high,
                is_eager: f64::from(S::SYNCHRONOUS),
                bins: bins.count() as f64,
                corner: bins.corner() as f64,
                rows: bins.rows.len() as f64,
                row_bins: bins.row_bins as f64,
                width: self.width as f64,
                atom_step: self.steps[0],
                neighbour_step: self.steps[1],
            };
            let read = [&sorted.bins, &self.rows, &sorted.starts, &sorted.order].map(S::Memory::slice);
            let written = [&mut self.counts, &mut self.list].map(S::Memory::slice_mut);
            space.for_indices(owned, &list, [x], read, written)?;
            let longest = space.reduce_items(owned, &Largest {}, [S::Memory::slice(&self.counts)])? as usize;
            if longest <= self.width {
                return Ok(());
            }
            self.grow(space, longest + longest / 8)?;
        }
    }

    /// Makes room: lists by rows on a host, where one thread reads a list, by columns on a GPU.
    fn grow(&mut self, space: &S, width: usize) -> Result<()> {
        let items = check_items::<S>(self.room, width)?;
        self.width = width;
        let layout = if S::SYNCHRONOUS { Layout::Right } else { Layout::Left };
        self.steps = layout.strides([self.room, width]).map(|step| step as f64);
        // The former lists go before the new ones come.
        (self.counts, self.list) = (space.zeros(0)?, space.zeros(0)?);
        (self.counts, self.list) = (space.to_be_written(self.room)?, space.to_be_written(items)?);
        Ok(())
    }

    /// The arrays as a loop reads them.
    pub fn arrays(&self) -> [&Slice<S, u32>; 2] {
        [&self.counts, &self.list].map(S::Memory::slice)
    }
}
