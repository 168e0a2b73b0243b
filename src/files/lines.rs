//! A regular file line by line, for texts that may be larger than the memory.

use super::input::{failed, open};
use crate::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;

/// Longest line in bytes.
const LONGEST: usize = 1 << 16;

/// The lines of a file.
#[derive(Debug)]
pub(crate) struct Lines {
    path: String,
    reader: BufReader<File>,
    bytes: u64,
    line: Vec<u8>,
    number: usize,
}

impl Lines {
    /// Opens a regular file.
    ///
    /// # Errors
    /// [`Error::File`] with the path: a file that is absent or is not regular.
    pub fn open(path: &Path) -> Result<Self> {
        let file = open(path).map_err(|reason| failed(path, reason))?;
        let bytes = file.metadata().map_err(|error| failed(path, error.to_string()))?.len();
        let reader = BufReader::with_capacity(1 << 18, file);
        Ok(Lines { path: path.display().to_string(), reader, bytes, line: Vec::new(), number: 0 })
    }

    /// Returns the size of the file when it was opened.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads a line without its end (`\n` or `\r\n`); `None` at the end of the file.
    ///
    /// # Errors
    /// [`Error::File`] when the file cannot be read or the line exceeds 65536 bytes.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        self.number += 1;
        self.line.clear();
        let read = (&mut self.reader).take(LONGEST as u64 + 2).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| self.failed(error.to_string()))?;
        if read == 0 {
            return Ok(None);
        }
        if self.line.ends_with(b"\n") {
            self.line.pop();
            self.line.pop_if(|last| *last == b'\r');
        }
        if self.line.len() > LONGEST {
            return Err(self.failed(format!("expected at most {LONGEST} bytes in a line")));
        }
        Ok(Some(&self.line))
    }

    /// Returns to the first line.
    ///
    /// # Errors
    /// [`Error::File`] when the file cannot be read again.
    pub fn rewind(&mut self) -> Result<()> {
        self.number = 0;
        let rewound = self.reader.rewind();
        rewound.map_err(|error| self.failed(error.to_string()))
    }

    /// Returns the last line.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Makes an error of the last line.
    pub fn failed(&self, reason: impl std::fmt::Display) -> Error {
        Error::File { path: self.path.clone(), reason: format!("line {}: {reason}", self.number) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_of_a_limited_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, b"one\r\n\ntwo\r\r\nlast").unwrap();
        let mut lines = Lines::open(&path).unwrap();
        for (number, line) in [(1, &b"one"[..]), (2, b""), (3, b"two\r"), (4, b"last")] {
            assert_eq!(lines.next().unwrap(), Some(line));
            assert!(lines.failed("odd").to_string().ends_with(&format!("x: line {number}: odd")));
        }
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(lines.bytes(), 16);
        assert!(lines.failed("odd").to_string().ends_with("x: line 5: odd"));
        lines.rewind().unwrap();
        assert_eq!(lines.next().unwrap(), Some(&b"one"[..]));
        assert!(lines.failed("odd").to_string().ends_with("x: line 1: odd"));
        let text = |len: usize| [&vec![b'a'; len][..], b"\r\nb\n"].concat();
        std::fs::write(&path, text(LONGEST)).unwrap();
        let mut lines = Lines::open(&path).unwrap();
        assert_eq!(lines.next().unwrap().map(<[u8]>::len), Some(LONGEST));
        assert_eq!(lines.next().unwrap(), Some(&b"b"[..]));
        std::fs::write(&path, text(LONGEST + 1)).unwrap();
        let error = Lines::open(&path).unwrap().next().unwrap_err().to_string();
        assert!(error.ends_with("x: line 1: expected at most 65536 bytes in a line"), "{error}");
        assert!(Lines::open(folder.path()).unwrap_err().to_string().contains("expected a regular file"));
    }
}
