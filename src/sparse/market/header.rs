//! The first lines of a Matrix Market file: what it holds, and its extents.
//!
//! ```text
//! %%MatrixMarket matrix FORMAT FIELD SYMMETRY      words in any case
//! % any number of comments
//! ROWS COLUMNS ENTRIES                             format coordinate
//! ROWS COLUMNS                                     format array
//! ```

use super::value::MarketValue;
use crate::files::Lines;
use crate::space::available_bytes;
use crate::{LocalOrdinal, Result};

/// Rows and columns that a file may declare besides [`PER_ENTRY`] for each of its entries: the memory that a file takes is
/// bounded by its own size, whatever its first lines declare.
const FREE_ROWS: usize = 1 << 20;
/// Rows or columns per entry, see [`FREE_ROWS`].
const PER_ENTRY: usize = 64;

/// Format of the entries: coordinate or array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Each line holds row, column and value.
    Coordinate,
    /// Each line holds a value; columns follow each other.
    Array,
}

/// Type of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Real,
    Integer,
    Complex,
    /// No value: 1.
    Pattern,
}

impl Field {
    /// Number of numbers of a value.
    pub fn numbers(self) -> usize {
        match self {
            Field::Pattern => 0,
            Field::Real | Field::Integer => 1,
            Field::Complex => 2,
        }
    }
}

/// Which entries the file leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

/// The declared kind of matrix.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    pub format: Format,
    pub field: Field,
    pub symmetry: Symmetry,
    pub rows: usize,
    pub columns: usize,
    /// Number of lines with entries.
    pub entries: usize,
}

impl Header {
    /// Reads the header and checks that a matrix of `V` can hold the entries.
    pub fn read<V: MarketValue>(lines: &mut Lines) -> Result<Self> {
        let first = lines.next()?.unwrap_or_default();
        let (shown, words) = (quoted(first), String::from_utf8_lossy(first).to_lowercase());
        let kinds = kinds(&words.split_whitespace().collect::<Vec<_>>(), &shown);
        let (format, field, symmetry) = kinds.map_err(|reason| lines.failed(reason))?;
        if field == Field::Complex && !V::IS_COMPLEX {
            return Err(
                lines.failed(format!("complex values: expected real, integer or pattern for values {}", V::NAME))
            );
        }
        let size = match format {
            Format::Coordinate => "a size line \"rows columns entries\"",
            Format::Array => "a size line \"rows columns\"",
        };
        let line = loop {
            match lines.next()? {
                Some(line) if line.starts_with(b"%") || line.trim_ascii().is_empty() => {}
                Some(line) => break line,
                None => return Err(lines.failed(format!("truncated: expected {size}"))),
            }
        };
        let (shown, text) = (quoted(line), str::from_utf8(line).unwrap_or_default());
        let numbers: Option<Vec<u64>> = text.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
        let (rows, columns, entries) = match (format, numbers.as_deref().unwrap_or_default()) {
            (Format::Coordinate, &[rows, columns, entries]) => (rows, columns, entries),
            (Format::Array, &[rows, columns]) => (rows, columns, stored(rows, columns, symmetry)),
            _ => return Err(lines.failed(format!("expected {size}, found {shown:?}"))),
        };
        let header = Header {
            format,
            field,
            symmetry,
            rows: rows as usize,
            columns: columns as usize,
            entries: entries as usize,
        };
        header.check::<V>(lines.bytes(), available_bytes()).map_err(|reason| lines.failed(reason))?;
        Ok(header)
    }
}

impl Header {
    /// Says why the file or the free memory cannot hold the declared matrix.
    pub fn check<V: MarketValue>(&self, bytes: u64, free: u64) -> Result<(), String> {
        let Header { format, field, symmetry, rows, columns, entries } = *self;
        if rows.max(columns) >= LocalOrdinal::MAX as usize {
            return Err(format!("a {rows} x {columns} matrix exceeds 32-bit local ids"));
        }
        if symmetry != Symmetry::General && rows != columns {
            return Err(format!("a {rows} x {columns} matrix with a symmetry: expected as many rows as columns"));
        }
        // A digit and a separator for each number of a line.
        let numbers = if format == Format::Coordinate { 2 } else { 0 } + field.numbers();
        let most = bytes as usize / (2 * numbers) + 1;
        if entries > most {
            return Err(format!("{entries} entries: expected at most {most} in a file of {bytes} bytes"));
        }
        let needed = self.needed::<V>();
        if needed > free {
            let [needed, free] = [needed, free].map(|bytes| bytes >> 20);
            return Err(format!("{rows} rows and {entries} entries need {needed} MiB, {free} MiB are free"));
        }
        let most = FREE_ROWS.saturating_add(PER_ENTRY.saturating_mul(entries));
        if rows.max(columns) > most {
            let expected = format!("expected at most {most} rows and columns");
            return Err(format!("a {rows} x {columns} matrix of {entries} entries: {expected}"));
        }
        Ok(())
    }

    /// Bytes that reading takes: offsets of rows and columns; per entry row, column and value, its place by columns, and its
    /// column and value in the matrix.
    fn needed<V: MarketValue>(&self) -> u64 {
        let copies = if self.symmetry == Symmetry::General { 1 } else { 2 };
        let entry = copies * (20 + 2 * size_of::<V>() as u64);
        entry.saturating_mul(self.entries as u64).saturating_add(16 * self.rows as u64 + 8 * self.columns as u64)
    }
}

/// Number of values that an array holds: all, or the lower triangle with its diagonal or without.
fn stored(rows: u64, columns: u64, symmetry: Symmetry) -> u64 {
    match symmetry {
        Symmetry::General => rows.saturating_mul(columns),
        Symmetry::Symmetric | Symmetry::Hermitian => rows.saturating_mul(rows.saturating_add(1)) / 2,
        Symmetry::Skew => rows.saturating_mul(rows.saturating_sub(1)) / 2,
    }
}

/// The kinds that a first line, split into lower-case words, names.
fn kinds(words: &[&str], shown: &str) -> Result<(Format, Field, Symmetry), String> {
    let &["%%matrixmarket", "matrix", format, field, symmetry] = words else {
        return Err(format!("expected \"%%MatrixMarket matrix FORMAT FIELD SYMMETRY\", found {shown:?}"));
    };
    let unknown = |what, expected| Err(format!("unknown {what}: expected {expected}, found {shown:?}"));
    let format = match format {
        "coordinate" => Format::Coordinate,
        "array" => Format::Array,
        _ => return unknown("format", "coordinate or array"),
    };
    let field = match field {
        "real" => Field::Real,
        "integer" | "unsigned-integer" => Field::Integer,
        "complex" => Field::Complex,
        "pattern" if format == Format::Coordinate => Field::Pattern,
        _ => return unknown("field", "real, integer, complex or, in format coordinate, pattern"),
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" if field != Field::Pattern => Symmetry::Skew,
        "hermitian" if field == Field::Complex => Symmetry::Hermitian,
        _ => match field {
            Field::Pattern => return unknown("symmetry", "general or symmetric"),
            Field::Complex => return unknown("symmetry", "general, symmetric, skew-symmetric or hermitian"),
            Field::Real | Field::Integer => return unknown("symmetry", "general, symmetric or skew-symmetric"),
        },
    };
    Ok((format, field, symmetry))
}

/// Returns the start of a line for a message.
pub fn quoted(line: &[u8]) -> String {
    String::from_utf8_lossy(line).chars().take(60).collect()
}
