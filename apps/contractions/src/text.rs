//! Texts that a user names: decks and tables.

use minifenl::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads a text of at most `most` bytes from a regular file, which a link may lead to.
///
/// # Errors
/// [`Error::File`] naming the path: no file, a device or a pipe, too many bytes, bytes that are not UTF-8, with their line.
pub fn read(path: &Path, most: u64) -> Result<String> {
    let failed = |reason: String| Error::File { path: path.display().to_string(), reason };
    let io = |error: std::io::Error| failed(error.to_string());
    // Before it is opened: a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(failed("not a regular file".into()));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).map_err(io)?;
    if bytes.len() as u64 > most {
        return Err(failed(format!("more than {} MiB", most >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        failed(format!("line {} is not UTF-8", 1 + before.iter().filter(|byte| **byte == b'\n').count()))
    })
}

#[test]
fn odd_files_are_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let said = |path: &Path| read(path, 1 << 20).unwrap_err().to_string();
    std::fs::write(&path, b"a\nb\xff\n").unwrap();
    assert!(said(&path).ends_with("x: line 2 is not UTF-8"));
    std::fs::write(&path, vec![b' '; 1 << 20]).unwrap();
    assert_eq!(read(&path, 1 << 20).unwrap().len(), 1 << 20);
    std::fs::write(&path, vec![b' '; (1 << 20) + 1]).unwrap();
    assert!(said(&path).ends_with("x: more than 1 MiB"));
    assert!(said(dir.path()).ends_with("not a regular file"));
    assert!(said(Path::new("/dev/zero")).ends_with("not a regular file"));
    assert!(said(Path::new("no-such.csv")).starts_with("no-such.csv: "));
}
