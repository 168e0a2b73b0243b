//! Every operation of a run on a device against one thread of the host.
//!
//! The checks are those that a user can run without the sources; `tests/spaces` has more of them on nastier inputs. One thread runs
//! the loops of [`Serial`](crate::space::Serial) in order; it is a [`Threads`] here, whose job the library compiles anyway.

use super::alone::on_one_rank;
use crate::blas::Reductions;
use crate::comm::Solo;
use crate::element::ElementType;
use crate::graph;
use crate::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh, MeshSpace};
use crate::run::deck::{Choice, Nodes, Operator, Preconditioning, ProblemKind};
use crate::run::strategies::{difference, numbers, unequal};
use crate::run::{Deck, Job, Report, silent, solution_on, solve_on};
use crate::solve::{CgDirection, CgSlot, CgStep, CgSteps, CgVariant, NonlinearProblem};
use crate::space::{Array, MemorySpace, Threads};
use crate::{Result, fill};

/// Runs the checks in the order of a run's stages; `check` takes name, bound and largest difference, relative.
pub(super) fn check<S: Job>(space: &S, check: &mut dyn FnMut(String, f64, Result<f64>) -> Result<()>) -> Result<()> {
    let serial = &Threads::new(1)?;
    check("vectors".into(), 1e-12, vectors(space, serial))?;
    check("mesh tables".into(), 1e-14, tables(space, serial))?;
    for (strategy, name) in graph::Strategy::ALL {
        check(format!("graph {name}"), 0.0, graphs(space, serial, strategy))?;
    }
    for (kernel, kernel_name) in fill::Kernel::ALL {
        for (strategy, name) in fill::Strategy::ALL {
            let deck =
                deck(|deck| (deck.fill.strategy, deck.fill.kernel) = (Choice::Given(strategy), Choice::Given(kernel)));
            check(
                format!("fill {name}, kernel {kernel_name}"),
                1e-12,
                steps(space, serial, &deck).map(|steps| steps[0]),
            )?;
        }
    }
    check("cg, one Newton step".into(), 1e-6, steps(space, serial, &deck(|_| {})).map(|steps| steps[1]))?;
    for (variant, name) in CgVariant::ALL {
        let deck = deck(|deck| deck.cg.variant = Choice::Given(variant));
        check(format!("cg {name}, one Newton step"), 1e-6, steps(space, serial, &deck).map(|steps| steps[1]))?;
    }
    let with_aggregates = deck(|deck| deck.cg.preconditioner = Choice::Given(Preconditioning::Algebraic));
    check("cg with amg, one Newton step".into(), 1e-6, steps(space, serial, &with_aggregates).map(|steps| steps[1]))?;
    check("the whole job".into(), 1e-5, job(space, serial))?;
    for (problem, element) in MODELS {
        for (operator, name) in Operator::ALL {
            check(format!("{problem} on {element}, {name}"), 1e-5, model(space, serial, (problem, element), operator))?;
        }
    }
    Ok(())
}

/// Problems of one and three unknowns per node on elements with few and many nodes.
const MODELS: [(ProblemKind, ElementType); 3] = [
    (ProblemKind::Poisson, ElementType::Hex27),
    (ProblemKind::Elasticity, ElementType::Hex8),
    (ProblemKind::Heat, ElementType::Tet10),
];

/// A small box of twisted elements, with sizes that divide nothing.
fn deck(change: impl FnOnce(&mut Deck)) -> Deck {
    let mut deck = Deck::default();
    deck.mesh.nodes = Nodes::new([21, 18, 23]).ok();
    deck.mesh.map = CoordinateMap::TWIST;
    change(&mut deck);
    deck
}

fn wave(n: usize, k: f64) -> Vec<f64> {
    (0..n).map(|i| 1.5 + (i as f64 * k).sin()).collect()
}

fn vectors<S: Job>(space: &S, serial: &Threads) -> Result<f64> {
    fn all<S: CgSteps>(space: &S) -> Result<Vec<f64>> {
        let n = 54_321;
        let up = |k| space.upload(&wave(n, k));
        let (p, q, mut x, mut r, mut result) = (up(0.3)?, up(0.7)?, up(0.2)?, up(0.9)?, space.zeros(n)?);
        let (p, q) = (S::Memory::slice(&p), S::Memory::slice(&q));
        let [x, r, z] = [&mut x, &mut r, &mut result].map(S::Memory::slice_mut);
        let mut sums = Reductions::new(space, n, CgSlot::LEN)?;
        // r.r, p.q, target, limit, count, state, ||b||: a solve in the middle of an iteration.
        let mut scalars = [0.0; CgSlot::LEN];
        scalars[..8].copy_from_slice(&[1.25, 0.5, 3.0, 0.0, 9.0, 0.0, 0.0, 1.0]);
        sums.scalars = space.upload(&scalars)?;
        space.cg_step(n, CgStep { rz: 0, rr: 1, p, q, x: &mut *x, r: &mut *r }, &mut sums)?;
        space.axpby(n, 0.3, p, -2.0, q, z)?;
        space.cg_direction(n, CgDirection { rr: 1, top: 1, bottom: 0, z: r, p: &mut *z }, &mut sums)?;
        space.axpy(n, 0.1, x, z)?;
        space.dot(n, z, p, &mut sums, 2)?;
        let largest = space.max_abs(n, z, S::Memory::slice_mut(&mut sums.partials))?;
        let scalars = space.download(&sums.scalars)?.into_iter().map(|scalar| scalar / n as f64);
        Ok(space.download(&result)?.into_iter().chain(scalars).chain([largest]).collect())
    }
    Ok(difference(&all(space)?, &all(serial)?))
}

/// The middle one of three parts of the box, which has ghosts; and the whole.
fn parts(whole: bool) -> Result<BoxPart> {
    let spec = BoxSpec::new([31, 12, 13], [2.0, 1.0, 1.0], CoordinateMap::TWIST)?;
    if whole { BoxPart::new(&spec, 0, 1) } else { BoxPart::new(&spec, 1, 3) }
}

fn tables<S: Job>(space: &S, serial: &Threads) -> Result<f64> {
    let mut largest = 0.0f64;
    for whole in [true, false] {
        let (found, expected) = (space.generate_mesh(parts(whole)?)?, serial.generate_mesh(parts(whole)?)?);
        let as_numbers = |nodes: &[u32]| nodes.iter().map(|&node| f64::from(node)).collect::<Vec<_>>();
        let nodes = space.download(found.elem_node.nodes())?;
        let coord = space.download(&found.node_coord)?;
        largest = largest
            .max(difference(&as_numbers(&nodes), &as_numbers(expected.elem_node.as_slice())))
            .max(difference(coord.as_flattened(), expected.node_coord.as_flattened()));
    }
    Ok(largest)
}

/// Returns the number of entries that differ. Graphs hold integers, so none may.
fn graphs<S: Job>(space: &S, serial: &Threads, strategy: graph::Strategy) -> Result<f64> {
    let mut different = 0.0;
    for whole in [true, false] {
        let (mesh, expected): (Mesh<S::Memory>, Mesh) =
            (space.generate_mesh(parts(whole)?)?, serial.generate_mesh(parts(whole)?)?);
        let rows = mesh.map.owned_count();
        let found = graph::build(space, &mesh.elem_node, rows, strategy)?;
        let expected = graph::build(serial, &expected.elem_node, rows, graph::Strategy::Sort)?;
        different += unequal(&numbers(space, &found)?, &numbers(serial, &expected)?);
    }
    Ok(different)
}

/// Returns the differences of the first residual and of the first correction.
fn steps<S: Job>(space: &S, serial: &Threads, deck: &Deck) -> Result<[f64; 2]> {
    fn first<S: Job>(space: &S, deck: &Deck) -> Result<[Vec<f64>; 2]> {
        on_one_rank(space, deck, |problem, _| {
            let n = problem.rows();
            let (mut x, mut residual, mut delta): (Array<S, f64>, _, _) =
                (problem.start()?, space.zeros(n)?, space.zeros(n)?);
            problem.assemble(S::Memory::slice_mut(&mut x), S::Memory::slice_mut(&mut residual))?;
            problem.solve(S::Memory::slice(&x), S::Memory::slice(&residual), S::Memory::slice_mut(&mut delta), None)?;
            Ok([space.download(&residual)?, space.download(&delta)?])
        })
    }
    let (found, expected) = (first(space, deck)?, first(serial, &self::deck(|_| {}))?);
    Ok([0, 1].map(|which| difference(&found[which], &expected[which])))
}

/// Returns the difference of the verified error; infinite if a count differs by more than summation order explains.
fn job<S: Job>(space: &S, serial: &Threads) -> Result<f64> {
    let deck = deck(|_| {});
    Ok(between(&solve_on(space, &deck, &Solo, &silent)?, &solve_on(serial, &deck, &Solo, &silent)?))
}

/// Returns [`job`]'s difference of two reports.
fn between(found: &Report, expected: &Report) -> f64 {
    // Another order of summation may move convergence of each of three solves by one iteration.
    if found.newton_iterations != expected.newton_iterations
        || found.cg_iterations.abs_diff(expected.cg_iterations) > 3
        || !found.verified
    {
        return f64::INFINITY;
    }
    (found.error_l2 / expected.error_l2 - 1.0).abs()
}

/// Returns the largest difference of a solution from that with a matrix; infinite if it is not verified.
fn model<S: Job>(
    space: &S,
    serial: &Threads,
    (problem, element): (ProblemKind, ElementType),
    operator: Operator,
) -> Result<f64> {
    let mut deck = Deck::default();
    (deck.problem.kind, deck.mesh.element) = (problem, element);
    deck.mesh.nodes = Nodes::new([13, 9, 11]).ok();
    deck.mesh.map = CoordinateMap::TWIST;
    let expected = solution_on(serial, &deck, &Solo, &silent)?;
    deck.cg.operator = operator;
    let found = solution_on(space, &deck, &Solo, &silent)?;
    let field = space.download(&found.field)?;
    Ok(if found.report.verified { difference(&field, &expected.field) } else { f64::INFINITY })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each number that a device may get wrong makes the difference of two jobs larger than the bound.
    #[test]
    fn a_wrong_job_differs() {
        let mut deck = deck(|_| {});
        deck.mesh.nodes = Nodes::new([7, 6, 5]).ok();
        let expected = solve_on(&Threads::new(1).unwrap(), &deck, &Solo, &silent).unwrap();
        let with = |change: &dyn Fn(&mut Report)| {
            let mut found = expected.clone();
            change(&mut found);
            between(&found, &expected)
        };
        assert_eq!(with(&|found| found.cg_iterations += 3), 0.0);
        assert!((with(&|found| found.error_l2 *= 0.5) - 0.5).abs() < 1e-12);
        assert_eq!(with(&|found| found.cg_iterations -= 4), f64::INFINITY);
        assert_eq!(with(&|found| found.newton_iterations += 1), f64::INFINITY);
        assert_eq!(with(&|found| found.verified = false), f64::INFINITY);
    }
}
