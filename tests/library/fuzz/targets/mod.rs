//! What the fuzzers call: one function of bytes per reader of foreign data, each with the properties that must hold.
//!
//! | target | input | properties, besides: no panic, one-line errors |
//! |---|---|---|
//! | deck | TOML text | a deck that is read is written and read back; its numbers of nodes fit 64 bits |
//! | names | a word | a value is written and read back |
//! | tuning | tuning table (CSV) | cases are written and read back; every case has a choice |
//! | graph | element-node table | accepted as by hand; all strategies give the pattern by definition |
//! | crs | row offsets, columns, values | accepted as by hand; products equal those of the dense matrix |
//! | map | owned and ghost indices | accepted as by hand; counts by hand |
//!
//! `tests/library/fuzz/mod.rs` runs them on mutations of the corpus with fixed seeds, `make fuzz` under coverage guidance.

mod crs;
mod deck;
mod graph;
mod map;
#[cfg(feature = "cuda")]
mod tuning;

/// A reader of foreign data.
pub struct Target {
    /// Name, which is also the name of its folder in the corpus.
    pub name: &'static str,
    /// Calls the reader and panics where a property fails. Returns whether the reader accepted the input.
    pub run: fn(&[u8]) -> bool,
    /// Mutations that `cargo test` tries: some seconds in the profile dev.
    pub runs: u32,
    /// Words that a mutation inserts.
    pub words: &'static [&'static str],
}

/// All targets.
pub const ALL: &[Target] = &[
    Target { name: "deck", run: deck::deck, runs: 600_000, words: deck::WORDS },
    Target { name: "names", run: deck::names, runs: 3_000_000, words: deck::NAMES },
    #[cfg(feature = "cuda")]
    Target { name: "tuning", run: tuning::tuning, runs: 300_000, words: tuning::WORDS },
    Target { name: "graph", run: graph::graph, runs: 100_000, words: &[] },
    Target { name: "crs", run: crs::crs, runs: 900_000, words: &[] },
    Target { name: "map", run: map::map, runs: 3_000_000, words: &[] },
];

/// Requires a message of one line without control characters, as a terminal or a log takes it.
///
/// Returns false: the input was refused.
fn one_line(error: &minifenl::Error) -> bool {
    let message = error.to_string();
    assert!(!message.is_empty(), "an empty message");
    assert!(!message.chars().any(char::is_control), "a message with control characters: {message:?}");
    // A word of a few thousand bytes may be echoed, with escapes.
    assert!(message.len() < 16_000, "a message of {} bytes", message.len());
    false
}
