//! Allocations that fail on one rank of a whole run: no rank leaves a collective alone, and none waits for one that has left.
//!
//! Ranks are threads of this process, so the nth allocation of all of them fails. A rank that returns while another one waits for it is
//! a panic of `thread_ranks`; here it stands for a hang.

use crate::thread_ranks::{Ranks, on_ranks};
use minifenl::comm::{Communicator, GlobalMap, Links, agree};
use minifenl::faults::{Kind, Plan, set};
use minifenl::fill::{DistributedCoo, ElementIndices};
use minifenl::mesh::MeshPart;
use minifenl::run::deck::{Choice, Nodes, Operator, Preconditioning, Preset, ProblemKind};
use minifenl::run::{Deck, Device, dry_run, silent, solution_on, solve_on, strategies_on};
use minifenl::solve::{DistributedOperator, Method, NearNull, NullSpace, Options, SmoothedAggregation, solve};
use minifenl::space::{Serial, Threads};
use minifenl::sparse::{CrsGraph, CrsMatrix};
use minifenl::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};

const RANKS: usize = 3;

/// Faults of a walk, and how many of them ended all ranks by an agreement, and by an abort in the midst of an iteration.
#[derive(Debug, Default)]
struct Ends {
    faults: u64,
    agreed: u64,
    aborted: u64,
}

/// Lets the first, second, ... allocation of `work` fail, from the 200th on in growing steps.
fn walk(what: &str, work: impl Fn(&Ranks) -> Result<()> + Sync) -> Ends {
    let _alone = crate::alone();
    quiet_ranks();
    let (mut ends, mut call) = (Ends::default(), 1);
    loop {
        let has_aborted = AtomicBool::new(false);
        set(Some(Plan { kind: Kind::Alloc, call, lasts: false }));
        let ended = catch_unwind(AssertUnwindSafe(|| {
            on_ranks(RANKS, |comm| {
                let result = work(comm);
                // What the program does with the failure of a rank that no other one learns of.
                if matches!(result, Err(Error::Alone(_))) {
                    has_aborted.store(true, Ordering::Relaxed);
                    comm.abort(1);
                }
                result
            })
        }));
        let fired = set(None);
        match ended {
            Err(_) => {
                assert!(has_aborted.into_inner(), "{what}: allocation {call}: a rank left alone");
                ends.aborted += 1;
            }
            Ok(results) => {
                let told = results.iter().filter(|end| matches!(end, Err(Error::OutOfMemory { .. }))).count();
                let elsewhere = results.iter().filter(|end| matches!(end, Err(Error::Elsewhere { .. }))).count();
                let is_one_of = (told, elsewhere) == (1, RANKS - 1);
                // Formats that do not fit are not taken.
                let is_harmless = results.iter().all(Result::is_ok);
                assert!(is_one_of || is_harmless, "{what}: allocation {call}: {results:?}");
                ends.agreed += u64::from(is_one_of);
                if fired == 0 {
                    assert!(is_harmless, "{what}: {results:?}");
                    break;
                }
            }
        }
        ends.faults += 1;
        call += 1 + call / 200;
    }
    println!("faults: {what}: {ends:?}");
    ends
}

/// Ranks that abort say nothing: they are threads without a name, and tests have one.
fn quiet_ranks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name().is_some() {
                usual(info);
            }
        }));
    });
}

fn deck(kind: ProblemKind, preconditioning: Preconditioning) -> Deck {
    let mut deck = Deck::default();
    (deck.mesh.nodes, deck.problem.kind, deck.run.device) = (Nodes::new([9, 7, 9]).ok(), kind, Device::Cpu);
    (deck.run.preset, deck.cg.preconditioner) = (Preset::Fast, Choice::Given(preconditioning));
    (deck.run.triad, deck.run.threads) = (Some(false), Some(1));
    deck
}

#[test]
fn no_rank_leaves_the_set_up_of_a_preconditioner_alone() {
    for (kind, preconditioning, operator) in [
        (ProblemKind::Heat, Preconditioning::Multigrid, Operator::Assembled),
        (ProblemKind::Heat, Preconditioning::Algebraic, Operator::Assembled),
        (ProblemKind::Heat, Preconditioning::Cholesky, Operator::Assembled),
        (ProblemKind::Elasticity, Preconditioning::Jacobi, Operator::Assembled),
        (ProblemKind::Elasticity, Preconditioning::Jacobi, Operator::MatrixFree),
        (ProblemKind::Minife, Preconditioning::Jacobi, Operator::Assembled),
    ] {
        let mut deck = deck(kind, preconditioning);
        deck.cg.operator = operator;
        let what = format!("{kind}, {preconditioning}, {operator}");
        let ends = walk(&what, |comm| solve_on(&Serial, &deck, comm, &silent).map(drop));
        // Without a matrix less is set up.
        assert!(ends.agreed > if operator == Operator::MatrixFree { 90 } else { 100 }, "{what}: {ends:?}");
    }
}

#[test]
fn no_rank_leaves_a_study_a_forecast_or_the_files_of_a_mesh_alone() {
    let mut deck = deck(ProblemKind::Heat, Preconditioning::None);
    // A study takes no settings but those of mesh and run.
    (deck.mesh.nodes, deck.cg.preconditioner) = (Nodes::new([5, 4, 6]).ok(), Choice::Auto);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.vtu");
    let ends = walk("strategies", |comm| strategies_on(&Serial, &deck, 1, comm, &silent).map(drop));
    assert!(ends.agreed > 100 && ends.aborted == 0, "{ends:?}");
    let ends = walk("forecast", |comm| dry_run(&deck, comm, &silent).map(drop));
    assert!(ends.aborted == 0, "{ends:?}");
    let ends = walk("vtk", |comm| solution_on(&Serial, &deck, comm, &silent)?.write_vtu(&path, &deck, comm));
    assert!(ends.agreed > 50, "{ends:?}");
}

/// Rank r owns id r and has an element of it and the next; so have the pairs of a distributed sum.
#[test]
fn no_rank_leaves_parts_of_a_mesh_or_sums_over_ranks_alone() {
    let ids = |comm: &Ranks| [comm.rank() as u64, (comm.rank() as u64 + 1) % RANKS as u64];
    let ends = walk("parts", |comm| MeshPart::from_elements(comm, &ids(comm)[..1], &ids(comm), 2).map(drop));
    assert!(ends.agreed > 20 && ends.aborted == 0, "{ends:?}");
    let ends = walk("sums", |comm| {
        let indices = ElementIndices { indices: &ids(comm), per_elem: 2 };
        DistributedCoo::from_elements(&Serial, comm, &ids(comm)[..1], indices, indices).map(drop)
    });
    assert!(ends.agreed > 20 && ends.aborted == 0, "{ends:?}");
}

/// The rows of a rank of a second difference over all ranks: `own` rows on each, values by row, column and number of rows.
fn chain(comm: &Ranks, own: u64, value: impl Fn(u64, u64, u64) -> f64) -> Result<(CrsMatrix, GlobalMap)> {
    let (first, all) = (own * comm.rank() as u64, own * RANKS as u64);
    let neighbours = |row: u64| row.saturating_sub(1)..(row + 2).min(all);
    let owned: Vec<u64> = (first..first + own).collect();
    let used: Vec<u64> = owned.iter().flat_map(|&row| neighbours(row)).collect();
    let ids = GlobalMap::new(comm, &owned, &used)?;
    let (mut row_map, mut entries, mut values) = (vec![0], Vec::new(), Vec::new());
    for &row in &owned {
        let mut local: Vec<u32> = neighbours(row).filter_map(|column| ids.local(column)).collect();
        local.sort_unstable();
        values.extend(local.iter().map(|&column| value(row, ids.ids()[column as usize], all)));
        entries.extend(local);
        row_map.push(entries.len() as u64);
    }
    let graph = CrsGraph::new(row_map, entries, ids.map().local_count())?;
    Ok((agree(comm, CrsMatrix::new(Arc::new(graph), values))?, ids))
}

/// Levels are made once and refilled.
#[test]
fn no_rank_leaves_the_levels_of_aggregates_alone() {
    let ends = walk("aggregates", |comm| {
        let (matrix, ids) = chain(comm, 300, |row, column, _| if row == column { 2.0 } else { -1.0 })?;
        let links = Links::staged(comm);
        let near_null = agree(comm, NearNull::constants(300, 1))?;
        let mut levels = SmoothedAggregation::<Threads>::new(&Serial, &links, (&matrix, ids.map()), near_null)?;
        levels.refill(&Serial, &links, &matrix)
    });
    assert!(ends.agreed > 100 && ends.aborted == 0, "{ends:?}");
}

/// Memory of both kinds of methods, of a null space, and of the search for what is not symmetric after CG has failed.
#[test]
fn no_rank_leaves_a_solve_alone() {
    let dirichlet = |row: u64, column: u64, _| if row == column { 2.0 } else { -1.0 };
    let skew = |row: u64, column: u64, _| if row == column { 0.1 } else { row as f64 - column as f64 };
    let neumann = |row: u64, column: u64, all: u64| match (row == column, [0, all - 1].contains(&row)) {
        (true, is_end) => f64::from(2 - u8::from(is_end)),
        (false, _) => -1.0,
    };
    type Value<'a> = &'a (dyn Fn(u64, u64, u64) -> f64 + Sync);
    let cases: [(&str, Value<'_>, Method, NullSpace); 4] = [
        ("cg", &dirichlet, Method::Cg, NullSpace::Trivial),
        ("gmres", &dirichlet, Method::Gmres { restart: 30 }, NullSpace::Trivial),
        ("null space", &neumann, Method::Cg, NullSpace::Constants),
        ("not symmetric", &skew, Method::Cg, NullSpace::Trivial),
    ];
    for (what, value, method, null_space) in cases {
        // What the solve allocates, without what the matrix and the exchange do.
        let agreed = [true, false].map(|solves| {
            let ends = walk(what, |comm| {
                let (matrix, ids) = chain(comm, 5, value)?;
                let links = Links::<Threads>::staged(comm);
                let mut halo = agree(comm, links.halo(&Serial, ids.map()))?;
                if !solves {
                    return Ok(());
                }
                let operator = agree(comm, DistributedOperator::new(&matrix, &mut halo, 0))?;
                let (b, mut x) = (vec![1.0; 5], vec![0.0; ids.map().local_count()]);
                let options = Options { max_iterations: 99, method, null_space, ranks: &links, ..Options::default() };
                match solve(&Serial, &operator, &b, &mut x, options) {
                    // Without memory for the search CG's own error stands.
                    Err(Error::NotSymmetric { .. } | Error::NotConverged { .. }) if what == "not symmetric" => Ok(()),
                    end => end.map(drop),
                }
            });
            assert!(ends.aborted == 0, "{what}: {ends:?}");
            ends.agreed
        });
        assert!(agreed[0] > agreed[1] + 3, "{what}: {agreed:?}");
    }
}
