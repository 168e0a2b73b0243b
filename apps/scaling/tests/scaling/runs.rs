//! The program: a whole study with a made-up minifenl, its resume, and its refusals.

#[cfg(feature = "mpi")]
use crate::made_up::program;
use crate::made_up::{made_up, runs, scaling};

#[test]
fn a_study_resumes_and_says_what_is_oversubscribed() {
    let root = tempfile::tempdir().unwrap();
    let (program, out) = (made_up(root.path()), root.path().join("weak"));
    let out = out.to_str().unwrap();
    let study = |more: &[&str]| {
        let fixed =
            ["weak", "--nodes-per-rank", "8", "--program", &program, "--launcher", "env RANKS={ranks}", "--out", out];
        scaling(&[&fixed[..], more].concat())
    };
    let first = study(&["--ranks", "1,2", "--repeats", "2"]);
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    assert_eq!(runs(root.path()), 4);
    // Interrupted: one report is gone, one is half of itself. More ranks are asked for.
    let file = |ranks: usize, repeat: usize| format!("{out}/runs/ranks-{ranks:06}-threads-001-{repeat}.json");
    std::fs::remove_file(file(1, 2)).unwrap();
    let text = std::fs::read_to_string(file(2, 1)).unwrap();
    std::fs::write(file(2, 1), &text[..text.len() / 2]).unwrap();
    let again = study(&["--ranks", "4", "--repeats", "2"]);
    assert_eq!((again.status.code(), runs(root.path())), (Some(0), 4 + 2 + 2));
    let text = String::from_utf8_lossy(&again.stdout);
    assert!(text.contains("4 ranks x 1 thread (4 threads share 2 hardware threads of a)"), "{text}");
    let csv = std::fs::read_to_string(format!("{out}/study.csv")).unwrap();
    let cg: Vec<&str> = csv.lines().filter(|line| line.contains(",cg,")).collect();
    // t(1) / t(2) = 10 / 11.
    assert!(cg[0].ends_with(",1.000000e0") && cg[1].ends_with(",9.090909e-1") && cg[2].ends_with(','), "{csv}");
    // Nothing is left to run, and the report is the same from what is on disk.
    let markdown = std::fs::read(format!("{out}/report.md")).unwrap();
    assert_eq!(scaling(&["report", out]).status.code(), Some(0));
    assert_eq!((std::fs::read(format!("{out}/report.md")).unwrap(), runs(root.path())), (markdown, 8));
}

#[test]
fn failed_runs_are_named_and_have_code_3() {
    let root = tempfile::tempdir().unwrap();
    let (program, out) = (made_up(root.path()), root.path().join("strong"));
    std::fs::write(root.path().join("broken"), "").unwrap();
    let out = out.to_str().unwrap();
    let study = ["strong", "--nodes", "8", "--ranks", "1", "--repeats", "1", "--program", &program, "--out", out];
    let failed = scaling(&[&study[..], &["--launcher", "env RANKS={ranks}"]].concat());
    let said = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(3), "{said}");
    let expected = "1/1 failed  1 rank x 1 thread, run 1\nfailed: 1 rank x 1 thread, run 1: no report, exit code 1: error: made to fail\n";
    assert_eq!(said, expected);
    std::fs::remove_file(root.path().join("broken")).unwrap();
    // A launcher that starts each rank on its own.
    let two = ["strong", "--nodes", "8", "--ranks", "2", "--repeats", "1", "--program", &program, "--out", out];
    let alone = scaling(&[&two[..], &["--launcher", "env RANKS=1"]].concat());
    let said = String::from_utf8_lossy(&alone.stderr);
    assert!(said.contains("ran on 1 rank instead of 2: the program or its launcher has no MPI"), "{said}");
}

#[test]
fn refusals_are_one_line_and_code_2() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().to_str().unwrap();
    let own = format!("--append={folder}/./study.csv");
    let cases: &[(&[&str], &str)] = &[
        (
            &["strong", "--nodes", "8", "--out", folder, "--", &own],
            "--append: this is study.csv of the study; give another file",
        ),
        (&["weak", "--nodes-per-rank", "8", "--ranks", "0", "--out", folder], "expected a whole number, 1 or more"),
        (&["report", folder], "no study.json: expected the folder of a study"),
        (
            &["strong", "--nodes", "8", "--launcher", "no-such-launcher", "--out", folder],
            "no-such-launcher: cannot be started",
        ),
        (
            &["weak", "--nodes-per-rank", "8", "--out", folder],
            "other settings (strong scaling, 8x8x8 nodes, device cpu)",
        ),
    ];
    for (arguments, expected) in cases {
        let output = scaling(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(expected) && said.lines().count() == 1, "{arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_machine_of_four_numbers_is_predicted() {
    let machine = ["model", "--bandwidth", "10", "--latency", "2", "--link", "5", "--flops", "30"];
    // ranks, nodes, owned max/mean, ghosts, neighbours, ...
    let rows = |words: &[&str]| -> Vec<Vec<String>> {
        let output = scaling(&[&machine[..], words].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect();
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().filter(|line| line.starts_with("| ")).skip(2).map(cells).collect()
    };
    let found = rows(&["--nodes-per-rank", "4", "--ranks", "1,2"]);
    // 64 rows with 10^3 entries: 12 * 1000 + 8 * 65 + (8 + 8 + 72) * 64 bytes at 10 GB/s are 1.815 us.
    assert_eq!(found[0][..5], ["1", "4x4x4", "1.000", "0", "0"]);
    assert_eq!([6, 10, 12].map(|at| &found[0][at]), ["0.00182", "0.00182", "1.00"], "{found:?}");
    // One message and two all-reduces of one stage: 2 and 4 us; 16 ghosts of 8 bytes at 5 GB/s.
    assert_eq!(found[1][..5], ["2", "4x8x4", "1.000", "16", "1"]);
    assert_eq!(found[1][7..10], ["0.00200", "0.000026", "0.00400"], "{found:?}");
    // 6 of 8 planes are those of rank 0; one all-reduce.
    let found = rows(&["--nodes-per-rank", "4", "--ranks", "2", "--imbalance", "50", "--reductions", "1"]);
    assert_eq!((&found[0][2], &found[0][3], &found[0][9]), (&"1.500".into(), &"16".into(), &"0.00200".into()));
    assert_eq!(rows(&["--ranks", "1"])[0][1], "64x64x64");
}

/// At the ends of their ranges the text has no infinity and no NaN; beyond them each flag is refused.
#[test]
fn numbers_of_a_machine_have_limits() {
    let flags = ["--bandwidth", "--latency", "--link", "--flops"];
    let model = |values: [&str; 4]| {
        let words = flags.into_iter().zip(values).flat_map(|(flag, value)| [flag, value]);
        scaling(&["model", "--nodes-per-rank", "4", "--ranks", "1,2,64"].into_iter().chain(words).collect::<Vec<_>>())
    };
    for ends in 0..16 {
        let output = model([0, 1, 2, 3].map(|flag| if ends >> flag & 1 == 0 { "1e-9" } else { "1e9" }));
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
    for (at, flag) in flags.into_iter().enumerate() {
        for value in ["0", "nan", "inf", "1e300", "1e-320", "1.1e9", "0.9e-9", "x"] {
            let mut values = ["1"; 4];
            values[at] = value;
            let output = model(values);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{flag} {value}: {said}");
            assert!(
                said.contains(flag) && said.contains("expected a number from 1e-9 to 1e9"),
                "{flag} {value}: {said}"
            );
            assert_eq!(said.lines().count(), 1, "{flag} {value}: {said}");
        }
    }
}

#[test]
fn uneven_boxes_are_an_axis_of_a_study() {
    let root = tempfile::tempdir().unwrap();
    let (program, out) = (made_up(root.path()), root.path().join("weak"));
    let out = out.to_str().unwrap();
    let study = ["weak", "--nodes-per-rank", "8", "--repeats", "1", "--program", &program, "--out", out];
    let launcher = ["--launcher", "env RANKS={ranks}"];
    let output = scaling(&[&study[..], &launcher, &["--ranks", "1,2", "--imbalance", "50"]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains("preconditioner, ms"), "{text}");
    // Even boxes on 1 and 2 ranks, uneven ones on 2, which take as long for 1.5 times the rows.
    assert_eq!(runs(root.path()), 3);
    assert!(text.contains("--imbalance 0,50") && text.contains("| 2 (50 % imbalance) | 1 | 8x16x8 |"), "{text}");
    assert!(text.contains("| 2 | 1 | 50 % | 50.0 % | 1.50 | 1.00 |"), "{text}");
    assert!(
        text.contains("takes 1.00 times as long as with even boxes, while the fullest rank has 1.50 times the rows"),
        "{text}"
    );
    assert!(std::fs::read_to_string(format!("{out}/uneven.svg")).unwrap().contains(">50 %, by rows<"));
    let csv = std::fs::read_to_string(format!("{out}/study.csv")).unwrap();
    let columns: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let asked = columns.iter().position(|column| *column == "imbalance_asked_percent").unwrap();
    assert!(csv.lines().skip(1).all(|line| line.split(',').count() == columns.len()), "{csv}");
    assert_eq!(csv.lines().filter(|line| line.split(',').nth(asked) == Some("50")).count(), 5, "{csv}");
    // Too uneven for 2 ranks.
    let refused = scaling(&[&study[..], &launcher, &["--ranks", "2", "--imbalance", "100"]].concat());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("expected less than 100 % on 2 ranks") && said.lines().count() == 1, "{said}");
    assert_eq!((refused.status.code(), runs(root.path())), (Some(2), 3));
}

#[test]
fn studies_with_a_preconditioner_have_its_set_up() {
    let root = tempfile::tempdir().unwrap();
    let (program, out) = (made_up(root.path()), root.path().join("strong"));
    let study = ["strong", "--nodes", "8", "--ranks", "1,2", "--repeats", "1", "--out", out.to_str().unwrap()];
    let flags = ["--launcher", "env RANKS={ranks}", "--program", &program, "--", "--preconditioner", "mg"];
    let output = scaling(&[&study[..], &flags].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("| fill, ms | preconditioner, ms | CG iteration, ms |"), "{text}");
    // 10 calls of 0.1, 0.2, 0.03 and 0.01 s.
    assert!(text.contains("| 10.0 | 20.0 | 3.00 | 1.00 |"), "{text}");
}

#[test]
fn two_studies_are_compared_at_their_common_points() {
    let root = tempfile::tempdir().unwrap();
    let program = made_up(root.path());
    let [a, b] = ["a", "b"].map(|name| root.path().join(name).to_string_lossy().into_owned());
    for (out, nodes, ranks) in [(&a, "8", "1,2"), (&b, "9", "2,4")] {
        let launcher = ["--launcher", "env RANKS={ranks}", "--program", &program];
        let study = ["strong", "--nodes", nodes, "--ranks", ranks, "--repeats", "1", "--out", out];
        assert_eq!(scaling(&[&study[..], &launcher].concat()).status.code(), Some(0));
    }
    let output = scaling(&["compare", &a, &b]);
    let text = String::from_utf8_lossy(&output.stdout);
    // The same 1.1 ms for 729 nodes instead of 512; only the first study has a base for its efficiency: half of 10 / 11.
    assert!(text.contains("| 2 | 1 | cg | 1.10 | 1.10 | 0.70 | 0.45 | 1.00 |"), "{text}");
    assert!(!text.contains("| 1 | 1 |") && text.contains("The studies differ in their boxes"), "{text}");
}

/// Studies 1 and 2 ranks of the program beside this test's, which has MPI.
#[cfg(feature = "mpi")]
#[test]
fn a_tiny_study_runs_under_mpirun() {
    let root = tempfile::tempdir().unwrap();
    // Built with this test by `cargo test --workspace`.
    let minifenl = assert_cmd::cargo::cargo_bin("minifenl");
    assert!(minifenl.is_file(), "{} is missing: cargo build --features mpi", minifenl.display());
    let out = root.path().join("study");
    let out = out.to_str().unwrap();
    let study =
        ["weak", "--nodes-per-rank", "6", "--ranks", "1,2", "--repeats", "1", "--imbalance", "50", "--out", out];
    let launcher = ["--launcher", "mpirun --oversubscribe -n {ranks}", "--program", minifenl.to_str().unwrap()];
    let output = assert_cmd::Command::new(program())
        .args(study)
        .args(launcher)
        // The triad takes 10 s in a debug build.
        .args(["--", "--no-triad"])
        .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let results = std::fs::read_to_string(format!("{out}/results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    let points = results["points"].as_array().unwrap();
    assert_eq!((points.len(), points[1]["ranks"].as_u64(), points[1]["runs"].as_u64()), (3, Some(2), Some(1)));
    // 9 of 12 layers instead of 6.
    assert_eq!((points[2]["imbalance_percent"].as_f64(), points[2]["owned_max"].as_u64()), (Some(50.0), Some(324)));
    // The simulated partition has the bytes that the program counts on its ranks.
    for (point, partition) in points.iter().zip(results["partitions"].as_array().unwrap()) {
        assert_eq!(partition["bytes"].as_f64(), point["bytes"].as_f64());
    }
    let page = std::fs::read_to_string(format!("{out}/report.html")).unwrap();
    assert!(page.matches("<svg").count() >= 3 && page.contains("Measured "), "{page}");
}
