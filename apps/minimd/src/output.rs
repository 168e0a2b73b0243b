//! What the program prints, and how it ends.

use minifenl::run::program::{self, Exit};
use minifenl::{Error, Result};
use std::cell::Cell;
use std::io::{Write, stderr, stdout};

/// Where the program prints.
#[derive(Debug, Default)]
pub struct Output {
    /// Whether stdout is for JSON, and stderr for all else.
    pub is_json: bool,
    /// Whether stdout did not take a text.
    has_failed: Cell<bool>,
}

impl Output {
    /// Prints on stdout.
    pub fn show(&self, text: &str) -> Result<()> {
        program::show(&mut stdout(), text).map_err(|error| {
            self.has_failed.set(true);
            Error::Invalid(error.to_string())
        })
    }

    /// Prints for people.
    pub fn tell(&self, text: &str) -> Result<()> {
        if self.is_json {
            // What stderr does not take is nobody's.
            let _ = program::show(&mut stderr(), text);
            return Ok(());
        }
        self.show(text)
    }

    /// One rank reports an error of all; the others end with 0, so that a launcher neither ends that rank nor hides its code.
    pub fn end(&self, done: &Result<()>) -> Exit {
        match done {
            Ok(()) | Err(Error::Elsewhere { .. }) => Exit::Done,
            Err(error) => {
                let _ = writeln!(stderr(), "error: {error}");
                if self.has_failed.get() { Exit::Failed } else { Exit::during_work(error) }
            }
        }
    }
}
