//! Progress for people: on stderr of the first rank, only where that is a terminal. Notices also go to log files.

use minifenl::run::Progress;
use minifenl::run::program::StatusLine;
use std::cell::RefCell;
use std::io::{Stderr, Write, stderr};

/// Rewrites one line with the residual of CG and keeps a line per Newton step; silent where stderr is no terminal.
pub struct Terminal {
    is_first: bool,
    line: RefCell<StatusLine<Stderr>>,
}

impl Terminal {
    /// Creates the receiver of progress; only the first rank writes.
    pub fn new(is_first: bool) -> Self {
        Terminal { is_first, line: RefCell::new(StatusLine::on_stderr(is_first)) }
    }
}

impl Progress for Terminal {
    fn phase(&self, name: &str) {
        self.line.borrow_mut().put(name, "");
    }

    fn newton(&self, step: usize, residual: f64) {
        self.line.borrow_mut().put(&format!("Newton {step}: residual {residual:.3e}"), "\n");
    }

    fn cg(&self, iteration: usize, residual: f64) {
        self.line.borrow_mut().step(|_| format!("  CG {iteration}: residual {residual:.3e}"));
    }

    fn notice(&self, text: &str) {
        self.line.borrow_mut().clear();
        if self.is_first {
            let _ = writeln!(stderr(), "note: {text}");
        }
    }

    fn done(&self) {
        self.line.borrow_mut().clear();
    }
}
