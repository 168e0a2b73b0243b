//! The named choices of a deck: one enum each, with the names that decks and flags use.

use crate::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr};

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $what:literal: $($(#[$item_doc:meta])* $item:ident = $text:literal),* $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$item_doc])* $item),* }

        impl $name {
            /// Every choice.
            pub const ALL: &[Self] = &[$(Self::$item),*];

            /// The name that decks and flags use.
            pub fn name(self) -> &'static str {
                match self { $(Self::$item => $text),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                let found = Self::ALL.iter().find(|choice| choice.name() == text);
                found.copied().ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|choice| choice.name()).collect();
                    Error::Invalid(format!("`{text}` is no {}; one of: {}", $what, names.join(", ")))
                })
            }
        }
    };
}

choice! {
    /// How the matrix graph is made from the element-node table.
    GraphStrategy, "graph strategy":
    /// Own lock-free table of node pairs that reports failed inserts; the caller grows it (the paper's algorithm).
    Map = "map",
    /// The same algorithm on `dashmap`.
    Dashmap = "dashmap",
    /// Each row gathers the nodes of its elements, sorts them and drops duplicates.
    #[default]
    Gather = "gather",
    /// All pairs, sorted, duplicates dropped.
    Sort = "sort",
}

choice! {
    /// Who adds up the element contributions to one matrix entry.
    FillStrategy, "fill strategy":
    /// Elements add atomically.
    Scatter = "scatter",
    /// Element arrays are stored, each row sums its own in a fixed order: the same bits for any number of threads.
    #[default]
    Gather = "gather",
    /// Elements of one colour share no node and add without atomics.
    Colour = "colour",
}

choice! {
    /// How an element's matrix and residual are computed.
    KernelChoice, "element kernel":
    /// By the contractions of the `contraction` room.
    Contraction = "contraction",
    /// By sum-factorised moments in one pass.
    #[default]
    Fused = "fused",
}

/// The map from the uniform box to the mesh, with its amplitude; written `none`, `bubble:1`, `twist:0.5`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MapChoice {
    /// The uniform box.
    #[default]
    None,
    /// x + m x^2 (x-1)^2 on each axis: elements stay bricks (the original's map). `m`, without it 1.
    Bubble(f64),
    /// Turns layers about the z axis: no element stays affine. Without an amplitude 0.5.
    Twist(f64),
}

impl fmt::Display for MapChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapChoice::None => f.write_str("none"),
            MapChoice::Bubble(amplitude) => write!(f, "bubble:{amplitude}"),
            MapChoice::Twist(amplitude) => write!(f, "twist:{amplitude}"),
        }
    }
}

impl FromStr for MapChoice {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let (name, amplitude) = text.split_once(':').map_or((text, None), |(name, a)| (name, Some(a)));
        let amplitude = match amplitude.map(str::parse::<f64>) {
            Some(Ok(a)) if a.is_finite() => Some(a),
            Some(_) => return Err(Error::Invalid(format!("map `{text}`: the amplitude is not a finite number"))),
            None => None,
        };
        match (name, amplitude) {
            ("none", None) => Ok(MapChoice::None),
            ("none", Some(_)) => Err(Error::Invalid(format!("map `{text}`: `none` takes no amplitude"))),
            ("bubble", a) => Ok(MapChoice::Bubble(a.unwrap_or(1.0))),
            ("twist", a) => Ok(MapChoice::Twist(a.unwrap_or(0.5))),
            _ => Err(Error::Invalid(format!("`{text}` is no map; one of: none, bubble[:M], twist[:A]"))),
        }
    }
}

impl Serialize for MapChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MapChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
