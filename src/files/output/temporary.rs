//! The temporary file of an output file: a new name at each call, beside its target, removed unless it is renamed.
//!
//! Its name is `.TARGET.PID-COUNT-TIME.tmp`. A writer holds a lock on its temporary file, so that one without a lock belongs
//! to a process that was killed: those of the same target are removed once they are an hour old.

use crate::faults;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Age from which a file without a lock is removed. Where locks are of one machine only, the file of another machine that
/// is at work is younger than that.
const STALE: Duration = Duration::from_secs(3600);
/// Names that are tried before giving up.
const ATTEMPTS: usize = 100;
/// Bytes of the target's name in the name of the temporary file; a file system allows 255 in all.
const MOST_BYTES: usize = 160;

/// A file that is removed when it is dropped.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    file: File,
    is_renamed: bool,
}

impl Temporary {
    /// Creates an empty file beside `target` with the replaced file's mode and owner.
    pub fn create(target: &Path, replaced: Option<&Metadata>) -> io::Result<Self> {
        let prefix = prefix(target);
        remove_stale(target, &prefix);
        for _ in 0..ATTEMPTS {
            let path = target.with_file_name(format!("{prefix}{}.tmp", unique()));
            let file = match new_file(&path, replaced.is_some()) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            };
            let temporary = Temporary { path, file, is_renamed: false };
            // A file system without locks has none of its stale files removed.
            let _ = temporary.file.try_lock();
            if let Some(replaced) = replaced {
                keep_owner(&temporary.file, replaced);
                temporary.file.set_permissions(replaced.permissions())?;
            }
            return Ok(temporary);
        }
        Err(io::Error::new(ErrorKind::AlreadyExists, "every name tried for a temporary file beside it is taken"))
    }

    /// Writes the content and waits until the disk has it.
    pub fn write_and_flush(&mut self, content: &[u8]) -> io::Result<()> {
        faults::file("write")?;
        self.file.write_all(content)?;
        faults::file("sync")?;
        unless_unsupported(self.file.sync_all())
    }

    /// Gives the file the name of its target, in one step.
    pub fn rename(mut self, target: &Path) -> io::Result<()> {
        faults::file("rename")?;
        fs::rename(&self.path, target)?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_renamed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Waits until the disk has the names in the folder of a file.
pub fn flush_folder(file: &Path) -> io::Result<()> {
    faults::file("sync folder")?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder) {
        // Writable, but not readable: it cannot be opened to be flushed.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        folder => unless_unsupported(folder?.sync_all()),
    }
}

/// Not every file system can flush; what it cannot do is no failure of the write.
fn unless_unsupported(flushed: io::Result<()>) -> io::Result<()> {
    match flushed {
        Err(error) if [ErrorKind::InvalidInput, ErrorKind::Unsupported].contains(&error.kind()) => Ok(()),
        flushed => flushed,
    }
}

/// Makes a file that was not there; if `is_private`, only its owner may read it.
pub fn new_file(path: &Path, is_private: bool) -> io::Result<File> {
    faults::file("create")?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    options.open(path)
}

/// Only root may give a file away, and others only to a group of theirs.
#[cfg(unix)]
fn keep_owner(file: &File, replaced: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let (user, group) = (replaced.uid(), replaced.gid());
    let is_same = file.metadata().is_ok_and(|made| (made.uid(), made.gid()) == (user, group));
    if !is_same && fchown(file, Some(user), Some(group)).is_err() {
        let _ = fchown(file, None, Some(group));
    }
}
#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) {}

/// Returns a part of a name that no other call of any living process has: process, call, time.
pub fn unique() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    format!("{}-{}-{time:x}", std::process::id(), CALLS.fetch_add(1, Relaxed))
}

/// Start of the names of all temporary files of a target.
fn prefix(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=name.len().min(MOST_BYTES)).rfind(|&at| name.is_char_boundary(at)).unwrap_or(0);
    format!(".{}.", &name[..end])
}

/// Removes temporary files of the target that their writers left behind when they were killed.
fn remove_stale(target: &Path, prefix: &str) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let inner = name.to_str().and_then(|name| name.strip_prefix(prefix)?.strip_suffix(".tmp"));
        if inner.is_none_or(|inner| inner.is_empty() || !inner.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())) {
            continue;
        }
        let found = entry.metadata().ok().filter(Metadata::is_file);
        let age = found.and_then(|found| found.modified().ok()?.elapsed().ok());
        let is_free = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if age.is_some_and(|age| age >= STALE) && is_free() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns the limit on the size of files (`ulimit -f`) in bytes; `None` where there is none or it is not known.
pub fn size_limit() -> Option<u64> {
    limit_in(&fs::read_to_string("/proc/self/limits").ok()?)
}

/// Reads the soft limit from a text such as `/proc/self/limits`.
pub fn limit_in(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file size"))?;
    line.split_whitespace().next()?.parse().ok()
}
