//! A pool of threads that survives a fork: a child process, which has none of them, starts its own.

use crate::errors::exception;
use minifenl::space::{Threads, allowed_cores};
use pyo3::PyResult;
use std::sync::{Mutex, PoisonError};

/// The threads of a plan.
#[derive(Debug)]
pub struct Pool {
    count: usize,
    /// Process that started them.
    started: Mutex<(u32, Threads)>,
}

impl Pool {
    /// Starts `count` threads, or as many as the process may use.
    pub fn new(count: Option<usize>) -> PyResult<Self> {
        let count = count.unwrap_or_else(allowed_cores);
        let threads = Threads::new(count).map_err(exception)?;
        Ok(Pool { count, started: Mutex::new((std::process::id(), threads)) })
    }

    /// Returns the threads of this process.
    pub fn threads(&self) -> PyResult<Threads> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let (process, threads) = &mut *started;
        if *process != std::process::id() {
            let own = Threads::new(self.count).map_err(exception)?;
            // The parent's threads do not exist here: waiting for their end would not end.
            std::mem::forget(std::mem::replace(threads, own));
            *process = std::process::id();
        }
        Ok(threads.clone())
    }
}
