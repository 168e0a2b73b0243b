//! The entries of a Matrix Market file.

use super::header::{Field, Format, Header, Symmetry, quoted};
use super::triplets::{Overflow, Triplets};
use super::value::MarketValue;
use crate::files::Lines;
use crate::sparse::CrsMatrix;
use crate::{Error, Result};
use std::str::SplitAsciiWhitespace;

/// Reads the matrix behind the first lines.
pub fn read<V: MarketValue>(lines: &mut Lines) -> Result<CrsMatrix<V>> {
    let header = Header::read::<V>(lines)?;
    let copies = if header.symmetry == Symmetry::General { 1 } else { 2 };
    let mut triplets = Triplets::with_capacity(copies * header.entries)?;
    let mut triangle = None;
    let mut place = (0, 0);
    if header.format == Format::Array && header.symmetry == Symmetry::Skew {
        // The diagonal is not in the file; an array holds all entries.
        (0..header.rows).try_for_each(|row| triplets.push(row, row, V::from_parts([0.0; 2])))?;
        place = (1, 0);
    }
    for found in 0..header.entries {
        let Some(line) = next_entry(lines)? else {
            return Err(lines.failed(format!("truncated: expected {} entries, found {found}", header.entries)));
        };
        let entry = match header.format {
            Format::Coordinate => coordinates(line, &header, &mut triangle),
            Format::Array => array(line, &header, &mut place),
        };
        let entry = entry.and_then(|entry| held::<V>(entry, line));
        let ((row, column), parts) = entry.map_err(|reason| lines.failed(reason))?;
        triplets.push(row, column, V::from_parts(parts))?;
        if row != column && header.symmetry != Symmetry::General {
            triplets.push(column, row, V::from_parts(mirrored(header.symmetry, parts)))?;
        }
    }
    if let Some(line) = next_entry(lines)? {
        let found = quoted(line.as_bytes());
        let (entries, noun) = (header.entries, if header.entries == 1 { "entry" } else { "entries" });
        return Err(lines.failed(format!("expected the end of the file after {entries} {noun}, found {found:?}")));
    }
    match triplets.into_crs(header.rows, header.columns)? {
        Ok(matrix) => Ok(matrix),
        Err(overflow) => Err(located::<V>(lines, &overflow)?),
    }
}

/// Makes the error of a sum beyond the range of `V`, with the line of its last value. Lines of entries are not stored: the file is read
/// again.
fn located<V: MarketValue>(lines: &mut Lines, overflow: &Overflow) -> Result<Error> {
    let Overflow { row, column, sum } = *overflow;
    lines.rewind()?;
    let header = Header::read::<V>(lines)?;
    let mut last = None;
    while let Some(line) = next_entry(lines)? {
        // Only entries of format coordinate are repeated.
        let Ok(((i, j), _)) = coordinates(line, &header, &mut None) else { continue };
        if (i, j) == (row, column) || (header.symmetry != Symmetry::General && (j, i) == (row, column)) {
            let place = format!("values of entry ({}, {}) whose sum is in the range of {}", i + 1, j + 1, V::NAME);
            last = Some(lines.failed(format!("expected {place}, found a sum of {sum:e}")));
        }
    }
    Ok(last.unwrap_or_else(|| lines.failed("the file was changed while it was read")))
}

/// Row and column from 0, real and imaginary part.
type Entry = ((usize, usize), [f64; 2]);

/// The next line that is not blank, as text.
fn next_entry(lines: &mut Lines) -> Result<Option<&str>> {
    while let Some(line) = lines.next()? {
        if !line.trim_ascii().is_empty() {
            let line = str::from_utf8(lines.line());
            return match line {
                Ok(line) => Ok(Some(line)),
                Err(error) => {
                    let byte = lines.line()[error.valid_up_to()];
                    Err(lines.failed(format!("byte 0x{byte:02x} is not UTF-8 text")))
                }
            };
        }
    }
    Ok(None)
}

/// An entry of format coordinate. `triangle`: whether the first entry off the diagonal lies above it.
fn coordinates(line: &str, header: &Header, triangle: &mut Option<bool>) -> Result<Entry, String> {
    let Header { rows, columns, .. } = *header;
    let mut words = line.split_ascii_whitespace();
    let mut index = |last: usize| words.next()?.parse().ok().filter(|index| (1..=last).contains(index));
    let (row, column) = (index(rows), index(columns));
    let (Some(row), Some(column), Some(parts)) = (row, column, value(&mut words, header.field)) else {
        let value = ["", " value", " real imaginary"][header.field.numbers()];
        let found = quoted(line.as_bytes());
        return Err(format!("expected \"row column{value}\" of a {rows} x {columns} matrix, found {found:?}"));
    };
    if header.symmetry != Symmetry::General && row != column {
        let is_above = column > row;
        if *triangle.get_or_insert(is_above) != is_above {
            let sides = if is_above { ["above", "below"] } else { ["below", "above"] };
            let [here, first] = sides;
            return Err(format!(
                "entry ({row}, {column}) lies {here} the diagonal, earlier ones {first} it: expected one triangle"
            ));
        }
    }
    diagonal(header.symmetry, row == column, (row, column), parts)?;
    Ok(((row - 1, column - 1), parts))
}

/// An entry of format array, at `place`, which moves on: columns one after the other, from the diagonal on in a symmetric matrix.
fn array(line: &str, header: &Header, place: &mut (usize, usize)) -> Result<Entry, String> {
    let mut words = line.split_ascii_whitespace();
    let Some(parts) = value(&mut words, header.field) else {
        let value = ["", "value", "real imaginary"][header.field.numbers()];
        return Err(format!("expected \"{value}\", found {:?}", quoted(line.as_bytes())));
    };
    let (row, column) = *place;
    *place = if row + 1 < header.rows {
        (row + 1, column)
    } else {
        let first = match header.symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric | Symmetry::Hermitian => column + 1,
            Symmetry::Skew => column + 2,
        };
        (first, column + 1)
    };
    diagonal(header.symmetry, row == column, (row + 1, column + 1), parts)?;
    Ok(((row, column), parts))
}

/// The value at the end of a line.
fn value(words: &mut SplitAsciiWhitespace<'_>, field: Field) -> Option<[f64; 2]> {
    let mut real = || words.next()?.parse::<f64>().ok();
    let parts = match field {
        Field::Pattern => [1.0, 0.0],
        Field::Real => [real()?, 0.0],
        Field::Complex => [real()?, real()?],
        Field::Integer => [words.next()?.parse::<i128>().ok()? as f64, 0.0],
    };
    words.next().is_none().then_some(parts)
}

/// Refuses a diagonal that contradicts the symmetry.
fn diagonal(symmetry: Symmetry, is_on: bool, (row, column): (usize, usize), parts: [f64; 2]) -> Result<(), String> {
    match symmetry {
        Symmetry::Skew if is_on && parts != [0.0; 2] => {
            Err(format!("entry ({row}, {column}) of a skew-symmetric matrix: expected 0 on the diagonal"))
        }
        Symmetry::Hermitian if is_on && parts[1] != 0.0 => {
            Err(format!("entry ({row}, {column}) of a Hermitian matrix: expected a real number on the diagonal"))
        }
        _ => Ok(()),
    }
}

/// Refuses finite numbers beyond the range of `V`.
fn held<V: MarketValue>(entry: Entry, line: &str) -> Result<Entry, String> {
    let lost = |(from, to): (f64, f64)| from.is_finite() && !to.is_finite();
    if entry.1.into_iter().zip(V::from_parts(entry.1).parts()).any(lost) {
        return Err(format!("expected a value of {}, found {:?}", V::NAME, quoted(line.as_bytes())));
    }
    Ok(entry)
}

/// The value at the place with row and column exchanged.
fn mirrored(symmetry: Symmetry, [re, im]: [f64; 2]) -> [f64; 2] {
    match symmetry {
        Symmetry::General | Symmetry::Symmetric => [re, im],
        Symmetry::Skew => [-re, -im],
        Symmetry::Hermitian => [re, -im],
    }
}
