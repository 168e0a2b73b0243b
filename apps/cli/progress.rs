//! Progress for people: on stderr of the first rank, only where that is a terminal. Notices are for logs too.

use minifenl::run::Progress;
use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Rewrites one line with CG's residual, a line for each Newton step; silent off a terminal.
pub struct Terminal {
    first: bool,
    shown: bool,
    last: Cell<Instant>,
}

impl Terminal {
    /// Shows only on the first rank.
    pub fn new(first: bool) -> Self {
        Terminal { first, shown: first && std::io::stderr().is_terminal(), last: Cell::new(Instant::now()) }
    }

    fn put(&self, line: &str, end: &str) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}{end}");
        }
    }
}

impl Progress for Terminal {
    fn phase(&self, name: &str) {
        self.put(name, "");
    }

    fn newton(&self, step: usize, residual: f64) {
        self.put(&format!("Newton {step}: residual {residual:.3e}"), "\n");
    }

    fn cg(&self, iteration: usize, residual: f64) {
        if self.shown && self.last.get().elapsed() > Duration::from_millis(100) {
            self.last.set(Instant::now());
            self.put(&format!("  CG {iteration}: residual {residual:.3e}"), "");
        }
    }

    fn notice(&self, text: &str) {
        self.put("", "");
        if self.first {
            let _ = writeln!(std::io::stderr(), "note: {text}");
        }
    }

    fn done(&self) {
        self.put("", "");
    }
}
