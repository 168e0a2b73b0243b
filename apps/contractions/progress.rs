//! A bar with the time that is left: on stderr, only where that is a terminal.

use minifenl::run::sweep::Step;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// One line, rewritten.
pub struct Bar<'a> {
    name: &'a str,
    shown: bool,
    start: Instant,
    last: Option<Instant>,
}

impl<'a> Bar<'a> {
    /// For a deck.
    pub fn new(name: &'a str) -> Self {
        Bar { name, shown: std::io::stderr().is_terminal(), start: Instant::now(), last: None }
    }

    /// Shows where the sweep stands, ten times a second at most.
    pub fn step(&mut self, step: &Step<'_>) {
        if self.shown && self.last.is_none_or(|last| last.elapsed() > Duration::from_millis(100)) {
            self.last = Some(Instant::now());
            let line = line(self.name, step, self.start.elapsed());
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
        }
    }

    /// Takes the line away.
    pub fn end(&self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
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

/// Tells why there is no GPU, for logs too.
#[cfg(feature = "cuda")]
pub fn notice<T>(text: Option<String>) -> Option<T> {
    if let Some(text) = text {
        let _ = writeln!(std::io::stderr(), "note: {text}");
    }
    None
}
