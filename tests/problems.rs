//! Every problem on every element type through the program: verified, with the order of its element in the L2 norm, and the same on
//! threads, with every strategy and on ranks.

#![cfg(feature = "cli")]

#[path = "common/json.rs"]
mod json;
#[cfg(feature = "mpi")]
#[path = "common/mpirun.rs"]
mod mpirun;
#[path = "common/program.rs"]
mod program;

use json::json;
use serde_json::Value;

const PROBLEMS: [&str; 4] = ["heat", "poisson", "diffusion", "elasticity"];
/// Element types with the order of their error in the L2 norm.
const ELEMENTS: [(&str, f64); 6] =
    [("hex8", 2.0), ("hex20", 3.0), ("hex27", 3.0), ("tet4", 2.0), ("tet10", 3.0), ("wedge6", 2.0)];
/// Tolerances far below all errors.
const TIGHT: [&str; 5] = ["--newton-tolerance=1e-11", "--cg-tolerance=1e-11", "--device=cpu", "--no-triad", "--quiet"];

/// Exit code, output and report of the program.
fn run(flags: &[&str]) -> (i32, String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let (code, out, err) = program::run("minifenl", &[flags, &["--report", path.to_str().unwrap()]].concat());
    (code, out + &err, if path.exists() { json(&path) } else { Value::Null })
}

/// Runs a problem on an element type with these nodes along each edge.
fn solved(problem: &str, element: &str, nodes: &str, more: &[&str]) -> Value {
    let flags = [&["--problem", problem, "--element", element, "--nodes", nodes][..], &TIGHT, more].concat();
    let (code, text, report) = run(&flags);
    assert_eq!(code, 0, "{flags:?}: {text}");
    assert_eq!((&report["problem"]["name"], &report["mesh"]["element"]), (&problem.into(), &element.into()));
    report
}

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", report[key]))
}

/// The error falls by (cells)^-order; nodes along an edge are one more than the cells, or than twice the cells.
#[test]
fn errors_have_the_order_of_the_element() {
    for problem in PROBLEMS {
        for (element, order) in ELEMENTS {
            // Of the box of trilinear hexahedra, whose temperature has an exact solution of its own.
            let sizes = ["13", "17"];
            let [coarse, fine] = sizes.map(|nodes| solved(problem, element, nodes, &["--threads", "1"]));
            let found = (number(&coarse, "error_l2") / number(&fine, "error_l2")).ln() / (16.0f64 / 12.0).ln();
            assert!((found - order).abs() < 0.3, "{problem} on {element}: order {found}");
            assert_eq!(fine["newton_iterations"], if problem == "heat" { 4 } else { 1 }, "{problem} on {element}");
            // The bound says something: the mesh that is finer has a smaller one, and neither is large.
            assert!(number(&fine, "error_bound") < number(&coarse, "error_bound"), "{problem} on {element}");
            assert!(number(&fine, "error_max") > 0.05 * number(&fine, "error_bound"), "{problem} on {element}");
        }
    }
}

/// Bits with `colour` and `gather` on any number of threads; twisted elements, whose map is not affine.
#[test]
fn strategies_and_threads_do_not_change_the_answer() {
    let twisted = ["--map", "twist:0.3", "--size", "1,2,1.5"];
    for (problem, element) in [("poisson", "hex27"), ("elasticity", "wedge6"), ("heat", "tet10"), ("diffusion", "hex8")]
    {
        let of = |more: &[&str]| solved(problem, element, "13", &[&twisted, more].concat());
        let serial = of(&["--threads", "1"]);
        for (fill, graph) in [("colour", "map"), ("gather", "sort"), ("scatter", "gather"), ("gather", "dashmap")] {
            let [one, three] = ["1", "3"].map(|threads| of(&["--fill", fill, "--graph", graph, "--threads", threads]));
            if fill != "scatter" {
                assert_eq!(one["history"], three["history"], "{problem} on {element}: {fill}");
            }
            for other in [&one, &three] {
                assert_eq!(
                    (&other["strategies"]["fill"], &other["strategies"]["graph"]),
                    (&fill.into(), &graph.into())
                );
                for key in ["error_max", "error_l2"] {
                    let ratio = number(other, key) / number(&serial, key);
                    assert!((ratio - 1.0).abs() < 1e-6, "{problem} on {element}, {fill}: {key} {ratio}");
                }
            }
        }
        for variant in ["single-reduction", "pipelined"] {
            let other = of(&["--cg-variant", variant]);
            assert!((number(&other, "error_l2") / number(&serial, "error_l2") - 1.0).abs() < 1e-6, "{variant}");
        }
    }
}

/// miniFE's convention: 200 iterations, not judged; with a tolerance the centre is compared with the series.
#[test]
fn the_brick_of_minife_has_its_iterations_and_its_centre() {
    let (code, text, report) = run(&["--problem", "minife", "--nodes", "9", "--device", "cpu"]);
    assert_eq!(
        (code, report["cg_iterations"].as_u64(), report["cg_iterations_asked"].as_u64()),
        (0, Some(200), Some(200))
    );
    assert!(text.contains("NOT ASKED: ") && report["verified"] == false, "{text}");
    for (element, order) in [("hex8", 2.0), ("tet4", 2.0), ("hex27", 3.0)] {
        let [coarse, fine] = ["13", "25"].map(|nodes| solved("minife", element, nodes, &[]));
        assert!(fine["verified"] == true && fine["cg_iterations"].as_u64() < Some(200));
        let found = (number(&coarse, "error_max") / number(&fine, "error_max")).log2();
        assert!(found > order - 0.3, "{element}: order {found}");
    }
}

#[test]
fn what_does_not_apply_is_refused_in_one_line() {
    for (flags, part) in [
        (&["--problem", "poisson", "--device", "cuda"][..], "a GPU solves problem heat on hex8 only"),
        (&["--element", "hex27", "--nodes", "8"], "give odd numbers, such as 9"),
        (&["--element", "tri3"], "the box has 3 dimensions"),
        (&["--problem", "diffusion", "--t-max", "7"], "only the problem heat has temperatures"),
        (&["--problem", "minife", "--size", "1,1,2"], "its box is the unit cube"),
        (&["--element", "tet4", "--vtk", "a.vtu"], "files for VTK"),
        (&["--problem", "poisson", "--dry-run"], "the forecast is for problem heat on hex8"),
        (&["--element", "tet4", "--map", "twist:1.4", "--nodes", "17"], "the map folds it"),
        (&["--problem", "poisson", "--format", "crs", "--lanes", "8"], "only products in CRS on a GPU"),
    ] {
        let (code, text, report) = run(flags);
        let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!((code, errors.len(), report), (2, 1, Value::Null), "{flags:?}: {text}");
        assert!(errors[0].contains(part), "{flags:?}: {text}");
    }
}

/// A mesh of 3 nodes along an edge is too coarse to verify anything, and one of 2 has nothing to solve.
#[test]
fn coarse_meshes_do_not_pass() {
    for (nodes, part) in [("3", "mesh too coarse to verify"), ("2", "mesh too coarse to verify")] {
        let (code, text, _) = run(&["--problem", "poisson", "--element", "tet4", "--nodes", nodes, "--device", "cpu"]);
        assert!(code == 3 && text.contains(part), "{nodes}: {text}");
    }
}

#[cfg(feature = "mpi")]
#[test]
fn ranks_change_neither_counts_nor_errors() {
    let folder = tempfile::tempdir().unwrap();
    for (at, problem) in PROBLEMS.into_iter().enumerate() {
        for (which, (element, _)) in ELEMENTS.into_iter().enumerate() {
            let (ranks, map) = (2 + (at + which) % 2, ["none", "twist:0.1"][which % 2]);
            let more = ["--map", map, "--threads", "1"];
            let alone = solved(problem, element, "13", &more);
            let path = folder.path().join(format!("{problem}-{element}.json"));
            let flags =
                ["--problem", problem, "--element", element, "--nodes", "13", "--report", path.to_str().unwrap()];
            let mut command = mpirun::mpirun(ranks);
            command.arg(env!("CARGO_BIN_EXE_minifenl")).args(flags).args(TIGHT).args(more);
            let output = command.output().expect("mpirun starts");
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
            let other = json(&path);
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
