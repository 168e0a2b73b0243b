//! Vector operations on Serial and Threads: a thread a block of items.

use super::cg_slot::{COUNT, LEN, LIMIT, PQ, RHS, STATE, TARGET};
use super::{Blas, CgState};
use crate::Result;
use crate::error::check_length;
use crate::space::HostSpace;
use rayon::prelude::*;

impl<S: HostSpace> Blas for S {
    const LOOK: usize = 1;
    const AHEAD: usize = 0;

    fn partials_len(n: usize) -> usize {
        S::partials(n)
    }

    fn dot(
        &self,
        n: usize,
        x: &Vec<f64>,
        y: &Vec<f64>,
        partials: &mut Vec<f64>,
        slot: usize,
        scalars: &mut Vec<f64>,
    ) -> Result<()> {
        let (x, y) = (first("dot", "x", x, n)?, first("dot", "y", y, n)?);
        let partials = first_mut("dot", "partials", partials, S::partials(n))?;
        let blocks = partials.par_iter_mut().zip(x.par_chunks(S::CHUNK)).zip(y.par_chunks(S::CHUNK));
        self.for_each(blocks, |((partial, x), y)| *partial = sum_of(x, |i| x[i] * y[i]));
        total("dot", partials, slot, scalars)
    }

    fn max_abs(&self, n: usize, x: &Vec<f64>, partials: &mut Vec<f64>) -> Result<f64> {
        let (x, partials) = (first("max_abs", "x", x, n)?, first_mut("max_abs", "partials", partials, S::partials(n))?);
        let larger = |max: f64, x: f64| if x.abs() > max || x.is_nan() { x.abs() } else { max };
        self.for_each(partials.par_iter_mut().zip(x.par_chunks(S::CHUNK)), |(partial, x)| {
            *partial = x.iter().fold(0.0, |max, &x| larger(max, x));
        });
        Ok(partials.iter().fold(0.0, |max, &x| larger(max, x)))
    }

    fn fill(&self, n: usize, value: f64, y: &mut Vec<f64>) -> Result<()> {
        self.for_each(first_mut("fill", "y", y, n)?.par_chunks_mut(S::CHUNK), |y| y.fill(value));
        Ok(())
    }

    fn copy(&self, n: usize, x: &Vec<f64>, y: &mut Vec<f64>) -> Result<()> {
        let x = first("copy", "x", x, n)?;
        let y = first_mut("copy", "y", y, n)?;
        self.for_each(y.par_chunks_mut(S::CHUNK).zip(x.par_chunks(S::CHUNK)), |(y, x)| y.copy_from_slice(x));
        Ok(())
    }

    fn axpby(&self, n: usize, alpha: f64, x: &Vec<f64>, beta: f64, y: &Vec<f64>, z: &mut Vec<f64>) -> Result<()> {
        let (x, y) = (first("axpby", "x", x, n)?, first("axpby", "y", y, n)?);
        let z = first_mut("axpby", "z", z, n)?;
        let blocks = z.par_chunks_mut(S::CHUNK).zip(x.par_chunks(S::CHUNK)).zip(y.par_chunks(S::CHUNK));
        self.for_each(blocks, |((z, x), y)| {
            z.iter_mut().zip(x).zip(y).for_each(|((z, x), y)| *z = alpha * x + beta * y);
        });
        Ok(())
    }

    fn axpy(&self, n: usize, alpha: f64, x: &Vec<f64>, y: &mut Vec<f64>) -> Result<()> {
        let x = first("axpy", "x", x, n)?;
        let y = first_mut("axpy", "y", y, n)?;
        self.for_each(y.par_chunks_mut(S::CHUNK).zip(x.par_chunks(S::CHUNK)), |(y, x)| {
            y.iter_mut().zip(x).for_each(|(y, x)| *y += alpha * x);
        });
        Ok(())
    }

    fn cg_begin(&self, tolerance: f64, limit: usize, slot: usize, scalars: &mut Vec<f64>) -> Result<()> {
        let scalars = first_mut("cg_begin", "scalars", scalars, LEN)?;
        let rhs = scalars[slot].sqrt();
        (scalars[RHS], scalars[TARGET], scalars[LIMIT], scalars[COUNT]) = (rhs, tolerance * rhs, limit as f64, 0.0);
        set_state(scalars, if rhs.is_finite() { CgState::Running } else { CgState::NotFinite });
        Ok(())
    }

    fn cg_check(&self, rr: usize, scalars: &mut Vec<f64>) -> Result<()> {
        let scalars = first_mut("cg_check", "scalars", scalars, LEN)?;
        if is_running(scalars) {
            set_state(scalars, state_of(scalars[rr], scalars));
        }
        Ok(())
    }

    fn cg_step(
        &self,
        n: usize,
        rr: usize,
        rr_new: usize,
        p: &Vec<f64>,
        q: &Vec<f64>,
        x: &mut Vec<f64>,
        r: &mut Vec<f64>,
        partials: &mut Vec<f64>,
        scalars: &mut Vec<f64>,
    ) -> Result<()> {
        first("cg_step", "scalars", scalars, LEN)?;
        let pq = scalars[PQ];
        if !is_running(scalars) || pq.is_nan() || pq.is_infinite() || pq <= 0.0 {
            if is_running(scalars) {
                set_state(scalars, if pq.is_finite() { CgState::Breakdown } else { CgState::NotFinite });
            }
            return Ok(());
        }
        let alpha = scalars[rr] / pq;
        let (p, q) = (first("cg_step", "p", p, n)?, first("cg_step", "q", q, n)?);
        let (x, r) = (first_mut("cg_step", "x", x, n)?, first_mut("cg_step", "r", r, n)?);
        let partials = first_mut("cg_step", "partials", partials, S::partials(n))?;
        let written = x.par_chunks_mut(S::CHUNK).zip(r.par_chunks_mut(S::CHUNK)).zip(&mut *partials);
        let blocks = written.zip(p.par_chunks(S::CHUNK)).zip(q.par_chunks(S::CHUNK));
        self.for_each(blocks, |((((x, r), partial), p), q)| {
            x.iter_mut().zip(p).for_each(|(x, p)| *x += alpha * p);
            r.iter_mut().zip(q).for_each(|(r, q)| *r -= alpha * q);
            *partial = sum_of(r, |i| r[i] * r[i]);
        });
        total("cg_step", partials, rr_new, scalars)
    }

    fn cg_direction(
        &self,
        n: usize,
        rr: usize,
        rr_old: usize,
        r: &Vec<f64>,
        p: &mut Vec<f64>,
        scalars: &mut Vec<f64>,
    ) -> Result<()> {
        first("cg_direction", "scalars", scalars, LEN)?;
        if !is_running(scalars) {
            return Ok(());
        }
        scalars[COUNT] += 1.0;
        let state = state_of(scalars[rr], scalars);
        set_state(scalars, state);
        if !is_running(scalars) {
            return Ok(());
        }
        let beta = scalars[rr] / scalars[rr_old];
        let r = first("cg_direction", "r", r, n)?;
        let p = first_mut("cg_direction", "p", p, n)?;
        self.for_each(p.par_chunks_mut(S::CHUNK).zip(r.par_chunks(S::CHUNK)), |(p, r)| {
            p.iter_mut().zip(r).for_each(|(p, r)| *p = r + beta * *p);
        });
        Ok(())
    }
}

fn is_running(scalars: &[f64]) -> bool {
    CgState::of(scalars[STATE]) == CgState::Running
}

fn set_state(scalars: &mut [f64], state: CgState) {
    scalars[STATE] = f64::from(state as u8);
}

/// The state that r.r says after `COUNT` iterations.
fn state_of(rr: f64, scalars: &[f64]) -> CgState {
    match () {
        () if !rr.is_finite() => CgState::NotFinite,
        () if rr.sqrt() <= scalars[TARGET] => CgState::Converged,
        () if scalars[COUNT] >= scalars[LIMIT] => CgState::LimitReached,
        () => CgState::Running,
    }
}

/// `scalars[slot]` = sum of the partial sums, in order.
fn total(operation: &'static str, partials: &[f64], slot: usize, scalars: &mut [f64]) -> Result<()> {
    first_mut(operation, "scalars", scalars, slot + 1)?[slot] = partials.iter().sum();
    Ok(())
}

/// Sum of `term(i)` over a block, in [`WAYS`] interleaved sums: a fixed order that a vector unit follows.
#[inline(always)]
fn sum_of(block: &[f64], term: impl Fn(usize) -> f64) -> f64 {
    const WAYS: usize = 16;
    let mut sums = [0.0; WAYS];
    let whole = block.len() / WAYS * WAYS;
    for start in (0..whole).step_by(WAYS) {
        for (way, sum) in sums.iter_mut().enumerate() {
            *sum += term(start + way);
        }
    }
    sums.iter().sum::<f64>() + (whole..block.len()).map(term).sum::<f64>()
}

fn first<'a>(operation: &'static str, array: &'static str, x: &'a [f64], n: usize) -> Result<&'a [f64]> {
    if x.len() < n {
        check_length(operation, array, x.len(), n)?;
    }
    Ok(&x[..n])
}

fn first_mut<'a>(operation: &'static str, array: &'static str, x: &'a mut [f64], n: usize) -> Result<&'a mut [f64]> {
    if x.len() < n {
        check_length(operation, array, x.len(), n)?;
    }
    Ok(&mut x[..n])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};

    fn wave(n: usize, k: f64) -> Vec<f64> {
        (0..n).map(|i| (i as f64 * k).sin()).collect()
    }

    #[test]
    fn dots_by_hand_and_with_ghosts_left_out() {
        let (x, y) = (vec![1.0, 2.0, 3.0, f64::NAN], vec![4.0, 5.0, 6.0, f64::NAN]);
        let (mut partials, mut scalars) = (vec![0.0; 1], vec![0.0; 2]);
        Serial.dot(3, &x, &y, &mut partials, 1, &mut scalars).unwrap();
        assert_eq!(scalars, [0.0, 32.0]);
    }

    #[test]
    fn fused_steps_match_their_formulas_on_any_number_of_threads() {
        let n = 3 * Serial::CHUNK + 5;
        let (p, q, x0, r0) = (wave(n, 0.3), wave(n, 0.7), wave(n, 0.11), wave(n, 0.13));
        let mut seen: Option<(Vec<f64>, Vec<f64>)> = None;
        for threads in [1, 2, 3] {
            let space = Threads::new(threads).unwrap();
            let mut scalars = vec![3.0, 0.0, 2.0, 0.0, 9.0, 0.0, 0.0, 1.0];
            let (mut x, mut r, mut partials) = (x0.clone(), r0.clone(), vec![0.0; 4]);
            space.cg_step(n, 0, 1, &p, &q, &mut x, &mut r, &mut partials, &mut scalars).unwrap();
            for i in 0..n {
                assert_eq!(x[i], x0[i] + 1.5 * p[i]);
                assert_eq!(r[i], r0[i] - 1.5 * q[i]);
            }
            let exact: f64 = r.iter().map(|r| r * r).sum();
            assert!((scalars[1] - exact).abs() < 1e-12 * exact);
            let beta = scalars[1] / 3.0;
            let mut direction = p.clone();
            space.cg_direction(n, 1, 0, &r, &mut direction, &mut scalars).unwrap();
            assert!((0..n).all(|i| direction[i] == r[i] + beta * p[i]));
            assert_eq!((scalars[COUNT], CgState::of(scalars[STATE])), (1.0, CgState::Running));
            let first = seen.get_or_insert_with(|| (scalars.clone(), direction.clone()));
            assert_eq!(*first, (scalars, direction));
        }
    }

    #[test]
    fn nothing_changes_once_the_state_is_set() {
        let (p, q) = (vec![1.0], vec![2.0]);
        let step = |mut scalars: Vec<f64>| {
            let (mut x, mut r, mut d, mut partials) = (vec![5.0], vec![6.0], vec![7.0], vec![0.0]);
            Serial.cg_step(1, 0, 1, &p, &q, &mut x, &mut r, &mut partials, &mut scalars).unwrap();
            Serial.cg_direction(1, 1, 0, &r, &mut d, &mut scalars).unwrap();
            assert_eq!((x, r, d), (vec![5.0], vec![6.0], vec![7.0]));
            (CgState::of(scalars[STATE]), scalars[COUNT])
        };
        for (pq, state) in [(-1.0, CgState::Breakdown), (0.0, CgState::Breakdown), (f64::NAN, CgState::NotFinite)] {
            assert_eq!(step(vec![36.0, 0.0, pq, 0.1, 9.0, 4.0, 0.0, 1.0]), (state, 4.0));
        }
        assert_eq!(step(vec![36.0, 0.0, 1.0, 0.1, 9.0, 4.0, 1.0, 1.0]), (CgState::Converged, 4.0));
    }

    #[test]
    fn states_follow_the_residual() {
        let check = |rr: f64, count: f64| {
            let mut scalars = vec![rr, 0.0, 0.0, 2.0, 9.0, count, 0.0, 1.0];
            Serial.cg_check(0, &mut scalars).unwrap();
            CgState::of(scalars[STATE])
        };
        assert_eq!((check(4.0, 0.0), check(4.1, 0.0)), (CgState::Converged, CgState::Running));
        assert_eq!((check(4.1, 9.0), check(f64::INFINITY, 0.0)), (CgState::LimitReached, CgState::NotFinite));
        let mut scalars = vec![0.0; LEN];
        scalars[1] = 9.0;
        Serial.cg_begin(0.5, 7, 1, &mut scalars).unwrap();
        assert_eq!(scalars[2..], [0.0, 1.5, 7.0, 0.0, 0.0, 3.0]);
    }

    #[test]
    fn the_largest_by_size_and_nan_is_not_lost() {
        let mut partials = vec![0.0; 2];
        assert_eq!(Serial.max_abs(3, &vec![1.0, -7.0, 2.0], &mut partials).unwrap(), 7.0);
        let mut x = vec![1.0; Serial::CHUNK + 1];
        x[3] = f64::NAN;
        assert!(Serial.max_abs(x.len(), &x, &mut partials).unwrap().is_nan());
        assert_eq!(Serial.max_abs(0, &x, &mut partials).unwrap(), 0.0);
    }

    #[test]
    fn plain_updates() {
        let (x, y) = (vec![1.0, 2.0], vec![10.0, 20.0]);
        let mut z = vec![0.0; 2];
        Serial.axpby(2, 2.0, &x, 0.5, &y, &mut z).unwrap();
        assert_eq!(z, [7.0, 14.0]);
        Serial.axpy(1, -1.0, &x, &mut z).unwrap();
        assert_eq!(z, [6.0, 14.0]);
        assert!(Serial.axpy(3, 1.0, &x, &mut z).unwrap_err().to_string().contains("axpy: `x`"));
    }
}
