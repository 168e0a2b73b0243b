//! Flags over decks: each flag changes its key and nothing else, over a deck that says the opposite in every key.

use crate::args::Args;
use crate::settings::{SETTINGS, deck, flat, together};
use clap::{CommandFactory, Parser};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the keys of the deck that results from these words.
fn dumped(words: &[&str]) -> BTreeMap<String, String> {
    let args =
        Args::try_parse_from([&["minifenl"], words].concat()).unwrap_or_else(|error| panic!("{words:?}: {error}"));
    flat(&args.flags.deck().unwrap_or_else(|error| panic!("{words:?}: {error}")).to_toml().unwrap())
}

fn words<'a>(settings: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Vec<&'a str> {
    settings.flat_map(|(flag, value)| [Some(flag), value].into_iter().flatten()).collect()
}

fn written(deck: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deck.toml");
    std::fs::write(&path, deck).unwrap();
    let path = path.to_str().unwrap().to_string();
    (folder, path)
}

/// A deck with the first value of every setting.
fn first_deck() -> (tempfile::TempDir, String) {
    written(&deck(together().map(|setting| (setting.key, setting.first.1))))
}

#[test]
fn every_flag_and_every_key_is_in_the_list() {
    let tasks = ["--dry-run", "--dump-deck", "--kernel-info", "--completions", "--man", "--help", "--version"];
    let others = ["--input", "--no-triad", "--quiet", "--verbose", "--color"].into_iter().chain(tasks);
    let listed: BTreeSet<String> = SETTINGS.iter().map(|s| s.flag).chain(others).map(String::from).collect();
    let mut command = Args::command();
    command.build();
    let known = command.get_arguments().map(|argument| format!("--{}", argument.get_long().unwrap_or("no long name")));
    assert_eq!(known.collect::<BTreeSet<_>>(), listed, "add a new flag to tests/program/settings.rs");
    // A key without a flag would be missing in the list, and so in the tests below.
    let (_folder, path) = first_deck();
    let keys: BTreeSet<String> = dumped(&["--input", &path]).into_keys().collect();
    let alone = [&["--nodes-per-rank", "8"][..], &["--cg-iterations", "50"]].map(|flags| dumped(flags).into_keys());
    let keys: BTreeSet<String> = keys.into_iter().chain(alone.into_iter().flatten()).collect();
    assert_eq!(keys, SETTINGS.iter().map(|setting| setting.key.to_string()).collect());
}

#[test]
fn a_deck_is_dumped_as_it_is_and_differs_from_the_default_in_every_key() {
    let (_folder, path) = first_deck();
    let (dump, default) = (dumped(&["--input", &path]), dumped(&[]));
    for setting in together() {
        assert_eq!(dump[setting.key], setting.first.1, "{}", setting.key);
        assert_ne!(default.get(setting.key), Some(&dump[setting.key]), "{}", setting.key);
        let without_value = setting.first.0.is_none();
        assert!(without_value || setting.first.1 != setting.second.1, "{}", setting.key);
    }
}

#[test]
fn a_flag_gives_what_its_key_gives() {
    let (_folder, path) = first_deck();
    let flags = words(together().map(|setting| (setting.flag, setting.first.0)));
    assert_eq!(dumped(&flags), dumped(&["--input", &path]));
}

#[test]
fn each_flag_alone_changes_its_key_only() {
    let ((_folder, path), (_other, second)) =
        (first_deck(), written(&deck(together().map(|setting| (setting.key, setting.second.1)))));
    // Over the default deck, over one with the first values, and over one with the second values.
    let bases = [vec![], vec!["--input", &path], vec!["--input", &second]];
    for setting in together() {
        for base in &bases {
            for (flag_value, value) in [setting.first, setting.second] {
                let flags = words([(setting.flag, flag_value)].into_iter());
                let mut expected = dumped(base);
                expected.insert(setting.key.into(), value.into());
                assert_eq!(dumped(&[&flags[..], base].concat()), expected, "{flags:?} over {base:?}");
                assert_eq!(dumped(&[&base[..], &flags].concat()), expected, "{base:?}, then {flags:?}");
            }
        }
    }
}

#[test]
fn all_flags_together_replace_a_deck() {
    let (_folder, path) = first_deck();
    let flags = words(together().map(|setting| (setting.flag, setting.second.0)));
    let all = [&["--input", &path][..], &flags].concat();
    let mut expected: BTreeMap<_, _> =
        together().map(|setting| (setting.key.into(), setting.second.1.into())).collect();
    // These keys stand in every deck.
    expected.insert("problem.kind".into(), "\"heat\"".into());
    expected.insert("mesh.element".into(), "\"hex8\"".into());
    expected.insert("fill.jacobian".into(), "\"analytic\"".into());
    expected.insert("cg.operator".into(), "\"assembled\"".into());
    expected.insert("cg.solver".into(), "\"auto\"".into());
    expected.insert("problem.advection".into(), "[0.0, 0.0, 0.0]".into());
    assert_eq!(dumped(&all), expected);
    // The program itself, too.
    let (code, out, err) = support::run("minifenl", &[&all[..], &["--dump-deck"]].concat());
    assert_eq!((code, err.as_str(), flat(&out)), (0, "", expected));
}

#[test]
fn problem_and_element_set_their_keys_and_the_default_nodes() {
    let default = dumped(&[]);
    for (words, changed) in [
        (&["--problem", "elasticity"][..], &[("problem.kind", "\"elasticity\"")][..]),
        (&["--element", "tet4"], &[("mesh.element", "\"tet4\"")]),
        (&["--element", "hex20"], &[("mesh.element", "\"hex20\""), ("mesh.nodes", "65")]),
    ] {
        let mut expected = default.clone();
        expected.extend(changed.iter().map(|(key, value)| (key.to_string(), value.to_string())));
        assert_eq!(dumped(words), expected);
        let (_folder, path) = written(&deck([(changed[0].0, changed[0].1)].into_iter()));
        assert_eq!(dumped(&["--input", &path]), expected);
    }
}

#[test]
fn nodes_and_nodes_per_rank_replace_each_other() {
    let ((_one, nodes), (_two, share)) = (written("[mesh]\nnodes = 9\n"), written("[mesh]\nnodes_per_rank = 8\n"));
    for (words, key, value) in [
        (vec!["--input", &nodes], "mesh.nodes", "9"),
        (vec!["--input", &share], "mesh.nodes_per_rank", "8"),
        (vec!["--input", &nodes, "--nodes-per-rank", "6x5x4"], "mesh.nodes_per_rank", "\"6x5x4\""),
        (vec!["--input", &share, "--nodes", "5x7x11"], "mesh.nodes", "\"5x7x11\""),
        (vec![], "mesh.nodes", "64"),
    ] {
        let mut dump = dumped(&words);
        assert_eq!(dump.remove(key).as_deref(), Some(value), "{words:?}");
        assert!(!dump.keys().any(|key| key.starts_with("mesh.nodes")), "{words:?}");
    }
}

#[test]
fn a_number_of_cg_iterations_is_refused_beside_what_ends_a_solve_before() {
    let refused = |words: &[&str]| {
        let deck = Args::try_parse_from([&["minifenl"], words].concat()).unwrap().flags.deck();
        deck.map_err(|error| error.to_string())
    };
    for (words, part) in [
        (&["--cg-iterations", "50", "--cg-tolerance", "1e-3"][..], "cg.tolerance (--cg-tolerance) is 1e-3 too"),
        (&["--cg-iterations", "50", "--cg-tolerance", "1e-8"], "cg.tolerance (--cg-tolerance) is 1e-8 too"),
        (&["--cg-iterations", "50", "--cg-max", "49"], "cg.max_iterations (--cg-max) is 49 too"),
        (&["--cg-iterations", "0"], "give 1 or more"),
        (
            &["--cg-iterations", "5", "--advection", "1,2,3"],
            "of CG, and problem.advection (--advection) 1,2,3 takes gmres",
        ),
        (&["--cg-iterations", "5", "--solver", "bicgstab"], "only of CG, and cg.solver (--solver) is bicgstab"),
    ] {
        let message = refused(words).unwrap_err();
        assert!(message.starts_with("cg.iterations (--cg-iterations): ") && message.contains(part), "{message}");
    }
    for words in [&["--cg-iterations", "50", "--cg-max", "50"][..], &["--cg-iterations", "5000000"]] {
        assert!(refused(words).is_ok(), "{words:?}");
    }
    let (_folder, path) = written("[cg]\niterations = 7\n");
    assert_eq!(dumped(&["--input", &path])["cg.iterations"], "7");
    assert_eq!(dumped(&["--input", &path, "--cg-iterations", "8"])["cg.iterations"], "8");
}

#[test]
fn flags_override_a_preset_and_papers_is_the_default() {
    assert_eq!(dumped(&["--preset", "papers"]), dumped(&[]));
    let fast = dumped(&["--preset", "fast"]);
    assert_eq!(fast["run.preset"], "\"fast\"");
    for words in [["--preset", "fast", "--fill", "colour"], ["--fill", "colour", "--preset", "fast"]] {
        let mut expected = fast.clone();
        expected.insert("fill.strategy".into(), "\"colour\"".into());
        assert_eq!(dumped(&words), expected);
    }
    let (_folder, path) = written("[run]\npreset = \"fast\"\n");
    assert_eq!(dumped(&["--input", &path]), fast);
    assert_eq!(dumped(&["--input", &path, "--preset", "papers"]), dumped(&[]));
    assert!(Args::try_parse_from(["minifenl", "--preset", "seed"]).is_err());
}

#[test]
fn threads_per_row_without_effect_are_noted() {
    let (_folder, path) = written("[matrix]\nlanes = 16\nformat = \"crs\"\n");
    assert_eq!(dumped(&["--input", &path])["matrix.lanes"], "\"16\"");
    let words = ["--nodes", "5", "--device", "cpu", "--lanes", "4"];
    let (code, out, err) = support::run("minifenl", &words);
    assert_eq!(
        (code, err.as_str()),
        (0, "note: no effect: matrix.lanes (--lanes): only CRS on a GPU shares rows\n"),
        "{out}"
    );
    let (code, _, err) = support::run("minifenl", &[&words[..], &["--operator", "matrix-free"]].concat());
    assert!(code == 2 && err.contains("matrix.lanes (--lanes) is 4, and no matrix is stored"), "{err}");
}
