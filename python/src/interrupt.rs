//! Solves that end at a signal: a matrix whose products ask Python for one.

use crate::errors::exception;
use minifenl::blas::Reductions;
use minifenl::space::Threads;
use minifenl::sparse::{CrsMatrix, Operator};
use minifenl::{Error, Result};
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// Time from one question to the next. It takes the lock of the interpreter, for which other threads may wait.
const PERIOD: Duration = Duration::from_millis(50);

/// A matrix, and the exception that ended the solve.
#[derive(Debug)]
pub struct Interruptible<'a> {
    matrix: &'a CrsMatrix,
    asked: Cell<Instant>,
    exception: RefCell<Option<PyErr>>,
}

impl<'a> Interruptible<'a> {
    pub fn new(matrix: &'a CrsMatrix) -> Self {
        Interruptible { matrix, asked: Cell::new(Instant::now()), exception: RefCell::new(None) }
    }

    /// Returns the result of a solve, or the exception of the signal that ended it.
    pub fn outcome<T>(self, solved: Result<T>) -> PyResult<T> {
        self.exception.into_inner().map_or_else(|| solved.map_err(exception), Err)
    }

    fn ask(&self) -> Result<()> {
        if self.asked.get().elapsed() < PERIOD {
            return Ok(());
        }
        self.asked.set(Instant::now());
        Python::try_attach(|py| py.check_signals()).unwrap_or(Ok(())).map_err(|raised| {
            self.exception.replace(Some(raised));
            Error::Invalid("solve: a signal ended it".into())
        })
    }
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
        self.ask()?;
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
        self.ask()?;
        self.matrix.apply_dot(space, x, y, sums, slot)
    }
}
