//! The kernels of the suite, each over its sizes.

pub mod atomics;
pub mod fit;
pub mod gram_schmidt;
pub mod graph;
pub mod lattice;
pub mod lennard_jones;
pub mod sparse;
pub mod streams;
pub mod vector_set;
pub mod vectors;
