//! Updates of single-reduction CG on Serial and Threads: one task per block of items.

use super::{FusedSlot as Fused, FusedSteps, SingleVectors};
use crate::Result;
use crate::blas::Reductions;
use crate::blas::blocks::{first, first_mut, total};
use crate::blas::loops::{axpy, dot, extend};
use crate::solve::krylov::cg::state::{CgSlot as Slot, CgState, is_running, set_state, state_of};
use crate::space::HostSpace;
use rayon::prelude::*;

impl<S: HostSpace> FusedSteps for S {
    fn fused_begin(&self, sums: &mut Reductions<S>) -> Result<()> {
        let scalars = first_mut("fused_begin", "scalars", &mut sums.scalars, Fused::LEN)?;
        [Fused::US, Fused::PS, Fused::UPDATES, Fused::FRESH].into_iter().for_each(|slot| scalars[slot] = 0.0);
        Ok(())
    }

    fn fused_refresh(&self, resume: bool, sums: &mut Reductions<S>) -> Result<()> {
        let scalars = first_mut("fused_refresh", "scalars", &mut sums.scalars, Fused::LEN)?;
        if resume {
            set_state(scalars, CgState::Running);
        }
        if is_running(scalars) {
            scalars[Fused::FRESH] = scalars[Fused::UPDATES];
        }
        Ok(())
    }

    fn single_step(&self, n: usize, vectors: SingleVectors<'_, S>, sums: &mut Reductions<S>) -> Result<()> {
        const NAME: &str = "single_step";
        let SingleVectors { u, w, p, s, x, r } = vectors;
        let scalars = first_mut(NAME, "scalars", &mut sums.scalars, Fused::LEN)?;
        let Some((alpha, beta)) = step(Fused::gamma(u.is_none()), scalars) else { return Ok(()) };
        let (w, p, s) = (first(NAME, "w", w, n)?, first_mut(NAME, "p", p, n)?, first_mut(NAME, "s", s, n)?);
        let (x, r) = (first_mut(NAME, "x", x, n)?, first_mut(NAME, "r", r, n)?);
        let partials = first_mut(NAME, "partials", &mut sums.partials, S::partials(n))?;
        let updated = (chunks_mut::<S>(p), chunks_mut::<S>(s), chunks_mut::<S>(x), chunks_mut::<S>(r));
        let (w, partials_of) = (w.par_chunks(S::CHUNK), partials.par_iter_mut());
        let (p, s, x, r) = updated;
        match u {
            None => self.for_each((p, s, x, r, w, partials_of).into_par_iter(), |(p, s, x, r, w, partial)| {
                *partial = single_block([alpha, beta], None, w, [p, s, x, r]);
            }),
            Some(u) => {
                let u = first(NAME, "u", u, n)?.par_chunks(S::CHUNK);
                self.for_each((u, p, s, x, r, w, partials_of).into_par_iter(), |(u, p, s, x, r, w, partial)| {
                    *partial = single_block([alpha, beta], Some(u), w, [p, s, x, r]);
                });
            }
        }
        total(NAME, partials, Fused::RR, scalars)
    }
}

fn chunks_mut<S: HostSpace>(x: &mut [f64]) -> rayon::slice::ChunksMut<'_, f64> {
    x.par_chunks_mut(S::CHUNK)
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
fn step(gamma: usize, scalars: &mut [f64]) -> Option<(f64, f64)> {
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
