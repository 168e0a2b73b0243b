//! CG on matrices in GPU memory: every format, by kernels and in one launch.

use super::sparse::{matrix, neighbours, single, stored};
use super::{difference, gpu, wave};
use minifenl::blas::Reductions;
use minifenl::comm::Solo;
use minifenl::solve::{
    CgParams, CgSlot, CgSteps, CgWorkspace, Identity, LinearSystem, Method, NullSpace, Options, Reason, SingleLaunch,
    SolveInfo, cg, cg_single_launch,
};
use minifenl::space::{Array, Cuda, CudaMemory, ExecutionSpace, MemorySpace, Serial};
use minifenl::sparse::{CrsMatrix, Format, Operator, Spmv, StoredValue};
use minifenl::{Error, Result};
use std::ops::Sub;

const PARAMS: CgParams = CgParams::new(1e-11, 1000);

/// -1 beside the diagonal; on it, how many of those there are at most, and `more`.
pub fn laplace(mut a: CrsMatrix, more: f64) -> CrsMatrix {
    let graph = a.graph().clone();
    let diagonal = graph.longest_row() as f64 - 1.0 + more;
    let (_, values) = a.parts_mut();
    for row in 0..graph.rows() {
        for entry in graph.row_range(row) {
            values[entry] = if graph.entries()[entry] as usize == row { diagonal } else { -1.0 };
        }
    }
    a
}

/// Rows before 1000 are 301 wide, the others 3: too much for the shared memory of the first blocks.
fn uneven(n: usize) -> CrsMatrix {
    let near = |i: usize, j: usize| i.abs_diff(j) <= if i.min(j) < 1000 { 150 } else { 1 };
    let row = |i: usize| (i.saturating_sub(150)..n.min(i + 151)).filter(|&j| near(i, j)).map(|j| j as u32).collect();
    let mut a = matrix((0..n).map(row), n);
    let graph = a.graph().clone();
    let (_, values) = a.parts_mut();
    for row in 0..n {
        for entry in graph.row_range(row) {
            let is_diagonal = graph.entries()[entry] as usize == row;
            values[entry] = if is_diagonal { graph.row(row).len() as f64 + 4.0 } else { -1.0 };
        }
    }
    a
}

/// Solves A x = b from 0.
fn solve<S: CgSteps>(
    space: &S,
    (a, launch): (&dyn Operator<S>, Option<&SingleLaunch<'_, S>>),
    b: &[f64],
    params: CgParams,
) -> (Result<SolveInfo>, Vec<f64>) {
    let (b, mut x): (_, Array<S, f64>) = (space.upload(b).unwrap(), space.zeros(a.rows()).unwrap());
    let mut work = CgWorkspace::new(space, a.rows(), a.columns()).unwrap();
    let mut system =
        LinearSystem { operator: a, preconditioner: &mut Identity, comm: &Solo, rhs: S::Memory::slice(&b) };
    let (there, observe) = (S::Memory::slice_mut(&mut x), &mut |_, _| Ok(()));
    let info = match launch {
        Some(launch) => cg_single_launch(space, launch, &mut system, there, params, &mut work, observe),
        None => cg(space, &mut system, there, params, &mut work, observe),
    };
    (info, space.download(&x).unwrap())
}

/// Solves by every format, by kernels and at once, and hands each result over with a name.
fn each<V: StoredValue>(
    space: &Cuda,
    a: &CrsMatrix<V, CudaMemory>,
    b: &[f64],
    params: CgParams,
    mut check: impl FnMut(String, Result<SolveInfo>, Vec<f64>),
) {
    for (format, name) in Format::ALL {
        let stored = stored(space, format, a);
        for launch in [None, space.single_launch_of(a).unwrap()] {
            let (at_once, solver) = (launch.is_some(), (&*stored, launch.as_deref()));
            let (info, x) = solve(space, solver, b, params);
            if info.is_ok() {
                let again = solve(space, solver, b, params);
                assert_eq!((info.as_ref().ok(), &x), (again.0.as_ref().ok(), &again.1), "{name}, at once: {at_once}");
            }
            check(format!("{name}, at once: {at_once}"), info, x);
        }
    }
}

fn agrees<V: StoredValue>(space: &Cuda, a: &CrsMatrix<V>, tolerance: f64) {
    let params = CgParams { tolerance, ..PARAMS };
    let n = a.graph().rows();
    let b = wave(n, 0.77);
    let (expected, solution) = solve(&Serial, (a, None), &b, params);
    let expected = expected.unwrap();
    each(space, &a.upload(space).unwrap(), &b, params, |name, info, x| {
        let info = info.unwrap();
        assert!(info.iterations.abs_diff(expected.iterations) <= 1, "{n} rows, {name}: {info:?}, {expected:?}");
        assert!(info.residual <= tolerance * info.rhs, "{n} rows, {name}: {info:?}");
        let difference = difference(&x, &solution);
        assert!(difference < 1e3 * tolerance, "{n} rows, {name}: {difference}");
    });
}

#[test]
fn cg_agrees_with_serial_in_every_format() {
    let Some(space) = gpu("cg_agrees_with_serial_in_every_format") else { return };
    for size in [[1, 1, 1], [3, 3, 3], [7, 5, 6], [21, 17, 13], [40, 30, 31], [60, 50, 45]] {
        let a = laplace(neighbours(size), 0.01);
        agrees(&space, &a, 1e-11);
        agrees(&space, &single(&a), 1e-11);
    }
    agrees(&space, &uneven(37_000), 1e-11);
}

/// By GMRES, BiCGStab and CG, with an absolute tolerance and a null space: as on the host.
#[test]
fn solves_in_one_call_agree_with_serial() {
    let Some(space) = gpu("solves_in_one_call_agree_with_serial") else { return };
    let symmetric = laplace(neighbours([21, 17, 13]), 0.0);
    let (mut drifting, graph) = (laplace(neighbours([21, 17, 13]), 0.1), symmetric.graph().clone());
    let (_, values) = drifting.parts_mut();
    for row in 0..graph.rows() {
        for entry in graph.row_range(row) {
            values[entry] += 0.3 * f64::from(graph.entries()[entry]).sub(row as f64).signum();
        }
    }
    let mut neumann = symmetric.clone();
    let (_, values) = neumann.parts_mut();
    for row in 0..graph.rows() {
        let diagonal = graph.row_range(row).find(|&entry| graph.entries()[entry] as usize == row).unwrap();
        values[diagonal] = graph.row(row).len() as f64 - 1.0;
    }
    let mut indefinite = neumann.clone();
    let (_, values) = indefinite.parts_mut();
    for row in 0..graph.rows() {
        let diagonal = graph.row_range(row).find(|&entry| graph.entries()[entry] as usize == row).unwrap();
        values[diagonal] *= if row % 3 == 0 { -2.0 } else { 2.0 };
    }
    let (restarted, singular) = (Method::Gmres { restart: 20 }, NullSpace::Constants);
    for (a, method, null_space) in [
        (&drifting, restarted, NullSpace::Trivial),
        (&drifting, Method::BiCgStab, NullSpace::Trivial),
        (&neumann, Method::Cg, singular),
        (&neumann, Method::MinRes, singular),
        (&indefinite, Method::MinRes, NullSpace::Trivial),
        (&neumann, restarted, singular),
    ] {
        fn run<S: CgSteps + Spmv<f64>>(space: &S, a: &CrsMatrix, by: (Method, NullSpace)) -> (SolveInfo, Vec<f64>) {
            let (a, b) = (a.upload(space).unwrap(), space.upload(&wave(a.graph().rows(), 0.77)).unwrap());
            let mut x = space.zeros(a.graph().rows()).unwrap();
            let options = Options { rtol: 0.0, atol: 1e-8, method: by.0, null_space: by.1, ..Options::default() };
            let (b, there) = (S::Memory::slice(&b), S::Memory::slice_mut(&mut x));
            let info = minifenl::solve::solve(space, &a, b, there, options).unwrap();
            (info, space.download(&x).unwrap())
        }
        let ((there, x), (here, y)) = (run(&space, a, (method, null_space)), run(&Serial, a, (method, null_space)));
        assert_eq!((there.reason, here.reason), (Reason::AbsoluteTolerance, Reason::AbsoluteTolerance));
        let difference = difference(&x, &y);
        assert!(difference < 1e-5, "{method:?}, {null_space:?}: {difference:e}, {there:?}, {here:?}");
    }
}

#[test]
fn only_small_systems_are_solved_in_one_launch() {
    let Some(space) = gpu("only_small_systems_are_solved_in_one_launch") else { return };
    for (size, small) in [([7, 5, 6], true), ([32, 32, 32], true), ([60, 50, 45], true), ([90, 80, 70], false)] {
        let a = laplace(neighbours(size), 0.1).upload(&space).unwrap();
        let n = a.graph().rows();
        let launch = space.single_launch_of(&a).unwrap();
        assert_eq!(launch.is_some(), small, "{size:?}");
        let (mut x, mut r) = (space.upload(&wave(n, 0.3)).unwrap(), space.upload(&wave(n, 0.4)).unwrap());
        // A state that is set: nothing changes.
        let mut before: Vec<f64> = (1..=CgSlot::LEN).map(|slot| slot as f64).collect();
        before[CgSlot::STATE] = 1.0;
        let mut sums = Reductions::new(&space, n, CgSlot::LEN).unwrap();
        sums.scalars = space.upload(&before).unwrap();
        if let Some(launch) = launch {
            launch(&space, &mut x, &mut r, &mut sums).unwrap();
        }
        assert_eq!(space.download(&sums.scalars).unwrap(), before);
        assert_eq!(space.download(&x).unwrap(), wave(n, 0.3));
    }
}

#[test]
fn a_solution_needs_no_iteration() {
    let Some(space) = gpu("a_solution_needs_no_iteration") else { return };
    let a = laplace(neighbours([7, 5, 6]), 0.5).upload(&space).unwrap();
    each(&space, &a, &[0.0; 210], PARAMS, |name, info, x| {
        let zero = SolveInfo { reason: Reason::Zero, ..SolveInfo::default() };
        assert_eq!((info.unwrap(), x), (zero, vec![0.0; 210]), "{name}");
    });
}

/// The same variant with the same numbers.
pub fn same(found: &Error, expected: &Error) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs() || (a.is_nan() && b.is_nan()) || a == b;
    match (found, expected) {
        (
            Error::NotConverged { iterations, residual, tolerance, .. },
            Error::NotConverged { iterations: i, residual: r, tolerance: t, .. },
        ) => iterations == i && near(*residual, *r) && near(*tolerance, *t),
        (
            Error::Breakdown { iteration, curvature, residual },
            Error::Breakdown { iteration: i, curvature: c, residual: r },
        ) => iteration == i && near(*curvature, *c) && near(*residual, *r),
        (
            Error::NotFinite { quantity, value, iteration, .. },
            Error::NotFinite { quantity: q, value: v, iteration: i, .. },
        ) => quantity == q && near(*value, *v) && iteration == i,
        _ => false,
    }
}

#[test]
fn failures_equal_those_of_serial() {
    let Some(space) = gpu("failures_equal_those_of_serial") else { return };
    let good = || laplace(neighbours([9, 8, 7]), 0.1);
    let with = |change: &dyn Fn(usize, &mut f64)| {
        let mut a = good();
        let (_, values) = a.parts_mut();
        values.iter_mut().enumerate().for_each(|(entry, value)| change(entry, value));
        a
    };
    let n = good().graph().rows();
    // On the diagonal, so that the matrix stays symmetric.
    let middle = good().graph().row_range(100).find(|&entry| good().graph().entries()[entry] == 100).unwrap();
    let few = CgParams { max_iterations: 7, ..PARAMS };
    let none = CgParams { max_iterations: 0, ..PARAMS };
    let cases = [
        ("limit", good(), wave(n, 0.77), few),
        ("no iterations", good(), wave(n, 0.77), none),
        ("negative", with(&|_, value| *value = -*value), wave(n, 0.77), PARAMS),
        (
            "saddle",
            with(&|entry, value| {
                if entry == 0 {
                    *value = -40.0
                }
            }),
            wave(n, 0.77),
            PARAMS,
        ),
        ("NaN right side", good(), vec![f64::NAN; n], PARAMS),
        (
            "NaN value",
            with(&|entry, value| {
                if entry == middle {
                    *value = f64::NAN
                }
            }),
            wave(n, 0.77),
            PARAMS,
        ),
        ("overflow", with(&|_, value| *value *= 1e200), wave(n, 0.77).into_iter().map(|b| b * 1e120).collect(), PARAMS),
    ];
    for (case, a, b, params) in cases {
        let expected = solve(&Serial, (&a, None), &b, params).0.unwrap_err();
        each(&space, &a.upload(&space).unwrap(), &b, params, |name, info, _| {
            let found = info.unwrap_err();
            assert!(same(&found, &expected), "{case}, {name}: {found}, expected {expected}");
        });
    }
}

/// Systems assembled in slices and in CRS are one problem: the same counts and errors by every format, fill and graph.
/// The algorithms that each preset names on a GPU; steps and answer are those of the host.
#[cfg(feature = "cli")]
#[test]
fn both_presets_solve() {
    use minifenl::mesh::CoordinateMap;
    use minifenl::run::deck::{Choice, Nodes, Preset};
    use minifenl::run::{Deck, silent, solve_on};

    let Some(space) = gpu("both_presets_solve") else { return };
    let names =
        [["map", "scatter", "intrepid", "classic", "crs"], ["gather", "gather", "fused", "classic", "symmetric"]];
    for ((preset, _), names) in Preset::ALL.into_iter().zip(names) {
        let mut deck = Deck::default();
        deck.run.preset = preset;
        // Above the size from which `fast` stores symmetric halves: 131,072 rows.
        (deck.mesh.nodes, deck.mesh.map) = (Nodes::new([60, 51, 49]).ok(), CoordinateMap::TWIST);
        let found = solve_on(&space, &deck, &Solo, &silent).unwrap();
        assert!(found.verified, "{preset}: {:?}", found.verdict);
        let own = serde_json::to_value(&found.strategies).unwrap();
        assert_eq!(["graph", "fill", "kernel", "cg", "format"].map(|key| own[key].as_str().unwrap()), names);
        // A host takes multigrid for fewer unknowns than a GPU.
        deck.cg.preconditioner = Choice::Given(found.strategies.preconditioner);
        let expected = solve_on(&Serial, &deck, &Solo, &silent).unwrap();
        assert_eq!(found.newton_iterations, expected.newton_iterations, "{preset}");
        assert!(found.cg_iterations.abs_diff(expected.cg_iterations) <= found.newton_iterations, "{preset}");
        assert!((found.error_l2 / expected.error_l2 - 1.0).abs() < 1e-6, "{preset}");
    }
}

#[cfg(feature = "cli")]
#[test]
fn problems_agree_in_every_format() {
    use minifenl::fill;
    use minifenl::mesh::CoordinateMap;
    use minifenl::run::deck::{Choice, Nodes, Preset};
    use minifenl::run::{Deck, silent, solve_on};

    let Some(space) = gpu("problems_agree_in_every_format") else { return };
    // Above and below the size from which slices are assembled directly.
    for nodes in [[60, 51, 49], [30, 21, 19]] {
        let mut deck = Deck::default();
        deck.run.preset = Preset::Fast;
        deck.mesh.nodes = Nodes::new(nodes).ok();
        deck.mesh.map = CoordinateMap::TWIST;
        let mut solved = |format, strategy| {
            deck.matrix.format = Choice::Given(format);
            deck.fill.strategy = Choice::Given(strategy);
            let report = solve_on(&space, &deck, &Solo, &silent).unwrap();
            assert!(report.verified, "{nodes:?}, {format}, {strategy}: {:?}", report.verdict);
            report
        };
        let expected = solved(Format::Crs, fill::Strategy::Gather);
        for (format, strategy) in [
            (Format::Pattern, fill::Strategy::Gather),
            (Format::Pattern, fill::Strategy::Scatter),
            (Format::Symmetric, fill::Strategy::Gather),
            (Format::Symmetric, fill::Strategy::Scatter),
        ] {
            let found = solved(format, strategy);
            assert_eq!(found.newton_iterations, expected.newton_iterations, "{nodes:?}, {format}, {strategy}");
            // Another order of summation may move convergence of a solve by an iteration.
            let difference = found.cg_iterations.abs_diff(expected.cg_iterations);
            assert!(difference <= found.newton_iterations, "{nodes:?}, {format}, {strategy}: {difference}");
            assert!((found.error_l2 / expected.error_l2 - 1.0).abs() < 1e-6, "{nodes:?}, {format}, {strategy}");
            // Assembled where products read them, there is nothing to copy.
            let is_direct = strategy == fill::Strategy::Gather && nodes[0] == 60;
            let copies = found.phases.iter().any(|phase| phase.name == "format");
            assert_eq!(copies, !is_direct, "{nodes:?}, {format}, {strategy}");
        }
    }
}

/// `auto` is `symmetric` for many rows, with the bits of the choice; `pattern` for few, which CG solves in one launch.
#[cfg(feature = "cli")]
#[test]
fn auto_stores_large_symmetric_matrices_in_halves() {
    use minifenl::run::deck::{Choice, Nodes, Preconditioning, Preset};
    use minifenl::run::{Deck, silent, solve_on};
    use minifenl::sparse::Precision;

    let Some(space) = gpu("auto_stores_large_symmetric_matrices_in_halves") else { return };
    for (nodes, expected) in [([60, 51, 49], Format::Symmetric), ([30, 21, 19], Format::Pattern)] {
        for values in [Precision::F64, Precision::F32] {
            let mut deck = Deck::default();
            deck.run.preset = Preset::Fast;
            (deck.mesh.nodes, deck.matrix.values) = (Nodes::new(nodes).ok(), values);
            // The levels of multigrid have formats of their own.
            deck.cg.preconditioner = Choice::Given(Preconditioning::None);
            let found = solve_on(&space, &deck, &Solo, &silent).unwrap();
            deck.matrix.format = Choice::Given(expected);
            let given = solve_on(&space, &deck, &Solo, &silent).unwrap();
            assert!(found.verified, "{nodes:?}, {values}: {:?}", found.verdict);
            assert_eq!(found.strategies.format, Some(expected), "{nodes:?}, {values}");
            assert_eq!((found.history, found.error_l2), (given.history, given.error_l2), "{nodes:?}, {values}");
        }
    }
}
