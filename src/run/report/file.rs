//! File formats of a report: JSON or YAML.

use super::yaml::yaml;
use crate::{Error, Result};
use serde::Serialize;
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

    /// A report, or a list of such, as text.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a value cannot be written.
    pub fn text<T: Serialize>(self, report: &T) -> Result<String> {
        let invalid = |error: serde_json::Error| Error::Invalid(format!("report: {error}"));
        match self {
            ReportFormat::Json => serde_json::to_string_pretty(report).map(|json| json + "\n").map_err(invalid),
            ReportFormat::Yaml => serde_json::to_value(report).map(|value| yaml(&value)).map_err(invalid),
        }
    }
}
