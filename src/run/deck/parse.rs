//! Parses TOML text to a deck; errors name line and key.

use super::Deck;
use crate::error::cut;
use crate::files::read_text;
use crate::{Error, Result};
use std::{ops::Range, path::Path};
use toml::de::DeTable;

/// Largest size of a deck in bytes. The decks of this project have a few hundred.
const LARGEST: u64 = 1 << 20;

/// Longest part of a line that a message quotes, and longest reason, in characters.
const QUOTED: usize = 60;
const REASON: usize = 300;

impl Deck {
    /// Reads a deck from TOML text; `name` is what messages call it. The values are checked one by one, their
    /// combination by [`check`](Self::check).
    ///
    /// # Errors
    /// [`Error::Invalid`] with the line, the key and what is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| Error::Invalid(format!("{name}{}", described(text, &error))))
    }

    /// Reads a deck from a regular file of at most 1 MiB.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be read, else as [`parse`](Self::parse).
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&path.display().to_string(), &read_text(path, LARGEST)?)
    }
}

/// Describes an error: `, line 2: `nodes = 0`: mesh.nodes: what is wrong`.
fn described(text: &str, error: &toml::de::Error) -> String {
    let mut reason = error.message().lines().collect::<Vec<_>>().join(", ");
    // Names of Rust and of the parser, in words.
    for (from, to) in [
        ("$__toml_private_datetime", "a date"),
        ("expected usize", "expected a whole number, 0 or more"),
        ("expected f64", "expected a number"),
        ("expected a boolean", "expected true or false"),
        ("expected a sequence", "expected an array, such as [1, 1, 1]"),
        ("recursion limit", "too many dots in a key"),
    ] {
        reason = reason.replace(from, to);
    }
    let reason = cut(&reason, REASON);
    let Some(line) = error.span().map(|span| line_of(text, span.start)).or_else(|| line_without_span(text)) else {
        return format!(": {reason}");
    };
    let source: String = text.lines().nth(line).unwrap_or("").trim().chars().take(QUOTED).collect();
    let quoted = if source.is_empty() { String::new() } else { format!(" `{source}`:") };
    let key = error.span().and_then(|span| key_at(text, &span)).map(|key| format!(" {key}:")).unwrap_or_default();
    format!(", line {}:{quoted}{key} {reason}", line + 1)
}

/// Returns the 0-based line of a byte.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// Returns the first line with which the text has an error that the parser gives no place for.
fn line_without_span(text: &str) -> Option<usize> {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).chain([text.len()]).collect();
    let is_fine = |&end: &usize| DeTable::parse(&text[..end]).err().is_none_or(|error| error.span().is_some());
    Some(ends.partition_point(is_fine)).filter(|&line| line < ends.len())
}

/// Returns the key whose value contains a place, as `mesh.nodes`.
fn key_at(text: &str, place: &Range<usize>) -> Option<String> {
    let table = DeTable::parse(text).ok()?;
    let within = |span: Range<usize>| span.start <= place.start && place.end <= span.end;
    table.get_ref().iter().find_map(|(section, value)| {
        let name = section.get_ref();
        let mut keys = value.get_ref().as_table().into_iter().flatten();
        match keys.find(|(_, value)| within(value.span())) {
            Some((key, _)) => Some(format!("{name}.{}", key.get_ref())),
            None if value.get_ref().is_table() => None,
            None => within(value.span()).then(|| name.to_string()),
        }
    })
}
