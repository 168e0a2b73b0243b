//! CG steps on Serial and Threads: one task per block of items.

use super::state::{CgDirection, CgSlot as Slot, CgState, CgStep, CgSteps, is_running, set_state, state_of};
use super::{CgParams, FusedSlot as Fused, SingleVectors};
use crate::Result;
use crate::blas::Reductions;
use crate::blas::blocks::{blocks, blocks_mut, first, first_mut, sum_of, total};
use crate::blas::loops::{axpy, dot, extend};
use crate::space::Threads;
use rayon::prelude::*;

impl CgSteps for Threads {
    // A host has finished each step before the next begins, so a check of every iteration costs nothing.
    const CHECK_INTERVAL: usize = 1;
    const CHECKS_IN_FLIGHT: usize = 0;

    fn cg_begin(&self, params: CgParams, slot: usize, sums: &mut Reductions<Threads>) -> Result<()> {
        let scalars = first_mut("cg_begin", "scalars", &mut sums.scalars, Slot::LEN)?;
        let square = scalars[slot];
        let rhs = square.sqrt();
        scalars[Slot::RHS] = rhs;
        scalars[Slot::TARGET] = params.target(rhs);
        scalars[Slot::LIMIT] = params.max_iterations as f64;
        let zero = [Slot::COUNT, Fused::US, Fused::PS, Fused::UPDATES, Fused::FRESH];
        zero.into_iter().for_each(|slot| scalars[slot] = 0.0);
        let state = match () {
            () if !rhs.is_finite() => CgState::NotFinite,
            () if square.max(params.absolute.powi(2)) < f64::MIN_POSITIVE => CgState::Underflow,
            () => CgState::Running,
        };
        set_state(scalars, state);
        Ok(())
    }

    fn cg_check(&self, rr: usize, sums: &mut Reductions<Threads>) -> Result<()> {
        let scalars = first_mut("cg_check", "scalars", &mut sums.scalars, Slot::LEN)?;
        if is_running(scalars) {
            set_state(scalars, state_of(scalars[rr], scalars));
        }
        Ok(())
    }

    fn cg_step(&self, n: usize, step: CgStep<'_, Threads>, sums: &mut Reductions<Threads>) -> Result<()> {
        let Reductions { partials, scalars, .. } = sums;
        first("cg_step", "scalars", scalars, Slot::LEN)?;
        let pq = scalars[Slot::PQ];
        if !is_running(scalars) || pq.is_nan() || pq.is_infinite() || pq <= 0.0 {
            if is_running(scalars) {
                set_state(scalars, if pq.is_finite() { CgState::Breakdown } else { CgState::NotFinite });
            }
            return Ok(());
        }
        let alpha = scalars[step.rz] / pq;
        let (p, q) = (blocks("cg_step", "p", step.p, n)?, blocks("cg_step", "q", step.q, n)?);
        let (x, r) = (blocks_mut("cg_step", "x", step.x, n)?, blocks_mut("cg_step", "r", step.r, n)?);
        let partials = first_mut("cg_step", "partials", partials, Threads::partials(n))?;
        let blocks = x.zip(r).zip(&mut *partials).zip(p).zip(q);
        self.for_each(blocks, |((((x, r), partial), p), q)| *partial = advance(alpha, p, q, x, r));
        total("cg_step", partials, step.rr, scalars)
    }

    fn cg_direction(
        &self,
        n: usize,
        direction: CgDirection<'_, Threads>,
        sums: &mut Reductions<Threads>,
    ) -> Result<()> {
        let CgDirection { rr, top, bottom, z, p } = direction;
        let scalars = first_mut("cg_direction", "scalars", &mut sums.scalars, Slot::LEN)?;
        if !is_running(scalars) {
            return Ok(());
        }
        scalars[Slot::COUNT] += 1.0;
        set_state(scalars, state_of(scalars[rr], scalars));
        if !is_running(scalars) {
            return Ok(());
        }
        let beta = scalars[top] / scalars[bottom];
        let (z, p) = (blocks("cg_direction", "z", z, n)?, blocks_mut("cg_direction", "p", p, n)?);
        self.for_each(p.zip(z), |(p, z)| extend(z, beta, p));
        Ok(())
    }

    fn fused_refresh(&self, resume: bool, sums: &mut Reductions<Threads>) -> Result<()> {
        let scalars = first_mut("fused_refresh", "scalars", &mut sums.scalars, Slot::LEN)?;
        if resume {
            set_state(scalars, CgState::Running);
        }
        if is_running(scalars) {
            scalars[Fused::FRESH] = scalars[Fused::UPDATES];
        }
        Ok(())
    }

    fn single_step(&self, n: usize, vectors: SingleVectors<'_, Threads>, sums: &mut Reductions<Threads>) -> Result<()> {
        const NAME: &str = "single_step";
        let SingleVectors { u, w: given, p, s, x, r } = vectors;
        let scalars = first_mut(NAME, "scalars", &mut sums.scalars, Slot::LEN)?;
        let Some((alpha, beta)) = single_scalars(Fused::gamma(u.is_none()), scalars) else { return Ok(()) };
        let (w, p, s) = (blocks(NAME, "w", given, n)?, blocks_mut(NAME, "p", p, n)?, blocks_mut(NAME, "s", s, n)?);
        let (x, r) = (blocks_mut(NAME, "x", x, n)?, blocks_mut(NAME, "r", r, n)?);
        let partials = first_mut(NAME, "partials", &mut sums.partials, Threads::partials(n))?;
        // Without a preconditioner w stands in for u, and no value of it is read.
        let of_u = blocks(NAME, "u", u.unwrap_or(given), n)?;
        let items = (of_u, p, s, x, r, w, partials.par_iter_mut()).into_par_iter();
        self.for_each(items, |(of_u, p, s, x, r, w, partial)| {
            *partial = single_block([alpha, beta], u.map(|_| of_u), w, [p, s, x, r]);
        });
        total(NAME, partials, Fused::RR, scalars)
    }
}

/// The update of single-reduction CG in a block; returns r.r. Not generic, as [`blas::loops`](crate::blas::loops).
#[inline(never)]
fn single_block([alpha, beta]: [f64; 2], u: Option<&[f64]>, w: &[f64], [p, s, x, r]: [&mut [f64]; 4]) -> f64 {
    extend(u.unwrap_or(r), beta, p);
    extend(w, beta, s);
    axpy(alpha, p, x);
    axpy(-alpha, s, r);
    dot(r, r)
}

/// The scalar part of an update, from sums over all ranks: alpha and beta, or nothing if the state is or becomes another than
/// `Running`. Counts the update.
fn single_scalars(gamma: usize, scalars: &mut [f64]) -> Option<(f64, f64)> {
    if !is_running(scalars) {
        return None;
    }
    let (count, rr) = (scalars[Fused::UPDATES], scalars[Fused::RR]);
    scalars[Slot::COUNT] = count;
    scalars[Slot::RR[count as usize % 2]] = rr;
    set_state(scalars, state_of(rr, scalars));
    if !is_running(scalars) {
        return None;
    }
    let (gamma, delta) = (scalars[gamma], scalars[Fused::DELTA]);
    let (us, ps) = (scalars[Fused::US], scalars[Fused::PS]);
    let is_fresh = scalars[Fused::FRESH] == count;
    let (beta, curvature) = match () {
        () if !is_fresh => {
            let beta = gamma / scalars[Fused::GAMMA_BEFORE];
            (beta, delta - beta * gamma / scalars[Fused::ALPHA_BEFORE])
        }
        // p is 0 before the first update.
        () if ps == 0.0 => (0.0, delta),
        () if ps > 0.0 => (-us / ps, delta - us / ps * us),
        // The direction before shows that A is not positive definite.
        () => (0.0, ps),
    };
    scalars[Slot::PQ] = curvature;
    if !(curvature.is_finite() && curvature > 0.0) {
        let state = match () {
            () if !is_fresh => CgState::Drifted,
            () if curvature.is_finite() => CgState::Breakdown,
            () => CgState::NotFinite,
        };
        set_state(scalars, state);
        return None;
    }
    let alpha = gamma / curvature;
    (scalars[Fused::GAMMA_BEFORE], scalars[Fused::ALPHA_BEFORE]) = (gamma, alpha);
    scalars[Fused::UPDATES] = count + 1.0;
    Some((alpha, beta))
}

/// x += alpha p, r -= alpha q; returns r.r. Not generic, as [`blas::loops`](crate::blas::loops).
#[inline(never)]
fn advance(alpha: f64, p: &[f64], q: &[f64], x: &mut [f64], r: &mut [f64]) -> f64 {
    x.iter_mut().zip(p).for_each(|(x, p)| *x += alpha * p);
    r.iter_mut().zip(q).for_each(|(r, q)| *r -= alpha * q);
    sum_of(r, |i| r[i] * r[i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};

    fn sums(space: &Threads, n: usize, scalars: [f64; 8]) -> Reductions<Threads> {
        let mut sums = Reductions::new(space, n, Slot::LEN).unwrap();
        sums.scalars[..8].copy_from_slice(&scalars);
        sums
    }

    fn wave(n: usize, k: f64) -> Vec<f64> {
        (0..n).map(|i| (i as f64 * k).sin()).collect()
    }

    #[test]
    fn fused_steps_match_their_formulas_on_any_number_of_threads() {
        let n = 3 * Threads::CHUNK + 5;
        let (p, q, x0, r0) = (wave(n, 0.3), wave(n, 0.7), wave(n, 0.11), wave(n, 0.13));
        let mut seen: Option<(Vec<f64>, Vec<f64>)> = None;
        for threads in [1, 2, 3] {
            let space = Threads::new(threads).unwrap();
            let mut sums = sums(&space, n, [3.0, 0.0, 2.0, 0.0, 9.0, 0.0, 0.0, 1.0]);
            let (mut x, mut r) = (x0.clone(), r0.clone());
            space.cg_step(n, CgStep { rz: 0, rr: 1, p: &p, q: &q, x: &mut x, r: &mut r }, &mut sums).unwrap();
            for i in 0..n {
                assert_eq!(x[i], x0[i] + 1.5 * p[i]);
                assert_eq!(r[i], r0[i] - 1.5 * q[i]);
            }
            let exact: f64 = r.iter().map(|r| r * r).sum();
            assert!((sums.scalars[1] - exact).abs() < 1e-12 * exact);
            let beta = sums.scalars[1] / 3.0;
            let mut direction = p.clone();
            let turn = CgDirection { rr: 1, top: 1, bottom: 0, z: &r[..], p: &mut direction[..] };
            space.cg_direction(n, turn, &mut sums).unwrap();
            assert!((0..n).all(|i| direction[i] == r[i] + beta * p[i]));
            let scalars = sums.scalars;
            assert_eq!((scalars[Slot::COUNT], CgState::of(scalars[Slot::STATE])), (1.0, CgState::Running));
            let first = seen.get_or_insert_with(|| (scalars.clone(), direction.clone()));
            assert_eq!(*first, (scalars, direction));
        }
    }

    #[test]
    fn nothing_changes_once_the_state_is_set() {
        let (p, q) = (vec![1.0], vec![2.0]);
        let step = |scalars| {
            let mut sums = sums(&Serial, 1, scalars);
            let (mut x, mut r, mut d) = (vec![5.0], vec![6.0], vec![7.0]);
            Serial.cg_step(1, CgStep { rz: 0, rr: 1, p: &p, q: &q, x: &mut x, r: &mut r }, &mut sums).unwrap();
            let turn = CgDirection { rr: 1, top: 1, bottom: 0, z: &r[..], p: &mut d[..] };
            Serial.cg_direction(1, turn, &mut sums).unwrap();
            assert_eq!((x, r, d), (vec![5.0], vec![6.0], vec![7.0]));
            (CgState::of(sums.scalars[Slot::STATE]), sums.scalars[Slot::COUNT])
        };
        for (pq, state) in [(-1.0, CgState::Breakdown), (0.0, CgState::Breakdown), (f64::NAN, CgState::NotFinite)] {
            assert_eq!(step([36.0, 0.0, pq, 0.1, 9.0, 4.0, 0.0, 1.0]), (state, 4.0));
        }
        assert_eq!(step([36.0, 0.0, 1.0, 0.1, 9.0, 4.0, 1.0, 1.0]), (CgState::Converged, 4.0));
    }

    #[test]
    fn states_follow_the_residual() {
        let check = |rr: f64, count: f64| {
            let mut sums = sums(&Serial, 1, [rr, 0.0, 0.0, 2.0, 9.0, count, 0.0, 1.0]);
            Serial.cg_check(0, &mut sums).unwrap();
            CgState::of(sums.scalars[Slot::STATE])
        };
        assert_eq!((check(4.0, 0.0), check(4.1, 0.0)), (CgState::Converged, CgState::Running));
        assert_eq!((check(4.1, 9.0), check(f64::INFINITY, 0.0)), (CgState::LimitReached, CgState::NotFinite));
        let mut sums = sums(&Serial, 1, [0.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let mut begun = |absolute| {
            Serial.cg_begin(CgParams { absolute, ..CgParams::new(0.5, 7) }, 1, &mut sums).unwrap();
            sums.scalars[2..8].to_vec()
        };
        assert_eq!(begun(0.0), [0.0, 1.5, 7.0, 0.0, 0.0, 3.0]);
        assert_eq!((begun(1.4)[1], begun(1.6)[1]), (1.5, 1.6));
    }
}
