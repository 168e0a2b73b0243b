//! The shapes of a deck's values: serde accepts a sequence for a section (`mesh = [8]`, by position), ignores surplus items of an
//! array, and takes one type for a value that people write as text, number or array.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use std::{fmt, marker::PhantomData, str::FromStr};

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

/// Reads a value from text, from a whole number, or from three numbers in an array: `[64, 48, 32]` is `64x48x32`.
pub(super) fn parsed<'de, T: FromStr<Err = crate::Error>, D: Deserializer<'de>>(
    deserializer: D,
    expected: &'static str,
) -> Result<T, D::Error> {
    struct Words(&'static str);

    impl<'de> Visitor<'de> for Words {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
            Ok(number.to_string())
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
            Ok(text.into())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<String, A::Error> {
            let mut words = Vec::new();
            while let Some(number) = numbers.next_element::<i64>()? {
                words.push(number.to_string());
            }
            if words.len() == 3 { Ok(words.join("x")) } else { Err(Error::invalid_length(words.len(), &self)) }
        }
    }
    deserializer.deserialize_any(Words(expected))?.parse().map_err(Error::custom)
}
