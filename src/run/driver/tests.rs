//! Runs on ranks and threads, and what one rank alone meets.

use super::*;
use crate::Error;
use crate::comm::Solo;
use crate::comm::ranks::{on_ranks, on_ranks_that_add};
use crate::fill;
use crate::run::deck::{Choice, Nodes, Preset};
use crate::run::report::StrategiesReport;
use crate::run::{Analytic, Device, silent};
use crate::space::Scan;

#[test]
fn one_thread_solves_again_with_the_same_and_with_other_numbers_of_threads() {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.run.device) = (Nodes::new([6; 3]).ok(), Device::Cpu);
    deck.run.preset = Preset::Fast;
    let errors: Vec<f64> = [2, 2, 1, 3]
        .map(|threads| {
            deck.run.threads = Some(threads);
            let report = solve(&deck, &Solo, &silent).unwrap();
            assert!(report.verified && report.threads == threads);
            report.error_l2
        })
        .to_vec();
    assert!(errors.iter().all(|&error| error == errors[0]), "{errors:?}");
}

#[test]
fn ranks_of_a_call_with_different_decks_are_refused() {
    let ends = on_ranks_that_add(1, 2, |comm| {
        let mut deck = Deck::default();
        (deck.mesh.nodes, deck.run.device) = (Nodes::new([5; 3]).ok(), Device::Cpu);
        deck.newton.tolerance = Some([1e-6, 1e-7][comm.rank()]);
        solve(&deck, comm, &silent).map(|_| ()).map_err(|error| error.to_string())
    });
    assert!(ends[1].as_ref().is_err_and(|text| text.contains("newton.tolerance")), "{ends:?}");
    assert!(ends[0].as_ref().is_err_and(|text| text.starts_with("rank 1 failed")), "{ends:?}");
}

/// Bits of the residuals and errors of a run on these ranks; sums are added in the orders that `seed` draws.
fn bits(seed: u64, ranks: usize, threads: usize, deck: &Deck) -> Vec<u64> {
    let of_rank = on_ranks_that_add(seed, ranks, |comm| {
        let report = solve_on(&Threads::new(threads).unwrap(), deck, comm, &silent).unwrap();
        assert!(report.verified && report.deterministic == deck.run.deterministic);
        let history = report.history.iter().flat_map(|step| [step.residual, step.cg_residual, step.true_residual]);
        history.chain([report.error_max, report.error_l2, report.symmetry]).map(f64::to_bits).collect::<Vec<_>>()
    });
    assert!(of_rank.iter().all(|bits| *bits == of_rank[0]), "ranks report different numbers");
    of_rank[0].clone()
}

#[test]
fn a_deterministic_run_has_the_same_bits_whatever_the_order_of_sums_and_the_threads() {
    let mut deck = Deck::default();
    deck.mesh.nodes = Nodes::new([9, 8, 10]).ok();
    let plain = [1, 2].map(|seed| bits(seed, 4, 1, &deck));
    assert_ne!(plain[0], plain[1], "the orders of the test make no difference");
    deck.run.deterministic = true;
    let first = bits(1, 4, 1, &deck);
    for (seed, threads) in [(2, 1), (3, 2), (4, 3)] {
        assert_eq!(bits(seed, 4, threads, &deck), first, "seed {seed}, {threads} threads");
    }
}

/// The field of all ranks against the exact solution, with the ghosts.
#[test]
fn a_solution_has_the_field_of_its_report_at_owned_nodes_and_at_ghosts() {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.run.device) = (Nodes::new([6, 5, 9]).ok(), Device::Cpu);
    deck.run.preset = Preset::Fast;
    let exact = Analytic::new(1.0, 2.0, 0.0, 1.0);
    // 60 % more than 3 of 9 layers are 4.8: rank 0 owns 5, which are 67 % more.
    for (ranks, imbalance, found) in [(1, 60.0, 0.0), (3, 0.0, 0.0), (3, 60.0, 200.0 / 3.0)] {
        deck.mesh.imbalance = imbalance;
        let parts =
            on_ranks_that_add(1, ranks, |comm| solution_on(&Threads::new(2).unwrap(), &deck, comm, &silent).unwrap());
        let mut value_of = vec![f64::NAN; 6 * 5 * 9];
        for Solution { mesh, field, .. } in &parts {
            assert_eq!(field.len(), mesh.map.local_count());
            for node in 0..mesh.map.owned_count() {
                let value = &mut value_of[mesh.global_node(node as u32) as usize];
                assert!(value.is_nan(), "two ranks own a node");
                *value = field[node];
            }
        }
        let mut ghosts = 0;
        let mut largest = 0.0_f64;
        for Solution { mesh, field, .. } in &parts {
            for (node, value) in field.iter().enumerate() {
                assert_eq!(*value, value_of[mesh.global_node(node as u32) as usize]);
                largest = largest.max((value - exact.at(mesh.node_coord[node][2])).abs());
                ghosts += usize::from(node >= mesh.map.owned_count());
            }
        }
        assert_eq!(ghosts > 0, ranks > 1);
        let partition = &parts[0].report.partition;
        assert!((partition.imbalance_percent - found).abs() < 1e-9, "{ranks} ranks: {partition:?}");
        assert_eq!(partition.imbalance_asked_percent, imbalance);
        // The largest temperature is 2.
        let reported = parts[0].report.error_max;
        assert!((largest / 2.0 / reported - 1.0).abs() < 1e-10 && reported > 1e-6, "{ranks} ranks: {largest}");
    }
    // On the host, from the calling thread's own pool, with the same bits.
    deck.run.threads = Some(2);
    let (one, again) = (solution(&deck, &Solo, &silent).unwrap(), solve(&deck, &Solo, &silent).unwrap());
    assert_eq!((one.field.len(), one.report.error_max), (6 * 5 * 9, again.error_max));
}

#[test]
fn an_error_of_the_observer_ends_the_run_at_any_event() {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.run.device, deck.run.triad) = (Nodes::new([6; 3]).ok(), Device::Cpu, Some(true));
    // Ends a run at its event of a number; returns the events until then.
    let end_at = |last: usize| {
        let seen = RefCell::new(Vec::new());
        let progress = |event: Event<'_>| {
            let shown = format!("{event:?}");
            seen.borrow_mut().push(shown.split(['(', ' ']).next().unwrap_or_default().to_string());
            if seen.borrow().len() > last { Err(Error::Interrupted) } else { Ok(()) }
        };
        let ended = solve_on(&crate::space::Serial, &deck, &Solo, &progress);
        (seen.into_inner(), ended)
    };
    let (all, whole) = end_at(usize::MAX);
    assert!(
        whole.unwrap().verified && ["Phase", "Newton", "Cg", "Done"].iter().all(|name| all.iter().any(|e| e == name))
    );
    for last in 0..all.len() {
        let (seen, ended) = end_at(last);
        assert_eq!((ended.unwrap_err(), &seen[..]), (Error::Interrupted, &all[..=last]));
    }
    // On several ranks the caller ends the others.
    let ends =
        on_ranks(2, |comm| solve_on(&crate::space::Serial, &deck, comm, &|_| Err(Error::Interrupted)).unwrap_err());
    assert!(ends.iter().all(|end| *end == Error::Alone(Box::new(Error::Interrupted))), "{ends:?}");
}

#[test]
fn an_imbalance_that_leaves_nothing_to_others_names_its_flag() {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.mesh.imbalance) = (Nodes::new([9; 3]).ok(), 1000.0);
    let ends = on_ranks(4, |comm| solve_on(&crate::space::Serial, &deck, comm, &silent).unwrap_err().to_string());
    assert!(ends[0].starts_with("mesh.imbalance (--imbalance): imbalance of 1000 %: nothing is left"), "{ends:?}");
}

/// Rank 0 owns 19 of 20 nodes: in the first of the growing boxes that it cannot hold, rank 1 has room for its share.
#[test]
fn a_run_that_one_rank_cannot_hold_starts_on_none() {
    let mut deck = Deck::default();
    (deck.run.device, deck.run.threads, deck.mesh.imbalance) = (Device::Cpu, Some(1), 90.0);
    let ends = on_ranks_that_add(1, 2, |comm| {
        let mut deck = deck.clone();
        let forecasts = (6..).map(|power| {
            deck.mesh.nodes = Nodes::new([1 << power; 3]).ok();
            crate::run::dry_run(&deck, comm, &silent).unwrap()
        });
        let found = forecasts.into_iter().find(|forecast| forecast.fits == Some(false)).unwrap();
        assert_eq!(found.own.check(comm).is_err(), comm.rank() == 0);
        solve_on(&crate::space::Serial, &deck, comm, &silent).unwrap_err()
    });
    assert!(matches!(ends[..], [Error::OutOfMemory { .. }, Error::Elsewhere { rank: 0 }]), "{ends:?}");
}

/// CG ends exactly at its tolerance, which the residual that Newton computes may miss by rounding.
#[test]
fn a_linear_problem_takes_one_step_whatever_the_tolerance_of_cg() {
    let mut deck = Deck::default();
    deck.problem.kind = crate::run::deck::ProblemKind::Poisson;
    for nodes in 5..15 {
        deck.mesh.nodes = Nodes::new([nodes, 7, 9]).ok();
        deck.cg.tolerance = Some(1e-3);
        for _ in 0..2 {
            let report = solve_on(&crate::space::Serial, &deck, &Solo, &silent).unwrap();
            assert_eq!(report.newton_iterations, 1, "{nodes} nodes, {:?}", deck.cg.tolerance);
            deck.cg.tolerance = Some((report.history[0].cg_residual / report.history[0].residual).next_up());
        }
    }
}

#[test]
fn a_scan_is_called_serial_where_one_rank_scans_so() {
    let mut deck = Deck::default();
    deck.mesh.nodes = Nodes::new([6; 3]).ok();
    for (ranks, expected) in [([Scan::Parallel; 2], Scan::Parallel), ([Scan::Serial, Scan::Parallel], Scan::Serial)] {
        let found = on_ranks_that_add(1, 2, |comm| {
            let space = Threads::new(2).unwrap().with_scan(ranks[comm.rank()]);
            solve_on(&space, &deck, comm, &silent).unwrap().strategies.scan
        });
        assert_eq!(found, [Some(expected); 2]);
    }
}

#[test]
fn a_host_notes_a_number_of_threads_per_row_and_takes_the_preset_of_the_papers() {
    let mut deck = Deck::default();
    deck.mesh.nodes = Nodes::new([9; 3]).ok();
    let report = solve_on(&Threads::new(2).unwrap(), &deck, &Solo, &silent).unwrap();
    assert!(report.verified && report.strategies.graph == Some(graph::Strategy::Map), "{report:?}");
    deck.matrix.lanes = "8".parse().unwrap();
    let notes = std::cell::RefCell::new(Vec::new());
    let listen = |event: Event<'_>| {
        if let Event::Notice(text) = event {
            notes.borrow_mut().push(text.to_string());
        }
        Ok(())
    };
    assert!(solve_on(&crate::space::Serial, &deck, &Solo, &listen).unwrap().verified);
    assert_eq!(notes.into_inner(), ["no effect: matrix.lanes (--lanes): only CRS on a GPU shares rows"]);
}

/// 64 entries and 8 residuals of each element, each added once, by the owner of its row.
#[test]
fn scatter_adds_every_entry_atomically_on_one_rank_and_on_four() {
    let mut deck = Deck::default();
    deck.mesh.nodes = Nodes::new([6, 5, 9]).ok();
    let all = Some(72 * 5 * 4 * 8);
    for ranks in [1, 4] {
        for (fill, expected) in [
            (fill::Strategy::Scatter, [all, Some(0)]),
            (fill::Strategy::Colour, [Some(0), all]),
            (fill::Strategy::Gather, [None; 2]),
        ] {
            deck.fill.strategy = Choice::Given(fill);
            let of_rank =
                on_ranks_that_add(1, ranks, |comm| solve_on(&crate::space::Serial, &deck, comm, &silent).unwrap());
            for StrategiesReport { fill_atomic_adds, fill_plain_adds, .. } in of_rank.iter().map(|r| &r.strategies) {
                assert_eq!([*fill_atomic_adds, *fill_plain_adds], expected, "{fill}, {ranks} ranks");
            }
            let line = of_rank[0].table().contains("\nadditions   11520 atomic and 0 plain per fill\n");
            assert_eq!(line, fill == fill::Strategy::Scatter);
        }
    }
}

#[test]
fn ranks_that_cannot_fix_their_order_are_refused() {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.run.deterministic) = (Nodes::new([6; 3]).ok(), true);
    assert!(solve(&deck, &Solo, &silent).unwrap().verified);
    let text = solve_on(&crate::space::Serial, &deck, &crate::comm::testing::Postbox::default(), &silent);
    let text = text.unwrap_err().to_string();
    assert!(text.starts_with("run.deterministic (--deterministic): ") && text.contains("rank order"), "{text}");
}

/// The errors at cubature points of each rank's elements, joined by hand, and three times those of interpolating the exact solution; on
/// ranks that differ.
#[test]
fn errors_at_points_are_those_of_all_ranks() {
    use crate::element::ElementType;
    use crate::fill::{FieldErrors, field_errors};
    use crate::run::deck::ProblemKind;
    use crate::run::judged::on_host;
    for (kind, element, dofs) in [
        (ProblemKind::Poisson, ElementType::Hex8, 1),
        (ProblemKind::Heat, ElementType::Tet10, 1),
        (ProblemKind::Elasticity, ElementType::Hex8, 3),
    ] {
        let mut deck = Deck::default();
        (deck.problem.kind, deck.mesh.element) = (kind, element);
        (deck.mesh.nodes, deck.mesh.size) = (Nodes::new([9, 11, 13]).ok(), [1.0, 0.75, 1.25]);
        let of_rank = on_ranks_that_add(1, 3, |comm| {
            let space = Threads::new(2).unwrap();
            let Solution { mesh, field, report } = solution_on(&space, &deck, comm, &silent).unwrap();
            let case = Case::new(&deck, mesh.spec());
            let owned = mesh.map.owned_count();
            let exact = |x: [f64; 3]| case.at(x);
            let own = field_errors(&space, on_host(&mesh), owned, dofs, &field, &exact).unwrap();
            (report, own, mesh.map.global_count() as f64)
        });
        let all = of_rank.iter().fold(FieldErrors::default(), |all, (_, own, _)| all.with(*own));
        assert!(of_rank.iter().any(|(_, own, _)| own.max != all.max), "{kind}: no rank differs");
        let (report, _, nodes) = &of_rank[0];
        let near = |found: f64, expected: f64, what: &str| {
            assert!((found / expected - 1.0).abs() < 1e-9, "{kind} on {element}, {what}: {found}, expected {expected}");
        };
        near(report.error_max, all.max / all.scale, "largest");
        near(report.error_l2, (all.square / all.scale_square).sqrt(), "L2");
        near(report.error_bound, 3.0 * all.interpolation / all.scale, "bound");
        let residual = report.history.last().unwrap().residual;
        let modes = [1.0, 0.75, 1.25f64].map(|edge| (std::f64::consts::PI / edge).powi(2));
        let volume = 0.75 * 1.25;
        match report.problem.conductivity {
            None => {
                let lambda = modes.iter().sum::<f64>() * volume / nodes;
                near(report.algebraic_error, residual / lambda / nodes.sqrt() / all.scale, "algebraic");
            }
            // The largest temperature is 2, whatever the points.
            Some(k) => near(
                report.algebraic_error,
                residual / (k * modes[2] * volume / nodes) / nodes.sqrt() / 2.0,
                "algebraic",
            ),
        }
    }
}

/// A linear problem makes one solve of so many iterations; a nonlinear one as many as Newton's limit allows. Neither is judged.
#[test]
fn a_given_number_of_iterations_is_made_in_each_solve() {
    use crate::run::deck::ProblemKind;
    for (kind, steps) in [(ProblemKind::Poisson, 1), (ProblemKind::Heat, 4)] {
        let mut deck = Deck::default();
        (deck.problem.kind, deck.mesh.nodes) = (kind, Nodes::new([9; 3]).ok());
        (deck.cg.iterations, deck.newton.max_iterations) = (Some(3), 4);
        let report = solve_on(&crate::space::Serial, &deck, &Solo, &silent).unwrap();
        assert_eq!(
            (report.newton_iterations, report.cg_iterations, report.history.len()),
            (steps, 3 * steps, steps + 1)
        );
        assert!(report.history[..steps].iter().all(|step| step.cg_iterations == 3), "{:?}", report.history);
        assert_eq!(
            (report.cg_iterations_asked, report.verified, &*report.reason),
            (Some(3), false, "number of iterations")
        );
        assert_eq!((report.verdict.len(), report.rating.verified, report.is_good()), (1, false, true), "{kind}");
        assert!(report.verdict[0].starts_with("not asked: ") && report.stopped.is_none());
        let table = report.table();
        assert!(table.matches("NOT JUDGED").count() == 2 && !table.contains("VERIFIED"), "{table}");
    }
}

#[test]
fn a_device_waits_as_long_as_the_deck_says_or_a_minute() {
    let mut deck = Deck::default();
    assert_eq!(wait_limit(&deck).as_secs(), 60);
    deck.run.timeout = Some(2.5);
    assert_eq!(wait_limit(&deck).as_millis(), 2500);
}

/// One batch of elements per rank and assembly: calls are those of all ranks.
#[test]
fn calls_of_contractions_are_added_over_the_ranks() {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.fill.kernel) = (Nodes::new([4, 4, 7]).ok(), Choice::Given(fill::Kernel::Intrepid));
    let calls = |ranks| {
        let of_rank =
            on_ranks_that_add(1, ranks, |comm| solve_on(&crate::space::Serial, &deck, comm, &silent).unwrap());
        assert!(of_rank.iter().all(|report| report.strategies.contractions == of_rank[0].strategies.contractions));
        assert_eq!(of_rank[0].newton_iterations, 3);
        of_rank[0].strategies.contractions.clone()
    };
    let one = calls(1);
    // Four assemblies.
    assert!(!one.is_empty() && one.values().all(|&calls| calls == 4), "{one:?}");
    assert_eq!(calls(3), one.into_iter().map(|(name, calls)| (name, 3 * calls)).collect());
}

/// Other methods than CG keep no workspace: their last numbers are those of the error.
#[test]
fn a_stopped_solve_of_another_method_has_its_numbers() {
    use crate::run::deck::Solver;
    for solver in [Solver::Gmres, Solver::BiCgStab] {
        let mut deck = Deck::default();
        (deck.mesh.nodes, deck.cg.solver, deck.cg.max_iterations) = (Nodes::new([9; 3]).ok(), Choice::Given(solver), 4);
        let report = solve_on(&crate::space::Serial, &deck, &Solo, &silent).unwrap();
        let (line, Some(Error::NotConverged { iterations, residual, .. })) = (&report.history[0], &report.stopped)
        else {
            panic!("{report:?}")
        };
        assert_eq!((report.cg_iterations, line.cg_iterations, *iterations, line.cg_residual), (4, 4, 4, *residual));
        assert!((line.true_residual / line.cg_residual - 1.0).abs() < 1e-6 && line.cg_residual > 0.0, "{line:?}");
        assert_eq!((report.strategies.cg.as_str(), report.history.len()), (&*solver.to_string(), 1));
    }
}

#[test]
fn errors_of_input_and_devices_name_their_setting() {
    let text = |error| of_setting("run.threads", error).to_string();
    assert!(text(Error::Device("no".into())).contains("run.threads (--threads): no"));
    assert_eq!(text(Error::Invalid("no".into())), "run.threads (--threads): no");
    assert_eq!(text(Error::Mpi("no".into())), Error::Mpi("no".into()).to_string());
}
