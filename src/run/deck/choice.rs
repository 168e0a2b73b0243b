//! Choices of a deck, written by their names; a [`Choice`] may be left to the program as `auto`.

use std::{fmt, str::FromStr};

/// A setting: a given value, or `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice<T> {
    /// What suits the device.
    #[default]
    Auto,
    /// This one.
    Given(T),
}

impl<T: Copy> Choice<T> {
    /// The choice, with `suited` for `auto`.
    pub fn or(self, suited: T) -> T {
        self.given().unwrap_or(suited)
    }

    /// The choice, with the type's default for `auto`.
    pub fn or_default(self) -> T
    where
        T: Default,
    {
        self.or(T::default())
    }

    /// The choice, `None` for `auto`.
    pub fn given(self) -> Option<T> {
        match self {
            Choice::Auto => None,
            Choice::Given(given) => Some(given),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Choice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Auto => f.pad("auto"),
            Choice::Given(given) => given.fmt(f),
        }
    }
}

impl<T: FromStr<Err = crate::Error>> FromStr for Choice<T> {
    type Err = crate::Error;
    fn from_str(text: &str) -> crate::Result<Self> {
        if text == "auto" {
            return Ok(Choice::Auto);
        }
        let given = text.parse().map(Choice::Given);
        given.map_err(|error: crate::Error| {
            crate::Error::Invalid(error.to_string().replace("choose one of ", "choose one of auto, "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        use crate::sparse::Format;
        for text in ["auto", "crs", "pattern"] {
            assert_eq!(text.parse::<Choice<Format>>().unwrap().to_string(), text);
        }
        assert!("csr".parse::<Choice<Format>>().unwrap_err().to_string().contains("auto, crs, pattern, symmetric"));
        assert_eq!(Choice::Given(Format::Pattern).or(Format::Crs), Format::Pattern);
        assert_eq!(Choice::Auto.or(Format::Crs), Format::Crs);
    }
}
