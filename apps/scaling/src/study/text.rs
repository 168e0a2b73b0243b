//! Text of files that others wrote: one line without control characters, as a terminal, a page and a job script need it.

use minifenl::error::printable;
use minifenl::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;

/// Text that shows as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Text(String);

/// Checks that `text`, which is called `what`, shows as it is.
///
/// # Errors
/// [`Error::Invalid`] for line breaks and other characters that are not shown.
pub fn check(what: &str, text: &str) -> Result<()> {
    match printable(text) {
        shown if shown == text => Ok(()),
        shown => Err(Error::Invalid(format!("{what} `{shown}`: expected text without control characters"))),
    }
}

impl TryFrom<String> for Text {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        check("text", &text).map(|()| Text(text))
    }
}

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Self {
        Text(text.into())
    }
}

impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
