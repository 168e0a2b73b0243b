//! Writes whole output files: after a failure or a kill at any moment, a file has its old content or its new one.
//!
//! Steps: follow symbolic links; write a temporary file in the same folder, with the mode and owner of the file that it
//! replaces; flush it to the disk (fsync); rename it; flush the folder. On an error the temporary file is removed and the old
//! file is untouched. Not kept: access control lists, extended attributes, and the other names of a file with hard links,
//! which keep the old content.

mod temporary;
#[cfg(test)]
mod tests;

use crate::{Error, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fmt, fs, io};
use temporary::{Temporary, flush_folder, new_file, size_limit, unique};

/// Symbolic links that are followed from one to the next, as Linux does.
const MOST_LINKS: usize = 40;

/// A path that was found writable. Nothing lies there until [`write`](Self::write).
#[derive(Clone, Debug)]
pub struct OutputFile {
    path: PathBuf,
    /// What `path` names after all symbolic links; need not exist.
    target: PathBuf,
}

/// A file that was not written, and the path of the copy written instead.
#[derive(Debug)]
pub struct NotWritten {
    /// Names the file and the reason.
    pub error: Error,
    /// The copy in the folder for temporary files; `None` if that could not be written either.
    pub copy: Option<PathBuf>,
}

impl fmt::Display for NotWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.copy {
            // Folders for temporary files are each machine's own.
            Some(copy) => write!(f, "{}; a copy is in {} on {}", self.error, copy.display(), host_name()),
            None => write!(f, "{}; no copy could be written to {}", self.error, env::temp_dir().display()),
        }
    }
}

impl std::error::Error for NotWritten {}

/// Writes a file whole.
///
/// # Errors
/// [`Error::File`] naming the path. The file then has its old content; or its new one, if only the flush of the folder failed.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    let target = resolve(path).map_err(|error| failed(path, &error))?;
    OutputFile { path: path.into(), target }.write(content)
}

impl OutputFile {
    /// Checks, before the work, that a file can be written: makes its temporary file and removes it.
    ///
    /// # Errors
    /// [`Error::File`] naming the path: a folder, a device or a pipe, a file without permission to write, a folder that
    /// is missing or takes no new file.
    pub fn create(path: &Path) -> Result<Self> {
        let target = resolve(path).and_then(|target| {
            // The links of /proc to open pipes lead to no path: their own metadata are those of the pipe.
            if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
                return Err(io::Error::other("not a regular file"));
            }
            let replaced = replaced(&target)?;
            Temporary::create(&target, replaced.as_ref()).map(drop)?;
            Ok(target)
        });
        Ok(OutputFile { path: path.into(), target: target.map_err(|error| failed(path, &error))? })
    }

    /// Writes the file whole.
    ///
    /// # Errors
    /// [`Error::File`] naming the path. The file then has its old content; or its new one, if only the flush of the folder failed.
    pub fn write(&self, content: &[u8]) -> Result<()> {
        self.try_write(content).map_err(|error| failed(&self.path, &error))
    }

    /// Writes the file whole or, on failure, a copy in the folder for temporary files.
    ///
    /// # Errors
    /// [`NotWritten`] with the place of the copy.
    pub fn write_or_copy(&self, content: &[u8]) -> Result<(), NotWritten> {
        self.write(content).map_err(|error| NotWritten { error, copy: self.copy(content).ok() })
    }

    fn try_write(&self, content: &[u8]) -> io::Result<()> {
        check_size(content.len() as u64)?;
        replace(&self.target, content)
    }

    fn copy(&self, content: &[u8]) -> io::Result<PathBuf> {
        check_size(content.len() as u64)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let path = env::temp_dir().join(format!("minifenl-{}-{name}", unique()));
        let mut file = new_file(&path, true)?;
        let written = file.write_all(content).and_then(|()| file.sync_all());
        written.inspect_err(|_| drop(fs::remove_file(&path)))?;
        Ok(path)
    }
}

pub(super) fn failed(path: &Path, error: &io::Error) -> Error {
    Error::File { path: path.display().to_string(), reason: error.to_string() }
}

/// Returns what a path names after all symbolic links, whether it exists or not.
pub(super) fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..=MOST_LINKS {
        if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
            let ends_with = |end: &[u8]| path.as_os_str().as_encoded_bytes().ends_with(end);
            let is_folder = path.file_name().is_none() || ends_with(b"/") || ends_with(b"/.");
            return if is_folder { Err(io::Error::other("not the name of a file")) } else { Ok(path) };
        }
        // A relative link starts at its own folder.
        path = path.parent().unwrap_or(Path::new("")).join(fs::read_link(&path)?);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Writes a temporary file, which then takes the place of `target`.
fn replace(target: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = Temporary::create(target, replaced(target)?.as_ref())?;
    file.write_and_flush(content)?;
    file.rename(target)?;
    flush_folder(target)
}

/// Returns the file that will be replaced, if there is one, after a check that it is a file that may be written.
fn replaced(target: &Path) -> io::Result<Option<fs::Metadata>> {
    let found = match fs::metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    if !found.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    // A rename needs no permission of the file that it replaces, so a file that its owner protects would be lost.
    if found.permissions().readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "a read-only file, which is not replaced"));
    }
    fs::OpenOptions::new().write(true).open(target)?;
    Ok(Some(found))
}

/// Refuses what the limit on the size of files (`ulimit -f`) does not allow: the write would end the process by a signal.
pub(super) fn check_size(bytes: u64) -> io::Result<()> {
    match size_limit() {
        Some(limit) if bytes > limit => {
            Err(io::Error::other(format!("{bytes} bytes are more than the limit of a file, {limit} bytes (ulimit -f)")))
        }
        _ => Ok(()),
    }
}

fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| env::var("HOSTNAME").ok());
    name.map_or_else(|| "this machine".into(), |name| name.trim().into())
}
