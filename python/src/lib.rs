//! The extension module behind the Python package `minifenl`: plans of sums and whole runs. What Python users see is in `lib/minifenl`.

mod errors;
mod interrupt;
mod pattern;
mod plan;
mod run;
mod solve;
mod threads;

use pyo3::prelude::*;

/// Plans and runs; the package wraps them in arrays and matrices of NumPy and SciPy.
#[pymodule(gil_used = false)]
mod _minifenl {
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::solve::solve;
}
