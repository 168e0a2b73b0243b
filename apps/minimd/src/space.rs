//! The spaces that run the fluid.

use crate::functions::{End, Energy, Full, Ghosts, Half, HalfSlabs, Largest, List, Squares, Start, Sums};
use minifenl::comm::Staging;
use minifenl::run::Job;
use minifenl::space::{Cuda, Loops, Threads};

/// A space that runs every function of the fluid, tells its free memory, and whose positions other ranks can get.
pub trait Space:
    Job
    + Staging
    + Loops<End>
    + Loops<Energy>
    + Loops<Full>
    + Loops<Ghosts>
    + Loops<Half>
    + Loops<HalfSlabs>
    + Loops<Largest>
    + Loops<List>
    + Loops<Squares>
    + Loops<Start>
    + Loops<Sums>
{
}

impl Space for Threads {}

impl Space for Cuda {}
