//! What the unit tests share with the integration tests: the GPU, and where the recorded sweeps are.

use minifenl::space::Cuda;

pub use support::root;

/// Returns the first GPU, or skips the test.
pub fn gpu(test: &str) -> Option<Cuda> {
    support::or_skip(test, Cuda::new(0), "MINIFENL_NEEDS_GPU")
}
