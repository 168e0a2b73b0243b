//! Everything that the ranks of a run must have in common, as text: version, build, every key of the deck.
//!
//! Ranks with other limits or tolerances would wait for each other forever, and ranks with other boundary values or kernels
//! would solve different problems, so [`solve`](super::solve) compares this list before it starts.

use super::Deck;
use super::deck::with_flag;
use super::provenance::BuildReport;
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::comm::{Communicator, Setting, same};
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;

/// Refuses ranks that differ in version, build or deck. Collective: nothing that depends on the deck
/// may be collective before.
///
/// # Errors
/// [`Error::Invalid`] on the lowest rank that differs from rank 0, with key, flag and both values; [`Error::Elsewhere`] on all others.
pub fn same_settings(deck: &Deck, comm: &dyn Communicator) -> Result<()> {
    if comm.size() == 1 { Ok(()) } else { same(comm, &settings(deck)) }
}

/// The settings of this rank.
fn settings(deck: &Deck) -> Vec<Setting> {
    let mut settings = vec![("version".into(), env!("CARGO_PKG_VERSION").into()), ("build".into(), build())];
    settings.extend(deck_settings(deck));
    settings
}

/// Every key of the deck with its flag, and its value.
fn deck_settings(deck: &Deck) -> Vec<Setting> {
    // TOML holds UTF-8 only; a path may be anything.
    let mut deck = deck.clone();
    // Each rank writes its own file for VTK, the first rank the others: ranks in different folders would scatter them.
    let vtk = deck.run.vtk.take().map(|path| std::path::absolute(&path).unwrap_or(path));
    let files = [("report", deck.run.report.take()), ("append", deck.run.append.take()), ("vtk", vtk)];
    let table: toml::Table = deck.to_toml().ok().and_then(|text| text.parse().ok()).unwrap_or_default();
    let sections = table.iter().filter_map(|(section, keys)| Some((section, keys.as_table()?)));
    let text = |value: &toml::Value| match value {
        // 1e-8 rather than 0.00000001; both are exact.
        toml::Value::Float(number) => format!("{number:?}"),
        toml::Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let mut settings: Vec<Setting> = sections
        .flat_map(|(section, keys)| {
            keys.iter().map(move |(name, value)| (with_flag(&format!("{section}.{name}")), text(value)))
        })
        .collect();
    settings.extend(files.map(|(name, path)| {
        let path = path.map_or("not given".into(), |path| format!("{path:?}").trim_matches('"').to_string());
        (with_flag(&format!("run.{name}")), path)
    }));
    settings
}

/// Features, profile and a digest of the executable, whose first 4 KiB hold the sizes of its parts and the linker's build id.
fn build() -> String {
    let BuildReport { features, profile, .. } = BuildReport::default();
    let mut text: String = features.iter().map(|name| format!("{name} ")).collect();
    let mut head = Vec::new();
    let open = std::env::current_exe().and_then(std::fs::File::open);
    let is_read = open.and_then(|file| file.take(4096).read_to_end(&mut head)).is_ok();
    text += profile;
    if is_read {
        let mut digest = DefaultHasher::new();
        digest.write(&head);
        text += &format!(" {:016x}", digest.finish());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::deck::Nodes;

    fn text(deck: &Deck) -> String {
        deck_settings(deck).into_iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
    }

    #[test]
    fn every_key_of_the_deck_is_there_with_a_flag_of_the_program() {
        let mut deck = Deck::default();
        deck.mesh.nodes = Nodes::new([4, 5, 6]).ok();
        (deck.run.threads, deck.run.timeout) = (Some(3), Some(1.5));
        (deck.cg.iterations, deck.cg.tolerance) = (Some(50), Some(1e-8));
        (deck.run.report, deck.run.append) = (Some("a/b.json".into()), Some("c.csv".into()));
        deck.run.vtk = Some("d.vtu".into());
        let found = text(&deck);
        let args = include_str!("../../apps/minifenl/args.rs");
        let mut count = 0;
        let mut section = String::new();
        for line in deck.to_toml().unwrap().lines().filter(|line| !line.is_empty()) {
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']').into();
                continue;
            }
            let (key, _) = line.split_once(" = ").unwrap();
            let entry = found.lines().find(|entry| entry.starts_with(&format!("{section}.{key} (--")));
            let flag = entry.unwrap_or_else(|| panic!("{section}.{key} is not in {found}"));
            let flag = flag.split("(--").nth(1).unwrap().split(')').next().unwrap();
            // clap derives a flag from the field's name.
            assert!(args.contains(&format!(" {}: ", flag.replace('-', "_"))), "--{flag}");
            count += 1;
        }
        assert_eq!(count, found.lines().count());
        assert!(found.contains("cg.tolerance (--cg-tolerance): 1e-8\n"), "{found}");
        assert!(found.contains("mesh.nodes (--nodes): 4x5x6\n"), "{found}");
        assert!(found.contains("run.report (--report): a/b.json\n"), "{found}");
    }

    #[test]
    fn the_last_bit_of_a_value_and_bytes_that_are_not_text_differ() {
        let mut deck = Deck::default();
        let first = text(&deck);
        deck.cg.tolerance = Some(1e-8);
        let first = [first, text(&deck)];
        assert_ne!(first[0], first[1]);
        deck.cg.tolerance = Some(f64::from_bits(1e-8f64.to_bits() + 1));
        assert_ne!(first[1], text(&deck));
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStringExt;
            let paths = [b"a\xff".to_vec(), b"a\xfe".to_vec()].map(|bytes| {
                deck.run.report = Some(std::ffi::OsString::from_vec(bytes).into());
                text(&deck)
            });
            assert_ne!(paths[0], paths[1]);
        }
    }

    #[test]
    fn version_and_build_are_named_first() {
        let settings = settings(&Deck::default());
        let build = build();
        assert_eq!(settings[0], ("version".into(), env!("CARGO_PKG_VERSION").into()));
        assert_eq!(settings[1], ("build".into(), build.clone()));
        assert!(build.contains("cli ") && build.split(' ').next_back().unwrap().len() == 16, "{build}");
        assert_eq!(build, super::build());
    }
}
