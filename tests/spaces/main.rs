//! Every operation on every execution space against `Serial`, which is the specification: the same bits where they are
//! promised, a bound on the rounding where they are not. Sizes are ragged on purpose. What needs a GPU is skipped where
//! there is none, with the reason and a count.

mod host;

// What a shared test file of the library calls `crate::space`.
#[cfg(feature = "cuda")]
use minifenl::space;

#[cfg(feature = "cuda")]
mod cuda {
    mod blas;
    mod comm;
    mod contraction;
    mod contraction_cases;
    mod contraction_variants;
    mod contraction_workset;
    mod fill;
    mod graph;
    mod mesh;
    mod runtime;
    mod solve;
    mod sparse;

    use minifenl::space::Cuda;
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The GPU, or nothing where there is none: the test prints why and ends.
    pub fn gpu(test: &str) -> Option<Cuda> {
        static SKIPPED: AtomicUsize = AtomicUsize::new(0);
        match Cuda::new(0) {
            Ok(space) => Some(space),
            Err(error) => {
                assert!(std::env::var_os("MINIFENL_NEEDS_GPU").is_none(), "{test}: {error}");
                let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
                eprintln!("skipped {count}: {test}: {error}");
                note_skip(test, &error.to_string());
                None
            }
        }
    }

    /// Where the file `MINIFENL_SKIPPED` is asked for, a line in it for each test that is skipped: `test: why`.
    fn note_skip(test: &str, why: &str) {
        let Some(path) = std::env::var_os("MINIFENL_SKIPPED") else { return };
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{test}: {why}\n").as_bytes()).unwrap();
    }

    /// A wave that no symmetry hides anything in.
    pub fn wave(n: usize, k: f64) -> Vec<f64> {
        (0..n).map(|i| 1.5 + (i as f64 * k).sin()).collect()
    }

    /// Largest difference, relative to the largest expected value; NaN where one is.
    pub fn difference(found: &[f64], expected: &[f64]) -> f64 {
        assert_eq!(found.len(), expected.len());
        let scale = expected.iter().fold(f64::MIN_POSITIVE, |max, x| max.max(x.abs()));
        let larger = |max: f64, d: f64| if d > max || d.is_nan() { d } else { max };
        found.iter().zip(expected).map(|(a, b)| (a - b).abs() / scale).fold(0.0, larger)
    }
}
