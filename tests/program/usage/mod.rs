//! Mistakes of a user: each ends the program with code 2 and one printable line that names the flag, the key or the line.
//!
//! The campaign draws command lines and decks with one mistake each, from lists of values that are right and wrong for each
//! flag. The same seeds are drawn in every run.

mod decks;
mod environment;

use crate::args::Args;
use crate::settings::{SETTINGS, deck, flat, together};
use minifenl::run::Deck;
use minifenl::run::program::{self, Exit};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use support::Random;

/// A process that takes longer hangs: it reads a pipe or a device.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the program in a process: exit code, stdout, stderr.
fn run(words: &[&str], environment: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = assert_cmd::Command::cargo_bin("minifenl").unwrap();
    let output = command.args(words).envs(environment.iter().copied()).timeout(PATIENCE).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().expect("ended by itself"), text(output.stdout), text(output.stderr))
}

/// Does in this process what the program does before it works: the deck, or the line on stderr.
fn parsed(words: &[&str]) -> Result<Deck, String> {
    let words: Vec<OsString> = std::iter::once(&"minifenl").chain(words).map(OsString::from).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let deck = match program::parse_from::<Args>(words) {
        Ok(args) => args.flags.deck().and_then(|deck| deck.nodes(3).map(|_| deck)),
        Err(error) => {
            assert_eq!(program::usage(&error, &mut out, &mut err), Exit::BadInput, "{error}");
            assert!(out.is_empty());
            return Err(String::from_utf8(err).unwrap());
        }
    };
    deck.map_err(|error| {
        assert_eq!(program::failure(&error, &mut err), Exit::BadInput, "{error}");
        String::from_utf8(err).unwrap()
    })
}

/// A path of any length is cut; a flag without its value is named, not what follows.
#[test]
fn what_is_shown_of_a_mistake_is_short_and_about_it() {
    let long = "p".repeat(100_000);
    for words in [["--report", &long], ["--input", &long], ["--vtk", &long], ["--append", &long]] {
        let (code, out, err) = run(&[&["--nodes", "5", "--device", "cpu"][..], &words].concat(), &[]);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{}", words[0]);
        assert!(err.len() < 2100, "{}: {} bytes", words[0], err.len());
    }
    for (words, flag) in [
        (&["--nodes", "--device", "cpu"][..], "--nodes <N>"),
        (&["--t-min", "--t-max", "3"], "--t-min <T>"),
        (&["--device", "--nodes=5"], "--device <DEVICE>"),
        (&["sweep", "--nodes", "--trials", "3"], "--nodes <N>"),
        (&["strategies", "--threads", "--nodes", "5"], "--threads <N>"),
        (&["--report", "--device", "cpu"], "--report <FILE>"),
    ] {
        let message = parsed(words).unwrap_err();
        assert_eq!(message, format!("error: a value is required for '{flag}' but none was supplied\n"), "{words:?}");
    }
}

/// Checks the form of a message and that it holds one of `names`.
fn check(message: &str, names: &[&str], about: &dyn std::fmt::Debug) {
    let line = message.strip_suffix('\n').unwrap_or_else(|| panic!("no end of line: {about:?}: {message:?}"));
    assert!(line.starts_with("error: ") && !line.contains(char::is_control), "{about:?}: {line:?}");
    assert!(line.chars().count() < 1000, "{about:?}: {line}");
    assert!(names.iter().any(|name| line.contains(name)), "{about:?}: {line}: none of {names:?}");
}

/// Right and wrong values of each flag: any two right ones of different flags go together. A wrong one is wrong in any case.
const VALUES: [(&str, &[&str], &[&str]); 30] = [
    ("--nodes", &["8", "5x7x11", "9X9X9"], SIZES),
    ("--nodes-per-rank", &["8", "5x7x11"], SIZES),
    (
        "--map",
        &["none", "bubble", "twist:0.5", "bubble:-1"],
        &["fold", "twist:", "twist:nan", "none:1", "bubble:1e999", "Twist"],
    ),
    (
        "--size",
        &["1,1,1", "1,2e3,0.5", "1e-3, 2,3"],
        &["1,1", "1,1,1,1", "0,1,1", "1,,1", "-1,1,1", "nan,1,1", "1,1,inf", "1;1;1", "1,1,1e999"],
    ),
    ("--imbalance", &["0", "12.5", "1e3"], &["-1", "nan", "inf", "1e7", "x", "50%", "--size"]),
    ("--t-min", &["1", "0.5"], &["nan", "-1", "0", "1e400", "1e300", "1e-400", "-inf", "--t-max", "1,5"]),
    ("--t-max", &["2", "7.25", "1e3"], &["NaN", "-1", "0", "inf", "-", "1e", "two"]),
    ("--graph", &["auto", "map", "dashmap", "gather", "sort"], &["Sort", "-1", "--fill"]),
    ("--scan", &["auto", "serial", "parallel"], &["Serial", "two-pass", "1"]),
    ("--preset", &["papers", "fast", "seeds"], &["auto", "paper", "Fast", "-1"]),
    ("--fill", &["auto", "scatter", "gather", "colour"], &["color", "sort", "0", "seam", "unsafe"]),
    ("--kernel", &["auto", "intrepid", "table", "fused"], &["automatic", "fuse", "-x"]),
    ("--workset", &["8", "1000"], &["0", "-1", "8.5", "many"]),
    ("--layout", &["auto", "left", "right"], &["Left", "rows", "-1"]),
    ("--variant", &["auto", "flat", "dmma"], &["Flat", "tile", "-1"]),
    // `ad` refuses the kernel fused.
    ("--jacobian", &["analytic"], &["dual", "AD", "-x"]),
    ("--newton-tolerance", &["1e-7", "0.5"], TOLERANCES),
    ("--newton-max", &["1", "10"], COUNTS),
    ("--cg-tolerance", &["1e-8", "0.999"], TOLERANCES),
    ("--cg-max", &["1", "2000"], COUNTS),
    ("--operator", &["assembled"], &["matrix", "Assembled", "auto", "-1"]),
    ("--advection", &["0,0,0"], &["1", "1,2", "1,2,3,4", "x,y,z", "nan,0,0", "0,-1e300,0"]),
    ("--solver", &["auto", "cg"], &["CG", "mg", "Gmres", "-1"]),
    ("--cg-variant", &["auto", "classic", "single-reduction"], &["gear", "pipelined", "Classic", "-1"]),
    (
        "--device",
        &["auto", "cpu", "cuda", "cuda:0"],
        &["gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999999999999999999", "CPU"],
    ),
    ("--format", &["auto", "crs", "pattern", "symmetric"], &["csr", "sell", "-1"]),
    ("--lanes", &["auto", "warp", "8"], &["0", "3", "64", "-1", "x", "1.5", "WARP"]),
    ("--threads", &["1", "2", "64"], &["0", "-1", "1.5", "x", "65536", "18446744073709551615", "1e2"]),
    ("--timeout", &["30", "0.5"], &["0", "-1", "nan", "inf", "x", "1e400", "--report", "1s"]),
    ("--report", &["report.json", "a b", "-"], &[]),
];
const SIZES: &[&str] = &[
    "0",
    "1",
    "-3",
    "-3x4x5",
    "8x8",
    "8x8x8x8",
    "x",
    "8xx8",
    "1.5",
    "nan",
    "1e3",
    "99999999999999999999999",
    "3000000x3000000x3000000",
    "8*8*8",
    "--size",
];
const TOLERANCES: &[&str] = &["0", "1", "-1", "-1e-8", "2", "nan", "inf", "1e-400", "x", "1e-8,", "--cg-max"];
const COUNTS: &[&str] = &["0", "-1", "1.5", "x", "1e3", "18446744073709551616", "-", "--triad", "0x10"];
/// Wrong for every flag with a value but `--report`.
const HOSTILE: &[&str] = &[
    "",
    " ",
    "\u{1b}[31m",
    "\u{1b}]0;title\u{7}",
    "1\n2",
    "\u{202e}8",
    "٣",
    "8\u{200b}",
    "\r",
    "%n%s",
    "'",
    "`",
    "\u{9b}2J",
    "漢",
];
/// Words that are no flag, and flags used wrongly, with what the message names.
const STRAYS: &[(&str, &str)] = &[
    ("--nodez", "--nodez"),
    ("stray", "stray"),
    ("--NODES=3", "--NODES"),
    ("---nodes", "---nodes"),
    ("-n", "-n"),
    ("--triad=yes", "--triad"),
    ("--share-gpu=1", "--share-gpu"),
    ("--dump-deck=", "--dump-deck"),
    ("\u{1b}[2J", "\\u{1b}[2J"),
    ("--\u{1b}[31m", "--\\u{1b}[31m"),
    ("--completions=basic", "--completions"),
    ("--input=", "--input"),
    ("--input=/dev/zero", "/dev/zero: a device"),
    ("--input=no\nsuch.toml", "no\\nsuch.toml"),
    ("--report=", "--report"),
    ("--cg-max=", "--cg-max"),
    ("-", "-"),
];

fn words(flag: &str, value: &str, random: &mut Random) -> Vec<String> {
    if random.below(2) == 0 { vec![format!("{flag}={value}")] } else { vec![flag.into(), value.into()] }
}

/// Draws a command line with one mistake: the words, and the name that the message has to hold.
fn broken_line(random: &mut Random) -> (Vec<String>, String) {
    let mut parts: Vec<Vec<String>> = Vec::new();
    let mut free: Vec<_> = VALUES.iter().collect();
    let nodes = random.below(2);
    // One of --nodes and --nodes-per-rank.
    free.remove(nodes);
    for _ in 0..random.below(5) {
        let (flag, right, _) = free.swap_remove(random.below(free.len()));
        parts.push(words(flag, random.pick(right), random));
    }
    let place = random.below(parts.len() + 1);
    let name = match random.below(8) {
        0 => {
            let (stray, name) = random.pick(STRAYS);
            parts.insert(place, vec![stray.to_string()]);
            name.to_string()
        }
        1 => {
            parts.insert(place, vec!["--triad".into()]);
            parts.push(vec!["--triad".into()]);
            "--triad".into()
        }
        kind => {
            let (flag, _, wrong) = free.swap_remove(random.below(free.len()));
            if kind == 2 {
                // The last word has no value.
                parts.push(vec![flag.to_string()]);
            } else {
                let value = if wrong.is_empty() { "" } else { random.pick(if kind == 3 { HOSTILE } else { wrong }) };
                // A name of a file may begin with a hyphen only behind the equals sign.
                let value = if wrong.is_empty() { vec![format!("{flag}={value}")] } else { words(flag, value, random) };
                parts.insert(place, value);
            }
            flag.to_string()
        }
    };
    (parts.concat(), name)
}

#[test]
fn wrong_command_lines_name_the_flag_in_one_line() {
    let mut random = Random::new(11);
    let mut processes = 0;
    for case in 0..6000 {
        let (line, name) = broken_line(&mut random);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let message = parsed(&line).expect_err(&format!("accepted: {line:?}"));
        check(&message, &[&name], &line);
        if case % 30 == 0 {
            processes += 1;
            assert_eq!(run(&line, &[]), (2, String::new(), message), "{line:?}");
        }
    }
    println!("wrong command lines: 6000 in this process, {processes} as processes");
}

#[test]
fn right_command_lines_set_their_keys_and_no_others() {
    let mut random = Random::new(12);
    let default = flat(&parsed(&[]).unwrap().to_toml().unwrap());
    for _ in 0..2000 {
        let mut free: Vec<_> = VALUES.iter().filter(|(flag, ..)| *flag != "--nodes-per-rank").collect();
        let mut line = Vec::new();
        let mut used = Vec::new();
        for _ in 0..random.below(9) {
            let (flag, right, _) = free.swap_remove(random.below(free.len()));
            line.extend(words(flag, random.pick(right), &mut random));
            used.push(SETTINGS.iter().find(|setting| setting.flag == *flag).unwrap().key.to_string());
        }
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let deck = parsed(&line).unwrap_or_else(|message| panic!("{line:?}: {message}"));
        let dump = flat(&deck.to_toml().unwrap());
        for (key, value) in &dump {
            assert!(used.contains(key) || default.get(key) == Some(value), "{line:?}: {key} = {value}");
        }
    }
}

/// A forecast needs no GPU and writes no report. Code 0 also where free memory is unknown.
#[test]
fn a_dry_run_solves_nothing_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let flags = ["--dry-run", "--nodes", "40x30x20", "--report", report.to_str().unwrap()];
    let (code, out, err) = run(&[&flags[..], &["--device", "cpu"]].concat(), &[]);
    let note = "note: no effect: run.report (--report): a forecast writes no file\n";
    assert_eq!((code, err.as_str()), (0, note), "{out}");
    for words in ["40 x 30 x 20 = 24000 nodes, 21489 elements", "24000 nodes, 0 ghosts", "entries of the matrix"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(out.lines().last().unwrap().starts_with("FITS: peak ") && !out.contains("PASS"), "{out}");
    #[cfg(feature = "cuda")]
    {
        // No machine has this GPU.
        let (code, out, err) = run(&[&flags[..], &["--device", "cuda:900"]].concat(), &[]);
        assert_eq!(code, 0, "{err}");
        let err = err.strip_prefix(note).unwrap_or_else(|| panic!("{err}"));
        assert!(err.starts_with("note: free memory is unknown: run.device (--device): cuda:900: "), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        assert!(out.contains("\nfree memory unknown\nUNKNOWN: peak ") && out.contains(" on a GPU\n"), "{out}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The examples of the campaign by hand, with the whole message where its words matter.
#[test]
fn mistakes_read_as_they_should() {
    for (words, message) in [
        (&["--nodes", "8x8"][..], "invalid value '8x8' for '--nodes <N>': invalid size `8x8`: expected N or NxNxN"),
        (&["--cg-max", "-1"], "invalid value '-1' for '--cg-max <N>': expected a whole number, 1 or more"),
        (&["--newton-max", "-1"], "invalid value '-1' for '--newton-max <N>': expected a whole number, 1 or more"),
        (&["--threads", "-1"], "invalid value '-1' for '--threads <N>': expected a whole number, 1 or more"),
        (&["--cg-tolerance", "x"], "invalid value 'x' for '--cg-tolerance <TOL>': expected a number"),
        (&["--size", "1,1"], "invalid value '1,1' for '--size <X,Y,Z>': expected three numbers X,Y,Z"),
        (&["--size", "0,1,1"], "mesh.size (--size): 0: give positive numbers"),
        (&["--nodes", "8", "16"], "unexpected argument '16' found"),
        (&["--t-max", "1e300"], "problem.t_max (--t-max): 1e300: give a positive temperature, up to 1e60"),
        (
            &["--advection", "1,1e300,0"],
            "problem.advection (--advection): 1,1e300,0: give three numbers, up to 1e60 in magnitude",
        ),
        (&["--dump-deck", "--dry-run"], "the argument '--dump-deck' cannot be used with '--dry-run'"),
        (&["--kernel-info", "--dump-deck"], "the argument '--kernel-info' cannot be used with '--dump-deck'"),
        (
            &["--map", "\u{1b}[31mred"],
            "invalid value '\\u{1b}[31mred' for '--map <MAP>': invalid coordinate map `\\u{1b}[31mred`: expected none, bubble[:amplitude] or twist[:amplitude]",
        ),
        (&["--input", "/no\u{1b}such"], "/no\\u{1b}such: No such file or directory (os error 2)"),
    ] {
        assert_eq!(parsed(words).unwrap_err(), format!("error: {message}\n"));
    }
    // A list does not take the flag behind it.
    let deck = parsed(&["--size", "1,1,2", "--nodes", "8"]).unwrap();
    assert_eq!((deck.mesh.size, deck.mesh.nodes.unwrap().edges()), ([1.0, 1.0, 2.0], [8; 3]));
    let message = parsed(&["--threads", "4096"]).unwrap_err();
    assert!(
        message.starts_with("error: run.threads (--threads): 4096: ") && message.contains("allowed to this rank"),
        "{message}"
    );
    let long = "9".repeat(100_000);
    check(&parsed(&["--nodes", &long]).unwrap_err(), &["--nodes"], &"a long word");
}
