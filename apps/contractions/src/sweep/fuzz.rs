//! Fuzzes what the program reads, decks of sweeps and tables, with fixed seeds: mutations of the decks and tables of this
//! repository, shortened. No panic, messages of one line, and a table that is read is written and read back.

use super::{NoPeers, SweepDeck, Table};
use crate::testing::root;
use std::path::PathBuf;
use support::Mutator;

/// Mutations of decks and of tables: some seconds each.
const RUNS: [u32; 2] = [40_000, 20_000];
/// Longest input.
const LONGEST: usize = 3000;

fn one_line(error: &impl ToString) {
    let message = error.to_string();
    assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
}

/// The texts of a folder with this extension, each by its first lines.
fn texts(folder: &str, extension: &str, lines: usize) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    assert!(!paths.is_empty(), "{folder}");
    let first = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().take(lines).map(|line| format!("{line}\n")).collect::<String>().into_bytes()
    };
    paths.iter().map(first).collect()
}

/// Mutates `corpus` and prints how many mutations `read` accepts.
fn fuzz(name: &str, corpus: &[Vec<u8>], words: &[&str], runs: u32, read: impl Fn(&str) -> bool) {
    let (mut mutator, mut accepted) = (Mutator::new(7, corpus, words, LONGEST), 0);
    for _ in 0..runs {
        let input = mutator.next_input();
        let Ok(text) = std::str::from_utf8(&input) else { continue };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(text)));
        if outcome.unwrap_or_else(|panic| {
            eprintln!("{name}: {text:?}");
            std::panic::resume_unwind(panic)
        }) {
            accepted += 1;
            mutator.keep(input);
        }
    }
    println!("fuzz {name}: {runs} mutations of {} inputs, {accepted} of them accepted", corpus.len());
    assert!(accepted >= runs / 100, "{name}: {accepted} of {runs} mutations were accepted");
}

#[test]
fn decks_of_sweeps_are_read_or_refused_in_one_line() {
    let words =
        ["[[sweep]]\n", "[[plot]]\n", "name = ", "dims = [[1048576, 1048576]]\n", "\"*\"", "[[8, 8]]", "inf", "nan"];
    let corpus = texts("inputs/contractions", "toml", 60);
    fuzz("sweep decks", &corpus, &words, RUNS[0], |text| match SweepDeck::parse(text, &NoPeers) {
        Ok(deck) => {
            let quick = deck.quick().map_err(|error| one_line(&error));
            for group in quick.map_or(Vec::new(), |deck| deck.sweep) {
                for precision in [super::case::Precision::F32, super::case::Precision::F64] {
                    let cases = group.cases(precision).unwrap();
                    assert!(cases.iter().all(|(case, _)| case.bytes() > 0 && case.cells > 0), "{cases:?}");
                }
            }
            true
        }
        Err(error) => {
            one_line(&error);
            false
        }
    });
}

#[test]
fn tables_are_read_back_or_refused_in_one_line() {
    let words =
        ["# rows 1\n", "field_field_tensor", "f32", "left", "serial", "yes", ",", "3x2", "inf", "1e-320", "1048576"];
    let corpus = texts("docs/contractions", "csv", 9);
    fuzz("tables", &corpus, &words, RUNS[1], |text| {
        // With the right number of rows, which a mutation would not hit.
        let rows = text.lines().filter(|line| !line.starts_with('#')).count().saturating_sub(1);
        let rest = text.lines().filter(|line| !line.starts_with("# rows ")).map(|line| format!("{line}\n"));
        match Table::parse(&format!("# rows {rows}\n{}", rest.collect::<String>())) {
            Ok(table) => {
                // The first writing rounds; the rates of the second follow from times that are rounded already.
                let written = Table::parse(&table.csv()).unwrap().csv();
                assert_eq!(Table::parse(&written).unwrap().csv(), written);
                true
            }
            Err(error) => {
                one_line(&error);
                false
            }
        }
    });
}
