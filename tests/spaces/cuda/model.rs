//! The program's problems on every element type, on a GPU against `Serial`: fields, counts and errors, and the same bits twice.

use super::graph::check_graph;
use super::{difference, gpu};
use minifenl::comm::Solo;
use minifenl::element::ElementType;
use minifenl::graph;
use minifenl::mesh::{CoordinateMap, ElemNode, Mesh};
use minifenl::run::deck::{Choice, Deck, Nodes, Preset, ProblemKind};
use minifenl::run::{Solution, silent, solution_on};
use minifenl::solve::CgVariant;
use minifenl::space::{ExecutionSpace, Serial, Threads};
use minifenl::sparse::Format;
use minifenl::{fill, run::Job};

/// A problem on twisted elements, solved far below its error.
fn deck(problem: ProblemKind, element: ElementType, nodes: u64) -> Deck {
    let mut deck = Deck::default();
    deck.run.preset = Preset::Fast;
    (deck.problem.kind, deck.mesh.element) = (problem, element);
    deck.mesh.nodes = Nodes::new([nodes, nodes + 2, nodes + 4]).ok();
    deck.mesh.map = CoordinateMap::Twist(0.2);
    (deck.newton.tolerance, deck.cg.tolerance) = (Some(1e-11), Some(1e-11));
    if problem != ProblemKind::Minife {
        deck.mesh.size = [1.0, 1.5, 1.25];
    }
    deck
}

fn solved<S: Job>(space: &S, deck: &Deck) -> Solution {
    solution_on(space, deck, &Solo, &silent).unwrap().download(space).unwrap()
}

fn check(name: &str, found: &Solution, expected: &Solution) {
    let (report, host) = (&found.report, &expected.report);
    assert!(report.verified || !host.verified, "{name}: {:?}", report.verdict);
    assert_eq!(report.newton_iterations, host.newton_iterations, "{name}");
    // Another order of summation may move the end of each solve.
    let moved = 3 + host.cg_iterations / 20;
    let counts = (report.cg_iterations, host.cg_iterations);
    assert!(counts.0.abs_diff(counts.1) <= moved, "{name}: iterations {counts:?}");
    let field = difference(&found.field, &expected.field);
    assert!(field < 1e-8, "{name}: fields differ by {field:e}");
    for (what, found, expected) in [
        ("max", report.error_max, host.error_max),
        ("L2", report.error_l2, host.error_l2),
        ("bound", report.error_bound, host.error_bound),
    ] {
        assert!((found / expected - 1.0).abs() < 1e-5, "{name}: error ({what}) {found:e}, expected {expected:e}");
    }
}

#[test]
fn problems_on_all_elements_are_solved_as_on_a_host() {
    let Some(space) = gpu("problems_on_all_elements_are_solved_as_on_a_host") else { return };
    for (problem, problem_name) in ProblemKind::ALL {
        // Heat on `hex8` is in solve.rs.
        for (element, element_name) in
            ElementType::volumes().filter(|(e, _)| problem != ProblemKind::Heat || *e != ElementType::Hex8)
        {
            let deck = deck(problem, element, 9);
            let name = format!("{problem_name} on {element_name}");
            check(&name, &solved(&space, &deck), &solved(&Serial, &deck));
        }
    }
}

/// Problems that reach all types of positions and all kernels: few and many nodes, one and three components.
const MIXED: [(ProblemKind, ElementType); 4] = [
    (ProblemKind::Poisson, ElementType::Hex27),
    (ProblemKind::Elasticity, ElementType::Hex20),
    (ProblemKind::Elasticity, ElementType::Tet4),
    (ProblemKind::Heat, ElementType::Tet10),
];

#[test]
fn strategies_formats_and_variants_solve_the_same_problem() {
    let Some(space) = gpu("strategies_formats_and_variants_solve_the_same_problem") else { return };
    for (problem, element) in MIXED {
        let mut deck = deck(problem, element, 9);
        let expected = solved(&Serial, &deck);
        for (strategy, name) in fill::Strategy::on_gpu() {
            for (format, format_name) in Format::ALL {
                (deck.fill.strategy, deck.matrix.format) = (Choice::Given(strategy), Choice::Given(format));
                check(&format!("{problem} on {element}, {name}, {format_name}"), &solved(&space, &deck), &expected);
            }
        }
        (deck.fill.strategy, deck.matrix.format) = (Choice::Auto, Choice::Auto);
        for (variant, name) in CgVariant::ALL {
            deck.cg.variant = Choice::Given(variant);
            let found = solved(&space, &deck);
            assert_eq!(found.report.strategies.cg, name);
            check(&format!("{problem} on {element}, {name}"), &found, &expected);
        }
        deck.cg.variant = Choice::Auto;
        for (strategy, name) in graph::Strategy::ALL.into_iter().filter(|(_, name)| *name != "dashmap") {
            deck.graph.strategy = Choice::Given(strategy);
            check(&format!("{problem} on {element}, graph {name}"), &solved(&space, &deck), &expected);
        }
    }
}

#[test]
fn a_deterministic_problem_has_the_same_bits_twice() {
    let Some(space) = gpu("a_deterministic_problem_has_the_same_bits_twice") else { return };
    for (problem, element) in MIXED {
        let mut deck = deck(problem, element, 11);
        deck.run.deterministic = true;
        deck.fill.strategy = Choice::Given(fill::Strategy::Gather);
        let bits = |of: &Solution| of.field.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let (first, second) = (solved(&space, &deck), solved(&space, &deck));
        assert!(bits(&first) == bits(&second), "{problem} on {element}");
        assert_eq!(first.report.history, second.report.history, "{problem} on {element}");
    }
}

/// More than 2^17 rows, which gather assembles in slices, with element matrices that are stored in several windows.
#[test]
fn large_problems_are_assembled_in_slices_and_windows() {
    let Some(space) = gpu("large_problems_are_assembled_in_slices_and_windows") else { return };
    for (problem, element, nodes, chosen) in [
        (ProblemKind::Elasticity, ElementType::Hex27, 57, Format::Crs),
        (ProblemKind::Heat, ElementType::Tet10, 53, Format::Crs),
        (ProblemKind::Diffusion, ElementType::Tet4, 53, Format::Symmetric),
        (ProblemKind::Poisson, ElementType::Wedge6, 53, Format::Symmetric),
        (ProblemKind::Poisson, ElementType::Hex8, 53, Format::Symmetric),
    ] {
        let mut deck = deck(problem, element, nodes);
        (deck.newton.tolerance, deck.cg.tolerance) = (Some(1e-10), Some(1e-10));
        (deck.fill.strategy, deck.matrix.format) = (Choice::Given(fill::Strategy::Scatter), Choice::Given(Format::Crs));
        let expected = solved(&space, &deck);
        deck.fill.strategy = Choice::Given(fill::Strategy::Gather);
        for (format, name) in Format::ALL {
            deck.matrix.format = Choice::Given(format);
            let found = solved(&space, &deck);
            assert!(found.report.verified, "{problem} on {element}, {name}: {:?}", found.report.verdict);
            let field = difference(&found.field, &expected.field);
            assert!(field < 1e-6, "{problem} on {element}, {name}: fields differ by {field:e}");
        }
        deck.matrix.format = Choice::Auto;
        assert_eq!(solved(&space, &deck).report.strategies.format, Some(chosen), "{problem} on {element}");
    }
}

#[test]
fn graphs_of_dofs_equal_those_of_the_host() {
    let Some(space) = gpu("graphs_of_dofs_equal_those_of_the_host") else { return };
    let check = |name: &str, table: &ElemNode, rows: usize| {
        let nodes = graph::build(&Serial, table, rows, graph::Strategy::Sort).unwrap();
        let on_device = nodes.upload(&space).unwrap();
        for dofs in [1, 2, 3, 5, 700] {
            if dofs == 700 && table.elem_count() > 40 {
                continue;
            }
            let found = on_device.with_dofs(&space, dofs).unwrap();
            let expected = nodes.with_dofs(&Threads::new(2).unwrap(), dofs).unwrap();
            check_graph(&space, &format!("{name}, {dofs} dofs"), &found, &expected);
            let nodes = space.download(found.elem.elem_node().nodes()).unwrap();
            assert!(nodes == expected.elem.elem_node().as_slice(), "{name}, {dofs} dofs: another table");
            assert_eq!(found.elem.elem_node().node_count(), expected.elem.elem_node().node_count());
        }
    };
    let strip = ElemNode::new((0..5000u32).flat_map(|e| [e, e + 1, e + 7]).collect(), 3, 5007).unwrap();
    check("strip", &strip, 5007);
    check("strip with ghosts", &strip, 4200);
    check("nothing", &ElemNode::new(vec![], 4, 3).unwrap(), 3);
    check("no rows", &ElemNode::new(vec![0, 1], 2, 2).unwrap(), 0);
    // Positions of nodes fit one byte; those of 3 dofs need two, those of 700 four.
    let star = ElemNode::new((1..=100u32).flat_map(|ray| [ray, 0]).collect(), 2, 101).unwrap();
    check("star", &star, 101);
    let large_star = ElemNode::new((1..=30_000u32).flat_map(|ray| [ray, 0]).collect(), 2, 30_001).unwrap();
    check("large star", &large_star, 30_001);
    let small_star = ElemNode::new((1..=39u32).flat_map(|ray| [ray, 0]).collect(), 2, 40).unwrap();
    check("small star", &small_star, 40);
    let mesh = Mesh::of_box(ElementType::Hex27, [4, 3, 5], [1.0; 3]).unwrap();
    check("hex27", &mesh.elem_node, mesh.node_coord.len() - 100);
    let refused = |dofs| {
        let nodes = graph::build(&Serial, &strip, 9, graph::Strategy::Sort).unwrap().upload(&space).unwrap();
        nodes.with_dofs(&space, dofs).unwrap_err().to_string()
    };
    assert!(refused(0).contains("expected 1 or more") && refused(usize::MAX).contains("dofs"));
}

/// Folded elements are found before anything is copied, and a GPU's run says the same as a host's.
#[test]
fn folded_elements_are_refused() {
    let Some(space) = gpu("folded_elements_are_refused") else { return };
    let mut deck = deck(ProblemKind::Poisson, ElementType::Tet10, 9);
    deck.mesh.map = CoordinateMap::Twist(1.4);
    let message = |error: minifenl::Error| error.to_string();
    let found = solution_on(&space, &deck, &Solo, &silent).map(drop).unwrap_err();
    let expected = solution_on(&Serial, &deck, &Solo, &silent).map(drop).unwrap_err();
    assert_eq!(message(found), message(expected));
}
