//! Models of the library's lock-free code: the pair map's insert and atomic sums.
//!
//! The code itself is compiled here, from the files of the library, with the atomics of loom in place of those of the
//! standard library. loom then runs each model under every order of the threads' operations (where a model says so, under
//! every order with a bounded number of preemptions), and lets a relaxed load return every value that the memory model
//! allows. `make models` runs all models.

#![cfg(test)]

mod space;

#[path = "../../../src/graph/host/pair_insert.rs"]
#[allow(dead_code)]
mod pair_insert;

mod pair_map;
mod sums;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Runs a model under every order of its threads' operations.
fn all_orders(model: impl Fn() + Send + Sync + 'static) {
    search(None, model);
}

/// Runs a model under every order in which at most `preemptions` threads are interrupted.
fn some_orders(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    search(Some(preemptions), model);
}

/// Runs a model and prints the number of its executions.
fn search(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    let count = executions.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(move || {
        count.fetch_add(1, Relaxed);
        model();
    });
    println!("model: {} executions", executions.load(Relaxed));
}
