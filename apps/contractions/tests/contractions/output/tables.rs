//! Tables: kills, damage, full disks, two runs at once.

use super::{deck, executable, files, refused, root, run, start};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

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
    let (mut random, mut last, mut new) = (support::Random::new(5), fs::read(&csv).unwrap(), 0);
    for kill in 0..KILLS {
        let mut child = start(&args);
        std::thread::sleep(Duration::from_micros(random.below(took as usize) as u64));
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
    refused(&["--claims", args[3], "--to", args[3]], "--to: this is");
    let no_table = dir.path().join("no-table.csv");
    fs::write(&no_table, "old").unwrap();
    refused(&["--claims", no_table.to_str().unwrap(), "--to", args[3]], "is not the header");
    assert_eq!((fs::read_to_string(&to).unwrap().as_str(), fs::read_dir(dir.path()).unwrap().count()), ("old", 2));
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
