//! What the study writes, as failures leave it: kills, full disks, damaged tables, two runs at once, odd names and sizes.

#[path = "../../../tests/common/program.rs"]
mod program;
#[path = "../../../tests/common/root.rs"]
mod root;
#[path = "../../../tests/common/skip.rs"]
mod skip;

use root::root;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn run(args: &[&str]) -> (i32, String, String) {
    program::run("minifenl-contractions", args)
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

/// Numbers that follow no pattern and are the same in each run.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 33
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

/// A table with the given time in each row, so that its figures follow from the test and not from the machine.
#[cfg(feature = "plot")]
fn with_times(table: &str, of: impl Fn(f64) -> f64) -> String {
    let lines = table.lines().enumerate().map(|(row, line)| {
        let mut cells: Vec<String> = line.split(',').map(String::from).collect();
        if cells.get(11).is_some_and(|cell| cell.parse::<f64>().is_ok()) {
            cells[11] = format!("{:.6}", of(row as f64));
        }
        cells.join(",") + "\n"
    });
    lines.collect()
}

#[cfg(feature = "plot")]
#[test]
fn a_kill_leaves_each_figure_old_or_new() {
    const KILLS: u64 = 30;
    let dir = tempfile::tempdir().unwrap();
    let deck = deck(dir.path(), &[]);
    let out = dir.path().join("out");
    let folder = out.to_str().unwrap();
    assert_eq!(run(&[&deck, "--device", "cpu", "--quick", "--out", folder]).0, 0);
    let first = fs::read_to_string(out.join("x.csv")).unwrap();
    let tables = [with_times(&first, |row| 1.0 + row), with_times(&first, |row| 1.0 + row * row)];
    let redraw = [&*deck, "--quick", "--redraw", "--out", folder];
    // The figures of either table, and how long they take.
    let mut took = Duration::ZERO;
    let figures = tables.each_ref().map(|table| {
        fs::write(out.join("x.csv"), table).unwrap();
        let start = Instant::now();
        assert_eq!(run(&redraw).0, 0);
        took = start.elapsed();
        files(&out).into_iter().filter(|(name, _)| name.contains("x-")).collect::<Vec<_>>()
    });
    assert_eq!((figures[0].len(), figures[0].iter().zip(&figures[1]).filter(|(a, b)| a == b).count()), (8, 0));
    let (mut seed, mut mixed) = (11, 0);
    for kill in 0..KILLS {
        fs::write(out.join("x.csv"), &tables[kill as usize % 2]).unwrap();
        let mut child = start(&redraw);
        std::thread::sleep(Duration::from_micros(random(&mut seed) % took.as_micros() as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let found: Vec<_> = files(&out).into_iter().filter(|(name, _)| name.contains("x-")).collect();
        let is_new = |(at, figure): (usize, &(String, Vec<u8>))| {
            assert!(figure == &figures[0][at] || figure == &figures[1][at], "kill {kill}: {} is damaged", figure.0);
            figure == &figures[kill as usize % 2][at]
        };
        assert_eq!(found.len(), 8);
        let new = found.iter().enumerate().filter(|figure| is_new(*figure)).count();
        mixed += usize::from((1..8).contains(&new));
    }
    println!("{KILLS} kills, {mixed} of them between two figures");
    // A lock and temporary files that a kill left block nothing.
    assert_eq!(run(&redraw), (0, format!("{folder}/x.csv: 4 figures (SVG and PNG)\n"), String::new()));
}

#[test]
fn a_kill_leaves_each_table_whole() {
    const KILLS: u64 = 12;
    let dir = tempfile::tempdir().unwrap();
    let deck = deck(dir.path(), &[]);
    let out = dir.path().join("out");
    let args = [&*deck, "--device", "cpu", "--quick", "--threads", "1", "--out", out.to_str().unwrap()];
    let start_of = Instant::now();
    assert_eq!(run(&args).0, 0);
    let took = start_of.elapsed().as_micros() as u64;
    let csv = out.join("x.csv");
    let (mut seed, mut last, mut new) = (5, fs::read(&csv).unwrap(), 0);
    for kill in 0..KILLS {
        let mut child = start(&args);
        std::thread::sleep(Duration::from_micros(random(&mut seed) % took));
        let _ = child.kill();
        child.wait().unwrap();
        let found = fs::read(&csv).unwrap();
        new += u64::from(found != last);
        last = found;
        let (code, _, err) = run(&["--claims", csv.to_str().unwrap()]);
        assert_eq!((code, err.as_str()), (0, ""), "kill {kill}");
        let json: serde_json::Value = serde_json::from_slice(&fs::read(out.join("x.json")).unwrap()).unwrap();
        assert_eq!(
            json["rows"].as_array().unwrap().len(),
            String::from_utf8_lossy(&last)
                .lines()
                .filter(|line| line.contains(",yes") || line.contains(",only"))
                .count()
        );
    }
    println!("{KILLS} kills, {new} of them after a new table");
}

#[test]
fn a_table_that_cannot_be_read_is_precious() {
    let dir = tempfile::tempdir().unwrap();
    let deck = deck(dir.path(), &[]);
    let out = dir.path().join("out");
    let folder = out.to_str().unwrap();
    let args = [&*deck, "--device", "cpu", "--quick", "--out", folder];
    assert_eq!(run(&args).0, 0);
    let csv = out.join("x.csv");
    let (path, whole) = (csv.to_str().unwrap(), fs::read_to_string(&csv).unwrap());
    let no_count: String =
        whole.lines().filter(|line| !line.starts_with("# rows")).map(|line| format!("{line}\n")).collect();
    for (damaged, part) in [
        (&whole[..whole.len() / 2], "x.csv: line "),
        (&whole[..whole.rfind("\ndata").unwrap() + 1], "a part of a table"),
        (&whole[..whole.len() - 1], "the last line is cut off"),
        (&no_count, "no line `# rows N` above the header"),
        ("", "is not the header of a sweep"),
        ("of another program\n", "is not the header of a sweep"),
    ] {
        fs::write(&csv, damaged).unwrap();
        refused(&args, part);
        refused(&args, "what it holds would be lost: name another folder with --out (TABLES= of make), or --force");
        refused(&[&deck, "--quick", "--redraw", "--out", folder], part);
        refused(&["--claims", path], part);
        if cfg!(feature = "cuda") {
            refused(&["--learn", path], part);
        }
        assert_eq!(fs::read_to_string(&csv).unwrap(), damaged);
    }
    // A dangling link and a folder are no free place either.
    fs::remove_file(&csv).unwrap();
    fs::create_dir(&csv).unwrap();
    refused(&args, "x.csv: a folder, expected a regular file");
    fs::remove_dir(&csv).unwrap();
    fs::write(&csv, "damaged").unwrap();
    assert_eq!(run(&[&args[..], &["--force"]].concat()).0, 0);
    assert!(fs::read_to_string(&csv).unwrap().contains("# rows "));
}

#[cfg(feature = "cuda")]
#[test]
fn no_times_are_learnt_that_are_none() {
    let dir = tempfile::tempdir().unwrap();
    let kept = fs::read_to_string(root().join("docs/contractions/figure-4.2.csv")).unwrap();
    let line = kept.lines().find(|line| line.contains(",cuda:0 ") && line.ends_with(",yes")).unwrap();
    let time = line.split(',').nth(11).unwrap();
    let csv = dir.path().join("t.csv");
    let path = csv.to_str().unwrap();
    for bad in ["inf", "-inf", "NaN", "nan", "infinity", "-0.5", "0", "1e400", "-1e-400"] {
        fs::write(&csv, kept.replacen(line, &line.replacen(&format!(",{time},"), &format!(",{bad},"), 1), 1)).unwrap();
        for command in ["--learn", "--claims"] {
            refused(&[command, path], &format!(" has median_ms {bad:?}: expected a finite number above 0"));
        }
    }
    fs::write(&csv, &kept).unwrap();
    let (code, text, _) = run(&["--learn", path]);
    assert!(code == 0 && text.contains("--learn t.csv\nkernel,"), "{text}");
}

#[test]
fn claims_are_written_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let table = root().join("docs/contractions/figure-3.1.csv");
    let to = dir.path().join("claims.md");
    let args = ["--claims", table.to_str().unwrap(), "--to", to.to_str().unwrap()];
    let (_, printed, _) = run(&args[..2]);
    assert_eq!(run(&args), (0, String::new(), String::new()));
    assert_eq!(fs::read_to_string(&to).unwrap(), printed);
    fs::write(&to, "old").unwrap();
    let command = format!("ulimit -f 1; {} {}", executable(), args.join(" "));
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), err.lines().count()), (Some(1), 1), "{err}");
    assert!(err.contains("claims.md: ") && err.contains("(ulimit -f)"), "{err}");
    refused(&["--claims", to.to_str().unwrap(), "--to", args[3]], "is not the header");
    assert_eq!((fs::read_to_string(&to).unwrap().as_str(), fs::read_dir(dir.path()).unwrap().count()), ("old", 1));
}

#[test]
fn a_full_disk_leaves_the_old_table() {
    let dir = tempfile::tempdir().unwrap();
    let deck = deck(dir.path(), &[]);
    let out = dir.path().join("out");
    let args = format!("{deck} --device cpu --quick --out {}", out.display());
    let sh = |limit: &str, to: &str| {
        let command = format!("{limit} {} {args} {to}", executable());
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(sh("", ""), (Some(0), String::new()));
    let old = files(&out);
    // The table has more than a KiB.
    let (code, err) = sh("ulimit -f 1;", "");
    assert_eq!((code, err.lines().count()), (Some(1), 1), "{err}");
    assert!(err.contains("x.csv: ") && err.contains("(ulimit -f); no copy could be written to "), "{err}");
    assert!(files(&out) == old && fs::read_dir(&out).unwrap().count() == old.len());
    // A full output costs neither tables nor figures.
    let (code, err) = sh("", "> /dev/full");
    assert_eq!(
        (code, err.as_str()),
        (Some(1), "error: the output cannot be written: No space left on device (os error 28)\n")
    );
    let is_new = |name: &str| files(&out).iter().zip(&old).any(|(new, old)| new.0 == name && new.1 != old.1);
    assert!(is_new("x.csv") && is_new("x.json"));
    for closed in [">&-", "| true"] {
        assert_eq!(sh("", closed), (Some(0), String::new()), "{closed}");
    }
}

#[test]
fn a_second_run_into_one_folder_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let deck = deck(dir.path(), &[("points = [8, 16, 32]", "points = [8, 16, 32, 64, 128, 256, 512, 1024]")]);
    let out = dir.path().join("out");
    let folder = out.to_str().unwrap();
    // A full run takes seconds.
    let mut first = start(&[&deck, "--device", "cpu", "--out", folder]);
    let lock = out.join(".minifenl-contractions.lock");
    while fs::read_to_string(&lock).map_or(true, |holder| holder.is_empty()) {
        assert!(first.try_wait().unwrap().is_none(), "the first run ended without a lock");
        std::thread::sleep(Duration::from_millis(1));
    }
    let said = format!("out: another run (process {}) is writing into this folder: wait for it, or ", first.id());
    let quick = [&*deck, "--device", "cpu", "--quick", "--out", folder];
    refused(&quick, &said);
    refused(&[&quick[..], &["--force"]].concat(), &said);
    assert!(first.try_wait().unwrap().is_none(), "the first run was too short for this test");
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(lock.exists());
    assert_eq!(run(&quick).0, 0);
    assert!(!lock.exists());
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

#[cfg(feature = "plot")]
#[test]
fn figures_of_a_quick_run_say_their_own_size() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let deck = root().join("inputs/contractions/figure-3.1.toml");
    // The deck says no size: those of the titles come from the rows.
    assert!(!fs::read_to_string(&deck).unwrap().contains("GiB"));
    assert_eq!(run(&[deck.to_str().unwrap(), "--device", "cpu", "--quick", "--out", out]).0, 0);
    let figure = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let times = figure("figure-3.1-time-f64.svg");
    assert!(times.contains(">Figure 3.1: FieldFieldScalar (quick run), 8 × 8, 0.125 MiB</title>"), "{times}");
    assert!(figure("figure-3.1-speedup-f64.svg").contains(">Figure 3.1: FieldFieldScalar (quick run), 8 × 8</title>"));
    let kept = fs::read_to_string(root().join("docs/contractions/figure-3.1-time-f64.svg")).unwrap();
    assert!(kept.contains(">Figure 3.1: FieldFieldScalar, 8 × 8, 1 GiB</title>"));
    // The roofline of the host's threads, from the table's own ceilings, and the host's processor.
    assert!(times.contains(">roofline, ") && times.contains("class=\"limit\""), "{times}");
    let table = fs::read_to_string(dir.path().join("figure-3.1.csv")).unwrap();
    let (version, cpu) = table.lines().next().unwrap().strip_prefix("# ").unwrap().split_once(", ").unwrap();
    assert!(!cpu.is_empty() && times.contains(&format!("; {version}</text>")), "{times}");
    let words: String = times.split(&['<', '>'][..]).collect::<Vec<_>>().join(" ");
    assert!(cpu.split(' ').all(|word| words.contains(word)), "{cpu}: {words}");
}

/// Every committed figure is the one that its table and the program make.
#[cfg(feature = "plot")]
#[test]
fn kept_figures_are_those_of_the_kept_tables() {
    let (dir, kept) = (tempfile::tempdir().unwrap(), root().join("docs/contractions"));
    for (deck, name) in [("figure-3.1.toml", "figure-3.1"), ("figure-3.25.toml", "figure-3.25")] {
        fs::copy(kept.join(format!("{name}.csv")), dir.path().join(format!("{name}.csv"))).unwrap();
        let deck = root().join("inputs/contractions").join(deck);
        assert_eq!(run(&[deck.to_str().unwrap(), "--redraw", "--out", dir.path().to_str().unwrap()]).0, 0);
    }
    let drawn: Vec<_> = files(dir.path()).into_iter().filter(|(name, _)| name.ends_with(".svg")).collect();
    assert_eq!(drawn.len(), 8);
    for (name, text) in drawn {
        assert!(fs::read(kept.join(&name)).unwrap() == text, "{name}: redraw it from its table");
    }
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
            return skip::skip("the_bar_fits_the_terminal", "no script (util-linux)", "MINIFENL_NEEDS_SCRIPT");
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
