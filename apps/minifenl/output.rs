//! Files that a command writes: opened before the work, written after it, and named by their flags in messages.

use crate::look;
use minifenl::comm::{Communicator, agree};
use minifenl::files::{NamedFile, NotWritten, OutputFile, TableFile, check_distinct};
use minifenl::mesh::check_vtu;
use minifenl::run::program::check_stdout;
use minifenl::run::{Deck, Report, ReportFormat};
use minifenl::{Error, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The report of a run in messages.
const REPORT: &str = "run.report (--report)";

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
        check_name(flag, path)?;
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

/// The files of a run, found writable before the work.
pub struct RunFiles {
    pub report: Option<Output>,
    pub table: Option<TableFile>,
}

impl RunFiles {
    /// Checks that no file would be written over another or over the deck, and that all can be written. All ranks call it together.
    pub fn open(deck: &Deck, input: Option<NamedFile>, comm: &dyn Communicator) -> Result<Self> {
        let all = || input.into_iter().chain(deck.outputs(comm.size())).collect::<Vec<_>>();
        agree(comm, if comm.rank() == 0 { check_distinct(&all()) } else { Ok(()) })?;
        let path = deck.run.report.as_deref();
        agree(comm, path.map_or(Ok(()), check_report))?;
        let path = path.filter(|path| *path != Path::new("-"));
        let report = Output::open(REPORT, path, comm)?;
        let table = deck.run.append.as_deref().filter(|_| comm.rank() == 0);
        let open = |path| {
            check_name("run.append (--append)", path).and_then(|()| TableFile::open(path, &Report::csv_header()))
        };
        let table = agree(comm, table.map(open).transpose().map_err(of_table))?;
        deck.run.vtk.as_ref().map_or(Ok(()), |path| check_vtu(path, comm)).map_err(of_vtk)?;
        Ok(RunFiles { report, table })
    }
}

/// Refuses a standard output that would lose the report, and its other name: a file that replaces what is open there.
fn check_report(path: &Path) -> Result<()> {
    match path.to_str() {
        Some("-") => check_stdout().map_err(|error| Error::Invalid(format!("{REPORT}: -: {error}"))),
        Some("/dev/stdout") => {
            Err(Error::Invalid(format!("{REPORT}: /dev/stdout: not a regular file; give - for the standard output")))
        }
        _ => Ok(()),
    }
}

/// Refuses the name of the standard output, which only the report of a run takes.
fn check_name(flag: &str, path: &Path) -> Result<()> {
    let why = "only --report of a run takes the standard output; give a file name";
    if path == Path::new("-") { Err(Error::Invalid(format!("{flag}: -: {why}"))) } else { Ok(()) }
}

/// Names the table of results in an error.
pub fn of_table(error: Error) -> Error {
    of_flag("run.append (--append)", error)
}

/// Names the files for VTK in an error.
pub fn of_vtk(error: Error) -> Error {
    of_flag("run.vtk (--vtk)", error)
}

/// Names the flag of a file in an error.
pub fn of_flag(flag: &str, error: Error) -> Error {
    match error {
        Error::File { path, reason } => Error::File { path: format!("{flag}: {path}"), reason },
        error => error,
    }
}
