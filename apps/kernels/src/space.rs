//! The spaces that run the kernels, with the loops by hand and the libraries of others for each.

use crate::functions::{
    Add, AddByExchange, AddUnshared, Axpby, Centroid, Dot, Full, Gram, Half, HalfUnshared, Normalise, Prefix, Project,
    Ramp, RowProduct, Scale, Series, Triad,
};
use crate::native::{DeviceLoops, HostLoops, Native};
use crate::peers::{DeviceLibraries, HostLibraries, Peers};
use minifenl::run::Job;
use minifenl::solve::CgSteps;
use minifenl::space::{Cuda, Loops, Streams, Threads};
use minifenl::sparse::Spmv;

/// A space that runs every function of the suite.
pub trait Space:
    Job
    + CgSteps
    + Spmv
    + Streams
    + Loops<RowProduct>
    + Loops<Gram>
    + Loops<Add>
    + Loops<AddByExchange>
    + Loops<AddUnshared>
    + Loops<Axpby>
    + Loops<Centroid>
    + Loops<Dot>
    + Loops<Full>
    + Loops<Half>
    + Loops<HalfUnshared>
    + Loops<Normalise>
    + Loops<Prefix>
    + Loops<Project>
    + Loops<Ramp>
    + Loops<Scale>
    + Loops<Series>
    + Loops<Triad>
{
    /// Its loops by hand.
    type Native: Native<Self>;
    /// Libraries of others.
    type Peers: Peers<Self>;
}

impl Space for Threads {
    type Native = HostLoops;
    type Peers = HostLibraries;
}

impl Space for Cuda {
    type Native = DeviceLoops;
    type Peers = DeviceLibraries;
}
