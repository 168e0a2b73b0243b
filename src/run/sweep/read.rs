//! Decks from files: read, then looked at as a whole, before any work is done.

use super::deck::SweepDeck;
use super::peers::Peers;
use super::{mistakes, names};
use crate::{Error, Result};
use std::path::Path;

impl SweepDeck {
    /// Reads and checks a deck; `peers` are whom it may name beside this library.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be read, [`Error::Invalid`] naming the file and what is wrong in it.
    pub fn read(path: &Path, peers: &impl Peers) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::File { path: path.display().to_string(), reason: error.to_string() })?;
        Self::parse(&text, peers).map_err(|error| Error::Invalid(format!("{}: {error}", path.display())))
    }

    /// Reads a deck from its text.
    ///
    /// # Errors
    /// [`Error::Invalid`] saying what is wrong.
    pub fn parse(text: &str, peers: &impl Peers) -> Result<Self> {
        let deck: SweepDeck = toml::from_str(text).map_err(|error| at_line(&error, text))?;
        mistakes::check(&deck)?;
        names::check(&deck, peers)?;
        Ok(deck)
    }
}

/// What is wrong with a text, and in which of its lines, of which key's value.
pub(super) fn at_line(error: &toml::de::Error, text: &str) -> Error {
    let before = &text[..error.span().map_or(0, |span| span.start)];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let key = before[start..].split_once('=').map_or(String::new(), |(key, _)| format!("{}: ", key.trim()));
    // Rust's words, in those of a file.
    let mut message = error.message().replace('\n', ", ");
    for (rust, words) in [
        ("invalid type: map, expected a sequence", "a table that there may be several of is written [[...]]"),
        ("expected a sequence", "expected a list, in [ ]"),
        ("expected usize", "expected a whole number, 1 or more"),
        ("expected f64", "expected a number"),
    ] {
        message = message.replace(rust, words);
    }
    Error::Invalid(format!("line {}: {key}{message}", before.matches('\n').count() + 1))
}
