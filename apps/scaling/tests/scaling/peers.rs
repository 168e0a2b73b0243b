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
fn fenl_is_run_on_threads_of_one_rank_and_read() {
    let root = tempfile::tempdir().unwrap();
    let (program, out) = (made_up(root.path()), root.path().join("weak"));
    let peer = root.path().join("KokkosFENL.x");
    // 512 nodes and 1 to 10 us per node and column; 2 us per node and iteration of CG.
    let text = r#"#!/bin/bash
echo "$* $OMP_NUM_THREADS $RANKS" >> "$(dirname "$0")/peers"
echo ' ELEMS , NODES , ...'
echo ' 343 , 512 , 3 , 97 , 0.5 , 1e-3 , 1e-3 , 1e-3 , 1e-3 , 1e-3 , 5e-3 , 2e-3 , 1e-3 , 1e-3 , 2e-3 , 1e-2'
"#;
    executable(&peer, text);
    let (out, peer) = (out.to_str().unwrap(), format!("fenl={}", peer.display()));
    let study = ["weak", "--nodes-per-rank", "8", "--ranks", "1,2", "--threads", "1,2", "--repeats", "1", "--out", out];
    let launcher = ["--program", &program, "--launcher", "env RANKS={ranks}", "--peer", &peer];
    for _ in 0..2 {
        let output = scaling(&[&study[..], &launcher].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        // 10, 2, 2, 1 us on 512 nodes; ours takes 1 ms.
        let text = String::from_utf8_lossy(&output.stdout);
        let row = "| 5.12 | 1.02 | 1.02 | 0.512 | 1.02 |";
        assert!(text.contains("## FENL") && text.matches(row).count() == 2, "{text}");
    }
    let log = std::fs::read_to_string(root.path().join("peers")).unwrap();
    assert_eq!(log, "fixture 7x7x7 atomic 1 1\nfixture 7x7x7 atomic 2 1\n", "once each, on 1 rank");
    let results = std::fs::read_to_string(format!("{out}/results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    assert_eq!((results["fenl"].as_array().unwrap().len(), results["minife"].as_array().unwrap().len()), (2, 0));
    assert!(std::fs::read_to_string(format!("{out}/peers.svg")).unwrap().contains(">FENL, threads<"));
}
