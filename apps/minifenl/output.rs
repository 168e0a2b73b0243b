//! Files that a command writes: opened before the work, written after it, and named by their flags in messages.

use crate::look;
use minifenl::comm::{Communicator, agree};
use minifenl::files::{NotWritten, OutputFile};
use minifenl::run::ReportFormat;
use minifenl::{Error, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A file of the first rank.
pub struct Output {
    flag: &'static str,
    path: PathBuf,
    file: OutputFile,
}

impl Output {
    /// Opens the file of a flag, if there is one, on the first rank. All ranks call it together.
    pub fn open(flag: &'static str, path: Option<&Path>, comm: &dyn Communicator) -> Result<Option<Self>> {
        let path = path.filter(|_| comm.rank() == 0);
        agree(comm, path.map(|path| Output::create(flag, path)).transpose())
    }

    /// Opens the file of a flag.
    pub fn create(flag: &'static str, path: &Path) -> Result<Self> {
        let file = OutputFile::create(path).map_err(|error| of_flag(flag, error))?;
        Ok(Output { flag, path: path.into(), file })
    }

    /// Writes a report as JSON, or as YAML by the end of the name; returns whether it was written.
    pub fn report<T: Serialize>(self, report: &T) -> anyhow::Result<bool> {
        let Err(lost) = self.write(&ReportFormat::of(&self.path).text(report)?) else { return Ok(true) };
        if lost.copy.is_none() {
            // The last place that is left: the log of the job, in one line.
            let text = ReportFormat::Json.text(report)?;
            look::say(&text.lines().map(str::trim_start).collect::<String>());
        }
        Ok(false)
    }

    /// Writes a text; if that fails, says where a copy is.
    pub fn write(&self, text: &str) -> std::result::Result<(), NotWritten> {
        let written = self.file.write_or_copy(text.as_bytes());
        let written = written.map_err(|lost| NotWritten { error: of_flag(self.flag, lost.error), ..lost });
        written.inspect_err(|lost| look::fail(&lost.to_string()))
    }
}

/// Names the flag of a file in an error.
pub fn of_flag(flag: &str, error: Error) -> Error {
    match error {
        Error::File { path, reason } => Error::File { path: format!("{flag}: {path}"), reason },
        error => error,
    }
}
