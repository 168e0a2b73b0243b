//! Conversion of matrices from and to sprs and Matrix Market files.
//!
//! The sprs view borrows the arrays of the matrix, and a sprs matrix in rows hands over its own: neither direction
//! copies.

use super::{CrsGraph, CrsMatrix};
use crate::space::Item;
use crate::{Error, LocalOrdinal, Result, RowOffset};
use sprs::{CsMatI, CsMatViewI, TriMatI};
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

/// Reads a Matrix Market file (coordinate, real, general or symmetric).
///
/// # Errors
/// [`Error::File`] with the path, and the line if one is at fault, when the file is absent, truncated or malformed.
pub fn read_matrix_market(path: impl AsRef<Path>) -> Result<CrsMatrix> {
    let path = path.as_ref();
    let failed = |reason: String| Error::File { path: path.display().to_string(), reason };
    let text = std::fs::read_to_string(path).map_err(|e| failed(e.to_string()))?;
    check_matrix_market(&text).map_err(failed)?;
    let triplets: TriMatI<f64, LocalOrdinal> =
        sprs::io::read_matrix_market_from_bufread(&mut text.as_bytes()).map_err(|e| failed(e.to_string()))?;
    CrsMatrix::from_sprs(triplets.to_csr::<RowOffset>()).map_err(|e| failed(e.to_string()))
}

/// Rows and columns that a file may declare besides [`PER_ENTRY`] for each of its entries: the memory that a file takes is
/// bounded by its own size, whatever its first lines declare.
const FREE_ROWS: usize = 1 << 20;
/// Rows or columns per entry, see [`FREE_ROWS`].
const PER_ENTRY: usize = 64;

/// Rejects files on which the parser of sprs 0.11 fails without an error: it waits forever at an early end of file,
/// panics on indices out of range (those of a mirrored entry, too), and aborts on a number of entries or rows that exceeds
/// memory.
fn check_matrix_market(text: &str) -> std::result::Result<(), String> {
    let mut lines = text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty());
    let size = lines.by_ref().find(|(_, line)| !line.starts_with('%'));
    let (at, size) = size.ok_or("truncated: no size line \"rows columns entries\"")?;
    let numbers: Vec<usize> = size.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let &[rows, columns, entries] = &numbers[..] else {
        let found = excerpt(size);
        return Err(format!("line {}: expected a size line \"rows columns entries\", found {found:?}", at + 1));
    };
    let is_general = text.lines().next().is_some_and(|header| header.to_lowercase().contains("general"));
    if rows != columns && !is_general {
        return Err(format!(
            "line {}: a matrix of {rows} x {columns} is not symmetric: expected as many rows as columns",
            at + 1
        ));
    }
    if rows.max(columns) >= LocalOrdinal::MAX as usize {
        return Err(format!("line {}: a {rows} x {columns} matrix exceeds 32-bit local ids", at + 1));
    }
    let mut found = 0;
    for (at, line) in lines {
        let mut words = line.split_whitespace().map_while(|word| word.parse::<usize>().ok());
        let (row, column) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
        if !(1..=rows).contains(&row) || !(1..=columns).contains(&column) {
            let found = excerpt(line);
            return Err(format!("line {}: expected an entry of a {rows} x {columns} matrix, found {found:?}", at + 1));
        }
        found += 1;
    }
    if found != entries {
        return Err(format!("truncated or overlong: expected {entries} entries, found {found}"));
    }
    let most = FREE_ROWS.saturating_add(PER_ENTRY.saturating_mul(entries));
    if rows.max(columns) > most {
        return Err(format!(
            "line {}: a {rows} x {columns} matrix of {entries} entries: expected at most {most} rows and columns",
            at + 1
        ));
    }
    Ok(())
}

/// The beginning of a line, for a message.
fn excerpt(line: &str) -> String {
    line.chars().take(60).collect()
}

/// Writes a Matrix Market file (coordinate, real, general) under a temporary name and renames it, so that readers never
/// see a partial file.
///
/// # Errors
/// [`Error::File`] with the path when the file cannot be written. An earlier file of that name then stays unchanged.
pub fn write_matrix_market(path: impl AsRef<Path>, matrix: &CrsMatrix) -> Result<()> {
    let path = path.as_ref();
    // A rename within a folder is atomic.
    let temporary = path.with_extension("partial");
    let written = sprs::io::write_matrix_market(&temporary, matrix.as_sprs());
    written.and_then(|()| std::fs::rename(&temporary, path)).map_err(|e| {
        let _ = std::fs::remove_file(&temporary);
        Error::File { path: path.display().to_string(), reason: e.to_string() }
    })
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
        for (text, fault) in [
            ("real symmetric\n2 3 1\n1 3 1.0\n", "line 2: a matrix of 2 x 3 is not symmetric"),
            ("real skew-symmetric\n3 2 1\n3 1 1.0\n", "line 2: a matrix of 3 x 2 is not symmetric"),
            ("real general\n4000000000 1 1\n1 1 1.0\n", "expected at most 1048640 rows and columns"),
            ("real general\n1 4000000000 0\n", "expected at most 1048576 rows and columns"),
            ("real general\n1 1 18446744073709551615\n1 1 1.0\n", "expected 18446744073709551615 entries, found 1"),
        ] {
            std::fs::write(&path, format!("%%MatrixMarket matrix coordinate {text}")).unwrap();
            let error = read_matrix_market(&path).unwrap_err().to_string();
            assert!(error.contains(fault), "{error}");
        }
        assert!(read_matrix_market(folder.path().join("none.mtx")).unwrap_err().to_string().contains("none.mtx"));
        assert!(write_matrix_market(folder.path().join("no/b.mtx"), &small()).is_err());
    }
}
