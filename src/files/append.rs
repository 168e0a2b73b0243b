//! Appends rows to a table that several processes share: the header is written once, and rows are never mixed.
//!
//! A writer locks the file, compares the header, and adds its row by one call in append mode. On a file system without locks, that one
//! call keeps the row whole; two processes that start a file there at the same time may both write the header.

use super::output::{OutputFile, check_size, failed};
use crate::Result;
use crate::faults;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a writer waits for others; each needs milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// A table of lines. The first line is its header.
#[derive(Clone, Debug)]
pub struct TableFile {
    path: PathBuf,
    header: String,
}

impl TableFile {
    /// Checks, before the work, that rows below this header can be appended. Makes no file.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) naming the path: a file with another header, one that is not regular or cannot be written, a folder that takes
    /// no new file.
    pub fn open(path: &Path, header: &str) -> Result<Self> {
        let table = TableFile { path: path.into(), header: header.into() };
        if path.exists() {
            table.checked().map(drop).map_err(|error| failed(path, &error))?;
        } else {
            OutputFile::create(path)?;
        }
        Ok(table)
    }

    /// Appends a row, after the header if the file is new or empty.
    ///
    /// # Errors
    /// As [`open`](Self::open), and where another process holds the file for 10 s. The rows are unchanged then, unless the disk is full or does not
    /// take them; a new file may stay behind, empty.
    pub fn append(&self, row: &str) -> Result<()> {
        self.try_append(row).map_err(|error| failed(&self.path, &error))
    }

    fn try_append(&self, row: &str) -> io::Result<()> {
        faults::file("append")?;
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&self.path)?;
        lock(&file)?;
        let header = self.header_needed(&mut file)?;
        let length = file.seek(SeekFrom::End(0))?;
        // A last line without an end belongs to a writer that was killed.
        let mut last = [b'\n'];
        if length > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        let start = if last == [b'\n'] { "" } else { "\n" };
        let text = format!("{start}{}{row}\n", if header { format!("{}\n", self.header) } else { String::new() });
        check_size(length + text.len() as u64)?;
        // The lock ends with the file.
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    /// Opens an existing file for a check.
    fn checked(&self) -> io::Result<bool> {
        if !std::fs::metadata(&self.path)?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        self.header_needed(&mut OpenOptions::new().read(true).append(true).open(&self.path)?)
    }

    /// Whether the file is empty; refuses another header.
    fn header_needed(&self, file: &mut File) -> io::Result<bool> {
        file.seek(SeekFrom::Start(0))?;
        let mut found = Vec::new();
        // As many bytes as the header and its end have, which may be CR LF.
        file.take(self.header.len() as u64 + 2).read_to_end(&mut found)?;
        let text = String::from_utf8_lossy(&found);
        match text.split_once('\n').map(|(line, _)| line.strip_suffix('\r').unwrap_or(line)) {
            _ if found.is_empty() => Ok(true),
            Some(line) if line == self.header => Ok(false),
            _ => Err(io::Error::other("has other columns than this version writes; give another file")),
        }
    }
}

/// Locks a file; waits for other writers. A file system without locks has none.
fn lock(file: &File) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            Err(TryLockError::WouldBlock) => {
                let seconds = PATIENCE.as_secs();
                return Err(io::Error::other(format!("another process has held it for {seconds} s")));
            }
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{read_to_string, write};

    #[test]
    fn rows_follow_one_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let table = TableFile::open(&path, "a,b").unwrap();
        assert!(!path.exists());
        table.append("1,2").unwrap();
        TableFile::open(&path, "a,b").unwrap().append("3,4").unwrap();
        assert_eq!(read_to_string(&path).unwrap(), "a,b\n1,2\n3,4\n");
        // A row whose writer was killed stays apart from the next one.
        write(&path, "a,b\n1,").unwrap();
        table.append("5,6").unwrap();
        assert_eq!(read_to_string(&path).unwrap(), "a,b\n1,\n5,6\n");
        // Lines of another system.
        write(&path, "a,b\r\n1,2\r\n").unwrap();
        table.append("5,6").unwrap();
        assert_eq!(read_to_string(&path).unwrap(), "a,b\r\n1,2\r\n5,6\n");
        write(&path, "").unwrap();
        table.append("7,8").unwrap();
        assert_eq!(read_to_string(&path).unwrap(), "a,b\n7,8\n");
    }

    #[test]
    fn another_header_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        for other in ["a\n1\n", "a,b,c\n1,2,3\n", "a,b", "a,c\n", "\n"] {
            write(&path, other).unwrap();
            let error = TableFile::open(&path, "a,b").unwrap_err().to_string();
            assert!(error.contains("t.csv: has other columns"), "{error}");
            assert_eq!(read_to_string(&path).unwrap(), other);
        }
        // A table that changes during the work is refused, too.
        std::fs::remove_file(&path).unwrap();
        let table = TableFile::open(&path, "a,b").unwrap();
        write(&path, "x\n").unwrap();
        assert!(table.append("1,2").is_err());
        assert_eq!(read_to_string(&path).unwrap(), "x\n");
        assert!(TableFile::open(folder.path(), "a").is_err());
        assert!(TableFile::open(&folder.path().join("no/t.csv"), "a").is_err());
    }

    #[test]
    fn writers_at_the_same_time_do_not_mix() {
        const ROWS: usize = 40;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let row = |writer: usize| format!("{writer},{}", writer.to_string().repeat(3000));
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (path, row) = (&path, row(writer));
                scope.spawn(move || {
                    let table = TableFile::open(path, "writer,digits").unwrap();
                    (0..ROWS).for_each(|_| table.append(&row).unwrap());
                });
            }
        });
        let text = read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.remove(0), "writer,digits");
        lines.sort_unstable();
        let expected: Vec<String> = (0..4).flat_map(|writer| vec![row(writer); ROWS]).collect();
        assert_eq!(lines, expected);
    }
}
