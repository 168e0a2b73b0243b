//! The program as a user meets it: help, decks, mistakes and exit codes.

#![cfg(feature = "cli")]

use assert_cmd::Command;

fn run(args: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("minifenl").unwrap().args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn mistakes_are_one_line_and_code_2() {
    let cases: &[(&[&str], &str)] = &[
        (&["--nodes=-3"], "--nodes"),
        (&["--nodes", "-3"], "negative"),
        (&["--nodes", "0"], "--nodes"),
        (&["--nodes", "8x8"], "one or three"),
        (&["--nodes", "99999999999999999999999"], "64 bits"),
        (&["--nodes", "1000000"], "32 bits"),
        (&["--nodez", "3"], "--nodez"),
        (&["--nodes", "3", "--nodes-per-rank", "3"], "--nodes-per-rank"),
        (&["--t-min", "nan"], "problem.t_min"),
        (&["--t-max=-1"], "--t-max"),
        (&["--t-min", "2"], "equal"),
        (&["--size", "1,1"], "three"),
        (&["--cg-tolerance", "0"], "cg.tolerance"),
        (&["--threads", "0"], "run.threads"),
        (&["--graph", "magic"], "map, dashmap, gather, sort"),
        (&["--input", "no-such.toml"], "no-such.toml"),
        (&["--report", "no/such/dir/report.json"], "no/such/dir/report.json"),
    ];
    for (args, part) in cases {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{args:?}: {err}");
        assert!(err.starts_with("error: ") && err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let deck = dir.path().join("deck.toml");
    std::fs::write(&deck, "[mesh]\nnodez = 3\n").unwrap();
    let (code, _, err) = run(&["--input", deck.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert!(err.contains("deck.toml, line 2: `nodez = 3`: unknown field `nodez`"), "{err}");
}

#[test]
fn a_dumped_deck_dumps_itself_and_flags_override_it() {
    let flags = ["--nodes", "8x9x10", "--map", "twist:0.25", "--fill", "colour", "--cg-max", "77", "--dump-deck"];
    let (code, first, _) = run(&flags);
    assert_eq!(code, 0);
    let dir = tempfile::tempdir().unwrap();
    let deck = dir.path().join("deck.toml");
    std::fs::write(&deck, &first).unwrap();
    let deck = deck.to_str().unwrap();
    assert_eq!(run(&["--input", deck, "--dump-deck"]).1, first);
    let (_, other, _) = run(&["--input", deck, "--nodes-per-rank", "5", "--dump-deck"]);
    assert!(other.contains("nodes_per_rank = 5\n") && !other.contains("8x9x10"), "{other}");
}

#[test]
fn help_and_completions() {
    let (code, help, _) = run(&["--help"]);
    assert!(code == 0 && help.contains("Examples:") && help.contains("-K laplace(T) + T^2 = 0"), "{help}");
    let (code, script, _) = run(&["--completions", "bash"]);
    assert!(code == 0 && script.contains("--nodes-per-rank"));
}
