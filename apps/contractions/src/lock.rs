//! One run at a time writes into a folder: a lock on a file there, which the system releases when its process ends.

use minifenl::{Error, Result};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Name of the file, which is removed at the end of a run. One that was left behind by a kill has no lock and does no harm.
const NAME: &str = ".minifenl-contractions.lock";

/// The right to write into a folder, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Locks a folder that is there. `None` where the file system has no locks.
    ///
    /// # Errors
    /// [`Error::Invalid`] while another process has the lock, with its number; [`Error::File`] for a folder that takes no file.
    pub fn new(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(NAME);
        let failed =
            |error: std::io::Error| Error::File { path: path.display().to_string(), reason: error.to_string() };
        loop {
            let mut file =
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    let mut holder = String::new();
                    let _ = file.read_to_string(&mut holder);
                    return Err(Error::Invalid(format!(
                        "{}: another run (process {}) is writing into this folder: wait for it, or name another folder with --out",
                        folder.display(),
                        holder.trim()
                    )));
                }
                Err(TryLockError::Error(error)) if is_unsupported(&error) => {
                    let _ = fs::remove_file(&path);
                    return Ok(None);
                }
                locked => locked.map_err(|error| failed(error.into()))?,
            }
            // The run before may have removed the file between the two steps: then the lock is on a file without a name.
            if is_same(&file, &path) {
                let _ = file.set_len(0).and_then(|()| file.rewind());
                let _ = writeln!(file, "{}", std::process::id());
                return Ok(Some(Lock { path, _file: file }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Some network file systems have no locks.
fn is_unsupported(error: &std::io::Error) -> bool {
    /// ENOLCK of Linux.
    const NO_LOCKS: i32 = 37;
    [ErrorKind::Unsupported, ErrorKind::InvalidInput].contains(&error.kind()) || error.raw_os_error() == Some(NO_LOCKS)
}

#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let of = |found: std::io::Result<fs::Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
    of(file.metadata()).is_some_and(|own| of(fs::metadata(path)) == Some(own))
}
#[cfg(not(unix))]
fn is_same(_: &File, _: &Path) -> bool {
    true
}

#[test]
fn one_run_has_the_lock_of_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let lock = Lock::new(dir.path()).unwrap().unwrap();
    let error = Lock::new(dir.path()).unwrap_err().to_string();
    assert!(error.contains(&format!("another run (process {}) is writing", std::process::id())), "{error}");
    drop(lock);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    // Left behind by a kill.
    fs::write(dir.path().join(NAME), "1\n").unwrap();
    assert!(Lock::new(dir.path()).unwrap().is_some());
    assert!(matches!(Lock::new(&dir.path().join("none")), Err(Error::File { .. })));
}
