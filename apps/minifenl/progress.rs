//! Progress for people: on stderr of the first rank, only where that is a terminal. Notices also go to log files, and so does
//! everything with --verbose.

use crate::colour::Tone;
use crate::look::{self, Look, Volume};
use crate::time_left::{TimeLeft, clock};
use minifenl::run::program::StatusLine;
use minifenl::run::{Deck, Event};
use std::cell::RefCell;
use std::io::Stderr;
use std::time::{Duration, Instant};

/// Least time between two lines about CG with --verbose.
const INTERVAL: Duration = Duration::from_secs(1);

/// Rewrites one line with CG's residual and the time left; silent where stderr is no terminal. With --verbose all
/// lines are kept, each with the seconds since the start.
pub struct Terminal {
    is_first: bool,
    volume: Volume,
    /// Of a linear solve, relative to the right-hand side.
    tolerance: f64,
    /// Name of its method.
    solver: &'static str,
    start: Instant,
    line: RefCell<StatusLine<Stderr>>,
    solve: RefCell<Solve>,
}

/// The solve of one Newton step.
struct Solve {
    begin: Instant,
    left: TimeLeft,
    told: Instant,
}

impl Solve {
    fn until(target: f64) -> Self {
        let begin = Instant::now();
        Solve { begin, left: TimeLeft::until(target), told: begin }
    }
}

impl Terminal {
    /// Creates the receiver of progress; only the first rank writes.
    pub fn new(is_first: bool, deck: &Deck) -> Self {
        let (tolerance, solver) = (deck.cg_tolerance(), deck.solver().title());
        let volume = Look::get().volume;
        let line = RefCell::new(StatusLine::on_stderr(is_first && volume == Volume::Normal));
        let solve = RefCell::new(Solve::until(0.0));
        Terminal { is_first, volume, tolerance, solver, start: Instant::now(), line, solve }
    }

    /// Keeps a line with --verbose.
    fn tell(&self, text: &str) {
        if self.is_first && self.volume == Volume::Verbose {
            look::say(&format!("{:9.3} s  {text}", self.start.elapsed().as_secs_f64()));
        }
    }
}

impl Drop for Terminal {
    /// Leaves no open line before an error.
    fn drop(&mut self) {
        self.line.borrow_mut().clear();
    }
}

impl Terminal {
    /// Shows an event of a run, and never ends the run.
    pub fn see(&self, event: Event<'_>) -> minifenl::Result<()> {
        match event {
            Event::Phase(name) => self.phase(name),
            Event::Newton(step, residual) => self.newton(step, residual),
            Event::Cg(iteration, residual) => self.cg(iteration, residual),
            Event::Notice(text) => self.notice(text),
            Event::Done => {
                self.line.borrow_mut().clear();
                self.tell("done");
            }
        }
        Ok(())
    }

    fn phase(&self, name: &str) {
        self.line.borrow_mut().put(name, "");
        self.tell(name);
    }

    fn newton(&self, step: usize, residual: f64) {
        let text = format!("Newton {step}: residual {residual:.3e}");
        self.line.borrow_mut().put(&text, "\n");
        self.tell(&text);
        // The right-hand side of the next solve is this residual.
        *self.solve.borrow_mut() = Solve::until(self.tolerance * residual);
    }

    fn cg(&self, iteration: usize, residual: f64) {
        if !self.is_first || self.volume == Volume::Quiet {
            return;
        }
        let mut solve = self.solve.borrow_mut();
        solve.left.see(iteration, residual);
        let text = || {
            let left = solve.left.left(solve.begin.elapsed());
            let left = left.map_or(String::new(), |left| format!(", {} left", clock(left)));
            format!("  {} {iteration}: residual {residual:.3e}{left}", self.solver)
        };
        self.line.borrow_mut().step(|_| text());
        if self.volume == Volume::Verbose && solve.told.elapsed() > INTERVAL {
            self.tell(&text());
            solve.told = Instant::now();
        }
    }

    fn notice(&self, text: &str) {
        self.line.borrow_mut().clear();
        if self.is_first && self.volume != Volume::Quiet {
            look::say(&format!("{} {text}", look::word("note:", Tone::Note)));
        }
    }
}
