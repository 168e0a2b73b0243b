//! Whole runs on real ranks in every storage of the matrix, whose parts have columns of ghosts.

use minifenl::Result;
use minifenl::comm::Communicator;
use minifenl::run::deck::{Choice, Nodes, Preset, ProblemKind};
use minifenl::run::{Deck, Device, Report, silent, solve_on};
use minifenl::space::Threads;
use minifenl::sparse::{Format, Precision};

/// Uneven parts: rows of several slices without ghosts, and slices that only some rows with ghosts fill.
const NODES: [u64; 3] = [15, 14, 21];

fn run(comm: &dyn Communicator, kind: ProblemKind, format: Format, values: Precision) -> Result<Report> {
    let mut deck = Deck::default();
    // Its kernel for the heat equation gives matrices that are symmetric to the last bit.
    deck.run.preset = Preset::Fast;
    (deck.mesh.nodes, deck.run.device, deck.problem.kind) = (Some(Nodes::new(NODES)?), Device::Cpu, kind);
    (deck.matrix.format, deck.matrix.values) = (Choice::Given(format), values);
    deck.run.deterministic = true;
    // Two threads share the slices of a rank.
    let space = Threads::new(2)?;
    solve_on(&space, &deck, comm, &silent)
}

/// Every storage finds the solution of CRS, each solve after as many iterations, but one. For the heat equation
/// the symmetric halves have the bits of `pattern`.
pub(super) fn storages(comm: &dyn Communicator) -> Result<()> {
    for kind in [ProblemKind::Heat, ProblemKind::Poisson, ProblemKind::Elasticity] {
        let crs = run(comm, kind, Format::Crs, Precision::F64)?;
        assert!(crs.verified && crs.partition.ghosts > 0, "{kind}: {:?}", crs.verdict);
        let mut bits = Vec::new();
        for format in [Format::Pattern, Format::Symmetric] {
            for values in [Precision::F64, Precision::F32] {
                let report = run(comm, kind, format, values)?;
                let what = format!("{kind} {format} {values} on {} ranks", comm.size());
                assert!(report.verified, "{what}: {:?}", report.verdict);
                // The true residual of rounded values may ask for another solve.
                let (tolerance, of) = match values {
                    Precision::F64 => (1e-6, [report.cg_iterations, crs.cg_iterations]),
                    Precision::F32 => (5e-4, [&report, &crs].map(|report| report.history[0].cg_iterations)),
                };
                assert!(of[0].abs_diff(of[1]) <= 1, "{what}: {} iterations, {} in CRS", of[0], of[1]);
                for (found, expected) in [(report.error_max, crs.error_max), (report.error_l2, crs.error_l2)] {
                    assert!((found / expected - 1.0).abs() < tolerance, "{what}: {found:e}, {expected:e}");
                }
                let history = report.history.iter().flat_map(|step| [step.residual, step.cg_residual]);
                bits.push(history.map(f64::to_bits).collect::<Vec<_>>());
            }
        }
        // Other matrices are symmetric to rounding only, and both entries of a pair become the upper one.
        if kind == ProblemKind::Heat {
            assert_eq!((&bits[0], &bits[1]), (&bits[2], &bits[3]), "{kind}");
        }
    }
    Ok(())
}
