//! The GPU of the tests.

#[path = "skip.rs"]
mod skip;

use minifenl::space::Cuda;

/// Returns the first GPU. Without one the test is skipped; with `MINIFENL_NEEDS_GPU` set it fails.
pub fn gpu(test: &str) -> Option<Cuda> {
    match Cuda::new(0) {
        Ok(space) => Some(space),
        Err(error) => {
            skip::skip(test, &error.to_string(), "MINIFENL_NEEDS_GPU");
            None
        }
    }
}
