//! Every operation on every execution space against `Serial`, which is the specification: the same bits where they are
//! promised, a bound on the rounding where they are not. Sizes are ragged on purpose. `references.rs` and `definitions.rs`
//! compare with plain loops instead. What needs a GPU is skipped where there is none, with the reason and a count.

mod cg_steps;
mod definitions;
#[cfg(feature = "cuda")]
mod equations;
#[cfg(feature = "cuda")]
mod functions;
mod host;
#[cfg(feature = "cuda")]
mod kernels_compile;
mod products;
mod references;
mod slices;
#[cfg(feature = "cuda")]
mod text;
mod views;

// What a shared test file of the library calls `crate::space`.
#[cfg(feature = "cuda")]
use minifenl::space;

#[cfg(feature = "cuda")]
mod cuda {
    mod algebra;
    mod blas;
    mod cg_variants;
    mod comm;
    mod contraction;
    mod contraction_cases;
    mod contraction_variants;
    mod coo;
    mod equation;
    mod fill;
    mod fill_stored;
    mod graph;
    mod groups;
    mod loops;
    mod matrix_free;
    mod mesh;
    mod model;
    mod multigrid;
    mod references;
    mod runtime;
    mod slices;
    mod solve;
    mod sparse;
    mod sweeps;
    mod views;
    mod worksets;

    use super::equations;
    use super::functions;
    pub use support::wave;

    /// Returns the first GPU. Without one the test is skipped; with `MINIFENL_NEEDS_GPU` set it fails.
    pub fn gpu(test: &str) -> Option<minifenl::space::Cuda> {
        support::or_skip(test, minifenl::space::Cuda::new(0), "MINIFENL_NEEDS_GPU")
    }

    /// Largest difference, relative to the largest expected value; NaN where one is.
    pub fn difference(found: &[f64], expected: &[f64]) -> f64 {
        assert_eq!(found.len(), expected.len());
        let scale = expected.iter().fold(f64::MIN_POSITIVE, |max, x| max.max(x.abs()));
        let larger = |max: f64, d: f64| if d > max || d.is_nan() { d } else { max };
        found.iter().zip(expected).map(|(a, b)| (a - b).abs() / scale).fold(0.0, larger)
    }
}
