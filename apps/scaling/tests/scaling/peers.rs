//! Other programs beside minifenl: made-up ones, run by a whole study.

use crate::made_up::{executable, made_up, scaling};

#[test]
fn minife_is_run_on_the_same_boxes_and_read() {
    let root = tempfile::tempdir().unwrap();
    let (program, out) = (made_up(root.path()), root.path().join("weak"));
    let peer = root.path().join("miniFE.x");
    let text = r#"#!/bin/bash
echo "$* $OMP_NUM_THREADS" >> "$(dirname "$0")/peers"
n() { echo "${1#*=}"; }
printf 'nx: %s\nny: %s\nnz: %s\nnumber of processors: %s\n' $(n $1) $(n $2) $(n $3) $RANKS > a.yaml
printf 'load_imbalance: %s\n' $(n ${4:-load_imbalance=0}) >> a.yaml
printf 'Mat-struc-gen Time: 0.3\nFE assembly Time: 0.2\nIterations: 200\nMATVEC Time: 0.2\nTotal CG Time: 0.44\n' >> a.yaml
"#;
    executable(&peer, text);
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
fn fenl_is_run_on_ranks_and_threads_and_read() {
    let root = tempfile::tempdir().unwrap();
    let (program, out) = (made_up(root.path()), root.path().join("weak"));
    let peer = root.path().join("KokkosFENL.x");
    // 512 nodes and 1 to 10 us per node and column; 2 us per node and iteration of CG.
    let text = r#"#!/bin/bash
echo "$* $OMP_NUM_THREADS $RANKS" >> "$(dirname "$0")/peers"
echo ' ELEMS , NODES , ...'
[ -e "$(dirname "$0")/solo" ] && echo ' ELEMS , NODES , ...'
elements=$((343 + (RANKS - 1) * 392)) nodes=$((512 * RANKS))
echo " $elements , $nodes , 3 , 97 , 0.5 , 1e-3 , 1e-3 , 1e-3 , 1e-3 , 1e-3 , 5e-3 , 2e-3 , 1e-3 , 1e-3 , 2e-3 , 1e-2"
"#;
    executable(&peer, text);
    let (out, peer) = (out.to_str().unwrap(), format!("fenl={}", peer.display()));
    let study = ["weak", "--nodes-per-rank", "8", "--ranks", "1,2", "--threads", "1,2", "--repeats", "1", "--out", out];
    let launcher = ["--program", &program, "--launcher", "env RANKS={ranks}", "--peer", &peer];
    // Two tables: two ranks that do not know of each other.
    std::fs::write(root.path().join("solo"), "").unwrap();
    let output = scaling(&[&study[..], &launcher].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && said.contains("expected 1 table, not 2: built without MPI"), "{said}");
    std::fs::remove_file(root.path().join("solo")).unwrap();
    std::fs::remove_file(root.path().join("peers")).unwrap();
    for _ in 0..2 {
        let output = scaling(&[&study[..], &launcher].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        // 10, 2, 2, 1 us on 512 nodes; ours takes 1 ms.
        let text = String::from_utf8_lossy(&output.stdout);
        let row = "| 5.12 | 1.02 | 1.02 | 0.512 | 1.02 |";
        assert!(text.contains("## FENL") && text.matches(row).count() == 2, "{text}");
        assert!(text.matches("| 10.2 | 2.05 | 2.05 | 1.02 |").count() == 2, "{text}");
    }
    let log = std::fs::read_to_string(root.path().join("peers")).unwrap();
    let expected = [("7x7x7", 1, 1), ("7x15x7", 1, 2), ("7x7x7", 2, 1), ("7x15x7", 2, 2)];
    let expected: String =
        expected.map(|(box_, threads, ranks)| format!("fixture {box_} atomic {threads} {ranks}\n")).concat();
    let sorted = |text: &str| text.lines().map(String::from).collect::<std::collections::BTreeSet<_>>();
    assert_eq!((sorted(&log), log.lines().count()), (sorted(&expected), 4), "once each");
    let results = std::fs::read_to_string(format!("{out}/results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    assert_eq!((results["fenl"].as_array().unwrap().len(), results["minife"].as_array().unwrap().len()), (4, 0));
    let svg = std::fs::read_to_string(format!("{out}/peers.svg")).unwrap();
    assert!(svg.contains(">FENL, threads<") && svg.contains(">FENL, ranks<"));
    let both = root.path().join("both.svg");
    let compared = scaling(&["compare", out, out, "--figure", both.to_str().unwrap()]);
    assert_eq!(compared.status.code(), Some(0), "{}", String::from_utf8_lossy(&compared.stderr));
    let svg = std::fs::read_to_string(both).unwrap();
    assert!(svg.matches(">minifenl weak<").count() == 2 && svg.matches(">FENL<").count() == 1, "{svg}");
}
