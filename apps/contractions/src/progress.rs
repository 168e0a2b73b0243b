//! A bar with the time that is left: on stderr, only where that is a terminal.

use crate::sweep::Step;
use minifenl::run::program::StatusLine;
use std::io::{Stderr, Write, stderr};
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
        Bar { name, start: Instant::now(), line: StatusLine::on_stderr(true) }
    }

    /// Shows the next measurement.
    pub fn step(&mut self, step: &Step<'_>) {
        let (name, elapsed) = (self.name, self.start.elapsed());
        self.line.step(|columns| line(name, step, elapsed, columns));
    }

    /// Removes the line.
    pub fn end(&mut self) {
        self.line.clear();
    }
}

/// The bar has what the words leave of the columns; without room for one there is none.
fn line(name: &str, step: &Step<'_>, elapsed: Duration, columns: usize) -> String {
    const WIDTH: usize = 24;
    const LEAST: usize = 4;
    let Step { done, total, fraction, job } = step;
    let left = match fraction {
        &0.0 => "-".into(),
        done => time(elapsed.as_secs_f64() / done * (1.0 - done)),
    };
    let words = format!("{done}/{total} left {left}  {} {} {} MiB", job.case.kernel, job.variant, job.memory_mib);
    // Two brackets and two spaces.
    let width = columns.saturating_sub(name.len() + words.len() + 4).min(WIDTH);
    if width < LEAST {
        return format!("{name} {words}");
    }
    let full = width * done / total.max(&1);
    format!("{name} [{}{}] {words}", "#".repeat(full), ".".repeat(width - full))
}

fn time(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Says why there is no GPU.
#[cfg(feature = "cuda")]
pub fn notice<T>(text: Option<String>) -> Option<T> {
    text.inspect(|text| say(text));
    None
}

/// Says something on stderr, also in log files.
pub fn say(text: &str) {
    let _ = writeln!(stderr(), "note: {text}");
}

#[test]
fn a_bar_fits_80_columns_and_gives_way_to_words() {
    use crate::sweep::case::{Case, Kernel, Order, Precision};
    use crate::sweep::jobs::{Algorithm, Job};
    let job = Job {
        case: Case::filling(Kernel::FieldFieldTensor, Precision::F64, [8, 8], 8, [3, 3], 1 << 20),
        memory_mib: 1024.0,
        algorithm: Algorithm::Loops,
        variant: "teamstride128".into(),
        order: Order(minifenl::space::Layout::Right),
    };
    let step = |done| Step { done, total: 2694, fraction: if done == 0 { 0.0 } else { 0.75 }, job: &job };
    let at = |done, columns| line("figure-3.16", &step(done), Duration::from_secs(60), columns);
    let words = "2000/2694 left 0:20  field_field_tensor teamstride128 1024 MiB";
    assert_eq!(at(2000, 200), format!("figure-3.16 [{}{}] {words}", "#".repeat(17), ".".repeat(7)));
    assert_eq!(at(2000, 89), format!("figure-3.16 [{}{}] {words}", "#".repeat(8), ".".repeat(4)));
    assert_eq!(at(2000, 79), format!("figure-3.16 {words}"));
    assert_eq!(at(0, 200).matches('.').count(), 1 + 24);
    assert_eq!(at(2694, 200).matches('#').count(), 24);
}
