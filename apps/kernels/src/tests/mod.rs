//! Each kernel against plain loops, on hosts and, where there is one, a GPU.

mod cells;
mod forces;
mod sparse;
mod streams;
mod texts;
mod vectors;

use crate::measure::Run;
use crate::native::Native;
use crate::peers::Peers;
use crate::report::Report;
use crate::space::Space;
use minifenl::Result;
use minifenl::run::program::StatusLine;
use minifenl::space::{Cuda, Serial, Threads};

/// Host spaces.
fn hosts() -> [Threads; 3] {
    [Serial, Threads::new(1).unwrap(), Threads::new(3).unwrap()]
}

fn gpu(test: &str) -> Option<Cuda> {
    support::or_skip(test, Cuda::new(0), "MINIFENL_NEEDS_GPU")
}

/// What a part of the suite reports on a space.
fn reported<S: Space>(space: &S, part: impl FnOnce(&mut Run<'_, S>) -> Result<()>) -> Report {
    let (mut report, mut line) = (Report::default(), StatusLine::on_stderr(false));
    let native = &S::Native::new(space).unwrap();
    let peers = &S::Peers::new(space).0;
    part(&mut Run { space, native, peers, effort: 0.0, report: &mut report, line: &mut line }).unwrap();
    assert!(report.rows.iter().all(|row| row.is_right() && row.seconds > 0.0), "{}", report.table());
    assert!(report.table().lines().all(|line| line.len() <= 80), "{}", report.table());
    report
}
