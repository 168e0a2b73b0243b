//! The program of the kernel suite as a user meets it.

use support::{json, run};

const PROGRAM: &str = "minifenl-kernels";

#[test]
fn a_small_run_prints_a_table_and_writes_json_and_figures() {
    let folder = tempfile::tempdir().unwrap();
    let (file, figures) = (folder.path().join("kernels.json"), folder.path().join("figures"));
    let (json_flag, figures_flag) = (file.to_str().unwrap(), figures.to_str().unwrap());
    let args = ["--most", "4000", "--seconds", "0", "--threads", "1,2", "--json", json_flag, "--figures", figures_flag];
    let (code, out, err) = run(PROGRAM, &args);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.lines().all(|line| line.len() <= 80), "{out}");
    let report = json(&file);
    assert_eq!(report["spaces"].as_array().unwrap().len(), 2);
    let rows = report["rows"].as_array().unwrap();
    for kernel in [
        "axpby",
        "triad",
        "dot",
        "centroid",
        "prefix-sum",
        "spmv",
        "cg",
        "gram-schmidt",
        "lennard-jones",
        "atomics",
        "streams",
    ] {
        assert!(
            out.contains(&format!("{kernel} on serial")) && out.contains(&format!("{kernel} on threads(2)")),
            "{out}"
        );
        let of_kernel = || rows.iter().filter(|row| row["kernel"] == kernel);
        assert!(of_kernel().count() >= 2 && of_kernel().all(|row| row["seconds"].as_f64().unwrap() > 0.0), "{kernel}");
        let figure = std::fs::read_to_string(figures.join(format!("{kernel}.svg"))).unwrap();
        assert!(figure.starts_with("<svg") && figure.contains("GB/s"), "{kernel}");
    }
    for row in
        rows.iter().filter(|row| ["axpby", "triad", "dot", "gram-schmidt"].iter().any(|name| row["kernel"] == *name))
    {
        assert!(row["ratio"].as_f64().unwrap() > 0.0 && row["difference"].as_f64().unwrap() < 1e-9, "{row}");
    }
}

#[test]
fn json_on_stdout_leaves_the_table_to_stderr() {
    let words = ["vectors", "--most", "1e3", "--threads", "1", "--seconds", "0", "--json", "-"];
    let (code, out, err) = run(PROGRAM, &words);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && report["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "{out}");
    assert!(err.contains("axpby on serial"), "{err}");
    assert!(!std::path::Path::new("-").exists());
    let script = format!("exec {} {} >&-", env!("CARGO_BIN_EXE_minifenl-kernels"), words.join(" "));
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(2) && err.starts_with("error: --json: -: the standard output is closed"),
        "{err}"
    );
}

/// With the variables that mpirun sets.
#[test]
fn only_the_first_rank_measures() {
    for rank in ["0", "1"] {
        let mut command = assert_cmd::Command::cargo_bin(PROGRAM).unwrap();
        command.args(["vectors", "--most", "1e3", "--threads", "1", "--seconds", "0"]);
        let output = command.envs([("OMPI_COMM_WORLD_RANK", rank), ("OMPI_COMM_WORLD_SIZE", "2")]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty());
        assert_eq!(output.stdout.is_empty(), rank == "1");
    }
}

#[test]
fn help_has_80_columns_and_negative_numbers_name_their_flag() {
    let (code, out, _) = run(PROGRAM, &["--help"]);
    assert!(code == 0 && out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let (code, _, err) = run(PROGRAM, &["--seconds", "-1"]);
    assert_eq!(
        (code, err.as_str()),
        (2, "error: invalid value '-1' for '--seconds <S>': expected a number from 0 to 60\n")
    );
}

#[test]
fn bad_input_is_refused_in_one_line_before_work() {
    for (args, words) in [
        (&["--most", "2147483648"][..], "expected a whole number from 1 to 2147483647"),
        (&["--most", "0"], "expected a whole number from 1"),
        (&["--most", "many"], "expected a whole number from 1"),
        (&["--threads", "0"], "0 is not in 1.."),
        (&["--seconds", "nan"], "expected a number from 0 to 60"),
        (&["saxpy"], "saxpy"),
        (&["vectors", "--device", "tpu"], "tpu"),
        (
            &["vectors", "--most", "999", "--threads", "1"],
            "--most 999: nothing is so small: vectors have 1000 items or more",
        ),
        (
            &["vectors", "--most", "1e3", "--threads", "1", "--seconds", "0", "--figures", "/dev/null"],
            "--figures: /dev/null: not a folder",
        ),
    ] {
        let (code, out, err) = run(PROGRAM, args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(words) && err.trim_end().lines().count() == 1, "{args:?}: {err}");
    }
}
