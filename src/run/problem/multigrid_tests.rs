//! Whole runs with preconditioners, on ranks, elements, maps and sizes.

use super::discrete::Discrete;
use super::multigrid::Multigrid;
use super::preconditioner::add_times;
use super::*;
use crate::comm::ranks::on_ranks;
use crate::comm::{Communicator, Links, Solo};
use crate::element::ElementType;
use crate::run::deck::{Nodes, Preconditioning, Preset, ProblemKind};
use crate::run::meshes::{coarse_boxes, coarse_meshes, made, preconditioned};
use crate::run::report::LevelReport;
use crate::run::steps::share;
use crate::run::{Deck, Device, Phases, Report, dry_run, silent, solve, solve_on};
use crate::solve::Preconditioner;
use crate::space::{Serial, Threads};

mod methods;
mod ranks;

fn deck(kind: ProblemKind, element: ElementType, nodes: [u64; 3]) -> Deck {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.run.device, deck.problem.kind) = (Nodes::new(nodes).ok(), Device::Cpu, kind);
    (deck.mesh.element, deck.run.preset, deck.run.threads) = (element, Preset::Fast, Some(2));
    deck.cg.preconditioner = Choice::Given(Preconditioning::Multigrid);
    deck
}

fn most_iterations(report: &Report) -> usize {
    report.history.iter().map(|step| step.cg_iterations).max().unwrap_or(0)
}

/// Facts of a run with `deck`: verified, and at most so many iterations in a solve.
fn check(what: &str, report: &Report, most: usize) {
    assert!(report.verified, "{what}: {:?}", report.verdict);
    let found = most_iterations(report);
    assert!(found <= most, "{what}: {found} iterations");
}

#[test]
fn iterations_do_not_grow_with_the_box_nor_with_ranks() {
    for nodes in [9, 17, 20, 33] {
        let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, [nodes; 3]);
        deck.newton.forcing = Choice::Given(crate::run::deck::Forcing::Fixed);
        let one = solve(&deck, &Solo, &silent).unwrap();
        check(&format!("{nodes} nodes"), &one, 6);
        for ranks in [2, 3, 6] {
            let on = on_ranks(ranks, |comm| solve_on(&Serial, &deck, comm, &silent).unwrap());
            let what = format!("{nodes} nodes on {ranks} ranks");
            check(&what, &on[0], 7);
            assert!((on[0].error_l2 / one.error_l2 - 1.0).abs() < 1e-4, "{what}");
            // Shared by the ranks or whole on each, levels have the rows of one rank; 17^3 nodes are shared, 11^3 are not.
            let rows =
                |report: &Report| report.levels.iter().map(|level| (level.rows, level.entries)).collect::<Vec<_>>();
            assert_eq!(rows(&on[0]), rows(&one), "{what}");
            for level in &on[0].levels {
                let is_shared = level.rows > 2048 || level.rows == nodes.pow(3);
                assert_eq!(level.ranks, if is_shared { ranks } else { 1 }, "{what}");
            }
        }
    }
}

/// Coarser boxes of uneven ones have elements of another shape, and D^-1 A another largest eigenvalue.
#[test]
fn uneven_boxes_need_as_few_iterations() {
    for nodes in [[21, 19, 38], [37, 19, 18], [35, 35, 18]] {
        let report = solve(&deck(ProblemKind::Heat, ElementType::Hex8, nodes), &Solo, &silent).unwrap();
        check(&format!("{nodes:?}"), &report, 7);
    }
}

#[test]
fn every_element_map_and_problem_converges_in_few_iterations() {
    for (element, name) in ElementType::volumes() {
        let most = if element.degree() == 1 { 8 } else { 16 };
        for ranks in [1, 3] {
            let mut deck = deck(ProblemKind::Poisson, element, [13, 17, 9]);
            deck.mesh.map = "twist:0.1".parse().unwrap();
            let on = on_ranks(ranks, |comm| solve_on(&Serial, &deck, comm, &silent).unwrap());
            check(&format!("poisson on {name}, {ranks} ranks"), &on[0], most);
        }
    }
    for (kind, nodes, size, most) in [
        (ProblemKind::Diffusion, [17; 3], [1.0; 3], 7),
        (ProblemKind::Elasticity, [9, 13, 17], [1.0; 3], 11),
        // Cells of 1 x 1 x 4: the long edge is not cut before the cells are cubes.
        (ProblemKind::Poisson, [33, 33, 9], [1.0; 3], 9),
        (ProblemKind::Heat, [12, 7, 30], [2.0, 1.0, 5.0], 8),
    ] {
        let mut deck = deck(kind, ElementType::Hex8, nodes);
        deck.mesh.size = size;
        let on = on_ranks(2, |comm| solve_on(&Serial, &deck, comm, &silent).unwrap());
        check(&format!("{kind} on {nodes:?}"), &on[0], most);
    }
}

#[test]
fn each_preconditioner_needs_fewer_iterations_than_the_one_before() {
    let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, [25; 3]);
    deck.mesh.map = "twist:0.2".parse().unwrap();
    let mut before = usize::MAX;
    let none_to_best = [
        Preconditioning::None,
        Preconditioning::Jacobi,
        Preconditioning::GaussSeidel,
        Preconditioning::Cholesky,
        Preconditioning::Chebyshev,
        Preconditioning::Algebraic,
        Preconditioning::Multigrid,
    ];
    assert_eq!(none_to_best.len(), Preconditioning::ALL.len());
    for preconditioning in none_to_best {
        deck.cg.preconditioner = Choice::Given(preconditioning);
        let report = solve(&deck, &Solo, &silent).unwrap();
        let found = most_iterations(&report);
        assert!(report.verified && found < before, "{preconditioning}: {found}, before {before}");
        assert_eq!(report.strategies.preconditioner, preconditioning);
        assert_eq!(report.levels.is_empty(), preconditioning == Preconditioning::None, "{preconditioning}");
        before = found;
    }
}

/// With fixed forcing terms each solve reaches CG's tolerance; adaptive ones take fewer iterations for the same answer.
#[test]
fn inexact_steps_save_iterations_and_keep_the_answer() {
    let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, [21; 3]);
    let inexact = solve(&deck, &Solo, &silent).unwrap();
    deck.newton.forcing = Choice::Given(crate::run::deck::Forcing::Fixed);
    let exact = solve(&deck, &Solo, &silent).unwrap();
    assert!(inexact.verified && exact.verified);
    assert!(3 * inexact.cg_iterations <= 2 * exact.cg_iterations, "{} {}", inexact.cg_iterations, exact.cg_iterations);
    assert!((inexact.error_l2 / exact.error_l2 - 1.0).abs() < 1e-3);
}

/// The solution of coarser boxes leaves one step or two, from a residual far below that of the boundary values.
#[test]
fn nested_iteration_leaves_few_steps_on_every_element_map_and_number_of_ranks() {
    let cases = [("hex8", [33; 3], "none"), ("hex8", [20, 13, 17], "twist:0.3"), ("tet10", [17; 3], "bubble:0.3")];
    for (element, nodes, map) in cases {
        let mut deck = deck(ProblemKind::Heat, element.parse().unwrap(), nodes);
        deck.mesh.map = map.parse().unwrap();
        deck.newton.forcing = Choice::Given(crate::run::deck::Forcing::Fixed);
        let plain = solve(&deck, &Solo, &silent).unwrap();
        assert_eq!(plain.plain_start_residual, None);
        deck.newton.forcing = Choice::Auto;
        for ranks in [1, 3] {
            let on = on_ranks(ranks, |comm| solve_on(&Serial, &deck, comm, &silent).unwrap());
            let (what, nested) = (format!("{element}, {ranks} ranks"), &on[0]);
            assert!(
                nested.verified && nested.newton_iterations < plain.newton_iterations,
                "{what}: {:?}",
                nested.history
            );
            assert!(2 * nested.cg_iterations < plain.cg_iterations, "{what}: {:?}", nested.history);
            let found = nested.plain_start_residual.unwrap();
            assert!((found / plain.history[0].residual - 1.0).abs() < 1e-12, "{what}: {found}");
            assert!(nested.history[0].residual < 0.1 * found, "{what}: {:?}", nested.history);
            assert!((nested.error_l2 / plain.error_l2 - 1.0).abs() < 1e-2, "{what}");
        }
    }
}

/// Calls `work` with the levels of a heat problem at temperatures that are functions of the node, between 1 and 2.
fn prepared<R>(
    nodes: [u64; 3],
    comm: &dyn Communicator,
    work: impl for<'a> FnOnce(&System<'a, Threads>, &mut Multigrid<'a, Threads>) -> R,
) -> R {
    let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, nodes);
    deck.mesh.map = "bubble:0.3".parse().unwrap();
    let (phases, links) = (Phases::default(), Links::<Threads>::staged(comm));
    let mesh = made(&Serial, comm, ElementType::Hex8, share(&deck, comm).unwrap()).unwrap();
    let coarse = coarse_meshes(&Serial, &deck, comm, &mesh).unwrap();
    assert_eq!(coarse.len(), 2);
    let input =
        ProblemInput { deck: &deck, links: &links, mesh: &mesh, coarse: &coarse, phases: &phases, progress: &silent };
    let graph = crate::graph::build(&Serial, &mesh.elem_node, mesh.map.owned_count(), Default::default()).unwrap();
    let discrete = Discrete::new(&Serial, input).unwrap();
    let mut marks = Vec::new();
    let mut system = System::new(discrete, Some(graph), &mut marks).unwrap();
    let mut multigrid = Multigrid::new(&system, &mut marks).unwrap().unwrap();
    let mut unknowns = system.start().unwrap();
    system.scatter_by_id(3, &mut unknowns).unwrap();
    unknowns.iter_mut().for_each(|u| *u = 1.5 + 0.5 * *u);
    links.halo(&Serial, system.map()).unwrap().update(&Serial, &mut unknowns).unwrap();
    system.assemble(&unknowns, &mut vec![0.0; mesh.map.owned_count()], &mut marks).unwrap();
    system.update(&mut marks).unwrap();
    multigrid.prepare(&system, &unknowns).unwrap();
    work(&system, &mut multigrid)
}

/// Pseudo-random numbers by node and their image by the cycle.
fn images<'a>(seed: u64, system: &System<'a, Threads>, multigrid: &mut Multigrid<'a, Threads>) -> [Vec<f64>; 2] {
    let n = system.map().owned_count();
    let (mut vector, mut image) = (vec![0.0; n], vec![f64::NAN; n]);
    system.scatter_by_id(seed, &mut vector).unwrap();
    multigrid.with_cycle(system, |cycle| cycle.apply(&Serial, n, &vector, &mut image)).unwrap();
    [vector, image]
}

/// x.My = y.Mx and x.Mx > 0 for the cycle M, to rounding.
#[test]
fn the_cycle_is_symmetric_and_positive() {
    let [[x, mx], [y, my]] =
        prepared([12, 9, 14], &Solo, |system, multigrid| [1, 2].map(|seed| images(seed, system, multigrid)));
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let (xmy, ymx, scale) = (dot(&x, &my), dot(&y, &mx), dot(&x, &mx));
    assert!(scale > 0.0 && (xmy - ymx).abs() < 1e-12 * scale, "{xmy:e} {ymx:e} {scale:e}");
}

/// Down to the last of three levels and up again, once each.
#[test]
fn a_cycle_tells_which_level_it_enters() {
    let visited = prepared([12, 9, 14], &Solo, |system, multigrid| {
        let (n, mut visited) = (system.map().owned_count(), Vec::new());
        let (r, mut z) = (vec![1.0; n], vec![0.0; n]);
        let work = |cycle: &mut dyn Preconditioner<Threads>| {
            cycle.apply_visiting(&Serial, n, &r, &mut z, &mut |level| {
                visited.push(level);
                Ok(())
            })
        };
        multigrid.with_cycle(system, work).unwrap();
        visited
    });
    assert_eq!(visited, [0, 1, 2, 1, 0]);
}

/// A solve on a coarse box goes as far as Newton's method asks, or to a tolerance of its own.
#[test]
fn solves_on_coarse_boxes_reach_the_forcing_term() {
    prepared([12, 9, 14], &Solo, |_, multigrid| {
        let Multigrid { coarse, hierarchy, .. } = multigrid;
        let (rows, columns) = (coarse[0].system.map().owned_count(), coarse[0].system.map().local_count());
        let mut x = coarse[0].system.start().unwrap();
        let workspace = CgWorkspace::new(&Serial, rows, columns).unwrap();
        let mut problem = super::nested::OnBox { boxes: &mut coarse[..], hierarchy, workspace, inverts: true };
        let (mut residual, mut delta) = (vec![0.0; rows], vec![0.0; rows]);
        problem.assemble(&mut x, &mut residual).unwrap();
        for (forcing, tolerance) in [(Some(0.5), 0.5), (Some(1e-9), 1e-9), (None, 1e-3)] {
            let info = problem.solve(&x, &residual, &mut delta, forcing).unwrap();
            assert!((info.target / (tolerance * info.rhs) - 1.0).abs() < 1e-12, "{forcing:?}: {info:?}");
            assert!(info.residual <= info.target && info.iterations > 0, "{info:?}");
        }
    });
}

/// 9^3 nodes with 25^3 entries over 5^3 with 13^3. A line of 9 nodes interpolates by 13 entries, and restricts by the 9 between its
/// fixed ends.
#[test]
fn an_iteration_moves_and_computes_what_cg_and_the_cycle_do() {
    let mut deck = deck(ProblemKind::Poisson, ElementType::Hex8, [9; 3]);
    deck.matrix.format = Choice::Given(crate::sparse::Format::Crs);
    let crs = |rows: u64, columns: u64, entries: u64| 12 * entries + 8 * (rows + 1) + 8 * (rows + columns);
    let (rows, entries, last) = (729, 15625, 2197);
    // Transfers between boxes on one rank read and write their vectors.
    let (product, between) = (crs(rows, rows, entries), 2 * 8 * (rows + 125));
    let cg = [product + 72 * rows, 2 * entries + 10 * rows];
    for (preconditioning, [bytes, flops]) in [
        (Preconditioning::None, [0; 2]),
        (Preconditioning::Jacobi, [32 * rows, 2 * rows]),
        (Preconditioning::GaussSeidel, [12 * (entries - rows) + 88 * rows, 2 * (entries - rows) + 4 * rows]),
        (Preconditioning::Chebyshev, [3 * (product + 56 * rows) + 32 * rows, 3 * (2 * entries + 6 * rows) + 2 * rows]),
        (
            Preconditioning::Multigrid,
            [
                4 * product + (3 * 56 + 32 + 24 + 24) * rows + between + crs(125, 125, last),
                8 * entries + (3 * 6 + 2 + 3 + 2) * rows + 2 * (2197 + 729) + 2 * last,
            ],
        ),
    ] {
        deck.cg.preconditioner = Choice::Given(preconditioning);
        let report = solve(&deck, &Solo, &silent).unwrap();
        let phase = report.phases.iter().find(|phase| phase.name == "cg").unwrap();
        let found = [phase.bytes, phase.flops].map(|all| (all / phase.calls as f64).round() as u64);
        assert_eq!(found, [cg[0] + bytes, cg[1] + flops], "{preconditioning}");
    }
}

/// Down to the last of three levels and up again: 1 + 16 s on the finest one, 2 + 8 on the next, 4 on the last.
#[test]
fn a_level_has_the_time_from_its_visits_to_those_that_follow() {
    let mut levels = vec![LevelReport::default(); 3];
    let visited = [(0, 0.0), (1, 1.0), (2, 3.0), (1, 7.0), (0, 15.0), (0, 31.0)];
    add_times(&mut levels, &visited, |before, after| Ok(after - before)).unwrap();
    assert_eq!(levels.iter().map(|level| level.seconds).collect::<Vec<_>>(), [17.0, 10.0, 4.0]);
}

#[test]
fn many_unknowns_take_multigrid_by_themselves_and_few_do_not() {
    let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, [41; 3]);
    deck.cg.preconditioner = Choice::Auto;
    let report = solve(&deck, &Solo, &silent).unwrap();
    assert_eq!(report.strategies.preconditioner, Preconditioning::Multigrid);
    check("41 nodes", &report, 6);
    deck.mesh.nodes = Nodes::new([20; 3]).ok();
    assert_eq!(solve(&deck, &Solo, &silent).unwrap().strategies.preconditioner, Preconditioning::None);
    // A given number of iterations compares products, and preset `papers` is plain CG.
    deck.mesh.nodes = Nodes::new([41; 3]).ok();
    deck.cg.iterations = Some(3);
    assert_eq!(solve(&deck, &Solo, &silent).unwrap().strategies.preconditioner, Preconditioning::None);
    assert_eq!(Deck::default().resolved().cg.preconditioner, Choice::Given(Preconditioning::None));
}

#[test]
fn memory_of_levels_is_forecast() {
    let mut with = deck(ProblemKind::Heat, ElementType::Hex8, [41; 3]);
    let peak = |deck: &Deck| dry_run(deck, &Solo, &silent).unwrap().largest.forecast.peak();
    let levels = peak(&with);
    with.cg.preconditioner = Choice::Given(Preconditioning::None);
    let more = (levels - peak(&with)) as f64 / 41f64.powi(3);
    // 40 for vectors and a seventh of the bytes of a problem.
    assert!((100.0..200.0).contains(&more), "{more} bytes per node");
}

/// 65 536 unknowns are few and one more line is many, whatever the unknowns per node; boxes of 300 nodes are not coarsened.
#[test]
fn limits_of_sizes_are_inclusive() {
    let chosen = |kind: ProblemKind, nodes: [u64; 3]| {
        let mut deck = deck(kind, ElementType::Hex8, nodes);
        deck.cg.preconditioner = Choice::Auto;
        let spec = deck.spec(deck.mesh.nodes.unwrap()).unwrap();
        preconditioned::<Threads>(&deck, &spec, 1).unwrap().preconditioning()
    };
    assert_eq!(chosen(ProblemKind::Heat, [64, 32, 32]), Preconditioning::None);
    assert_eq!(chosen(ProblemKind::Heat, [64, 32, 33]), Preconditioning::Multigrid);
    assert_eq!(chosen(ProblemKind::Elasticity, [64, 32, 11]), Preconditioning::Multigrid);
    assert_eq!(chosen(ProblemKind::Elasticity, [64, 31, 11]), Preconditioning::None);
    // Without a matrix few unknowns take none, and neither do many with much advection.
    let free = |nodes: [u64; 3], velocity: [f64; 3]| {
        let mut deck = deck(ProblemKind::Poisson, ElementType::Hex8, nodes);
        (deck.cg.preconditioner, deck.cg.operator) = (Choice::Auto, crate::run::deck::Operator::MatrixFree);
        deck.problem.advection = velocity;
        let spec = deck.spec(deck.mesh.nodes.unwrap()).unwrap();
        preconditioned::<Threads>(&deck, &spec, 1).unwrap().preconditioning()
    };
    assert_eq!(free([64, 32, 32], [0.0; 3]), Preconditioning::None);
    assert_eq!(free([64, 32, 33], [0.0; 3]), Preconditioning::Multigrid);
    assert_eq!(free([64, 32, 33], [1e4, 0.0, 0.0]), Preconditioning::None);
    let boxes = |nodes: [u64; 3], preconditioner| {
        let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, nodes);
        deck.cg.preconditioner = Choice::Given(preconditioner);
        let found = coarse_boxes(&deck, &deck.spec(deck.mesh.nodes.unwrap()).unwrap(), 1);
        found.into_iter().map(|coarse| coarse.spec.nodes()).collect::<Vec<_>>()
    };
    assert_eq!(boxes([10, 10, 3], Preconditioning::Multigrid), [[0; 3]; 0]);
    assert_eq!(boxes([9, 9, 9], Preconditioning::Multigrid), [[5; 3]]);
    assert_eq!(boxes([9, 9, 9], Preconditioning::Chebyshev), [[0; 3]; 0]);
}

/// The next coarser box of a plate may have fixed nodes only.
#[test]
fn plates_are_coarsened_as_long_as_nodes_are_free() {
    for kind in [ProblemKind::Heat, ProblemKind::Poisson] {
        let plates = [([21, 21, 5], 2), ([33, 33, 3], 1)];
        // The last one is too coarse to verify the wave of Poisson's problem.
        for (nodes, levels) in plates.into_iter().take(if kind == ProblemKind::Heat { 2 } else { 1 }) {
            let mut deck = deck(kind, ElementType::Hex8, nodes);
            let spacing = 1.0 / (nodes[0] - 1) as f64;
            deck.mesh.size[2] = (nodes[2] - 1) as f64 * spacing;
            let report = solve(&deck, &Solo, &silent).unwrap();
            check(&format!("{kind}, {nodes:?}"), &report, 20);
            assert_eq!(report.levels.len(), levels, "{kind}, {nodes:?}");
        }
        let mut plate = deck(kind, ElementType::Hex8, [161, 161, 5]);
        plate.mesh.size[2] = 0.025;
        let spec = plate.spec(plate.mesh.nodes.unwrap()).unwrap();
        let refused = preconditioned::<Threads>(&plate, &spec, 1).unwrap_err().to_string();
        assert!(refused.contains("coarsening ends with 19683 unknowns"), "{refused}");
        plate.cg.preconditioner = Choice::Auto;
        let chosen = preconditioned::<Threads>(&plate, &spec, 1).unwrap().preconditioning();
        assert_eq!(chosen, Preconditioning::Jacobi, "{kind}");
        // No coarser box at all.
        plate.mesh.size[2] = 0.0125;
        let thin = plate.spec(Nodes::new([161, 161, 3]).unwrap()).unwrap();
        assert_eq!(preconditioned::<Threads>(&plate, &thin, 1).unwrap().preconditioning(), Preconditioning::Jacobi);
    }
}
