//! Numbers of nodes along the three edges of a box: `64`, `64x48x32` or, in a deck, `[64, 48, 32]`.

use super::shape::parsed;
use crate::error::count;
use crate::mesh::nodes_for_ranks;
use crate::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr};

/// Nodes along x, y, z. Each is 2 or more, and their product fits 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nodes([u64; 3]);

impl Nodes {
    /// Checks the three numbers.
    ///
    /// # Errors
    /// [`Error::Invalid`] below 2, [`Error::TooLarge`] when the product does not fit 64 bits.
    pub fn new(edges: [u64; 3]) -> Result<Self> {
        let nodes = Nodes(edges);
        if let Some(edge) = edges.iter().find(|&&edge| edge < 2) {
            return Err(Error::Invalid(format!(
                "invalid size `{nodes}`: {} along an edge, expected 2 or more",
                count(*edge, "node")
            )));
        }
        edges.iter().try_fold(1u64, |product, &edge| product.checked_mul(edge)).ok_or_else(|| Error::TooLarge {
            what: format!("a box of {nodes} nodes"),
            needed: "more than 64 bits for a global node id".into(),
            limit: "18446744073709551615 nodes".into(),
        })?;
        Ok(nodes)
    }

    /// Nodes along x, y, z.
    pub fn edges(self) -> [u64; 3] {
        self.0
    }

    /// The box of `ranks` shares of this size, see [`nodes_for_ranks`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn grown(self, ranks: u64) -> Result<Self> {
        nodes_for_ranks(self.0, ranks).and_then(Nodes::new)
    }
}

/// As `64` where the edges are equal, else as `64x48x32`.
impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        if x == y && y == z { write!(f, "{x}") } else { write!(f, "{x}x{y}x{z}") }
    }
}

impl FromStr for Nodes {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let bad = |why: &str| Error::Invalid(format!("invalid size `{text}`: expected N or NxNxN{why}"));
        let edges = text.split(['x', 'X']).map(|part| {
            let part = part.trim();
            part.parse::<u64>().map_err(|_| match part.parse::<f64>() {
                Ok(number) if number < 0.0 => bad(", and it is negative"),
                Ok(number) if number.is_finite() && number >= 1.8e19 => bad(", and it is larger than 64 bits"),
                Ok(_) => bad(" with whole numbers"),
                Err(_) => bad(""),
            })
        });
        match edges.collect::<Result<Vec<u64>>>()?[..] {
            [n] => Self::new([n; 3]),
            [x, y, z] => Self::new([x, y, z]),
            _ => Err(bad("")),
        }
    }
}

/// A whole number where the edges are equal, else text.
impl Serialize for Nodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.to_string();
        match text.parse() {
            Ok(edge) => serializer.serialize_i64(edge),
            Err(_) => serializer.serialize_str(&text),
        }
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, "nodes along the edges, such as 64, \"64x48x32\" or [64, 48, 32]")
    }
}
