//! What the study writes, as failures leave it: kills, full disks, damaged tables, two runs at once, odd names and sizes.

#[cfg(feature = "plot")]
mod figures;
mod tables;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use support::root;

fn run(args: &[&str]) -> (i32, String, String) {
    support::run("minifenl-contractions", args)
}

/// Fails with one line that has this part, code 2 and nothing on stdout.
fn refused(args: &[&str], part: &str) {
    let (code, out, err) = run(args);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{args:?}: {err}");
    assert!(err.starts_with("error: ") && err.contains(part), "{args:?}: {err}");
}

/// The program that is tested; in a folder made by `make dist` it is named at run time.
fn executable() -> String {
    let built = env!("CARGO_BIN_EXE_minifenl-contractions");
    std::env::var("CARGO_BIN_EXE_minifenl-contractions").unwrap_or(built.into())
}

fn start(args: &[&str]) -> Child {
    Command::new(executable()).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Writes a deck that runs in no time, named `x`, with a heat map and lines.
fn deck(folder: &Path, changes: &[(&str, &str)]) -> String {
    let mut text = String::from(
        "name = \"x\"\ntitle = \"1 MiB\"\n[[sweep]]\nkernels = [\"data_field_vector\"]\nvariants = []\n\
         precisions = [\"f32\", \"f64\"]\nlayouts = []\nhost_layouts = [\"left\", \"right\"]\nfields = [[1, 3]]\n\
         points = [8, 16, 32]\ndims = [[2, 1]]\nmemory_mib = [1]\n\
         [[plot]]\nname = \"heat\"\ntitle = \"of 1 MiB\"\nkind = \"heat\"\nvariants = [\"threads\"]\nover = \"serial\"\n\
         [[plot]]\nname = \"time\"\ntitle = \"of 1 MiB\"\nkind = \"lines\"\nvariants = [\"serial\", \"threads\"]\nmemory_mib = 1\n",
    );
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let path = folder.join("deck.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

/// Name and content of every file but temporary ones.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_string(), path))
        .filter(|(name, _)| !name.starts_with('.'))
        .map(|(name, path)| (name, fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn odd_names_sizes_and_files_are_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let rest = ["--device", "cpu", "--quick", "--out", out.to_str().unwrap()];
    let with = |changes: &[(&str, &str)], part: &str| {
        let deck = deck(dir.path(), changes);
        refused(&[&[&*deck], &rest[..]].concat(), part);
    };
    for name in [".", "..", "", "a/b", "/", "-x", ".x", "a b", "\\n", "\\u001b[2J", "\\u0000", "\u{e9}"] {
        with(&[("name = \"x\"", &format!("name = \"{name}\""))], "deck.toml: name: \"");
        with(&[("name = \"heat\"", &format!("name = \"{name}\""))], "deck.toml: plot \"");
    }
    let (dims, fields) = (("dims = [[2, 1]]", "dims = [[1048576, 1048576]]"), ("[[1, 3]]", "[[1048576, 1048576]]"));
    let kernel = ("data_field_vector", "field_field_tensor");
    with(
        &[dims],
        "deck.toml: sweep 1: one cell of data_field_vector with fields [1, 3], 8 points and dims [1048576, 1] has 128 MiB",
    );
    with(&[dims, fields, kernel], "has more than 2^60 bytes");
    with(&[dims, kernel], "too large for --quick");
    for file in ["/dev/zero", "/dev/null", out.parent().unwrap().to_str().unwrap()] {
        refused(&[&[file], &rest[..]].concat(), "expected a regular file");
        refused(&["--claims", file], "expected a regular file");
    }
    let long = dir.path().join("long.toml");
    fs::write(&long, "#".repeat(2 << 20)).unwrap();
    refused(&[&[long.to_str().unwrap()], &rest[..]].concat(), "long.toml: larger than 1 MiB");
    fs::write(&long, b"name = 'x'\ntitle = '\xff'\n").unwrap();
    refused(&[&[long.to_str().unwrap()], &rest[..]].concat(), "long.toml: line 2: byte 0xff is not UTF-8 text");
    assert!(!out.exists());
}

/// `script` runs the program on a terminal of its own.
#[cfg(unix)]
#[test]
fn the_bar_fits_the_terminal_and_a_dumb_one_has_none() {
    let dir = tempfile::tempdir().unwrap();
    let deck = deck(dir.path(), &[("name = \"x\"", "name = \"a-name-of-forty-letters-and-a-few-more-too\"")]);
    let on_terminal = |term: &str, columns: usize| {
        let folder = dir.path().join("out");
        let command = format!(
            "stty rows 24 cols {columns}; {} {deck} --device cpu --quick --out {}",
            executable(),
            folder.display()
        );
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).env("TERM", term).stdin(Stdio::null()).output()
    };
    for columns in [120, 80, 40] {
        let Ok(output) = on_terminal("xterm", columns) else {
            return support::skip("the_bar_fits_the_terminal", "no script (util-linux)", "MINIFENL_NEEDS_SCRIPT");
        };
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{text}");
        let steps: Vec<&str> = text.split("\r\x1b[K").skip(1).filter(|step| !step.contains('\n')).collect();
        assert!(!steps.is_empty() && steps.iter().all(|step| step.len() < columns), "{steps:?}");
        // On a wide one there is a bar.
        assert_eq!(steps[0].contains("[...."), columns == 120, "{steps:?}");
    }
    let text = String::from_utf8(on_terminal("dumb", 80).unwrap().stdout).unwrap();
    assert!(!text.contains('\x1b') && text.contains("wrote "), "{text}");
}
