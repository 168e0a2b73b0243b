//! A report file that is either complete or not there.

use super::Report;
use crate::{Error, Result};
use std::{fs, io, io::Write, path::Path, path::PathBuf};

/// A path that was found writable. Nothing lies there until [`write`](Self::write).
#[derive(Debug)]
pub struct ReportFile {
    path: PathBuf,
    temporary: PathBuf,
}

impl ReportFile {
    /// Checks, before the solve, that a report can be written: makes the temporary file beside it and removes it.
    ///
    /// # Errors
    /// [`Error::File`] naming the path.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |reason: &str| Error::File { path: path.display().to_string(), reason: reason.into() };
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        if fs::metadata(&target).is_ok_and(|meta| !meta.is_file()) {
            return Err(failed("report: not a regular file"));
        }
        let name = target.file_name().ok_or_else(|| failed("report: no file name"))?.to_string_lossy();
        let temporary = target.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        let file = ReportFile { path: target, temporary };
        file.open().and_then(|_| fs::remove_file(&file.temporary)).map_err(|e| failed(&format!("report: {e}")))?;
        Ok(file)
    }

    /// Writes the report under the temporary name and renames it.
    ///
    /// # Errors
    /// [`Error::File`]; nothing new is left then.
    pub fn write(self, report: &Report) -> Result<()> {
        let written = serde_json::to_vec_pretty(report).map_err(io::Error::other).and_then(|mut json| {
            json.push(b'\n');
            let mut file = self.open()?;
            file.write_all(&json)?;
            file.sync_all()?;
            fs::rename(&self.temporary, &self.path)
        });
        written.map_err(|error| {
            let _ = fs::remove_file(&self.temporary);
            Error::File { path: self.path.display().to_string(), reason: format!("report: {error}") }
        })
    }

    fn open(&self) -> io::Result<fs::File> {
        fs::OpenOptions::new().write(true).create_new(true).open(&self.temporary)
    }
}
