//! Verbosity and colours: the flags --quiet, --verbose and --color.

use crate::colour::{Tone, has_colours, paint};
use clap::ColorChoice as Colour;
use minifenl::error::printable;
use std::ffi::OsString;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::OnceLock;

/// Verbosity of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volume {
    /// The verdict only.
    Quiet,
    /// Progress on a terminal, notes, the table.
    Normal,
    /// A line per phase, Newton step and second of CG, too.
    Verbose,
}

/// Verbosity and colours of the whole process.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub volume: Volume,
    pub colour: Colour,
}

static LOOK: OnceLock<Look> = OnceLock::new();

impl Look {
    /// Keeps what the command line says; later calls change nothing.
    pub fn keep(self) {
        LOOK.get_or_init(|| self);
    }

    /// Returns what was kept.
    pub fn get() -> Look {
        *LOOK.get().unwrap_or(&Look { volume: Volume::Normal, colour: Colour::Auto })
    }

    /// Whether stdout gets colours.
    pub fn colours_output(self) -> bool {
        has_colours(self.colour, stdout().is_terminal())
    }
}

/// Writes a line to standard error in one call. Standard error has no buffer: in pieces, the lines of ranks and of a launcher mix.
pub fn say(line: &str) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}

/// Says what failed; control characters are shown by their escapes.
pub fn fail(text: &str) {
    say(&format!("{} {}", word("error:", Tone::Bad), printable(text)));
}

/// The word before a message, in its colour.
pub fn word(text: &str, tone: Tone) -> String {
    paint(text, tone, has_colours(Look::get().colour, stderr().is_terminal()))
}

/// Finds `--color` in an invalid command line, so that messages use it.
pub fn colour_of(words: impl IntoIterator<Item = OsString>) -> Colour {
    let mut words = words.into_iter().map(|word| word.to_string_lossy().into_owned());
    let mut colour = Colour::Auto;
    while let Some(word) = words.next() {
        let value = match word.split_once('=') {
            Some(("--color", value)) => Some(value.to_string()),
            None if word == "--color" => words.next(),
            _ => None,
        };
        colour = value.and_then(|value| value.parse().ok()).unwrap_or(colour);
    }
    colour
}
