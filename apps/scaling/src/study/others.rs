//! Hardware threads that other programs used during a run, from the ticks of `/proc/stat` and those of this program's children.
//!
//! The number is kept beside the report of the run (`.others`). It is known where the ranks are children of this program, as with
//! mpirun on one host, and not for jobs of a batch system.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Ticks of a second in `/proc`; fixed on Linux.
const TICKS: f64 = 100.0;

/// The counters before a run.
#[derive(Debug)]
pub struct Others {
    busy: f64,
    own: f64,
    start: Instant,
}

/// Ticks in which some program ran, of the line `cpu user nice system idle iowait irq softirq steal ...`. Time stolen by other virtual
/// machines counts.
fn busy(stat: &str) -> Option<f64> {
    let mut words = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map(|word| word.parse::<f64>().ok());
    let ticks: Vec<f64> = words.by_ref().take(8).collect::<Option<_>>()?;
    (ticks.len() == 8).then(|| ticks.iter().sum::<f64>() - ticks[3] - ticks[4])
}

/// Ticks of this program and of its children that have ended, from `/proc/self/stat`: fields 14 to 17.
fn own(stat: &str) -> Option<f64> {
    // The name of the program, in parentheses, may have spaces.
    let rest = stat.rsplit_once(')')?.1;
    let ticks = rest.split_whitespace().skip(11).take(4).map(|word| word.parse::<f64>().ok());
    ticks.sum()
}

impl Others {
    /// Reads the counters; `None` on systems without them.
    pub fn start() -> Option<Self> {
        let (busy, own) = (busy(&read_to_string("/proc/stat").ok()?)?, own(&read_to_string("/proc/self/stat").ok()?)?);
        Some(Others { busy, own, start: Instant::now() })
    }

    /// Hardware threads that others kept busy since then, on average.
    pub fn used(&self) -> Option<f64> {
        let now = Others::start()?;
        let ticks = (now.busy - self.busy) - (now.own - self.own);
        let seconds = self.start.elapsed().as_secs_f64();
        // Counters advance in ticks: a shorter run tells nothing.
        (seconds > 0.1).then(|| (ticks / TICKS / seconds).max(0.0))
    }
}

/// The file beside a report.
pub fn file(report: &Path) -> PathBuf {
    report.with_extension("others")
}

/// The number beside a report.
pub fn read(report: &Path) -> Option<f64> {
    read_to_string(file(report)).ok()?.trim().parse().ok()
}

#[test]
fn ticks_equal_those_by_hand() {
    assert_eq!(busy("cpu  10 20 30 400 50 6 7 8 0 0\ncpu0 1 2\n"), Some(81.0));
    assert_eq!(busy("cpu  10 20\n"), None);
    assert_eq!(own("7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0"), Some(127.0));
}

#[test]
fn a_child_of_this_program_is_not_another_program() {
    let Some(before) = Others::start() else { return };
    let child = std::process::Command::new("bash").args(["-c", "for i in {1..300000}; do :; done"]).status().unwrap();
    assert!(child.success());
    let now = Others::start().unwrap();
    assert!(now.own > before.own && now.busy >= before.busy, "{before:?} {now:?}");
}
