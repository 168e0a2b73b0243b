//! The program as a user meets it, alone and, with the feature `mpi`, on ranks.

use support::{json, run};

const PROGRAM: &str = "minifenl-minimd";

/// What miniMD 2662065 (`ref`) prints: `./miniMD_openmpi -s CELLS -n 100`, one rank; step, T, U, P.
const ORIGINAL: [(&str, [&str; 2]); 4] = [
    ("2", ["0 1.440000e+00 -6.773368e+00 -5.057658e+00", "100 8.142563e-01 -5.872040e+00 -5.189856e-01"]),
    ("4", ["0 1.440000e+00 -6.773368e+00 -5.024418e+00", "100 7.510296e-01 -5.748603e+00 1.802117e-01"]),
    ("6", ["0 1.440000e+00 -6.773368e+00 -5.021076e+00", "100 7.508457e-01 -5.751696e+00 2.653133e-01"]),
    ("10", ["0 1.440000e+00 -6.773368e+00 -5.019973e+00", "100 7.208599e-01 -5.701261e+00 5.236926e-01"]),
];

/// The states of an output, without the seconds.
fn states(out: &str) -> Vec<&str> {
    let lines = out.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    lines.filter_map(|line| line.rsplit_once(' ').map(|(state, _)| state.trim_end())).collect()
}

#[test]
fn states_are_those_of_the_original_to_its_digits() {
    for (cells, expected) in ORIGINAL {
        for rest in
            [&["--threads", "1"][..], &["--threads", "2", "--lists", "full"], &["--threads", "2", "--sort", "no"]]
        {
            let (code, out, err) = run(PROGRAM, &[&["-n", cells], rest].concat());
            assert_eq!((code, err.as_str()), (0, ""), "{out}");
            assert_eq!(states(&out), expected, "{cells} {rest:?}");
        }
    }
}

#[cfg(feature = "mpi")]
#[test]
fn ranks_print_the_states_of_the_original_once() {
    use std::process::Command;
    let on_ranks = |ranks: usize, words: &[&str]| {
        let mut command: Command = support::mpirun(ranks);
        command.arg(env!("CARGO_BIN_EXE_minifenl-minimd")).args(["--threads", "1"]).args(words);
        let output = command.output().expect("mpirun starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    for (ranks, lists) in [(2, "half"), (3, "half"), (4, "full")] {
        let (code, out, err) = on_ranks(ranks, &["-n", "6", "--lists", lists]);
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(states(&out), ORIGINAL[2].1, "{ranks}");
        assert_eq!(out.matches("PERF_SUMMARY").count(), 1);
    }
    let bins = ["-n", "4", "--cutoff", "1e-6", "--skin", "1e-6"];
    let file = ["-n", "4", "--json", "/no/such/folder/run.json"];
    for words in [&["-n", "1"][..], &["-n", "4", "--dt", "1"], &bins, &file] {
        let (code, out, err) = on_ranks(2, words);
        let told: Vec<&str> = err.lines().filter(|line| line.starts_with("error: ")).collect();
        assert!(code == Some(2) && told.len() == 1, "{code:?} {err}");
        assert!(!out.contains("PERF_SUMMARY"), "{out}");
    }
    for (flag, value) in [("--steps", "20"), ("--dt", "0.01"), ("--lists", "full"), ("--device", "cuda")] {
        let program = env!("CARGO_BIN_EXE_minifenl-minimd");
        let mut command = support::mpirun(1);
        command.args([
            program,
            "-n",
            "4",
            "--threads",
            "1",
            ":",
            "-n",
            "1",
            program,
            "-n",
            "4",
            "--threads",
            "1",
            flag,
        ]);
        let output = command.arg(value).output().expect("mpirun starts");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.contains(&format!("rank 1 differs from rank 0 in {flag}")), "{err}");
        assert_eq!(output.status.code(), Some(2), "{err}");
    }
    // A full disk behind the first rank's output.
    let mut command = support::mpirun(2);
    let script = format!("exec {} -n 4 --threads 1 > /dev/full", env!("CARGO_BIN_EXE_minifenl-minimd"));
    let output = command.args(["sh", "-c", &script]).output().expect("mpirun starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && err.matches("the output cannot be written").count() == 1, "{err}");
    // A mistake on the second rank alone.
    let program = env!("CARGO_BIN_EXE_minifenl-minimd");
    for (first, second, told) in [
        ("4", "0", "rank 1: invalid value '0' for '--cells <N>'"),
        ("0", "0", "error: invalid value '0' for '--cells <N>'"),
        ("--help", "4", "rank 1 differs from rank 0 in what to do"),
    ] {
        let mut command = support::mpirun(1);
        let of_first = if first == "--help" { vec![first] } else { vec!["-n", first] };
        command.arg(program).args(of_first).args([":", "-n", "1", program, "-n", second]);
        let output = command.output().expect("mpirun starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.code() == Some(2) && err.matches("error: ").count() == 1 && err.contains(told), "{err}");
        assert_eq!(out, "");
    }
    // Help, once.
    let output = support::mpirun(2).args([program, "--help"]).output().expect("mpirun starts");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && out.matches("Usage: ").count() == 1, "{out}");
}

#[test]
fn json_and_the_summary_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let (code, out, _) =
        run(PROGRAM, &["-n", "3x4x5", "--steps", "7", "--thermo", "3", "--json", file.to_str().unwrap()]);
    assert_eq!(code, 0);
    let report = json(&file);
    let steps: Vec<u64> = report["states"].as_array().unwrap().iter().map(|at| at["step"].as_u64().unwrap()).collect();
    assert_eq!((steps, report["atoms"].as_u64()), (vec![0, 3, 6, 7], Some(240)));
    let summary = out.lines().find(|line| line.starts_with("PERF_SUMMARY ")).unwrap();
    let rate = report["atom_steps_per_second"].as_f64().unwrap();
    assert!(
        summary.contains("lists=half steps=7 atoms=240 ") && summary.ends_with(&format!("={rate:.0}")),
        "{summary}"
    );
}

#[test]
fn json_on_stdout_leaves_the_states_to_stderr() {
    let (code, out, err) = run(PROGRAM, &["-n", "2", "--steps", "3", "--json", "-"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, report["steps"].as_u64()), (0, Some(3)));
    assert!(states(&err).len() == 2 && err.contains("PERF_SUMMARY "), "{err}");
    let script = format!("exec {} -n 2 --steps 3 --json - >&-", env!("CARGO_BIN_EXE_minifenl-minimd"));
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(2) && err.starts_with("error: --json: -: the standard output is closed"),
        "{err}"
    );
}

#[test]
fn help_has_80_columns_and_a_full_disk_is_a_failure() {
    let (code, out, _) = run(PROGRAM, &["--help"]);
    assert!(code == 0 && out.lines().all(|line| line.chars().count() <= 80), "{out}");
    for args in [&["-n", "2", "--steps", "1"][..], &["-n", "2", "--steps", "1", "--json", "-"], &["--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_minifenl-minimd"));
        let output = command.args(args).stdout(full).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(1) && err.contains("error: the output cannot be written"),
            "{args:?}: {err}"
        );
    }
}

/// A build without MPI refuses several ranks, but shows its help; where that fails, too, the code is that of output.
#[cfg(not(feature = "mpi"))]
#[test]
fn help_without_mpi_on_a_full_disk_is_a_failure() {
    let help = |stdout: std::process::Stdio| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_minifenl-minimd"));
        let output = command.arg("--help").env("OMPI_COMM_WORLD_SIZE", "2").stdout(stdout).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(help(std::process::Stdio::piped()), (Some(0), String::new()));
    let (code, err) = help(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap().into());
    assert!(code == Some(1) && err.contains("error: the output cannot be written"), "{code:?}: {err}");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    for (args, words) in [
        (&["-n", "0"][..], "expected N or NxNxN"),
        (&["-n", "4x4"], "expected N or NxNxN"),
        (&["-n", "601"], "numbers from 1 to 600"),
        (&["-n", "1"], "the box is 1.680 long"),
        (&["--steps", "0"], "expected a whole number from 1"),
        (&["--dt", "nan"], "expected a number from 1e-6"),
        (&["--dt", "-1"], "invalid value '-1' for '--dt <T>': expected a number from 1e-6"),
        (&["-n", "3", "--dt", "1"], "atoms are lost"),
        (&["-n", "4", "--cutoff", "1e-6", "--skin", "1e-6"], "the limit is 1073741823 bins"),
        (&["--threads", "0"], "0 is not in 1.."),
        (&["--lists", "third"], "third"),
        (&["--device", "tpu"], "tpu"),
        (&["-n", "2", "--json", "/no/such/folder/run.json"], "/no/such/folder"),
    ] {
        let (code, out, err) = run(PROGRAM, args);
        assert!(code == 2 && !out.contains("PERF_SUMMARY"), "{args:?}: {out} {err}");
        assert!(err.contains(words) && err.trim_end().lines().count() == 1, "{args:?}: {err}");
    }
}
