//! Whole runs with preconditioners, on ranks, elements, maps and sizes.

use super::discrete::Discrete;
use super::multigrid::Multigrid;
use super::*;
use crate::comm::ranks::on_ranks;
use crate::comm::{Links, Solo};
use crate::element::ElementType;
use crate::run::deck::{Nodes, Preconditioning, Preset, ProblemKind};
use crate::run::meshes::{coarse_meshes, made};
use crate::run::steps::share;
use crate::run::{Deck, Device, Phases, Report, dry_run, silent, solve, solve_on};
use crate::solve::Preconditioner;
use crate::space::{Serial, Threads};

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
            // All ranks have the same levels, and together the rows of one rank where the last box has as many cells.
            let rows = |report: &Report| report.levels.iter().map(|level| level.rows).collect::<Vec<_>>();
            assert_eq!(rows(&on[0]), rows(&one)[..on[0].levels.len()], "{what}");
        }
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
    let mut before = usize::MAX;
    for (preconditioning, name) in Preconditioning::ALL {
        deck.cg.preconditioner = Choice::Given(preconditioning);
        let report = solve(&deck, &Solo, &silent).unwrap();
        let found = most_iterations(&report);
        assert!(report.verified && found < before, "{name}: {found}, before {before}");
        assert_eq!(report.strategies.preconditioner, preconditioning);
        assert_eq!(report.levels.is_empty(), preconditioning == Preconditioning::None, "{name}");
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

/// x.My = y.Mx and x.Mx > 0 for the cycle M, to rounding.
#[test]
fn the_cycle_is_symmetric_and_positive() {
    let mut deck = deck(ProblemKind::Heat, ElementType::Hex8, [12, 9, 14]);
    deck.mesh.map = "bubble:0.3".parse().unwrap();
    let (phases, links) = (Phases::default(), Links::<Serial>::staged(&Solo));
    let mesh = made(&Serial, &Solo, ElementType::Hex8, share(&deck, &Solo).unwrap()).unwrap();
    let coarse = coarse_meshes(&Serial, &deck, &Solo, &mesh).unwrap();
    assert_eq!(coarse.len(), 2);
    let input =
        ProblemInput { deck: &deck, links: &links, mesh: &mesh, coarse: &coarse, phases: &phases, progress: &silent };
    let graph = crate::graph::build(&Serial, &mesh.elem_node, mesh.map.owned_count(), Default::default()).unwrap();
    let discrete = Discrete::new(&Serial, input).unwrap();
    let mut marks = Vec::new();
    let mut linear = Linear::matrix(&discrete, graph, &mut marks).unwrap();
    let mut multigrid = Multigrid::new(&discrete, &linear, &mut marks).unwrap().unwrap();
    let (unknowns, n) = (discrete.start().unwrap(), mesh.map.owned_count());
    linear.assemble(&discrete, &unknowns, &mut vec![0.0; n], &mut marks).unwrap();
    linear.update(&discrete, &mut marks).unwrap();
    multigrid.assemble(&unknowns).unwrap();
    multigrid.prepare(&discrete, &linear).unwrap();
    let vectors = [1, 2].map(|seed| {
        let mut vector = vec![0.0; n];
        discrete.scatter_by_id(seed, &mut vector).unwrap();
        vector
    });
    let images = vectors.each_ref().map(|vector| {
        let mut image = vec![f64::NAN; n];
        multigrid.with_cycle(&discrete, &linear, |cycle| cycle.apply(&Serial, n, vector, &mut image)).unwrap();
        image
    });
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let [xmy, ymx] = [dot(&vectors[0], &images[1]), dot(&vectors[1], &images[0])];
    let scale = dot(&vectors[0], &images[0]);
    assert!(scale > 0.0 && (xmy - ymx).abs() < 1e-12 * scale, "{xmy:e} {ymx:e} {scale:e}");
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
fn memory_of_levels_is_forecast_and_a_last_level_that_is_too_large_refused() {
    let mut with = deck(ProblemKind::Heat, ElementType::Hex8, [41; 3]);
    let peak = |deck: &Deck| dry_run(deck, &Solo, &silent).unwrap().largest.forecast.peak();
    let levels = peak(&with);
    with.cg.preconditioner = Choice::Given(Preconditioning::None);
    let more = (levels - peak(&with)) as f64 / 41f64.powi(3);
    // 40 for vectors, 80 for transfers and a seventh of the bytes of a problem.
    assert!((150.0..300.0).contains(&more), "{more} bytes per node");
    // 3 nodes along z on 3 ranks cannot become fewer.
    let flat = deck(ProblemKind::Poisson, ElementType::Hex8, [60, 60, 3]);
    let errors = on_ranks(3, |comm| {
        let mut deck = flat.clone();
        deck.mesh.size = [1.0, 1.0, 100.0];
        deck.run.threads = Some(1);
        solve_on(&Threads::new(1).unwrap(), &deck, comm, &silent).map(|report| report.levels.len())
    });
    assert!(errors.iter().all(|levels| levels.as_ref().is_ok_and(|&levels| levels > 2)), "{errors:?}");
}
