//! Shared by unit and integration tests: the GPU, and the folder of recorded sweeps.

use minifenl::space::Cuda;

pub use support::root;

/// Returns the first GPU, or skips the test.
pub fn gpu(test: &str) -> Option<Cuda> {
    support::or_skip(test, Cuda::new(0), "MINIFENL_NEEDS_GPU")
}
