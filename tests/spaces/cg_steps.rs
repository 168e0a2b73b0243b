//! The updates of single-reduction CG against plain loops, on any space: whole numbers, so that sums are exact.

use minifenl::blas::Reductions;
use minifenl::solve::{CgParams, CgSlot, CgState, CgSteps, FusedSlot, SingleVectors};
use minifenl::space::{Array, MemorySpace};

/// The vectors of an update by name.
const NAMES: [&str; 6] = ["u", "w", "p", "s", "x", "r"];

/// Whole numbers from -3 to 3.
fn whole(n: usize, k: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * k + i / 3) % 7) as f64 - 3.0).collect()
}

/// An update with or without a preconditioner.
#[derive(Clone, Copy, Debug)]
struct Case {
    preconditioned: bool,
}

impl Case {
    /// The vectors after an update by plain loops, and r.r.
    fn expected(self, v: &[Vec<f64>; 6], alpha: f64, beta: f64) -> ([Vec<f64>; 6], f64) {
        let mut v = v.clone();
        for i in 0..v[0].len() {
            let [u, w, p, s, x, r] = std::array::from_fn(|k| v[k][i]);
            let u = if self.preconditioned { u } else { r };
            let (s, p) = (w + beta * s, u + beta * p);
            let (x, r) = (x + alpha * p, r - alpha * s);
            (v[2][i], v[3][i], v[4][i], v[5][i]) = (p, s, x, r);
        }
        let rr = v[5].iter().map(|r| r * r).sum();
        (v, rr)
    }

    /// Does the update in a space; `v` and the scalars are those after it.
    fn update<S: CgSteps>(self, space: &S, v: &mut [Vec<f64>; 6], scalars: &mut Vec<f64>) {
        let n = v[0].len();
        let mut sums = Reductions::new(space, n, CgSlot::LEN).unwrap();
        (sums.scalars, sums.stop) = (space.upload(scalars).unwrap(), Some(CgSlot::STATE));
        // Ghosts behind the items are neither read nor written.
        let there = |x: &Vec<f64>| space.upload(&[&x[..], &[f64::NAN; 3]].concat()).unwrap();
        let mut arrays: [Array<S, f64>; 6] = v.each_ref().map(there);
        let [u, w, p, s, x, r] = arrays.each_mut().map(S::Memory::slice_mut);
        let u = self.preconditioned.then_some(&*u);
        space.single_step(n, SingleVectors { u, w, p, s, x, r }, &mut sums).unwrap();
        for ((array, v), name) in arrays.iter().zip(v).zip(NAMES) {
            *v = space.download(array).unwrap();
            assert!(v.split_off(n).iter().all(|x| x.is_nan()), "{self:?}: {name} is written behind the items");
        }
        *scalars = space.download(&sums.scalars).unwrap();
    }
}

/// Scalars of an iteration after three updates, from which alpha = 3 and beta = 1/2 follow.
fn scalars(is_fresh: bool) -> Vec<f64> {
    let mut scalars = vec![0.0; CgSlot::LEN];
    (scalars[CgSlot::LIMIT], scalars[CgSlot::RHS], scalars[CgSlot::TARGET]) = (9.0, 1.0, 0.5);
    (scalars[FusedSlot::RR], scalars[FusedSlot::GAMMA], scalars[FusedSlot::UPDATES]) = (24.0, 24.0, 3.0);
    // With s just computed, alpha and gamma of the update before are of no use.
    scalars[FusedSlot::GAMMA_BEFORE] = if is_fresh { 96.0 } else { 48.0 };
    scalars[FusedSlot::ALPHA_BEFORE] = 0.375;
    // delta - 1/2 24 / 0.375, or 9 + 1/2 (-2), is 8.
    (scalars[FusedSlot::US], scalars[FusedSlot::PS]) = (-2.0, 4.0);
    scalars[FusedSlot::FRESH] = if is_fresh { 3.0 } else { 1.0 };
    scalars[FusedSlot::DELTA] = if is_fresh { 9.0 } else { 40.0 };
    scalars
}

/// Compares all updates of a space with plain loops.
pub fn equal_plain_loops<S: CgSteps>(space: &S, n: usize) {
    let vectors: [Vec<f64>; 6] = std::array::from_fn(|k| whole(n, 2 * k + 3));
    for preconditioned in [false, true] {
        let case = Case { preconditioned };
        for is_fresh in [false, true] {
            let (mut found, mut scalars) = (vectors.clone(), scalars(is_fresh));
            case.update(space, &mut found, &mut scalars);
            let (expected, rr) = case.expected(&vectors, 3.0, 0.5);
            for (name, (found, expected)) in NAMES.iter().zip(found.iter().zip(&expected)) {
                assert!(found == expected, "{case:?}, n = {n}: {name}");
            }
            assert_eq!(scalars[FusedSlot::RR], rr, "{case:?}, n = {n}");
            assert_eq!((scalars[CgSlot::COUNT], scalars[CgSlot::STATE], scalars[CgSlot::RR[1]]), (3.0, 0.0, 24.0));
            assert_eq!((scalars[CgSlot::PQ], scalars[FusedSlot::UPDATES]), (8.0, 4.0), "{case:?}");
            assert_eq!((scalars[FusedSlot::GAMMA_BEFORE], scalars[FusedSlot::ALPHA_BEFORE]), (24.0, 3.0), "{case:?}");
        }
        // Name of the change, the change, the state after it.
        type Change = (&'static str, bool, fn(&mut [f64]), CgState);
        let changes: [Change; 9] = [
            ("target", false, |s| s[CgSlot::TARGET] = 5.0, CgState::Converged),
            ("tiny target", false, |s| (s[CgSlot::TARGET], s[FusedSlot::RR]) = (1e-160, 0.0), CgState::Underflow),
            ("limit", false, |s| s[CgSlot::LIMIT] = 3.0, CgState::LimitReached),
            ("r.r", false, |s| s[FusedSlot::RR] = f64::NAN, CgState::NotFinite),
            ("stopped", false, |s| s[CgSlot::STATE] = 2.0, CgState::Breakdown),
            ("delta of recurrences", false, |s| s[FusedSlot::DELTA] = 32.0, CgState::Drifted),
            ("delta", true, |s| s[FusedSlot::DELTA] = 1.0, CgState::Breakdown),
            ("p.s", true, |s| s[FusedSlot::PS] = -4.0, CgState::Breakdown),
            ("infinite delta", true, |s| s[FusedSlot::DELTA] = f64::INFINITY, CgState::NotFinite),
        ];
        for (name, is_fresh, change, state) in changes {
            let (mut found, mut scalars) = (vectors.clone(), scalars(is_fresh));
            change(&mut scalars);
            let rr = scalars[FusedSlot::RR];
            case.update(space, &mut found, &mut scalars);
            assert_eq!(CgState::of(scalars[CgSlot::STATE]), state, "{case:?}, {name}");
            assert!(found == vectors && scalars[FusedSlot::UPDATES] == 3.0, "{case:?}, {name}");
            if name != "stopped" {
                assert!(scalars[CgSlot::COUNT] == 3.0 && scalars[CgSlot::RR[1]].to_bits() == rr.to_bits(), "{name}");
            }
        }
    }
    let mut sums = Reductions::new(space, n, CgSlot::LEN).unwrap();
    let scalar = |sums: &Reductions<S>, slot: usize| space.download(&sums.scalars).unwrap()[slot];
    sums.scalars = space.upload(&[6.0; CgSlot::LEN]).unwrap();
    space.fused_refresh(false, &mut sums).unwrap();
    assert_eq!((scalar(&sums, CgSlot::STATE), scalar(&sums, FusedSlot::FRESH)), (6.0, 6.0));
    sums.scalars = space.upload(&(0..CgSlot::LEN).map(|slot| slot as f64).collect::<Vec<_>>()).unwrap();
    space.fused_refresh(false, &mut sums).unwrap();
    assert_eq!((scalar(&sums, CgSlot::STATE), scalar(&sums, FusedSlot::FRESH)), (6.0, 16.0), "the state is set");
    space.fused_refresh(true, &mut sums).unwrap();
    assert_eq!((scalar(&sums, CgSlot::STATE), scalar(&sums, FusedSlot::FRESH)), (0.0, 15.0));
    space.cg_begin(CgParams::new(0.5, 4), 0, &mut sums).unwrap();
    let cleared = [FusedSlot::US, FusedSlot::PS, FusedSlot::UPDATES, FusedSlot::FRESH].map(|slot| scalar(&sums, slot));
    assert_eq!((cleared, scalar(&sums, CgSlot::LIMIT)), ([0.0; 4], 4.0));
}

#[test]
fn updates_of_cg_variants_equal_plain_loops() {
    use minifenl::space::{Serial, Threads};
    for n in [1, 7, 4095, 4097, 9426] {
        equal_plain_loops(&Serial, n);
        equal_plain_loops(&Threads::new(3).unwrap(), n);
    }
}
