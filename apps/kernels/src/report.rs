//! What the suite says: a table of 80 columns, and JSON.

use minifenl::run::provenance::{BuildReport, MachineReport};
use serde::Serialize;
use std::fmt::Write;

/// Largest difference from a loop by hand that rounding explains.
const TOLERANCE: f64 = 1e-9;

/// A library that ran in the same rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// Its name.
    pub peer: &'static str,
    /// Its median seconds.
    pub seconds: f64,
    /// Median over rounds of the seconds of the layer over those of the library.
    pub ratio: f64,
}

/// A measured kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the kernel.
    pub kernel: &'static str,
    /// Its variant; empty if there is one only.
    pub variant: String,
    /// The space.
    pub space: String,
    /// Items, atoms, cells, or rows.
    pub items: usize,
    /// Median seconds of a call.
    pub seconds: f64,
    /// Median seconds of the loop by hand.
    pub native_seconds: Option<f64>,
    /// Median over rounds of the seconds over those of the loop by hand.
    pub ratio: Option<f64>,
    /// A library of others that computes the same.
    pub beside: Option<Beside>,
    /// Bytes moved at least, over the time.
    pub gigabytes_per_second: f64,
    /// The same over the space's triad, which is measured before and after.
    pub of_triad: f64,
    /// Largest difference from the loop by hand and the library, relative to the largest number.
    pub difference: Option<f64>,
    /// What else there is to say.
    pub note: String,
}

impl Row {
    /// The note of the table.
    fn note(&self) -> String {
        match &self.beside {
            Some(Beside { peer, ratio, .. }) => format!("{ratio:.2} x {peer}"),
            None => self.note.clone(),
        }
    }

    /// Whether the result is that of the loop by hand.
    pub fn is_right(&self) -> bool {
        self.difference.is_none_or(|difference| difference <= TOLERANCE)
    }
}

/// A space with its triad, GB/s.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The space.
    pub space: String,
    /// Its triad, GB/s.
    pub triad: f64,
}

/// A fit of modified Gram-Schmidt to dispatch and bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The space.
    pub space: String,
    /// Layer, or by hand.
    pub loops: &'static str,
    /// Microseconds per dispatched kernel.
    pub dispatch_microseconds: f64,
    /// Bandwidth in GB/s.
    pub gigabytes_per_second: f64,
    /// Largest relative distance of a measured time from the fit.
    pub largest_error: f64,
}

/// Everything that a run found.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Version of this format.
    pub schema_version: u32,
    /// The words of the command line.
    pub command: Vec<String>,
    /// The machine.
    pub machine: Option<MachineReport>,
    /// The build of the library.
    pub build: BuildReport,
    /// Average hardware threads that other programs used; null where that is not known.
    pub other_programs: Option<f64>,
    /// Libraries beside the layer.
    pub libraries: Vec<String>,
    /// The spaces.
    pub spaces: Vec<Measured>,
    /// The kernels.
    pub rows: Vec<Row>,
    /// Fits of Gram-Schmidt.
    pub fits: Vec<Fitted>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

/// A time with its unit, in 9 columns.
fn time(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s "),
    };
    format!("{number:>6.1} {unit}")
}

impl Report {
    /// The table.
    pub fn table(&self) -> String {
        let mut out = String::new();
        for Measured { space, triad } in &self.spaces {
            let _ = writeln!(out, "triad of {space}: {triad:.1} GB/s");
        }
        let mut before = String::new();
        for row in &self.rows {
            let head = format!("{} on {}", row.kernel, row.space);
            if head != before {
                let names = format!("{:<14}{:>10}", "variant", "items");
                let _ = writeln!(out, "\n{head}\n{names}{:>11}{:>8}{:>7}{:>7}  note", "time", "GB/s", "triad", "layer");
                before = head;
            }
            let ratio = row.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"));
            let wrong = if row.is_right() { "" } else { " WRONG" };
            let line = format!(
                "{:<14}{:>10}{:>11}{:>8.1}{:>7.2}{ratio:>7}  {}{wrong}",
                row.variant,
                row.items,
                time(row.seconds),
                row.gigabytes_per_second,
                row.of_triad,
                row.note()
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
        if !self.rows.is_empty() {
            out += "\ntriad: GB/s over the triad's; layer: time over that of the loop by hand\n";
        }
        for fit in &self.fits {
            let Fitted { space, loops, dispatch_microseconds, gigabytes_per_second, largest_error } = fit;
            let _ = writeln!(
                out,
                "gram-schmidt on {space}, {loops}:\n  {dispatch_microseconds:.2} us per dispatch, {gigabytes_per_second:.1} GB/s, \
                 times within {:.0} %",
                100.0 * largest_error
            );
        }
        for line in &self.left_out {
            let _ = writeln!(out, "left out: {line}");
        }
        out
    }

    /// The same and more as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
