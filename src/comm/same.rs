//! Compares settings among ranks, so that ranks with different problems never start.
//!
//! ```text
//! h = hash of all settings, 52 bits and therefore exact in f64
//! max over ranks of (h, -h)              one all-reduce of 16 bytes: equal settings give max = -(max of -h)
//! ```
//! Only ranks that differ pay for more: the text of rank 0 goes to all ranks, 64 bytes per all-reduce, and one all-reduce names the
//! lowest rank that differs from it. Ranks may bring different keys, as programs of two versions do.

use super::{Communicator, failing};
use crate::error::cut;
use crate::{Error, Result};

/// Longest value that a message shows, in characters.
const LONGEST: usize = 200;

/// A setting: what messages call it, and its value as text.
pub type Setting = (String, String);

/// Returns `Ok` on all ranks if they have the same settings in the same order. Collective.
///
/// # Errors
/// [`Error::Invalid`] on the lowest rank that differs from rank 0, with the rank, the first setting that differs and both
/// values; [`Error::Elsewhere`] on all others.
pub fn same(comm: &dyn Communicator, settings: &[Setting]) -> Result<()> {
    let text = written(settings);
    if alike(comm, &text) {
        return Ok(());
    }
    let expected = text_of_first(comm, &text);
    let lowest = failing(comm, text != expected).map_or(0, |failing| failing.lowest);
    if lowest != comm.rank() {
        return Err(Error::Elsewhere { rank: lowest });
    }
    let difference = difference(&expected, &text);
    Err(Error::Invalid(format!("rank {lowest} differs from rank 0 in {difference}; give all ranks the same")))
}

/// Returns on every rank whether all have the same text. Collective, 16 bytes.
pub fn alike(comm: &dyn Communicator, text: &str) -> bool {
    let hash = hash(text);
    let mut ends = [hash, -hash];
    comm.all_max(&mut ends);
    ends[0] == -ends[1]
}

/// The settings as text: key and value of each, in lines.
fn written(settings: &[Setting]) -> String {
    // A value of several lines would look like several settings.
    let line = |(key, value): &Setting| format!("{key}\t{}\n", value.escape_debug());
    settings.iter().map(line).collect()
}

/// FNV-1a of the text, folded to 52 bits: the same in every build.
fn hash(text: &str) -> f64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    ((hash ^ (hash >> 52)) & ((1 << 52) - 1)) as f64
}

/// The text of rank 0, on all ranks.
fn text_of_first(comm: &dyn Communicator, text: &str) -> String {
    let is_first = comm.rank() == 0;
    let mut length = [if is_first { text.len() as f64 } else { 0.0 }];
    comm.all_max(&mut length);
    let mut bytes = vec![0.0; length[0] as usize];
    if is_first {
        bytes = text.bytes().map(f64::from).collect();
    }
    comm.all_max(&mut bytes);
    String::from_utf8_lossy(&bytes.into_iter().map(|byte| byte as u8).collect::<Vec<u8>>()).into_owned()
}

/// The first difference between two texts of [`written`], as "key: value, and value on rank 0".
fn difference(expected: &str, found: &str) -> String {
    fn split(line: &str) -> (&str, &str) {
        line.split_once('\t').unwrap_or((line, ""))
    }
    fn value<'a>(text: &'a str, key: &str) -> &'a str {
        text.lines().map(split).find(|(other, _)| *other == key).map_or("not given", |(_, value)| value)
    }
    let keys = found.lines().chain(expected.lines()).map(|line| split(line).0);
    let differs = |key: &&str| value(expected, key) != value(found, key);
    match keys.into_iter().find(differs) {
        Some(key) => {
            let [found, expected] = [found, expected].map(|text| cut(value(text, key), LONGEST));
            format!("{key}: {found}, and {expected} on rank 0")
        }
        None => "the order of the settings".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::comm::ranks::on_ranks;

    fn settings(values: &[(&str, &str)]) -> Vec<Setting> {
        values.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    }

    #[test]
    fn the_first_key_that_differs_is_named_with_both_values() {
        let at = |values: &[(&str, &str)]| written(&settings(values));
        let first = at(&[("a", "1"), ("b (--b)", "1e-6"), ("c", "x")]);
        for (other, expected) in [
            (at(&[("a", "1"), ("b (--b)", "1e-8"), ("c", "y")]), "b (--b): 1e-8, and 1e-6 on rank 0"),
            (at(&[("a", "1"), ("c", "x")]), "b (--b): not given, and 1e-6 on rank 0"),
            (at(&[("a", "1"), ("b (--b)", "1e-6"), ("c", "x"), ("d", "2")]), "d: 2, and not given on rank 0"),
            (at(&[("a", "1\n2"), ("b (--b)", "1e-6"), ("c", "x")]), "a: 1\\n2, and 1 on rank 0"),
            (at(&[("b (--b)", "1e-6"), ("a", "1"), ("c", "x")]), "the order of the settings"),
        ] {
            assert_eq!(difference(&first, &other), expected);
        }
    }

    #[test]
    fn hashes_are_exact_in_f64_and_those_of_fnv() {
        // FNV-1a of "a" is af63dc4c8601ec8c.
        assert_eq!(hash("a"), f64::from(0x3dc4cu32) * 4_294_967_296.0 + f64::from(0x8601_ec8cu32 ^ 0xaf6));
        let texts: Vec<String> = (0..10_000).map(|i| format!("cg.tolerance\t{i}\n")).collect();
        let mut hashes: Vec<u64> = texts.iter().map(|text| hash(text) as u64).collect();
        assert!(hashes.iter().all(|&hash| hash < 1 << 52));
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), texts.len());
    }

    #[test]
    fn the_lowest_rank_that_differs_says_in_what() {
        assert!(same(&Solo, &settings(&[("a", "1")])).is_ok());
        assert!(on_ranks(3, |comm| same(comm, &settings(&[("a", "1")])).is_ok()).into_iter().all(|is_ok| is_ok));
        for culprit in [0, 2, 3] {
            // Values of one length: their texts are compared.
            let results = on_ranks(4, |comm| {
                let value = if comm.rank() == culprit { "7" } else { "4" };
                same(comm, &settings(&[("a", "1"), ("b", value)])).unwrap_err()
            });
            // Rank 0 is what the others are compared with.
            let (speaker, values) = if culprit == 0 { (1, "4, and 7") } else { (culprit, "7, and 4") };
            for (rank, error) in results.iter().enumerate() {
                match error {
                    Error::Invalid(text) if rank == speaker => assert_eq!(
                        *text,
                        format!("rank {speaker} differs from rank 0 in b: {values} on rank 0; give all ranks the same")
                    ),
                    Error::Elsewhere { rank: named } if rank != speaker => assert_eq!(*named, speaker),
                    error => panic!("rank {rank}: {error}"),
                }
            }
        }
    }

    #[test]
    fn the_lowest_rank_that_failed_is_known_to_all() {
        use crate::comm::Failing;
        for (failed, expected) in [
            (vec![], None),
            (vec![2, 1], Some(Failing { lowest: 1, all: false })),
            (vec![0, 1, 2], Some(Failing { lowest: 0, all: true })),
        ] {
            let found = on_ranks(3, |comm| failing(comm, failed.contains(&comm.rank())));
            assert!(found.iter().all(|&found| found == expected), "{failed:?}: {found:?}");
        }
    }

    /// Values longer and shorter than that of rank 0.
    #[test]
    fn longer_and_shorter_values_are_shown_as_they_are() {
        for (value, cut) in [("12345", "12345"), ("", ""), (&*"x".repeat(250), &*("x".repeat(200) + "..."))] {
            let results = on_ranks(3, |comm| {
                let value = if comm.rank() == 1 { value } else { "44" };
                same(comm, &settings(&[("a", "1"), ("b", value), ("c", "3")])).unwrap_err().to_string()
            });
            let expected = format!("rank 1 differs from rank 0 in b: {cut}, and 44 on rank 0; give all ranks the same");
            assert_eq!(results[1], expected);
            assert!(results[0].contains("rank 1 failed") && results[0] == results[2], "{results:?}");
        }
    }
}
