//! Decks, and the values that decks and flags give by name.

use super::one_line;
use minifenl::mesh::CoordinateMap;
use minifenl::run::deck::{Choice, Deck, Device, Nodes};
use minifenl::sparse::Format;
use minifenl::{Error, fill, graph};
use std::{fmt::Display, str::FromStr};

/// Words of decks.
pub const WORDS: &[&str] = &[
    "[mesh]\n",
    "[problem]\n",
    "[graph]\n",
    "[fill]\n",
    "[newton]\n",
    "[cg]\n",
    "[matrix]\n",
    "[run]\n",
    "nodes = ",
    "nodes_per_rank = ",
    "map = ",
    "size = ",
    "imbalance = ",
    "t_min = ",
    "t_max = ",
    "strategy = ",
    "kernel = ",
    "tolerance = ",
    "max_iterations = ",
    "variant = ",
    "format = ",
    "device = ",
    "threads = ",
    "report = ",
    "triad = ",
    "share_gpu = ",
    "deterministic = ",
    "true",
    "false",
    "\"auto\"",
    "\"cuda:0\"",
    "\"8x9x10\"",
    "\"twist:0.5\"",
    "\"gather\"",
    "\"\\u001b\"",
    "\"\"\"",
    "'''",
    "[1.0, 2.0, 3.0]",
    "[4, 5, 6]",
    "inf",
    "nan",
    "-1",
    "0",
    "1e309",
    "4.9e-324",
    "18446744073709551615",
    "9223372036854775807",
    "9223372036854775808",
    "4294967296",
    "0x10",
    "[[",
    "{",
    "}",
    "\u{7f}",
    "\u{85}",
    "\u{feff}",
];

/// Words of names.
pub const NAMES: &[&str] = &[
    "none",
    "bubble",
    "twist",
    ":",
    "x",
    "X",
    "64",
    "auto",
    "cuda",
    "cpu",
    "map",
    "dashmap",
    "gather",
    "sort",
    "scatter",
    "colour",
    "fused",
    "crs",
    "pattern",
    "-",
    "+",
    "nan",
    "inf",
    "1e309",
    "18446744073709551615",
    "\n",
    "\u{1b}",
    "\u{7f}",
    " ",
    "0",
];

/// A deck that is read is written and read back, and has a number of nodes or a reason why not.
pub fn deck(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let deck = match Deck::parse("deck", text) {
        Ok(deck) => deck,
        Err(error) => return one_line(&error),
    };
    if let Err(error) = deck.check() {
        one_line(&error);
    }
    for ranks in [1, 6, 1 << 40] {
        match deck.nodes(ranks) {
            Ok(nodes) => {
                // The product of three 64-bit numbers, at most 2^64, so that no id overflows.
                let product: u128 = nodes.edges().iter().map(|&edge| u128::from(edge)).product();
                assert!(nodes.edges().iter().all(|&edge| edge >= 2) && product <= u128::from(u64::MAX));
                assert!(deck.size(nodes).iter().all(|edge| *edge > 0.0), "{:?}", deck.size(nodes));
            }
            Err(error) => drop(one_line(&error)),
        }
    }
    match deck.to_toml() {
        Ok(written) => {
            let again = Deck::parse("again", &written).unwrap_or_else(|error| panic!("{error}\n{written}"));
            assert_eq!(again.to_toml().unwrap(), written);
            true
        }
        Err(error) => panic!("a deck that was read cannot be written: {error}"),
    }
}

/// Each type that has names reads what it writes.
pub fn names(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let types = [
        name::<CoordinateMap>,
        name::<Nodes>,
        name::<Device>,
        name::<graph::Strategy>,
        name::<fill::Kernel>,
        name::<Choice<fill::Strategy>>,
        name::<Choice<Format>>,
        #[cfg(feature = "cuda")]
        name::<minifenl::contraction::Variant>,
    ];
    types.map(|read| read(text)).contains(&true)
}

fn name<T: FromStr<Err = Error> + Display>(text: &str) -> bool {
    match text.parse::<T>() {
        Ok(value) => {
            let written = value.to_string();
            assert_eq!(written.parse::<T>().map(|again| again.to_string()).unwrap(), written, "of {text:?}");
            true
        }
        Err(error) => one_line(&error),
    }
}
