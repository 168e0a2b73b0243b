//! Problems on several ranks against one rank.

use super::*;

/// [`solved`] with 13 nodes along an edge on several ranks.
fn on_ranks(ranks: usize, problem: &str, element: &str, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let mut command = support::mpirun(ranks);
    command.arg(env!("CARGO_BIN_EXE_minifenl")).args(["--problem", problem, "--element", element, "--nodes", "13"]);
    command.args(["--device", "cpu", "--report"]).arg(&path).args(TIGHT).args(more);
    let output = command.output().expect("mpirun starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    json(&path)
}

#[test]
fn ranks_solve_matrices_that_are_not_symmetric() {
    let advection = ["--advection", "12,-6,3", "--size", "1,1.25,1", "--threads", "1"];
    let alone = solved("diffusion", "hex8", "13", &advection);
    for (ranks, solver, preconditioner) in
        [(2, "gmres", "none"), (3, "bicgstab", "none"), (3, "gmres", "mg"), (4, "bicgstab", "gauss-seidel")]
    {
        let more = [&advection[..], &["--solver", solver, "--preconditioner", preconditioner]].concat();
        let other = on_ranks(ranks, "diffusion", "hex8", &more);
        let ratio = number(&other, "error_l2") / number(&alone, "error_l2");
        assert!((ratio - 1.0).abs() < 1e-5, "{solver} with {preconditioner} on {ranks} ranks: {ratio}");
        if (solver, preconditioner) == ("gmres", "none") {
            assert!((number(&other, "cg_iterations") - number(&alone, "cg_iterations")).abs() <= 3.0);
        }
    }
}

#[test]
fn ranks_change_neither_counts_nor_errors() {
    for (at, problem) in PROBLEMS.into_iter().enumerate() {
        for (which, (element, _)) in elements().enumerate() {
            let (ranks, map) = (2 + (at + which) % 2, ["none", "twist:0.1"][which % 2]);
            let more = ["--map", map, "--threads", "1"];
            let alone = solved(problem, element, "13", &more);
            // Half of the runs on ranks have no matrix; those alone have one.
            let operator = ["assembled", "matrix-free"][(at + which / 2) % 2];
            let other = on_ranks(ranks, problem, element, &[&more[..], &["--operator", operator]].concat());
            assert_eq!(other["strategies"]["operator"], operator);
            for key in ["nodes", "elements", "newton_iterations", "verified"] {
                assert_eq!(other[key], alone[key], "{key}: {problem} on {element}, {ranks} ranks");
            }
            assert!(other["partition"]["ghosts"].as_u64() > Some(0) && other["ranks"] == ranks);
            let iterations = |report: &Value| number(report, "cg_iterations");
            assert!((iterations(&other) - iterations(&alone)).abs() <= 3.0, "{problem} on {element}");
            for key in ["error_max", "error_l2", "error_bound"] {
                let ratio = number(&other, key) / number(&alone, key);
                assert!((ratio - 1.0).abs() < 1e-6, "{key}: {problem} on {element}, {ranks} ranks: {ratio}");
            }
        }
    }
}
