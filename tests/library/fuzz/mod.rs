//! Fuzzes the readers of foreign data with fixed seeds: every run tries the same inputs. Each target replays its corpus
//! (`tests/library/fuzz/corpus/TARGET`) and then mutations of it. `make fuzz` runs the same targets under coverage guidance.
//!
//! - `MINIFENL_FUZZ_RUNS=10` tries ten times as many mutations.
//! - `MINIFENL_FUZZ_INPUT=FILE` runs every target on this file only.
//! - `MINIFENL_FUZZ_TRACE=1` writes each input before it is tried, for failures that end the process.
//!
//! An input that fails is written to `target/tmp/fuzz-TARGET`.

mod targets;

use crate::memory;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use support::Mutator;
use targets::Target;

/// Bytes that one input may ask for at once. The largest legitimate request is the arrays of a small graph.
const MOST_BYTES: usize = 64 << 20;
/// Longest input made by mutation.
const LONGEST: usize = 2048;

/// The inputs of a folder of the corpus, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = support::root().join("tests/library/fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Runs a target on one input and returns whether its reader accepted it. A failure names the file that holds the input.
fn attempt(target: &Target, input: &[u8]) -> bool {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", target.name));
    if std::env::var_os("MINIFENL_FUZZ_TRACE").is_some() {
        std::fs::write(&path, input).unwrap();
    }
    memory::reset();
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let largest = memory::largest();
    if outcome.is_err() || largest > MOST_BYTES {
        std::fs::write(&path, input).unwrap();
        eprintln!("target {}, input {}: {:?}", target.name, path.display(), String::from_utf8_lossy(input));
    }
    let is_accepted = outcome.unwrap_or_else(|panic| resume_unwind(panic));
    assert!(largest <= MOST_BYTES, "an input of {} bytes asked for {largest} bytes at once", input.len());
    is_accepted
}

fn fuzz(name: &str) {
    let target = targets::ALL.iter().find(|target| target.name == name).expect("no such target");
    if let Some(path) = std::env::var_os("MINIFENL_FUZZ_INPUT") {
        attempt(target, &std::fs::read(path).unwrap());
        return;
    }
    let corpus = corpus(name);
    assert!(!corpus.is_empty());
    for input in &corpus {
        attempt(target, input);
    }
    let factor = std::env::var("MINIFENL_FUZZ_RUNS").map_or(1, |runs| runs.parse().expect("a whole number of runs"));
    let runs = target.runs * factor;
    let mut mutator = Mutator::new(0x6d69_6e69 ^ name.len() as u64, &corpus, target.words, LONGEST);
    let (mut accepted, mut refused) = (0, 0u32);
    for _ in 0..runs {
        let input = mutator.next_input();
        // What a reader accepts leads to more of it; some of the rest keeps the search wide.
        if attempt(target, &input) {
            accepted += 1;
            mutator.keep(input);
        } else {
            refused += 1;
            if refused % 64 == 0 {
                mutator.keep(input);
            }
        }
    }
    println!("fuzz {name}: {runs} mutations of {} inputs, {accepted} of them accepted", corpus.len());
    // Readers that refuse everything would leave most properties untested.
    assert!(accepted >= runs / 100, "{name}: {accepted} of {runs} mutations were accepted");
}

macro_rules! targets {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            fuzz(stringify!($name));
        }
    )*};
}
targets!(deck, names, graph, crs, map);
#[cfg(feature = "cuda")]
targets!(tuning);

#[test]
fn every_target_is_a_test() {
    let names: Vec<&str> = targets::ALL.iter().map(|target| target.name).filter(|name| *name != "tuning").collect();
    assert_eq!(names, ["deck", "names", "graph", "crs", "map"]);
}

#[test]
fn mutations_are_the_same_in_every_run_and_differ_from_each_other() {
    let corpus = [b"[mesh]\nnodes = 8\n".to_vec(), b"[run]\ntriad = true\n".to_vec()];
    let inputs = || {
        let mut mutator = Mutator::new(1, &corpus, &["inf"], 64);
        (0..500).map(|_| mutator.next_input()).collect::<Vec<_>>()
    };
    let (first, again) = (inputs(), inputs());
    assert_eq!(first, again);
    let distinct: std::collections::BTreeSet<_> = first.iter().collect();
    assert!(distinct.len() > 400, "{}", distinct.len());
    assert!(first.iter().all(|input| input.len() <= 64));
    assert!(first.iter().any(|input| input.windows(3).any(|word| word == b"inf")));
}

#[test]
fn large_requests_are_seen() {
    memory::reset();
    let array = vec![1u8; 3 << 20];
    assert!(memory::largest() >= array.len());
}
