//! Files of a report: JSON or YAML, complete or not there, and a row of a table.

use super::Report;
use super::yaml::yaml;
use crate::files::{NotWritten, OutputFile, TableFile};
use crate::{Error, Result};
use std::path::Path;

/// File format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// JSON.
    Json,
    /// YAML, for `.yaml` and `.yml`.
    Yaml,
}

impl ReportFormat {
    /// The format of a file by the end of its name.
    pub fn of(path: &Path) -> Self {
        let is_yaml =
            path.extension().is_some_and(|end| ["yaml", "yml"].iter().any(|yaml| end.eq_ignore_ascii_case(yaml)));
        if is_yaml { ReportFormat::Yaml } else { ReportFormat::Json }
    }

    /// The report as text.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a value cannot be written.
    pub fn text(self, report: &Report) -> Result<String> {
        let invalid = |error: serde_json::Error| Error::Invalid(format!("report: {error}"));
        match self {
            ReportFormat::Json => serde_json::to_string_pretty(report).map(|json| json + "\n").map_err(invalid),
            ReportFormat::Yaml => serde_json::to_value(report).map(|value| yaml(&value)).map_err(invalid),
        }
    }
}

/// A path that was found writable. Nothing lies there until [`write`](Self::write).
#[derive(Debug)]
pub struct ReportFile(OutputFile, ReportFormat);

impl ReportFile {
    /// Checks, before the solve, that a report can be written.
    ///
    /// # Errors
    /// [`Error::File`] naming the path, see [`OutputFile::create`].
    pub fn create(path: &Path) -> Result<Self> {
        OutputFile::create(path).map(|file| ReportFile(file, ReportFormat::of(path))).map_err(as_report)
    }

    /// Writes the report whole or, on failure, a copy in the folder for temporary files.
    ///
    /// # Errors
    /// [`NotWritten`] with the place of the copy; an older report is untouched then, unless only the flush of
    /// the folder failed.
    pub fn write(&self, report: &Report) -> Result<(), NotWritten> {
        let lost = |lost: NotWritten| NotWritten { error: as_report(lost.error), ..lost };
        let text = self.1.text(report).map_err(|error| lost(NotWritten { error, copy: None }))?;
        self.0.write_or_copy(text.as_bytes()).map_err(lost)
    }
}

/// A table to which each run adds a row.
#[derive(Debug)]
pub struct ReportTable(TableFile);

impl ReportTable {
    /// Checks, before the solve, that a row can be appended.
    ///
    /// # Errors
    /// [`Error::File`] naming the path, see [`TableFile::open`].
    pub fn open(path: &Path) -> Result<Self> {
        TableFile::open(path, &Report::csv_header()).map(ReportTable).map_err(as_report)
    }

    /// Appends the row of a report.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn append(&self, report: &Report) -> Result<()> {
        self.0.append(&report.csv_row()).map_err(as_report)
    }
}

/// Says that the file is the report.
fn as_report(error: Error) -> Error {
    match error {
        Error::File { path, reason } => Error::File { path, reason: format!("report: {reason}") },
        error => error,
    }
}
