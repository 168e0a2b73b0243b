//! Keeps two studies out of one folder: both would run the same points at the same time and write the same files.

use minifenl::{Error, Result};
use std::fs::{File, TryLockError};
use std::path::Path;

/// Locks a folder as long as the file lives. A file system without locks has none.
///
/// # Errors
/// [`Error::File`] if another study holds the lock, or the folder cannot be read.
pub fn lock(folder: &Path) -> Result<File> {
    let failed = |reason: String| Error::File { path: folder.display().to_string(), reason };
    let file = File::open(folder).map_err(|error| failed(error.to_string()))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(failed("another study is running in this folder: expected it to end, or another folder (--out)".into()))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}
