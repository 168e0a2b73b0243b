//! The deck's choice of threads per row, for products in CRS on a GPU.

use super::shape::parsed;
use crate::space::named_choice;
use crate::sparse::Lanes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Threads that share a row of a product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowLanes {
    /// As many as suit the mean length of a row.
    #[default]
    Auto,
    /// A warp per row where there are warps, a thread per row on a host.
    Warp,
    /// So many.
    Given(Lanes),
}

impl RowLanes {
    /// All choices with their names.
    pub const ALL: [(Self, &'static str); 8] = [
        (RowLanes::Auto, "auto"),
        (RowLanes::Warp, "warp"),
        (RowLanes::Given(Lanes::One), "1"),
        (RowLanes::Given(Lanes::Two), "2"),
        (RowLanes::Given(Lanes::Four), "4"),
        (RowLanes::Given(Lanes::Eight), "8"),
        (RowLanes::Given(Lanes::Sixteen), "16"),
        (RowLanes::Given(Lanes::Warp), "32"),
    ];

    /// Returns the given number of threads per row, unless the space chooses.
    pub(in crate::run) fn given(self) -> Option<Lanes> {
        match self {
            RowLanes::Auto => None,
            RowLanes::Warp => Some(Lanes::Warp),
            RowLanes::Given(lanes) => Some(lanes),
        }
    }
}

named_choice!(RowLanes, "lanes");

impl Serialize for RowLanes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Reads a name, or a number without quotes.
impl<'de> Deserialize<'de> for RowLanes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, "auto, warp or a power of two up to 32")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_powers_of_two() {
        for text in ["auto", "warp", "1", "2", "4", "8", "16", "32"] {
            let lanes: RowLanes = text.parse().unwrap();
            assert_eq!(lanes.to_string(), text);
        }
        let message = "3".parse::<RowLanes>().unwrap_err().to_string();
        assert!(message.contains("choose one of auto, warp, 1, 2, 4, 8, 16, 32"), "{message}");
        assert_eq!(RowLanes::Warp.given().map(Lanes::count), Some(32));
    }
}
