//! Tests that lack a GPU or a tool: they return early, say why, and count as skipped.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Prints that a test is skipped and why, and adds the line `test: why` to the file that `MINIFENL_SKIPPED` names, if any.
///
/// # Panics
/// If the environment variable `needed` is set: what is missing is then a failure.
pub fn skip(test: &str, why: &str, needed: &str) {
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    assert!(std::env::var_os(needed).is_none(), "{test}: {why}");
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    eprintln!("skipped {count}: {test}: {why}");
    let Some(path) = std::env::var_os("MINIFENL_SKIPPED") else { return };
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    // One line per test, since `summary.sh` counts lines.
    file.write_all(format!("{test}: {}\n", why.lines().next().unwrap_or("")).as_bytes()).unwrap();
}

/// Returns what a test needs, such as a GPU; without it the test is skipped as by [`skip`].
pub fn or_skip<T>(test: &str, found: Result<T, impl Display>, needed: &str) -> Option<T> {
    found.map_err(|error| skip(test, &error.to_string(), needed)).ok()
}
