//! Stands in for the module `space` of the library.

pub mod atomic;
