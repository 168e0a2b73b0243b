//! Whole jobs on several GPUs, against the CPU and against each other.

use super::TRANSPORTS;
use minifenl::Result;
use minifenl::comm::Communicator;
use minifenl::element::ElementType;
use minifenl::mesh::CoordinateMap;
use minifenl::run::deck::{Choice, Deck, Device, Nodes, Preconditioning, Preset, ProblemKind};
use minifenl::run::{silent, solve};
use minifenl::solve::CgVariant;
use minifenl::space::Cuda;
use minifenl::sparse::Format;

/// The main job by each transport and format: counts of the CPU, and its error.
pub(super) fn jobs(comm: &dyn Communicator, _: &Cuda) -> Result<()> {
    let mut deck = Deck::default();
    deck.run.preset = Preset::Fast;
    deck.mesh.nodes = Some(Nodes::new([33, 30, 41])?);
    deck.mesh.map = CoordinateMap::TWIST;
    deck.run.device = Device::Cpu;
    deck.run.threads = Some(1);
    let expected = solve(&deck, comm, &silent)?;
    assert!(expected.verified);
    deck.run.device = Device::Cuda(None);
    for transport in TRANSPORTS {
        for (format, _) in Format::ALL {
            deck.run.halo = Choice::Given(transport);
            deck.matrix.format = Choice::Given(format);
            let found = solve(&deck, comm, &silent)?;
            assert!(found.verified, "{transport}, {format}: {:?}", found.verdict);
            assert_eq!(found.strategies.halo.as_deref(), Some(transport.to_string().as_str()));
            assert_eq!(found.newton_iterations, expected.newton_iterations, "{transport}, {format}");
            assert!(found.cg_iterations.abs_diff(expected.cg_iterations) <= 1, "{transport}, {format}");
            assert!((found.error_l2 - expected.error_l2).abs() < 1e-6 * expected.error_l2, "{transport}, {format}");
        }
    }
    Ok(())
}

/// Every CG variant by every transport, on parts of unequal size: Newton's steps and the answer of the CPU.
pub(super) fn variants(comm: &dyn Communicator, _: &Cuda) -> Result<()> {
    let mut deck = Deck::default();
    deck.run.preset = Preset::Fast;
    deck.mesh.nodes = Some(Nodes::new([27, 22, 43])?);
    deck.mesh.map = CoordinateMap::TWIST;
    deck.run.timeout = Some(20.0);
    (deck.run.device, deck.run.threads) = (Device::Cpu, Some(1));
    let expected = solve(&deck, comm, &silent)?;
    deck.run.device = Device::Cuda(None);
    for transport in TRANSPORTS {
        for (variant, name) in CgVariant::ALL {
            (deck.run.halo, deck.cg.variant) = (Choice::Given(transport), Choice::Given(variant));
            let found = solve(&deck, comm, &silent)?;
            assert!(found.verified, "{transport}, {name}: {:?}", found.verdict);
            assert_eq!(found.strategies.cg, name);
            assert_eq!(found.newton_iterations, expected.newton_iterations, "{transport}, {name}");
            assert!(found.cg_iterations.abs_diff(expected.cg_iterations) <= 3, "{transport}, {name}");
            assert!((found.error_l2 - expected.error_l2).abs() < 1e-6 * expected.error_l2, "{transport}, {name}");
        }
    }
    Ok(())
}

/// Parts of more than 2^17 rows, whose matrices are assembled in their storage format.
pub(super) fn direct_assembly(comm: &dyn Communicator, _: &Cuda) -> Result<()> {
    let mut deck = Deck::default();
    deck.run.preset = Preset::Fast;
    deck.mesh.nodes = Some(Nodes::new([64, 64, 64 * comm.size() as u64])?);
    deck.run.device = Device::Cuda(None);
    let mut found = Vec::new();
    for format in [Format::Pattern, Format::Crs, Format::Symmetric] {
        deck.matrix.format = Choice::Given(format);
        let report = solve(&deck, comm, &silent)?;
        assert!(report.verified, "{format}: {:?}", report.verdict);
        found.push((report.newton_iterations, report.cg_iterations, report.error_l2));
    }
    for other in &found[1..] {
        assert!(other.0 == found[0].0 && other.1.abs_diff(found[0].1) <= 2, "{found:?}");
        assert!((other.2 - found[0].2).abs() < 1e-6 * found[0].2, "{found:?}");
    }
    Ok(())
}

/// Problems of one and three unknowns per node on elements of both degrees, by each transport: counts and errors of the CPU.
pub(super) fn problems(comm: &dyn Communicator, _: &Cuda) -> Result<()> {
    for (problem, element) in [
        (ProblemKind::Elasticity, ElementType::Tet10),
        (ProblemKind::Poisson, ElementType::Hex27),
        (ProblemKind::Heat, ElementType::Wedge6),
    ] {
        let mut deck = Deck::default();
        deck.run.preset = Preset::Fast;
        (deck.problem.kind, deck.mesh.element) = (problem, element);
        deck.mesh.nodes = Some(Nodes::new([17, 15, 21])?);
        deck.mesh.map = CoordinateMap::TWIST;
        (deck.run.device, deck.run.threads) = (Device::Cpu, Some(1));
        let expected = solve(&deck, comm, &silent)?;
        assert!(expected.verified, "{problem} on {element}: {:?}", expected.verdict);
        deck.run.device = Device::Cuda(None);
        for transport in TRANSPORTS {
            deck.run.halo = Choice::Given(transport);
            let found = solve(&deck, comm, &silent)?;
            assert!(found.verified, "{problem} on {element}, {transport}: {:?}", found.verdict);
            assert_eq!(found.newton_iterations, expected.newton_iterations, "{problem} on {element}, {transport}");
            let moved = found.cg_iterations.abs_diff(expected.cg_iterations);
            assert!(moved <= 3, "{problem} on {element}, {transport}: {moved} iterations");
            let error = (found.error_l2 - expected.error_l2).abs() / expected.error_l2;
            assert!(error < 1e-5, "{problem} on {element}, {transport}: {error:e}");
        }
    }
    Ok(())
}

/// Multigrid, with and without a box per rank that divides evenly, and aggregation, by each transport: the levels and iterations of the
/// CPU.
pub(super) fn multigrid(comm: &dyn Communicator, _: &Cuda) -> Result<()> {
    let problems = [(ProblemKind::Heat, [41, 38, 75]), (ProblemKind::Elasticity, [17, 15, 21])];
    let preconditioners = [Preconditioning::Multigrid, Preconditioning::Algebraic];
    for ((problem, nodes), preconditioner) in problems.iter().flat_map(|&of| preconditioners.map(|by| (of, by))) {
        let mut deck = Deck::default();
        (deck.run.preset, deck.problem.kind) = (Preset::Fast, problem);
        deck.mesh.nodes = Some(Nodes::new(nodes)?);
        deck.mesh.map = CoordinateMap::TWIST;
        deck.cg.preconditioner = Choice::Given(preconditioner);
        (deck.run.device, deck.run.threads) = (Device::Cpu, Some(1));
        let expected = solve(&deck, comm, &silent)?;
        deck.run.device = Device::Cuda(None);
        for transport in TRANSPORTS {
            deck.run.halo = Choice::Given(transport);
            let found = solve(&deck, comm, &silent)?;
            let what = format!("{problem} by {preconditioner}, {transport}");
            assert!(found.verified && expected.verified, "{what}: {:?}", found.verdict);
            let counts = [found.cg_iterations, expected.cg_iterations];
            assert!(counts[0].abs_diff(counts[1]) <= 1, "{what}: iterations {counts:?}");
            assert!((found.error_l2 / expected.error_l2 - 1.0).abs() < 1e-4, "{what}");
            let rows =
                [&found, &expected].map(|report| report.levels.iter().map(|level| level.rows).collect::<Vec<_>>());
            assert_eq!(rows[0], rows[1], "{what}");
        }
    }
    Ok(())
}

/// With `--deterministic` a solve has the same bits by every transport, twice.
pub(super) fn deterministic(comm: &dyn Communicator, _: &Cuda) -> Result<()> {
    let mut deck = Deck::default();
    deck.run.preset = Preset::Fast;
    deck.mesh.nodes = Some(Nodes::new([40, 37, 51])?);
    deck.mesh.map = CoordinateMap::TWIST;
    (deck.run.device, deck.run.deterministic) = (Device::Cuda(None), true);
    let mut first = None;
    for transport in TRANSPORTS.into_iter().chain(TRANSPORTS) {
        deck.run.halo = Choice::Given(transport);
        let found = solve(&deck, comm, &silent)?;
        assert!(found.verified, "{transport}: {:?}", found.verdict);
        let bits = (found.history, found.error_max.to_bits(), found.error_l2.to_bits());
        assert!(*first.get_or_insert(bits.clone()) == bits, "{transport}: other bits");
    }
    Ok(())
}
