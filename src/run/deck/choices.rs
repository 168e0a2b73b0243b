//! Choices of other rooms in a deck: written by their names.

use serde::{Deserialize, Deserializer, Serializer, de::Error};
use std::{fmt::Display, str::FromStr};

/// `#[serde(with = "by_name")]` for a type with `Display` and `FromStr`.
pub(in crate::run) mod by_name {
    use super::*;

    pub fn serialize<T: Display, S: Serializer>(choice: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(choice)
    }

    pub fn deserialize<'de, T: FromStr<Err = crate::Error>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
