//! Input files as text: regular files of a limited size.
//!
//! A pipe may never end and blocks the reader until somebody writes; `/dev/zero` never ends; a folder has no text. All are
//! refused before a byte is read. A symbolic link to a regular file is accepted.

use crate::faults;
use crate::{Error, Result};
use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::path::Path;

/// Reads a regular file of at most `limit` bytes as UTF-8 text.
///
/// # Errors
/// [`Error::File`] with the path: a file that is absent, is not regular, exceeds the limit, or is not UTF-8 (with the line).
pub fn read_text(path: &Path, limit: u64) -> Result<String> {
    let failed = |reason| failed(path, reason);
    let file = open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    // One byte more than the limit tells a longer file, also one whose stated size is 0 (as in /proc) or that grows.
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > limit {
        return Err(failed(format!("larger than {}", amount(limit))));
    }
    String::from_utf8(bytes).map_err(|error| {
        let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
        let line = bytes[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
        failed(format!("line {line}: byte 0x{:02x} is not UTF-8 text", bytes[at]))
    })
}

/// Makes the error of a file.
pub(super) fn failed(path: &Path, reason: String) -> Error {
    let name = path.display().to_string();
    Error::File { path: if name.is_empty() { "`` (empty file name)".into() } else { name }, reason }
}

/// Opens a regular file, or says what the path is instead.
pub(super) fn open(path: &Path) -> std::result::Result<File, String> {
    let text = |error: std::io::Error| error.to_string();
    faults::file("read").map_err(text)?;
    if path == Path::new("-") {
        return Err("the standard input is not read; give the name of a file".into());
    }
    let found = std::fs::metadata(path).map_err(text)?;
    let mut options = OpenOptions::new();
    options.read(true);
    // If the file has become a pipe since, the call returns without waiting for a writer.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    match kind(&found) {
        None => options.open(path).map_err(text),
        Some(kind) => Err(format!("{kind}, expected a regular file")),
    }
}

/// Names what is not a regular file.
fn kind(found: &Metadata) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    match found {
        _ if found.is_dir() => Some("a folder"),
        _ if found.is_file() => None,
        _ => Some("a special file"),
    }
}

/// Formats a limit: `1 MiB`, `4 bytes`.
fn amount(bytes: u64) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{bytes} bytes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path, limit: u64) -> String {
        let message = read_text(path, limit).unwrap_err().to_string();
        assert!(message.lines().count() == 1, "{message}");
        message
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(refused(folder.path(), 10).contains("a folder, expected a regular file"));
        assert!(refused(&folder.path().join("none"), 10).contains("none: No such file"));
        assert!(refused(Path::new(""), 10).contains("empty file name"));
        assert_eq!(refused(Path::new("-"), 10), "-: the standard input is not read; give the name of a file");
        #[cfg(unix)]
        {
            assert!(refused(Path::new("/dev/zero"), 10).contains("a device, expected"));
            assert!(refused(Path::new("/dev/null"), 10).contains("a device, expected"));
            let pipe = folder.path().join("pipe");
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            assert!(refused(&pipe, 10).contains("a pipe, expected a regular file"));
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&pipe, &link).unwrap();
            assert!(refused(&link, 10).contains("a pipe"));
        }
    }

    #[test]
    fn size_and_text_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read_text(&path, 4).unwrap(), "four");
        assert!(refused(&path, 3).contains("larger than 3 bytes"));
        std::fs::write(&path, b"one\ntwo\nthr\xffe").unwrap();
        assert!(refused(&path, 100).contains("x: line 3: byte 0xff is not UTF-8 text"));
        #[cfg(unix)]
        {
            std::fs::write(&path, "four").unwrap();
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            assert_eq!(read_text(&link, 4).unwrap(), "four");
        }
    }
}
