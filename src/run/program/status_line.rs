//! A line on a terminal that shows progress.

use super::columns_of;
use std::io::{IsTerminal, Stderr, Write, stderr};
use std::time::{Duration, Instant};

/// Abilities of a [`StatusLine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing: the output is no terminal, or that of another rank.
    Hidden,
    /// Kept lines only: a terminal that knows no escape sequences (`TERM=dumb`).
    Plain,
    /// One line that is rewritten in place.
    Rewritten,
}

/// A line on a terminal that is rewritten in place. It is cut to the columns of the terminal, because a line that wraps cannot be
/// rewritten: each rewrite would leave a row behind.
#[derive(Debug)]
pub struct StatusLine<W> {
    out: W,
    look: Look,
    columns: fn() -> usize,
    last: Option<Instant>,
}

impl StatusLine<Stderr> {
    /// Creates an empty line on stderr, hidden unless this process writes to a terminal.
    pub fn on_stderr(is_writer: bool) -> Self {
        let look = match std::env::var("TERM") {
            _ if !is_writer || !stderr().is_terminal() => Look::Hidden,
            Ok(terminal) if !terminal.is_empty() && terminal != "dumb" => Look::Rewritten,
            _ => Look::Plain,
        };
        StatusLine::new(stderr(), look, || columns_of(stderr()))
    }
}

impl<W: Write> StatusLine<W> {
    /// Least time between two rewrites by [`step`](Self::step).
    const INTERVAL: Duration = Duration::from_millis(100);

    /// Creates an empty line on `out`, a terminal of `columns()` columns.
    pub fn new(out: W, look: Look, columns: fn() -> usize) -> Self {
        StatusLine { out, look, columns, last: None }
    }

    /// Returns the columns that a line may have. The last one stays empty, since some terminals wrap after it.
    pub fn columns(&self) -> usize {
        (self.columns)().saturating_sub(1)
    }

    /// Replaces the line by as much of `line` as fits. An `end` with a newline keeps the line, and all of it. A terminal that
    /// is gone is no failure.
    pub fn put(&mut self, line: &str, end: &str) {
        let columns = if end.is_empty() { self.columns() } else { usize::MAX };
        let line: String = line.chars().filter(|c| !c.is_control()).take(columns).collect();
        let _ = match self.look {
            Look::Rewritten => write!(self.out, "\r\x1b[K{line}{end}"),
            Look::Plain if !end.is_empty() => write!(self.out, "{line}{end}"),
            _ => return,
        };
    }

    /// Replaces the line by `line(columns)`, at most ten times per second.
    pub fn step(&mut self, line: impl FnOnce(usize) -> String) {
        if self.look == Look::Rewritten && self.last.is_none_or(|last| last.elapsed() > Self::INTERVAL) {
            self.last = Some(Instant::now());
            let line = line(self.columns());
            self.put(&line, "");
        }
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        self.put("", "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a status line writes: a step, another at once, a kept line.
    fn status(look: Look, columns: fn() -> usize) -> String {
        let mut line = StatusLine::new(Vec::new(), look, columns);
        line.step(|columns| format!("first of {columns}"));
        line.step(|_| "too soon".into());
        line.put("kept", "\n");
        String::from_utf8(line.out).unwrap()
    }

    #[test]
    fn a_status_line_is_rewritten_on_a_terminal_and_silent_elsewhere() {
        assert_eq!(status(Look::Rewritten, || 80), "\r\x1b[Kfirst of 79\r\x1b[Kkept\n");
        assert_eq!(status(Look::Plain, || 80), "kept\n");
        assert_eq!(status(Look::Hidden, || 80), "");
    }

    #[test]
    fn a_status_line_fits_its_terminal() {
        // The last column stays empty; a kept line may wrap.
        assert_eq!(status(Look::Rewritten, || 6), "\r\x1b[Kfirst\r\x1b[Kkept\n");
        assert_eq!(status(Look::Rewritten, || 2), "\r\x1b[Kf\r\x1b[Kkept\n");
        assert_eq!(status(Look::Rewritten, || 0), "\r\x1b[K\r\x1b[Kkept\n");
        let mut line = StatusLine::new(Vec::new(), Look::Rewritten, || 80);
        line.put("a\nb\x1b[2Jc", "");
        assert_eq!(line.out, b"\r\x1b[Kab[2Jc");
    }
}
