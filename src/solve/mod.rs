//! Iterative methods, written once for every space.
