//! Output files that are larger than the memory: written piece by piece, with the same guarantees as a whole one.

use super::temporary::size_limit;
use super::{failed, replace, resolve};
use crate::Result;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Bytes of a piece.
const PIECE: usize = 1 << 18;

/// Writes a file with what `content` writes. Readers see the old file or the whole new one.
///
/// # Errors
/// [`Error::File`](crate::Error::File) naming the path, also if `content` fails. The file then has its old content; or its new one, if
/// only the flush of the folder failed.
pub(crate) fn write_streamed(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    try_write(path, size_limit().unwrap_or(u64::MAX), content).map_err(|error| failed(path, &error))
}

fn try_write(path: &Path, limit: u64, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    replace(&resolve(path)?, |file| {
        let mut out = BufWriter::with_capacity(PIECE, Limited { out: file, left: limit, limit });
        content(&mut out)?;
        out.flush()
    })
}

/// Refuses what the limit on the size of files (`ulimit -f`) does not allow: the write would end the process by a signal.
struct Limited<W> {
    out: W,
    left: u64,
    limit: u64,
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            let limit = self.limit;
            return Err(io::Error::other(format!("larger than the limit of a file, {limit} bytes (ulimit -f)")));
        }
        let written = self.out.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_in_the_midst_keeps_the_old_file_and_leaves_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        // A name that another program may have chosen for its own file.
        std::fs::write(folder.path().join("a.partial"), "mine").unwrap();
        let long = |out: &mut dyn Write| (0..100_000).try_for_each(|i| writeln!(out, "{i}"));
        write_streamed(&path, |out| out.write_all(b"old")).unwrap();
        let error = try_write(&path, 500_000, long).unwrap_err();
        assert!(error.to_string().contains("larger than the limit of a file, 500000 bytes"), "{error}");
        let stopped = |out: &mut dyn Write| long(out).and(Err(io::Error::other("stopped")));
        let error = write_streamed(&path, stopped).unwrap_err().to_string();
        assert!(error.ends_with("a.txt: stopped"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        try_write(&path, 588_890, long).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), (0..100_000).map(|i| format!("{i}\n")).collect::<String>());
        assert_eq!(std::fs::read_to_string(folder.path().join("a.partial")).unwrap(), "mine");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "a temporary file is left");
    }
}
