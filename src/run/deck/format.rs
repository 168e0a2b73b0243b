//! How a GPU is to store the matrix: `auto`, or a format by its name.

use crate::sparse::Format;
use crate::{Error, Result};
use std::{fmt, str::FromStr};

/// The format that a person asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormatChoice {
    /// What the program takes to be fastest.
    #[default]
    Auto,
    /// This one.
    Given(Format),
}

impl FormatChoice {
    /// The format, with `fastest` for `auto`.
    pub fn or(self, fastest: Format) -> Format {
        match self {
            FormatChoice::Auto => fastest,
            FormatChoice::Given(format) => format,
        }
    }
}

impl fmt::Display for FormatChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatChoice::Auto => f.pad("auto"),
            FormatChoice::Given(format) => format.fmt(f),
        }
    }
}

impl FromStr for FormatChoice {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        if text == "auto" {
            return Ok(FormatChoice::Auto);
        }
        text.parse().map(FormatChoice::Given).map_err(|_| {
            let names = Format::ALL.map(|(_, name)| name).join(", ");
            Error::Invalid(format!("format {text:?}: choose one of auto, {names}"))
        })
    }
}

#[test]
fn names_are_read_and_written() {
    for text in ["auto", "crs", "sell", "pattern"] {
        assert_eq!(text.parse::<FormatChoice>().unwrap().to_string(), text);
    }
    assert!("csr".parse::<FormatChoice>().unwrap_err().to_string().contains("auto, crs, sell, pattern"));
    assert_eq!(FormatChoice::Given(Format::Sell).or(Format::Crs), Format::Sell);
    assert_eq!(FormatChoice::Auto.or(Format::Crs), Format::Crs);
}
