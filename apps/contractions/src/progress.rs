//! A bar with the time that is left: on stderr, only where that is a terminal.

use crate::sweep::Step;
use minifenl::run::program::StatusLine;
#[cfg(feature = "cuda")]
use std::io::Write;
use std::io::{IsTerminal, Stderr, stderr};
use std::time::{Duration, Instant};

/// One line, rewritten while a deck is measured.
pub struct Bar<'a> {
    name: &'a str,
    start: Instant,
    line: StatusLine<Stderr>,
}

impl<'a> Bar<'a> {
    /// Creates the bar of the deck with this name.
    pub fn new(name: &'a str) -> Self {
        Bar { name, start: Instant::now(), line: StatusLine::new(stderr(), stderr().is_terminal()) }
    }

    /// Shows the next measurement.
    pub fn step(&mut self, step: &Step<'_>) {
        let (name, elapsed) = (self.name, self.start.elapsed());
        self.line.step(|| line(name, step, elapsed));
    }

    /// Removes the line.
    pub fn end(&mut self) {
        self.line.clear();
    }
}

fn line(name: &str, step: &Step<'_>, elapsed: Duration) -> String {
    const WIDTH: usize = 24;
    let full = WIDTH * step.done / step.total.max(1);
    let left = match step.done {
        0 => "-".into(),
        done => time(elapsed.as_secs_f64() / done as f64 * (step.total - done) as f64),
    };
    format!(
        "{name} [{}{}] {}/{} left {left}  {} {} {} MiB",
        "#".repeat(full),
        ".".repeat(WIDTH - full),
        step.done,
        step.total,
        step.job.case.kernel,
        step.job.variant,
        step.job.memory_mib,
    )
}

fn time(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Says why there is no GPU, also in log files.
#[cfg(feature = "cuda")]
pub fn notice<T>(text: Option<String>) -> Option<T> {
    if let Some(text) = text {
        let _ = writeln!(stderr(), "note: {text}");
    }
    None
}
