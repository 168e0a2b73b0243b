//! A report file that is either complete or not there.

use super::Report;
use crate::files::{NotWritten, OutputFile};
use crate::{Error, Result};
use std::path::Path;

/// A path that was found writable. Nothing lies there until [`write`](Self::write).
#[derive(Debug)]
pub struct ReportFile(OutputFile);

impl ReportFile {
    /// Checks, before the solve, that a report can be written.
    ///
    /// # Errors
    /// [`Error::File`] naming the path, see [`OutputFile::create`].
    pub fn create(path: &Path) -> Result<Self> {
        OutputFile::create(path).map(ReportFile).map_err(as_report)
    }

    /// Writes the report whole or, if that fails, a copy of it in the folder for temporary files.
    ///
    /// # Errors
    /// [`NotWritten`] with the place of the copy; an older report is untouched then, unless only the flush of
    /// the folder failed.
    pub fn write(&self, report: &Report) -> Result<(), NotWritten> {
        let lost = |lost: NotWritten| NotWritten { error: as_report(lost.error), ..lost };
        let json = serde_json::to_string_pretty(report)
            .map_err(|error| lost(NotWritten { error: Error::Invalid(error.to_string()), copy: None }))?;
        self.0.write_or_copy((json + "\n").as_bytes()).map_err(lost)
    }
}

/// Says that the file is the report.
fn as_report(error: Error) -> Error {
    match error {
        Error::File { path, reason } => Error::File { path, reason: format!("report: {reason}") },
        error => error,
    }
}
