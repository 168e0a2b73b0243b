//! Shared by the tests of all packages: starting programs, random numbers, ranks, skipped tests. The crate does not use minifenl, so that
//! unit tests of the library can use it without compiling the library twice.

mod device_loops;
mod launched;
mod mutate;
mod programs;
mod random;
mod ranks;
mod skip;

pub use device_loops::{Functions, indices_front, items_front, loop_text, reduction_front, teams_front, tiles_front};
pub use launched::{Launched, run_cases};
pub use mutate::Mutator;
pub use programs::{json, mpirun, own_session, root, run, verdict};
pub use random::{Random, noise, random_bits, wave};
pub use skip::{or_skip, skip};
