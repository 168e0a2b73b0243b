//! Signals during long work: solves and runs that end at Ctrl-C.

use crate::errors::exception;
use minifenl::blas::Reductions;
use minifenl::space::Threads;
use minifenl::sparse::{CrsMatrix, Operator};
use minifenl::{Error, Result};
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// Time from one check to the next. A check takes the lock of the interpreter, for which other threads may wait.
const PERIOD: Duration = Duration::from_millis(50);

/// Checks for signals, and the exception that one raised.
#[derive(Debug)]
pub struct Signals {
    checked: Cell<Instant>,
    exception: RefCell<Option<PyErr>>,
}

impl Signals {
    pub fn new() -> Self {
        Signals { checked: Cell::new(Instant::now()), exception: RefCell::new(None) }
    }

    /// Runs the handlers of signals that came, at most once per [`PERIOD`]; [`Error::Interrupted`] if one raised an exception.
    pub fn check(&self) -> Result<()> {
        if self.checked.get().elapsed() < PERIOD {
            return Ok(());
        }
        self.checked.set(Instant::now());
        Python::try_attach(|py| py.check_signals()).unwrap_or(Ok(())).map_err(|raised| {
            self.exception.replace(Some(raised));
            Error::Interrupted
        })
    }

    /// Returns the result of the work, or the exception of the signal that ended it.
    pub fn outcome<T>(self, done: Result<T>) -> PyResult<T> {
        self.exception.into_inner().map_or_else(|| done.map_err(exception), Err)
    }
}

/// A matrix whose products check for signals.
#[derive(Debug)]
pub struct Interruptible<'a> {
    pub matrix: &'a CrsMatrix,
    pub signals: &'a Signals,
}

impl Operator<Threads> for Interruptible<'_> {
    fn rows(&self) -> usize {
        Operator::<Threads>::rows(self.matrix)
    }

    fn columns(&self) -> usize {
        Operator::<Threads>::columns(self.matrix)
    }

    fn bytes(&self) -> usize {
        Operator::<Threads>::bytes(self.matrix)
    }

    fn apply(&self, space: &Threads, x: &mut [f64], y: &mut [f64]) -> Result<()> {
        self.signals.check()?;
        self.matrix.apply(space, x, y)
    }

    fn apply_dot(
        &self,
        space: &Threads,
        x: &mut [f64],
        y: &mut [f64],
        sums: &mut Reductions<Threads>,
        slot: usize,
    ) -> Result<()> {
        self.signals.check()?;
        self.matrix.apply_dot(space, x, y, sums, slot)
    }
}
