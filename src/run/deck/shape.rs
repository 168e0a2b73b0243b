//! The shapes of a deck's values that serde would not insist on: it accepts a sequence for a section (`mesh = [8]`, by
//! position) and ignores surplus items of an array.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor, value::MapAccessDeserializer};
use std::{fmt, marker::PhantomData};

/// Reads a section: a table and nothing else. For `#[serde(deserialize_with = "section")]`.
pub(super) fn section<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Section<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Section<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a section, such as [mesh]")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Section(PhantomData))
}

/// Reads exactly three numbers.
pub(super) fn three_numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[f64; 3], D::Error> {
    let numbers = Vec::<f64>::deserialize(deserializer)?;
    let three = numbers.as_slice().try_into();
    three.map_err(|_| Error::custom(format!("{} numbers, expected three, such as [1, 1, 1]", numbers.len())))
}
