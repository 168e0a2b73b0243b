//! Vector operations on Serial and Threads: a thread a block of items.

use super::Blas;
use crate::Result;
use crate::error::check_length;
use crate::space::HostSpace;
use rayon::prelude::*;

impl<S: HostSpace> Blas for S {
    fn partials_len(n: usize) -> usize {
        S::partials(n)
    }

    fn dot(&self, n: usize, x: &Vec<f64>, y: &Vec<f64>, partials: &mut Vec<f64>) -> Result<()> {
        let (x, y) = (first("dot", "x", x, n)?, first("dot", "y", y, n)?);
        let partials = first_mut("dot", "partials", partials, S::partials(n))?;
        let blocks = partials.par_iter_mut().zip(x.par_chunks(S::CHUNK)).zip(y.par_chunks(S::CHUNK));
        self.for_each(blocks, |((partial, x), y)| *partial = sum_of(x, |i| x[i] * y[i]));
        Ok(())
    }

    fn max_abs(&self, n: usize, x: &Vec<f64>, partials: &mut Vec<f64>) -> Result<f64> {
        let (x, partials) = (first("max_abs", "x", x, n)?, first_mut("max_abs", "partials", partials, S::partials(n))?);
        let larger = |max: f64, x: f64| if x.abs() > max || x.is_nan() { x.abs() } else { max };
        self.for_each(partials.par_iter_mut().zip(x.par_chunks(S::CHUNK)), |(partial, x)| {
            *partial = x.iter().fold(0.0, |max, &x| larger(max, x));
        });
        Ok(partials.iter().fold(0.0, |max, &x| larger(max, x)))
    }

    fn sum_partials(&self, count: usize, partials: &Vec<f64>, slot: usize, scalars: &mut Vec<f64>) -> Result<()> {
        let partials = first("sum_partials", "partials", partials, count)?;
        first_mut("sum_partials", "scalars", scalars, slot + 1)?[slot] = partials.iter().sum();
        Ok(())
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

    fn cg_step(
        &self,
        n: usize,
        scalars: &Vec<f64>,
        rr: usize,
        pq: usize,
        p: &Vec<f64>,
        q: &Vec<f64>,
        x: &mut Vec<f64>,
        r: &mut Vec<f64>,
        partials: &mut Vec<f64>,
    ) -> Result<()> {
        let alpha = scalars[rr] / scalars[pq];
        let (p, q) = (first("cg_step", "p", p, n)?, first("cg_step", "q", q, n)?);
        let (x, r) = (first_mut("cg_step", "x", x, n)?, first_mut("cg_step", "r", r, n)?);
        let partials = first_mut("cg_step", "partials", partials, S::partials(n))?;
        let written = x.par_chunks_mut(S::CHUNK).zip(r.par_chunks_mut(S::CHUNK)).zip(partials);
        let blocks = written.zip(p.par_chunks(S::CHUNK)).zip(q.par_chunks(S::CHUNK));
        self.for_each(blocks, |((((x, r), partial), p), q)| {
            x.iter_mut().zip(p).for_each(|(x, p)| *x += alpha * p);
            r.iter_mut().zip(q).for_each(|(r, q)| *r -= alpha * q);
            *partial = sum_of(r, |i| r[i] * r[i]);
        });
        Ok(())
    }

    fn cg_direction(
        &self,
        n: usize,
        scalars: &Vec<f64>,
        rr: usize,
        rr_old: usize,
        r: &Vec<f64>,
        p: &mut Vec<f64>,
    ) -> Result<()> {
        let beta = scalars[rr] / scalars[rr_old];
        let r = first("cg_direction", "r", r, n)?;
        let p = first_mut("cg_direction", "p", p, n)?;
        self.for_each(p.par_chunks_mut(S::CHUNK).zip(r.par_chunks(S::CHUNK)), |(p, r)| {
            p.iter_mut().zip(r).for_each(|(p, r)| *p = r + beta * *p);
        });
        Ok(())
    }
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
        Serial.dot(3, &x, &y, &mut partials).unwrap();
        Serial.sum_partials(1, &partials, 1, &mut scalars).unwrap();
        assert_eq!(scalars, [0.0, 32.0]);
    }

    #[test]
    fn fused_steps_match_their_formulas_on_any_number_of_threads() {
        let n = 3 * Serial::CHUNK + 5;
        let (p, q, x0, r0) = (wave(n, 0.3), wave(n, 0.7), wave(n, 0.11), wave(n, 0.13));
        let scalars = vec![3.0, 2.0];
        let mut seen: Option<(Vec<f64>, Vec<f64>)> = None;
        for threads in [1, 2, 3] {
            let space = Threads::new(threads).unwrap();
            let (mut x, mut r, mut partials) = (x0.clone(), r0.clone(), vec![0.0; 4]);
            space.cg_step(n, &scalars, 0, 1, &p, &q, &mut x, &mut r, &mut partials).unwrap();
            for i in 0..n {
                assert_eq!(x[i], x0[i] + 1.5 * p[i]);
                assert_eq!(r[i], r0[i] - 1.5 * q[i]);
            }
            let exact: f64 = r.iter().map(|r| r * r).sum();
            assert!((partials.iter().sum::<f64>() - exact).abs() < 1e-12 * exact);
            let mut direction = p.clone();
            space.cg_direction(n, &scalars, 0, 1, &r, &mut direction).unwrap();
            assert!((0..n).all(|i| direction[i] == r[i] + 1.5 * p[i]));
            let first = seen.get_or_insert_with(|| (partials.clone(), direction.clone()));
            assert_eq!(*first, (partials, direction));
        }
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
