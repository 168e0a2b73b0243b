//! The spaces that run the fluid.

use crate::functions::{
    CountBins, CountGhosts, End, Energy, Full, Ghosts, Half, HalfSlabs, KeepBins, Largest, Leaves, List, ListGhosts,
    Lost, Pack, PlaceAtoms, Reorder, SortBin, Split, Squares, Start, Sum, Sums, Unpack, Wrap,
};
use minifenl::comm::Staging;
use minifenl::run::Job;
use minifenl::space::{Cuda, Loops, Threads};

/// A space that runs every function of the fluid, tells its free memory, and whose positions other ranks can get.
pub trait Space:
    Job
    + Staging
    + Loops<CountBins>
    + Loops<CountGhosts>
    + Loops<End>
    + Loops<Energy>
    + Loops<Full>
    + Loops<Ghosts>
    + Loops<Half>
    + Loops<HalfSlabs>
    + Loops<KeepBins>
    + Loops<Largest>
    + Loops<Leaves>
    + Loops<List>
    + Loops<ListGhosts>
    + Loops<Lost>
    + Loops<Pack>
    + Loops<PlaceAtoms>
    + Loops<Reorder>
    + Loops<SortBin>
    + Loops<Split>
    + Loops<Squares>
    + Loops<Start>
    + Loops<Sum>
    + Loops<Sums>
    + Loops<Unpack>
    + Loops<Wrap>
{
}

impl Space for Threads {}

impl Space for Cuda {}
