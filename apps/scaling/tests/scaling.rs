//! The program: a whole study with a made-up minifenl, its resume, and its refusals.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

/// The program: that of the environment where these tests were taken elsewhere, else the one that was built with them.
fn program() -> String {
    std::env::var("CARGO_BIN_EXE_minifenl-scaling").unwrap_or(env!("CARGO_BIN_EXE_minifenl-scaling").into())
}

fn scaling(arguments: &[&str]) -> Output {
    assert_cmd::Command::new(program()).args(arguments).output().unwrap()
}

/// A minifenl that writes the report of the run that it is asked for: RANKS from the launcher, the rest from its flags.
fn made_up(folder: &Path) -> String {
    let path = folder.join("minifenl");
    let text = r#"#!/bin/bash
while [ $# -gt 0 ]; do
  case $1 in --nodes) nodes=$2;; --threads) threads=$2;; --report) report=$2;; esac
  shift
done
echo "$RANKS x $threads" >> "$(dirname "$0")/log"
IFS=x read -r nx ny nz <<< "$nodes"
[ -e "$(dirname "$0")/broken" ] && { echo "error: made to fail" >&2; exit 1; }
phase() { echo "{\"name\":\"$1\",\"calls\":10,\"seconds\":$2,\"bytes\":1e6,\"imbalance\":1.1}"; }
cat > "$report" <<END
{"version":"0.1.0","date":"2026-11-22T13:00:05Z","mesh":{"nodes":[$nx,$ny,$nz]},"nodes":$((nx*ny*nz)),"ranks":$RANKS,
"threads":$threads,"device":"cpu","cg_iterations":10,"cg_reductions":20,"total_seconds":0.5,"verified":true,"verdict":[],
"triad_gb_per_s":null,"provenance":{"machine":{"host":"a","cpu":"Made Up 9","cores":2,"hardware_threads":1000},"mpi":null,
"build":{"commit":"abc","profile":"release"},"placement":[{"first_rank":0,"last_rank":$((RANKS-1)),"host":"a","threads":$threads,
"affinity":"0-1","gpu":null}]},
"phases":[$(phase graph 0.1),$(phase fill 0.2),$(phase cg 0.0$((9+RANKS))),$(phase spmv 0.05),$(phase halo 0.001)]}
END
"#;
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}

/// Runs of the made-up minifenl so far.
fn runs(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("log")).map_or(0, |log| log.lines().count())
}

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
    assert_eq!(said, "failed: 1 rank x 1 thread, run 1: no report, exit code 1: error: made to fail\n");
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
    let cases: &[(&[&str], &str)] = &[
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
    let machine =
        ["model", "--bandwidth", "10", "--latency", "2", "--link", "5", "--flops", "30", "--nodes-per-rank", "4"];
    let output = scaling(&[&machine[..], &["--ranks", "1,2"]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = text.lines().filter(|line| line.starts_with("| ")).map(cells).collect();
    // ranks, nodes, owned max/mean, ghosts, neighbours, ... 64 rows with 10^3 entries: 12 * 1000 + 8 * 65 + (8 + 8 + 72) * 64 bytes
    // at 10 GB/s are 1.815 us.
    assert_eq!(rows[2][..5], ["1", "4x4x4", "1.000", "0", "0"]);
    assert_eq!(
        (rows[2][6].as_str(), rows[2][10].as_str(), rows[2][12].as_str()),
        ("0.00182", "0.00182", "1.00"),
        "{text}"
    );
    // One message and two all-reduces of one stage: 2 and 4 us; 16 ghosts of 8 bytes at 5 GB/s.
    assert_eq!(rows[3][..5], ["2", "4x8x4", "1.000", "16", "1"]);
    assert_eq!(
        (rows[3][7].as_str(), rows[3][8].as_str(), rows[3][9].as_str()),
        ("0.00200", "0.000026", "0.00400"),
        "{text}"
    );
    let wrong = scaling(&[&machine[..10], &["0"]].concat());
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn minife_is_run_on_the_same_boxes_and_read() {
    let root = tempfile::tempdir().unwrap();
    let (program, out) = (made_up(root.path()), root.path().join("weak"));
    let peer = root.path().join("miniFE.x");
    let text = r#"#!/bin/bash
echo "$* $OMP_NUM_THREADS" >> "$(dirname "$0")/peers"
n() { echo "${1#*=}"; }
printf 'nx: %s\nny: %s\nnz: %s\nnumber of processors: %s\n' $(n $1) $(n $2) $(n $3) $RANKS > a.yaml
printf 'Mat-struc-gen Time: 0.3\nFE assembly Time: 0.2\nIterations: 200\nMATVEC Time: 0.2\nTotal CG Time: 0.44\n' >> a.yaml
"#;
    std::fs::write(&peer, text).unwrap();
    std::fs::set_permissions(&peer, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (out, peer) = (out.to_str().unwrap(), format!("minife={}", peer.display()));
    let study =
        ["weak", "--nodes-per-rank", "8", "--ranks", "1,2", "--repeats", "1", "--program", &program, "--out", out];
    let launcher = ["--launcher", "env RANKS={ranks}", "--peer", &peer];
    for _ in 0..2 {
        let output = scaling(&[&study[..], &launcher].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        // 2.2 ms; ours is 1 ms on 1 rank and 1.1 ms on 2.
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains(
                "| 1 | 1 | 1 | 300 | 200 | 2.20 | 1.00 | 2.20 |\n| 2 | 1 | 1 | 300 | 200 | 2.20 | 1.00 | 2.00 |"
            ),
            "{text}"
        );
    }
    let log = std::fs::read_to_string(root.path().join("peers")).unwrap();
    assert_eq!(log, "nx=7 ny=7 nz=7 1\nnx=7 ny=15 nz=7 1\n", "the second time nothing was missing");
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

/// Builds minifenl with MPI beside this test's program, if it is not there, and studies 1 and 2 ranks.
#[cfg(feature = "mpi")]
#[test]
fn a_tiny_study_runs_under_mpirun() {
    let root = tempfile::tempdir().unwrap();
    let own = program();
    let target = Path::new(&own).parent().unwrap().parent().unwrap();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let built = std::process::Command::new(env!("CARGO"))
        .args(["build", "-q", "--bin", "minifenl", "--features", "mpi", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(target)
        .status()
        .unwrap();
    assert!(built.success());
    let (minifenl, out) = (target.join("debug/minifenl"), root.path().join("study"));
    let out = out.to_str().unwrap();
    let study = ["weak", "--nodes-per-rank", "6", "--ranks", "1,2", "--repeats", "1", "--out", out];
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
    assert_eq!((points.len(), points[1]["ranks"].as_u64(), points[1]["runs"].as_u64()), (2, Some(2), Some(1)));
    // The simulated partition has the bytes that the program counts on its ranks.
    for (point, partition) in points.iter().zip(results["partitions"].as_array().unwrap()) {
        assert_eq!(partition["bytes"].as_f64(), point["bytes"].as_f64());
    }
    let page = std::fs::read_to_string(format!("{out}/report.html")).unwrap();
    assert!(page.matches("<svg").count() >= 3 && page.contains("Measured "), "{page}");
}
