//! Records hardware threads that other programs used during a run, beside its report (`.others`).
//!
//! The number is known where the ranks are children of this program, as with mpirun on one host, and not for jobs of a batch system.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The file beside a report.
pub fn file(report: &Path) -> PathBuf {
    report.with_extension("others")
}

/// The number beside a report.
pub fn read(report: &Path) -> Option<f64> {
    read_to_string(file(report)).ok()?.trim().parse().ok().filter(|used: &f64| used.is_finite() && *used >= 0.0)
}

#[test]
fn the_number_beside_a_report_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("a.json");
    assert_eq!(read(&report), None);
    std::fs::write(file(&report), "1.25\n").unwrap();
    assert_eq!(read(&report), Some(1.25));
    for wrong in ["-1", "inf", "NaN"] {
        std::fs::write(file(&report), wrong).unwrap();
        assert_eq!(read(&report), None, "{wrong}");
    }
}
