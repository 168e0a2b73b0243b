//! Every problem on every element type through the program: verified, with the order of its element in the L2 norm, and the same on
//! threads and with every strategy.

#[cfg(feature = "mpi")]
mod ranks;

use minifenl::comm::Solo;
use minifenl::element::ElementType;
use minifenl::element::equations::Jacobian;
use minifenl::mesh::CoordinateMap;
use minifenl::run::deck::Nodes;
use minifenl::run::{Deck, silent, solution_on};
use minifenl::space::Serial;
use serde_json::Value;
use support::json;

const PROBLEMS: [&str; 4] = ["heat", "poisson", "diffusion", "elasticity"];
/// Tolerances far below all errors.
const TIGHT: [&str; 4] = ["--newton-tolerance=1e-11", "--cg-tolerance=1e-11", "--no-triad", "--quiet"];

/// Element types with the order of their error in the L2 norm.
fn elements() -> impl Iterator<Item = (&'static str, f64)> {
    ElementType::volumes().map(|(element, name)| (name, element.degree() as f64 + 1.0))
}

/// Exit code, output and report of the program.
fn run(flags: &[&str]) -> (i32, String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let (code, out, err) = support::run("minifenl", &[flags, &["--report", path.to_str().unwrap()]].concat());
    (code, out + &err, if path.exists() { json(&path) } else { Value::Null })
}

/// Runs a problem on an element type with these nodes along each edge, on the CPU.
fn solved(problem: &str, element: &str, nodes: &str, more: &[&str]) -> Value {
    solved_on("cpu", problem, element, nodes, more)
}

fn solved_on(device: &str, problem: &str, element: &str, nodes: &str, more: &[&str]) -> Value {
    let flags = [&["--problem", problem, "--element", element, "--nodes", nodes, "--device", device][..], &TIGHT, more];
    let flags = flags.concat();
    let (code, text, report) = run(&flags);
    assert_eq!(code, 0, "{flags:?}: {text}");
    assert_eq!((&report["problem"]["name"], &report["mesh"]["element"]), (&problem.into(), &element.into()));
    report
}

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", report[key]))
}

#[test]
fn errors_have_the_order_of_the_element() {
    check_orders("cpu");
}

#[cfg(feature = "cuda")]
#[test]
fn errors_have_the_order_of_the_element_on_a_gpu() {
    if let Err(error) = minifenl::space::Cuda::new(0) {
        support::skip("errors_have_the_order_of_the_element_on_a_gpu", &error.to_string(), "MINIFENL_NEEDS_GPU");
        return;
    }
    check_orders("cuda");
}

/// The error falls by (cells)^-order; nodes along an edge are one more than the cells, or than twice the cells.
fn check_orders(device: &str) {
    for problem in PROBLEMS {
        for (element, order) in elements() {
            // Of the box of trilinear hexahedra, whose temperature has an exact solution of its own.
            let sizes = ["13", "17"];
            let [coarse, fine] = sizes.map(|nodes| solved_on(device, problem, element, nodes, &["--threads", "1"]));
            assert_eq!(fine["device"] == "cpu", device == "cpu", "{problem} on {element}");
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
        let other = of(&["--cg-variant", "single-reduction"]);
        assert!((number(&other, "error_l2") / number(&serial, "error_l2") - 1.0).abs() < 1e-6, "{problem}");
    }
}

/// Advection: the same exact solution, by GMRES and BiCGStab, with every preconditioner and without a matrix.
#[test]
fn advection_is_solved_by_the_methods_for_any_matrix() {
    let advection = ["--advection", "12,-6,3", "--size", "1,1.25,1"];
    for (problem, element) in
        [("poisson", "hex8"), ("heat", "hex8"), ("heat", "tet10"), ("diffusion", "tet4"), ("diffusion", "hex27")]
    {
        let of = |more: &[&str]| solved(problem, element, "13", &[&advection, more].concat());
        let gmres = of(&["--threads", "1"]);
        assert_eq!(gmres["strategies"]["cg"], "gmres");
        assert!(number(&gmres, "symmetry") > 1e-6, "{problem} on {element}: {}", gmres["symmetry"]);
        for more in [
            ["--solver", "bicgstab", "--preconditioner", "none"],
            ["--solver", "gmres", "--preconditioner", "jacobi"],
            ["--solver", "bicgstab", "--preconditioner", "mg"],
            ["--solver", "gmres", "--preconditioner", "chebyshev"],
            ["--solver", "gmres", "--preconditioner", "gauss-seidel"],
            ["--solver", "bicgstab", "--operator", "matrix-free"],
            ["--kernel", "table", "--jacobian", "ad"],
        ] {
            let other = of(&more);
            let ratio = number(&other, "error_l2") / number(&gmres, "error_l2");
            assert!((ratio - 1.0).abs() < 1e-5, "{problem} on {element}, {more:?}: {ratio}");
            assert_eq!(other["newton_iterations"], gmres["newton_iterations"], "{problem} on {element}, {more:?}");
            assert!(problem == "heat" || other["newton_iterations"] == 1, "{problem} on {element}, {more:?}");
        }
    }
    let (_, text, _) = run(&["--problem", "poisson", "--nodes", "5", "--advection", "40,0,0", "--device", "cpu"]);
    let advice =
        "h |v| / k is 10.0 along an axis; above 2 the field may oscillate: give mesh.nodes (--nodes) 21x5x5 or more";
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(advice), "{text}");
    let quadratic =
        ["--problem", "poisson", "--nodes", "5", "--advection", "37,0,0", "--device", "cpu", "--element", "hex20"];
    let (_, text, _) = run(&quadratic);
    assert!(text.contains("21x5x5 or more"), "{text}");
    assert!(!text.contains("jacobi"), "{text}");
    // Where advection prevails Gauss-Seidel stagnates and Jacobi does not: the note before the solve names both.
    let prevails = ["--problem", "poisson", "--nodes", "17", "--advection", "300,0,0", "--device", "cpu"];
    for (preconditioner, code, note) in [("gauss-seidel", 3, true), ("jacobi", 0, false)] {
        let more = ["--preconditioner", preconditioner, "--cg-max", "400"];
        let (found, text, err) = run(&[&prevails[..], &more].concat());
        let why = format!(
            "; {preconditioner} may not converge there; if so, give cg.preconditioner (--preconditioner) jacobi"
        );
        assert!(found == code && text.contains(&why) == note, "{preconditioner}: {text}{err}");
    }
    // Where all nodes are fixed there is no step, and no preconditioner.
    for preconditioner in ["gauss-seidel", "ic0", "amg"] {
        let (code, text, _) = run(&["--nodes", "2x2x2", "--preconditioner", preconditioner, "--device", "cpu"]);
        assert!(code == 3 && text.contains("FAIL: "), "{preconditioner}: {text}");
    }
    // A matrix that is symmetric, too: at most as many steps as CG.
    let [cg, gmres] = ["cg", "gmres"].map(|solver| solved("heat", "hex8", "9", &["--solver", solver]));
    assert!(number(&gmres, "cg_iterations") <= number(&cg, "cg_iterations") + 1.0, "{}", gmres["cg_iterations"]);
}

/// Fields with derivatives by hand and by dual numbers, of every problem on every element type, and of the kernels of heat on `hex8`.
#[test]
fn fields_do_not_depend_on_where_derivatives_come_from() {
    let solved = |problem: &str, element: ElementType, jacobian: Jacobian| {
        let mut deck = Deck::default();
        (deck.problem.kind, deck.mesh.element, deck.fill.jacobian) = (problem.parse().unwrap(), element, jacobian);
        (deck.mesh.nodes, deck.mesh.map) = (Some(Nodes::new([7, 5, 9]).unwrap()), CoordinateMap::Twist(0.3));
        (deck.newton.tolerance, deck.cg.tolerance) = (Some(1e-12), Some(1e-12));
        solution_on(&Serial, &deck, &Solo, &silent).unwrap()
    };
    let same = |name: &str, found: &[f64], expected: &[f64]| {
        let largest = expected.iter().fold(0.0f64, |max, x| max.max(x.abs()));
        assert!(found.len() == expected.len() && largest > 0.1, "{name}");
        let far = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-10 * largest, "{name}: fields differ by {far:e}");
    };
    for (element, _) in elements() {
        let element: ElementType = element.parse().unwrap();
        for problem in PROBLEMS {
            let [by_hand, by_duals] =
                [Jacobian::Analytic, Jacobian::Ad].map(|jacobian| solved(problem, element, jacobian));
            same(&format!("{problem} on {element}"), &by_duals.field, &by_hand.field);
            assert_eq!(by_duals.report.newton_iterations, by_hand.report.newton_iterations, "{problem} on {element}");
            assert!(by_duals.report.symmetry < 1e-13, "{problem} on {element}: {}", by_duals.report.symmetry);
        }
    }
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.mesh.map) = (Some(Nodes::new([7, 5, 9]).unwrap()), CoordinateMap::Twist(0.3));
    (deck.newton.tolerance, deck.cg.tolerance) = (Some(1e-12), Some(1e-12));
    let fused = solution_on(&Serial, &deck, &Solo, &silent).unwrap();
    let by_duals = solved("heat", ElementType::Hex8, Jacobian::Ad);
    assert_eq!(by_duals.mesh.node_coord, fused.mesh.node_coord);
    same("fused heat", &by_duals.field, &fused.field);
}

/// Contractions by name, as the report of a run counts them: each workset of each assembly calls them once per block.
#[test]
fn the_kernel_intrepid_calls_the_contractions_for_every_problem_and_element() {
    for problem in PROBLEMS {
        for (element, _) in elements() {
            let flags = ["--kernel", "intrepid", "--workset", "16", "--fill", "scatter", "--threads", "1"];
            let [other, found] = [&["--kernel", "table"][..], &flags].map(|more| solved(problem, element, "13", more));
            assert_eq!(other["strategies"]["contractions"], serde_json::json!({}), "{problem} on {element}");
            assert_eq!(found["strategies"]["kernel"], "intrepid");
            let fills = found["phases"].as_array().unwrap().iter().find(|phase| phase["name"] == "fill").unwrap();
            let worksets = fills["calls"].as_u64().unwrap() * found["elements"].as_u64().unwrap().div_ceil(16);
            let dofs = if problem == "elasticity" { 3 } else { 1 };
            let mut calls = serde_json::json!({
                "field_field_vector": dofs * dofs * worksets,
                "data_field_vector": dofs * worksets,
                "data_field_scalar": dofs * worksets,
            });
            if problem == "heat" {
                calls["field_field_scalar"] = worksets.into();
            }
            assert_eq!(found["strategies"]["contractions"], calls, "{problem} on {element}");
            assert_eq!(found["newton_iterations"], other["newton_iterations"], "{problem} on {element}");
            let ratio = number(&found, "error_l2") / number(&other, "error_l2");
            assert!((ratio - 1.0).abs() < 1e-6, "{problem} on {element}: {ratio}");
        }
    }
}

/// The flag takes heat on `hex8` to the general kernel; the verdict stays that of the nodes.
#[test]
fn heat_on_hexahedra_is_verified_with_derivatives_by_duals() {
    let [by_hand, by_duals] =
        ["analytic", "ad"].map(|name| solved("heat", "hex8", "13", &["--jacobian", name, "--preset", "fast"]));
    assert_eq!(
        (&by_hand["strategies"]["kernel"], &by_duals["strategies"]["kernel"]),
        (&"fused".into(), &"table".into())
    );
    assert!(by_duals["verified"] == true && by_duals["newton_iterations"] == by_hand["newton_iterations"]);
    let (code, text, _) = run(&["--jacobian", "ad", "--dry-run"]);
    assert!(code == 0 && text.contains("\nproblem     heat on hex8 with fill.jacobian (--jacobian) ad"), "{text}");
}

/// miniFE's convention: 200 iterations, not judged; with a tolerance the centre is compared with the series.
#[test]
fn the_brick_of_minife_has_its_iterations_and_its_centre() {
    let (code, text, report) = run(&["--problem", "minife", "--nodes", "9", "--device", "cpu"]);
    assert_eq!(
        (code, report["cg_iterations"].as_u64(), report["cg_iterations_asked"].as_u64()),
        (0, Some(200), Some(200))
    );
    assert!(text.contains("NOT JUDGED: ") && report["verified"] == false, "{text}");
    // The tolerance of other problems, given: the centre is judged.
    let by_tolerance = ["--problem", "minife", "--nodes", "9", "--device", "cpu", "--cg-tolerance", "1e-8"];
    let (code, text, report) = run(&by_tolerance);
    assert!(code == 0 && report["verified"] == true && report["cg_iterations"].as_u64() < Some(100), "{text}");
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
        (&["--problem", "poisson", "--kernel", "fused"][..], "only problem heat on hex8 has this kernel"),
        (&["--element", "tet4", "--kernel", "fused"], "give auto, intrepid or table"),
        (&["--element", "hex27", "--nodes", "8"], "give odd numbers, such as 9"),
        (&["--element", "tri3"], "choose one of hex8, hex20, hex27, tet4, tet10, wedge6, wedge15"),
        (&["--problem", "diffusion", "--t-max", "7"], "only the problem heat has temperatures"),
        (
            &["--problem", "elasticity", "--advection", "1,0,0"],
            "problem.advection (--advection): 1,0,0: problem.kind (--problem) is elasticity; only",
        ),
        (&["--problem", "poisson", "--advection", "inf,0,0"], "give three numbers, up to 1e60 in magnitude"),
        (&["--problem", "poisson", "--advection", "1,0,0", "--solver", "cg"], "give auto, gmres or bicgstab"),
        (&["--problem", "poisson", "--advection", "1,0,0", "--preconditioner", "amg"], "amg: needs a symmetric"),
        (&["--operator", "matrix-free", "--preconditioner", "ic0"], "is ic0, and no matrix is stored"),
        (&["--problem", "poisson", "--advection", "1,0,0", "--format", "symmetric"], "symmetric"),
        (&["--solver", "gmres", "--cg-variant", "classic"], "classic: only of CG, and cg.solver (--solver) is gmres"),
        (&["--problem", "minife", "--solver", "gmres"], "minife: does 200 iterations of CG; give cg.tolerance"),
        (&["--solver", "bicgstab", "--cg-iterations", "9"], "9: only of CG, and cg.solver (--solver) is bicgstab"),
        (&["--problem", "minife", "--size", "1,1,2"], "its box is the unit cube"),
        (&["--element", "tet4", "--map", "twist:1.4", "--nodes", "17"], "is folded or inverted"),
    ] {
        let (code, text, report) = run(flags);
        let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!((code, errors.len(), report), (2, 1, Value::Null), "{flags:?}: {text}");
        assert!(errors[0].contains(part), "{flags:?}: {text}");
    }
}

#[test]
fn decks_of_problems_are_verified() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/inputs/");
    for (deck, problem, element) in [("elasticity", "elasticity", "hex27"), ("tet10", "poisson", "tet10")] {
        let path = format!("{root}{deck}.toml");
        // The orders that the comments state.
        let [coarse, fine] = ["9", "17"].map(|nodes| {
            let (code, text, report) = run(&["--input", &path, "--nodes", nodes, "--device", "cpu", "--quiet"]);
            assert_eq!(code, 0, "{deck}: {text}");
            assert_eq!((&report["problem"]["name"], &report["mesh"]["element"]), (&problem.into(), &element.into()));
            report
        });
        let ratio = number(&coarse, "error_l2") / number(&fine, "error_l2");
        assert!((6.5..9.5).contains(&ratio), "{deck}: {ratio}");
        // All that is counted of the heat problem is counted.
        let phases = fine["phases"].as_array().unwrap();
        let counted = |name: &str, key: &str| {
            let phase = phases.iter().find(|phase| phase["name"] == name).unwrap_or_else(|| panic!("{name}"));
            assert!(phase[key].as_f64().is_some_and(|number| number > 0.0), "{deck}: {name}: {key}: {}", phase[key]);
        };
        for (name, keys) in [
            ("graph", &["bytes"][..]),
            ("fill", &["bytes", "flops"]),
            ("cg", &["bytes", "flops"]),
            ("total", &["flops"]),
        ] {
            keys.iter().for_each(|key| counted(name, key));
        }
    }
}

#[test]
fn two_reports_of_one_problem_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let write = |name: &str, problem: &str| {
        let flags = ["--problem", problem, "--element", "tet10", "--nodes", "9", "--device", "cpu", "--report"];
        let (code, out, err) = support::run("minifenl", &[&flags[..], &[&path(name)]].concat());
        assert_eq!(code, 0, "{out}{err}");
    };
    write("a.json", "elasticity");
    write("b.json", "elasticity");
    write("c.json", "poisson");
    let (code, out, err) =
        support::run("minifenl", &["compare", &path("a.json"), &path("b.json"), "--fail-above", "1000"]);
    assert!(code == 0 && ["fill", "cg", "total"].iter().all(|phase| out.contains(phase)), "{code}: {out}{err}");
    let (code, out, err) =
        support::run("minifenl", &["compare", &path("a.json"), &path("c.json"), "--fail-above", "1000"]);
    assert!(code != 0, "reports of different problems: {out}{err}");
}

/// A mesh of 3 nodes along an edge is too coarse to verify anything, and one of 2 has nothing to solve.
#[test]
fn coarse_meshes_do_not_pass() {
    for (nodes, part) in [("3", "mesh too coarse to verify"), ("2", "mesh too coarse to verify")] {
        let (code, text, _) = run(&["--problem", "poisson", "--element", "tet4", "--nodes", nodes, "--device", "cpu"]);
        assert!(code == 3 && text.contains(part), "{nodes}: {text}");
    }
}
