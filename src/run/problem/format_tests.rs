//! Whole runs in every storage on a host.

use super::auto_format;
use crate::comm::Communicator;
use crate::comm::Solo;
use crate::comm::ranks::on_ranks_that_add;
use crate::run::deck::{Choice, Nodes, Preconditioning, Preset, ProblemKind};
use crate::run::{Deck, Device, Report, silent, solve, solve_on};
use crate::space::Threads;
use crate::sparse::{Format, Precision, RowShape};

const FORMATS: [Format; 3] = [Format::Crs, Format::Pattern, Format::Symmetric];

fn deck(kind: ProblemKind, nodes: [u64; 3], map: &str) -> Deck {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.run.device, deck.problem.kind) = (Nodes::new(nodes).ok(), Device::Cpu, kind);
    deck.run.preset = Preset::Fast;
    deck.mesh.map = map.parse().unwrap();
    deck.run.threads = Some(2);
    // A preconditioner would have levels in formats of their own.
    deck.cg.preconditioner = Choice::Given(Preconditioning::None);
    deck
}

fn run(deck: &Deck, format: Choice<Format>, values: Precision) -> Report {
    let mut deck = deck.clone();
    (deck.matrix.format, deck.matrix.values) = (format, values);
    solve(&deck, &Solo, &silent).unwrap()
}

/// The first three digits of both errors, which discretisation alone decides; and the same numbers of iterations with f64 values.
#[test]
fn no_storage_changes_an_error_and_the_true_residual_shows_rounded_values() {
    for (kind, map) in [
        (ProblemKind::Heat, "none"),
        (ProblemKind::Heat, "twist:0.3"),
        (ProblemKind::Poisson, "none"),
        (ProblemKind::Elasticity, "none"),
    ] {
        let deck = deck(kind, [13, 12, 14], map);
        let plain = run(&deck, Choice::Given(Format::Crs), Precision::F64);
        assert!(plain.verified, "{kind} {map}: {:?}", plain.verdict);
        for format in FORMATS {
            for values in [Precision::F64, Precision::F32] {
                let report = run(&deck, Choice::Given(format), values);
                let what = format!("{kind} {map} {format} {values}");
                assert!(report.verified, "{what}: {:?}", report.verdict);
                let strategies = &report.strategies;
                assert_eq!((strategies.format, strategies.matrix_values), (Some(format), Some(values)));
                assert_eq!(strategies.format_reason, "given");
                for (found, expected) in [(report.error_max, plain.error_max), (report.error_l2, plain.error_l2)] {
                    assert!((found / expected - 1.0).abs() < 5e-4, "{what}: {found:e}, {expected:e}");
                }
                // The recurrence of CG reaches its target on the rounded matrix; the residual of the assembled one is larger.
                let first = &report.history[0];
                let departure = first.true_residual / first.cg_residual;
                match values {
                    Precision::F64 => {
                        assert_eq!(
                            (report.cg_iterations, report.newton_iterations),
                            (plain.cg_iterations, plain.newton_iterations)
                        );
                        assert!(departure < 1.01, "{what}: {departure}");
                    }
                    Precision::F32 => assert!(departure > 2.0, "{what}: {departure}"),
                }
            }
        }
    }
}

#[test]
fn ranks_with_ghosts_solve_in_every_storage() {
    // Rows without ghosts, more than a block of them, come first.
    for mut deck in [deck(ProblemKind::Heat, [18, 17, 33], "none"), deck(ProblemKind::Elasticity, [18, 17, 57], "none")]
    {
        let mut expected: Option<f64> = None;
        for (format, values) in
            FORMATS.into_iter().flat_map(|format| [Precision::F64, Precision::F32].map(|values| (format, values)))
        {
            (deck.matrix.format, deck.matrix.values) = (Choice::Given(format), values);
            let of_rank = on_ranks_that_add(3, 2, |comm| {
                let space = Threads::new(2).unwrap();
                let report = solve_on(&space, &deck, comm, &silent).unwrap();
                assert!(report.verified, "{format} {values}: {:?}", report.verdict);
                report.error_l2
            });
            assert_eq!(of_rank[0], of_rank[1]);
            let tolerance = if values == Precision::F64 { 1e-7 } else { 5e-4 };
            assert!((of_rank[0] / *expected.get_or_insert(of_rank[0]) - 1.0).abs() < tolerance, "{format} {values}");
        }
    }
}

/// `auto` stores large matrices in symmetric halves, whose sums are those of `pattern`.
#[test]
fn auto_takes_the_fewest_bytes_for_large_matrices() {
    let bits = |report: &Report| {
        let history = report.history.iter().flat_map(|step| [step.residual, step.cg_residual, step.true_residual]);
        history.chain([report.error_max, report.error_l2]).map(f64::to_bits).collect::<Vec<_>>()
    };
    let small = run(&deck(ProblemKind::Heat, [12; 3], "none"), Choice::Auto, Precision::F64);
    assert_eq!(
        (small.strategies.format, &*small.strategies.format_reason),
        (Some(Format::Crs), "a rank has at most 32768 rows")
    );
    let large = deck(ProblemKind::Heat, [41, 40, 41], "none");
    let chosen = run(&large, Choice::Auto, Precision::F64);
    let strategies = &chosen.strategies;
    assert_eq!(
        (strategies.format, &*strategies.format_reason),
        (Some(Format::Symmetric), "symmetric equation, many regular rows")
    );
    assert!(chosen.verified);
    // Nothing is copied.
    let calls = |name: &str| chosen.phases.iter().find(|phase| phase.name == name).map(|phase| phase.calls);
    assert_eq!((calls("setup/format"), calls("format")), (Some(1), None));
    let bytes = strategies.format_bytes_per_row.unwrap();
    assert!((124.0..134.0).contains(&bytes), "{bytes}");
    assert_eq!(bits(&chosen), bits(&run(&large, Choice::Given(Format::Pattern), Precision::F64)));
    // Blocks of unknowns, too.
    let elastic = deck(ProblemKind::Elasticity, [23, 22, 23], "none");
    let chosen = run(&elastic, Choice::Auto, Precision::F64);
    assert_eq!(chosen.strategies.format, Some(Format::Symmetric));
    let bytes = chosen.strategies.format_bytes_per_row.unwrap();
    assert!((325.0..370.0).contains(&bytes), "{bytes}");
    assert_eq!(bits(&chosen), bits(&run(&elastic, Choice::Given(Format::Pattern), Precision::F64)));
}

#[test]
fn values_that_f32_cannot_hold_end_the_run_with_their_place() {
    // The matrix is proportional to the edge of the box.
    let mut deck = deck(ProblemKind::Poisson, [5; 3], "none");
    deck.mesh.size = [1e-39; 3];
    deck.matrix.values = Precision::F32;
    for format in FORMATS {
        deck.matrix.format = Choice::Given(format);
        let refused = solve(&deck, &Solo, &silent).unwrap_err().to_string();
        assert!(refused.contains("values f32: entry (") && refused.contains("choose f64"), "{refused}");
    }
}

/// A host decides by the rows of each rank. Where ranks would choose differently, all take CRS: a rank that went on alone would leave the others
/// in a collective call.
#[test]
fn ranks_of_a_host_agree_on_a_format() {
    const FEW: usize = 1 << 15;
    let chosen = |ranks: [(usize, usize); 2], is_symmetric| {
        let of_rank = on_ranks_that_add(0, 2, |comm| {
            let (rows, irregular) = ranks[comm.rank()];
            let shape = RowShape { rows, entries: 0, padded: 0, longest: 0, irregular, is_symmetric };
            let chosen = auto_format::choose::<Threads>(&Deck::default(), is_symmetric, || Ok(shape), comm).unwrap();
            // All are still together.
            let mut after = [comm.rank() as f64];
            comm.all_max(&mut after);
            assert_eq!(after, [1.0]);
            chosen.format
        });
        assert_eq!(of_rank[0], of_rank[1]);
        of_rank[0]
    };
    let many = FEW + 1;
    for (ranks, symmetric, other) in [
        ([(many, 0), (2 * many, many / 2)], Format::Symmetric, Format::Pattern),
        ([(FEW, 0), (FEW, 0)], Format::Crs, Format::Crs),
        ([(many, 0), (FEW, 0)], Format::Crs, Format::Crs),
        ([(FEW, 0), (many, 0)], Format::Crs, Format::Crs),
        // A quarter of the rows may be irregular.
        ([(4 * FEW, FEW), (many, 0)], Format::Symmetric, Format::Pattern),
        ([(4 * FEW, FEW + 1), (many, 0)], Format::Crs, Format::Crs),
    ] {
        assert_eq!([chosen(ranks, true), chosen(ranks, false)], [symmetric, other], "{ranks:?}");
    }
}

/// A copy reads 8 bytes and writes those of a value; the fused kernel has its own flops; `gather` writes each sum once.
#[test]
fn copies_and_fills_move_what_they_do_by_hand() {
    let mut deck = deck(ProblemKind::Heat, [9, 8, 7], "none");
    let (nodes, elements, entries) = (504.0, 336.0, 25.0 * 22.0 * 19.0);
    let of_call = |report: &Report, name: &str| {
        let phase = report.phases.iter().find(|phase| phase.name == name).unwrap();
        [phase.bytes, phase.flops].map(|all| (all / phase.calls as f64).round())
    };
    // Colours add in slices; gather writes rows of CRS.
    let direct = run(&deck, Choice::Given(Format::Pattern), Precision::F64);
    assert!(direct.phases.iter().all(|phase| phase.name != "format"));
    deck.fill.strategy = Choice::Given(crate::fill::Strategy::Gather);
    for (format, values, item) in [
        (Format::Crs, Precision::F32, 4.0),
        (Format::Pattern, Precision::F32, 4.0),
        (Format::Pattern, Precision::F64, 8.0),
    ] {
        let report = run(&deck, Choice::Given(format), values);
        assert_eq!(of_call(&report, "format"), [(8.0 + item) * entries, 0.0], "{format} {values}");
    }
    // Ids and positions of 8 nodes, coordinates and unknowns.
    let inputs = (32.0 + 64.0) * elements + 32.0 * nodes;
    deck.fill.kernel = Choice::Given(crate::fill::Kernel::Fused);
    for (fill, sum) in [
        (crate::fill::Strategy::Scatter, 24.0),
        (crate::fill::Strategy::Colour, 24.0),
        (crate::fill::Strategy::Gather, 8.0),
    ] {
        deck.fill.strategy = Choice::Given(fill);
        let report = run(&deck, Choice::Given(Format::Crs), Precision::F64);
        let [bytes, flops] = of_call(&report, "fill");
        let stored = bytes - inputs - sum * (entries + nodes);
        assert_eq!(flops, crate::element::MOMENTS_FLOPS as f64 * elements, "{fill}");
        // Element matrices of a small box stay in the caches, or all of them are written and read.
        assert!([0.0, 2.0 * 72.0 * 8.0 * elements].contains(&stored), "{fill}: {stored}");
    }
}

/// The limit itself is few rows, and halves are of symmetric matrices only.
#[test]
fn a_forecast_expects_what_the_run_will_choose() {
    let of = |rows: usize, is_symmetric: bool| {
        let shape = RowShape { rows, entries: 27 * rows, padded: 27 * rows, longest: 27, irregular: 0, is_symmetric };
        auto_format::expected::<Threads>(&Deck::default(), shape).format
    };
    let few = 1 << 15;
    assert_eq!(
        [of(few, true), of(few + 1, true), of(few + 1, false)],
        [Format::Crs, Format::Symmetric, Format::Pattern]
    );
}
