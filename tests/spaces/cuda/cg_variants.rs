//! Single-reduction CG on a GPU against `Serial`.

use super::super::cg_steps::equal_plain_loops;
use super::solve::{laplace, same};
use super::sparse::{matrix, neighbours, stored};
use super::{difference, gpu, wave};
use minifenl::Result;
use minifenl::comm::Solo;
use minifenl::solve::{
    CgParams, CgSteps, CgVariant, CgWorkspace, Identity, LinearSystem, Preconditioner, Reason, SolveInfo, TrueResidual,
    cg, cg_single_launch, true_residual,
};
use minifenl::space::{Array, Cuda, CudaMemory, ExecutionSpace, MemorySpace, Serial, Slice, Threads};
use minifenl::sparse::{CrsMatrix, Format, Operator, Spmv};

const NEW: [CgVariant; 1] = [CgVariant::SingleReduction];
const PARAMS: CgParams = CgParams::new(1e-9, 1000);

/// z = D r with a diagonal matrix D.
struct Scale<'a, S: ExecutionSpace>(&'a CrsMatrix<f64, S::Memory>);

impl<S: Spmv> Preconditioner<S> for Scale<'_, S> {
    fn apply(&mut self, space: &S, _: usize, r: &Slice<S, f64>, z: &mut Slice<S, f64>) -> Result<()> {
        space.spmv(self.0, r, z)
    }
}

/// The inverse diagonal of `a`.
fn inverse_diagonal(a: &CrsMatrix) -> CrsMatrix {
    let n = a.graph().rows();
    let mut inverse = matrix((0..n).map(|row| vec![row as u32]), n);
    for row in 0..n {
        let entry = a.graph().row_range(row).find(|&entry| a.graph().entries()[entry] as usize == row);
        inverse.parts_mut().1[row] = 1.0 / a.values()[entry.unwrap()];
    }
    inverse
}

/// Solves A x = b from 0: result, x and true residual.
fn solve<S: CgSteps>(
    space: &S,
    a: &dyn Operator<S>,
    mut preconditioner: impl Preconditioner<S>,
    b: &[f64],
    params: CgParams,
    variant: CgVariant,
) -> (Result<SolveInfo>, Vec<f64>, TrueResidual) {
    let (b, mut x): (_, Array<S, f64>) = (space.upload(b).unwrap(), space.zeros(a.rows()).unwrap());
    let mut work = CgWorkspace::of_variant(space, a.rows(), a.columns(), variant).unwrap();
    let mut system =
        LinearSystem { operator: a, preconditioner: &mut preconditioner, comm: &Solo, rhs: S::Memory::slice(&b) };
    let info = cg(space, &mut system, S::Memory::slice_mut(&mut x), params, &mut work, &mut |_, _| Ok(()));
    let truth = true_residual(space, &system, S::Memory::slice(&x), &mut work).unwrap();
    (info, space.download(&x).unwrap(), truth)
}

/// Hands the matrix over in every format, by name.
fn formats(space: &Cuda, a: &CrsMatrix<f64, CudaMemory>, mut work: impl FnMut(&str, &dyn Operator<Cuda>)) {
    for (format, name) in Format::ALL {
        work(name, &*stored(space, format, a));
    }
}

#[test]
fn updates_of_cg_variants_equal_plain_loops_on_a_gpu() {
    let Some(space) = gpu("updates_of_cg_variants_equal_plain_loops_on_a_gpu") else { return };
    for n in [1, 2, 7, 511, 513, 4097, 1_000_003] {
        equal_plain_loops(&space, n);
    }
}

#[test]
fn cg_variants_agree_with_serial_in_every_format() {
    let Some(space) = gpu("cg_variants_agree_with_serial_in_every_format") else { return };
    for size in [[1, 1, 1], [7, 5, 6], [21, 17, 13], [40, 30, 31], [60, 50, 45]] {
        let a = laplace(neighbours(size), 0.01);
        let (n, there) = (a.graph().rows(), a.upload(&space).unwrap());
        let (b, inverse) = (wave(n, 0.77), inverse_diagonal(&a));
        let inverse_there = inverse.upload(&space).unwrap();
        for variant in CgVariant::ALL.map(|(variant, _)| variant) {
            let plain = solve(&Serial, &a, Identity, &b, PARAMS, variant);
            let preconditioned = solve(&Serial, &a, Scale::<Threads>(&inverse), &b, PARAMS, variant);
            formats(&space, &there, |format, storage| {
                let check = |expected: &(Result<SolveInfo>, Vec<f64>, _),
                             found: (Result<SolveInfo>, Vec<f64>, TrueResidual)| {
                    let (info, expected_info) = (found.0.unwrap(), expected.0.as_ref().unwrap());
                    let case = format!("{variant}, {n} rows, {format}: {info:?}, {expected_info:?}");
                    assert!(info.iterations.abs_diff(expected_info.iterations) <= 1, "{case}");
                    assert!(found.2.residual <= 1.001 * PARAMS.tolerance * info.rhs, "{case}: {:?}", found.2);
                    let difference = difference(&found.1, &expected.1);
                    assert!(difference < 1e-5, "{case}: {difference}");
                    assert!(!info.one_launch && info.variant == variant, "{case}");
                };
                let first = solve(&space, storage, Identity, &b, PARAMS, variant);
                let again = solve(&space, storage, Identity, &b, PARAMS, variant);
                assert_eq!(
                    (first.0.as_ref().unwrap(), &first.1),
                    (again.0.as_ref().unwrap(), &again.1),
                    "{variant}, {n}"
                );
                check(&plain, first);
                let scale = Scale::<Cuda>(&inverse_there);
                check(&preconditioned, solve(&space, storage, scale, &b, PARAMS, variant));
            });
        }
    }
}

#[test]
fn a_launch_solves_and_counts_its_reductions() {
    let Some(space) = gpu("a_launch_solves_and_counts_its_reductions") else { return };
    let a = laplace(neighbours([12, 11, 10]), 0.1).upload(&space).unwrap();
    let (n, b) = (a.graph().rows(), space.upload(&wave(a.graph().rows(), 0.7)).unwrap());
    let launch = space.single_launch_of(&a).unwrap().unwrap();
    let mut work = CgWorkspace::new(&space, n, n).unwrap();
    let mut system = LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &Solo, rhs: &b };
    let mut x = space.zeros(n).unwrap();
    let info = cg_single_launch(&space, &launch, &mut system, &mut x, PARAMS, &mut work, &mut |_, _| Ok(())).unwrap();
    assert!(info.one_launch && info.reductions > info.iterations, "{info:?}");
    let asked = solve(&space, &a, Identity, &wave(n, 0.7), PARAMS, CgVariant::Classic).0.unwrap();
    assert!(!asked.one_launch && asked.reductions == 2 * asked.iterations + 2, "{asked:?}");
}

#[test]
fn failures_of_cg_variants_equal_those_of_serial() {
    let Some(space) = gpu("failures_of_cg_variants_equal_those_of_serial") else { return };
    let good = || laplace(neighbours([9, 8, 7]), 0.1);
    let with = |change: &dyn Fn(usize, &mut f64)| {
        let mut a = good();
        a.parts_mut().1.iter_mut().enumerate().for_each(|(entry, value)| change(entry, value));
        a
    };
    let n = good().graph().rows();
    // On the diagonal, so that the matrix stays symmetric.
    let middle = good().graph().row_range(100).find(|&entry| good().graph().entries()[entry] == 100).unwrap();
    let set = |at: usize, to: f64| {
        with(&move |entry, value| {
            if entry == at {
                *value = to;
            }
        })
    };
    let cases = [
        ("limit", good(), wave(n, 0.77), CgParams { max_iterations: 7, ..PARAMS }),
        ("no iterations", good(), wave(n, 0.77), CgParams { max_iterations: 0, ..PARAMS }),
        ("negative", with(&|_, value| *value = -*value), wave(n, 0.77), PARAMS),
        ("saddle", set(0, -40.0), wave(n, 0.77), PARAMS),
        ("NaN right side", good(), vec![f64::NAN; n], PARAMS),
        ("NaN value", set(middle, f64::NAN), wave(n, 0.77), PARAMS),
        ("overflow", with(&|_, value| *value *= 1e200), wave(n, 0.77).into_iter().map(|b| b * 1e120).collect(), PARAMS),
    ];
    for (case, a, b, params) in cases {
        let there = a.upload(&space).unwrap();
        for variant in NEW {
            let expected = solve(&Serial, &a, Identity, &b, params, variant).0.unwrap_err();
            formats(&space, &there, |format, storage| {
                let found = solve(&space, storage, Identity, &b, params, variant).0.unwrap_err();
                assert!(same(&found, &expected), "{case}, {variant}, {format}: {found}, expected {expected}");
            });
        }
    }
    let there = good().upload(&space).unwrap();
    for variant in NEW {
        formats(&space, &there, |format, storage| {
            let (info, x, _) = solve(&space, storage, Identity, &vec![0.0; n], PARAMS, variant);
            let zero = SolveInfo { reason: Reason::Zero, variant, ..SolveInfo::default() };
            assert_eq!((info.unwrap(), x), (zero, vec![0.0; n]), "{variant}, {format}");
        });
    }
}

/// D (2.1, -1) D with D from 1 to 316, condition about 2e6: thousands of iterations, in which recurrences drift.
#[test]
fn an_ill_conditioned_system_reaches_the_tolerance_on_a_gpu() {
    let Some(space) = gpu("an_ill_conditioned_system_reaches_the_tolerance_on_a_gpu") else { return };
    let n = 300;
    let mut a = matrix((0..n).map(|i: usize| (i.saturating_sub(1)..n.min(i + 2)).map(|j| j as u32).collect()), n);
    let graph = a.graph().clone();
    let scale = |i: usize| 10f64.powf(2.5 * i as f64 / n as f64);
    for row in 0..n {
        for entry in graph.row_range(row) {
            let column = graph.entries()[entry] as usize;
            a.parts_mut().1[entry] = scale(row) * scale(column) * if row == column { 2.1 } else { -1.0 };
        }
    }
    let (b, params) = (wave(n, 0.77), CgParams::new(1e-8, 20_000));
    let classic = solve(&Serial, &a, Identity, &b, params, CgVariant::Classic).0.unwrap().iterations;
    let there = a.upload(&space).unwrap();
    for variant in NEW {
        formats(&space, &there, |format, storage| {
            let (info, _, truth) = solve(&space, storage, Identity, &b, params, variant);
            let info = info.unwrap_or_else(|error| panic!("{variant}, {format}: {error}"));
            println!("{variant}, {format}: {} iterations, classic {classic}", info.iterations);
            assert!(truth.residual <= 1.001 * params.tolerance * info.rhs, "{variant}, {format}: {truth:?}, {info:?}");
            assert!(
                (info.iterations as f64) < 1.35 * classic as f64,
                "{variant}, {format}: {info:?}, classic {classic}"
            );
        });
    }
}
