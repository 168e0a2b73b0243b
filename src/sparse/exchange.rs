//! Conversion of matrices from and to sprs and Matrix Market files.
//!
//! The sprs view borrows the arrays of the matrix, and a sprs matrix in rows hands over its own: neither direction
//! copies.

use super::{CrsGraph, CrsMatrix};
use crate::files::{read_text, write};
use crate::space::{Item, available_bytes, try_reserve};
use crate::{Error, LocalOrdinal, Result, RowOffset};
use sprs::{CsMatI, CsMatViewI, TriMatI};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

impl<V: Item> CrsMatrix<V> {
    /// Borrows the matrix as a sprs view.
    pub fn as_sprs(&self) -> CsMatViewI<'_, V, LocalOrdinal, RowOffset> {
        let graph = self.graph();
        CsMatViewI::new((graph.rows(), graph.columns()), graph.row_map(), graph.entries(), self.values())
    }

    /// Takes over the arrays of a sprs matrix. A matrix in compressed columns is converted to rows first.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the arrays violate the rules of [`CrsGraph::new`].
    pub fn from_sprs(matrix: CsMatI<V, LocalOrdinal, RowOffset>) -> Result<Self> {
        let matrix = if matrix.is_csr() { matrix } else { matrix.into_csr() };
        let columns = matrix.cols();
        let (row_map, entries, values) = matrix.into_raw_storage();
        CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, columns)?), values)
    }
}

/// Bytes that reading takes per row and per entry: offsets, triplets (twice if the matrix is symmetric) and rows.
const READ_BYTES: (u64, u64) = (24, 64);

/// Rows and columns that a file may declare besides [`PER_ENTRY`] for each of its entries: the memory that a file takes is
/// bounded by its own size, whatever its first lines declare.
const FREE_ROWS: usize = 1 << 20;
/// Rows or columns per entry, see [`FREE_ROWS`].
const PER_ENTRY: usize = 64;

/// Reads a Matrix Market file (coordinate, real, general or symmetric): a regular file of at most half of the free memory.
///
/// # Errors
/// [`Error::File`] with the path, and the line if one is at fault, when the file is absent, truncated or malformed, or its
/// matrix needs more than the free memory.
pub fn read_matrix_market(path: impl AsRef<Path>) -> Result<CrsMatrix> {
    let path = path.as_ref();
    let failed = |reason: String| Error::File { path: path.display().to_string(), reason };
    let free = available_bytes();
    let text = read_text(path, free / 2)?;
    check_matrix_market(&text, free).map_err(failed)?;
    let triplets: TriMatI<f64, LocalOrdinal> =
        sprs::io::read_matrix_market_from_bufread(&mut text.as_bytes()).map_err(|e| failed(e.to_string()))?;
    CrsMatrix::from_sprs(triplets.to_csr::<RowOffset>()).map_err(|e| failed(e.to_string()))
}

/// Rejects files on which the parser of sprs 0.11 fails without an error: it waits forever at an early end of file, panics on
/// indices out of range (those of a transposed entry, too), and aborts on numbers of rows or entries that exceed memory.
fn check_matrix_market(text: &str, free: u64) -> std::result::Result<(), String> {
    let header = text.lines().next().unwrap_or("").to_lowercase();
    let words: Vec<&str> = header.split_whitespace().collect();
    let &["%%matrixmarket", "matrix", "coordinate", "real", symmetry @ ("general" | "symmetric")] = &words[..] else {
        let expected = "%%MatrixMarket matrix coordinate real general (or symmetric)";
        return Err(format!("line 1: expected {expected:?}, found {:?}", quoted(&header)));
    };
    let mut lines = text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty());
    let size = lines.by_ref().find(|(_, line)| !line.starts_with('%'));
    let (at, size) = size.ok_or("truncated: no size line \"rows columns entries\"")?;
    let numbers: Option<Vec<usize>> = size.split_whitespace().map(|word| word.parse().ok()).collect();
    let &[rows, columns, entries] = numbers.as_deref().unwrap_or_default() else {
        let found = quoted(size);
        return Err(format!("line {}: expected a size line \"rows columns entries\", found {found:?}", at + 1));
    };
    let line = at + 1;
    if rows.max(columns) >= LocalOrdinal::MAX as usize {
        return Err(format!("line {line}: a {rows} x {columns} matrix exceeds 32-bit local ids"));
    }
    if symmetry == "symmetric" && rows != columns {
        return Err(format!("line {line}: a symmetric matrix of {rows} x {columns}: expected as many rows as columns"));
    }
    let needed = READ_BYTES.1.saturating_mul(entries as u64).saturating_add(READ_BYTES.0 * rows as u64);
    if needed > free {
        let [needed, free] = [needed, free].map(|bytes| bytes >> 20);
        return Err(format!("line {line}: {rows} rows and {entries} entries need {needed} MiB, {free} MiB are free"));
    }
    let mut found = 0;
    for (at, line) in lines {
        let mut words = line.split_whitespace();
        let mut index = || words.next().and_then(|word| word.parse::<usize>().ok()).unwrap_or(0);
        let (row, column) = (index(), index());
        let value = words.next().and_then(|word| word.parse::<f64>().ok());
        if !(1..=rows).contains(&row) || !(1..=columns).contains(&column) || value.is_none() || words.next().is_some() {
            let (at, line) = (at + 1, quoted(line));
            return Err(format!(
                "line {at}: expected \"row column value\" of a {rows} x {columns} matrix, found {line:?}"
            ));
        }
        found += 1;
    }
    if found != entries {
        return Err(format!("truncated or overlong: expected {entries} entries, found {found}"));
    }
    let most = FREE_ROWS.saturating_add(PER_ENTRY.saturating_mul(entries));
    if rows.max(columns) > most {
        let expected = format!("expected at most {most} rows and columns");
        return Err(format!("line {line}: a {rows} x {columns} matrix of {entries} entries: {expected}"));
    }
    Ok(())
}

/// Returns the start of a line for a message.
fn quoted(line: &str) -> String {
    line.chars().take(60).collect()
}

/// Writes a Matrix Market file (coordinate, real, general) by [`files::write`](crate::files::write), so that readers never see a
/// partial file.
///
/// # Errors
/// [`Error::File`] with the path when the file cannot be written or its text exceeds the free memory. An earlier file of that
/// name then stays unchanged.
pub fn write_matrix_market(path: impl AsRef<Path>, matrix: &CrsMatrix) -> Result<()> {
    let path = path.as_ref();
    let mut text = Text(Vec::new());
    sprs::io::write_matrix_market_to_bufwrite(&mut text, matrix.as_sprs())
        .map_err(|e| Error::File { path: path.display().to_string(), reason: e.to_string() })?;
    write(path, &text.0)
}

/// A text in memory. Where memory is short, a write fails instead of ending the process.
struct Text(Vec<u8>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        try_reserve("Matrix Market text", &mut self.0, bytes.len()).map_err(io::Error::other)?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> CrsMatrix {
        let graph = CrsGraph::new(vec![0, 2, 3], vec![0, 2, 1], 3).unwrap();
        CrsMatrix::new(Arc::new(graph), vec![1.5, -2.0, 1e-300]).unwrap()
    }

    #[test]
    fn sprs_borrows_and_returns_the_same_arrays() {
        let matrix = small();
        let view = matrix.as_sprs();
        assert_eq!(view.data().as_ptr(), matrix.values().as_ptr());
        assert_eq!(view.get(0, 2), Some(&-2.0));
        let back = CrsMatrix::from_sprs(view.to_owned()).unwrap();
        assert_eq!((back.graph(), back.values()), (matrix.graph(), matrix.values()));
        let turned = CrsMatrix::from_sprs(view.to_other_storage()).unwrap();
        assert_eq!((turned.graph(), turned.values()), (matrix.graph(), matrix.values()));
    }

    #[test]
    fn matrix_market_files_are_read_back_and_truncation_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mtx");
        write_matrix_market(&path, &small()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file is left");
        let back = read_matrix_market(&path).unwrap();
        assert_eq!((back.graph(), back.values()), (small().graph(), small().values()));
        let text = std::fs::read_to_string(&path).unwrap();
        for keep in 1..text.len() - 1 {
            std::fs::write(&path, &text[..keep]).unwrap();
            if let Err(error) = read_matrix_market(&path) {
                assert!(error.to_string().contains("a.mtx"), "{error}");
            }
        }
        let lines: Vec<&str> = text.lines().collect();
        std::fs::write(&path, lines[..lines.len() - 1].join("\n")).unwrap();
        assert!(read_matrix_market(&path).is_err(), "a file with a missing entry was read");
        assert!(read_matrix_market(folder.path().join("none.mtx")).unwrap_err().to_string().contains("none.mtx"));
        assert!(write_matrix_market(folder.path().join("no/b.mtx"), &small()).is_err());
    }

    #[test]
    fn odd_matrix_market_files_are_refused_with_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mtx");
        let refused = |text: &[u8]| {
            std::fs::write(&path, text).unwrap();
            let message = read_matrix_market(&path).unwrap_err().to_string();
            assert!(message.contains("a.mtx: ") && message.lines().count() == 1 && message.len() < 400, "{message}");
            message
        };
        let general = "%%MatrixMarket matrix coordinate real general\n";
        let symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
        for (header, body, part) in [
            (general, "2 2 1\n3 1 1.0\n", "line 3: expected \"row column value\" of a 2 x 2 matrix, found \"3 1 1.0\""),
            (general, "2 2 1\n0 1 1.0\n", "line 3"),
            (general, "% comment\n\n2 2 1\n1 1 one\n", "line 5: expected \"row column value\""),
            (general, "2 2 1\n1 1\n", "line 3"),
            (general, "2 2 1\n1 1 1.0 0.0\n", "line 3"),
            (general, "2 2 1 x\n1 1 1.0\n", "line 2: expected a size line"),
            (general, "2 -2 1\n1 1 1.0\n", "line 2: expected a size line"),
            (general, "2 2 2\n1 1 1.0\n", "expected 2 entries, found 1"),
            (general, "", "no size line"),
            (symmetric, "2 3 1\n1 3 1.0\n", "line 2: a symmetric matrix of 2 x 3"),
            (general, "5000000000 1 0\n", "32-bit"),
            (general, "1 1 999999999999999999\n", "line 2: 1 rows and 999999999999999999 entries need"),
            ("%%MatrixMarket matrix array real general\n", "1 1 1\n", "line 1: expected"),
            ("%%MatrixMarket matrix coordinate complex general\n", "1 1 1\n1 1 1 1\n", "line 1: expected"),
            ("", "", "line 1: expected"),
        ] {
            let message = refused([header, body].concat().as_bytes());
            assert!(message.contains(part), "{body:?}: {message}");
        }
        assert!(refused(b"%%MatrixMarket\n\xff").contains("line 2: byte 0xff is not UTF-8"));
        assert!(refused(&[b'x'; 100_000]).contains("line 1"));
        for special in [folder.path().to_str().unwrap(), "/dev/zero"] {
            let message = read_matrix_market(special).unwrap_err().to_string();
            assert!(message.contains("expected a regular file"), "{message}");
        }
        // Many rows without entries need memory for their offsets.
        let empty = check_matrix_market(&format!("{general}1 2000000 0\n"), 1 << 30).unwrap_err();
        assert!(empty.contains("expected at most 1048576 rows and columns"), "{empty}");
        let rows = check_matrix_market(&format!("{general}4000000000 1 0\n"), 1 << 30).unwrap_err();
        assert_eq!(rows, "line 2: 4000000000 rows and 0 entries need 91552 MiB, 1024 MiB are free");
    }

    #[test]
    fn a_symmetric_file_gives_both_triangles() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mtx");
        std::fs::write(&path, "%%matrixmarket MATRIX coordinate real symmetric\n2 2 2\n1 1 4\n2 1 -1.5\n").unwrap();
        let matrix = read_matrix_market(&path).unwrap();
        assert_eq!((matrix.graph().row_map(), matrix.graph().entries()), (&vec![0, 2, 3], &vec![0, 1, 0]));
        assert_eq!(matrix.values(), &[4.0, -1.5, -1.5]);
    }
}
