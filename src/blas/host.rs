//! Vector operations on Serial and Threads: one task per block of items.

use super::blocks::{blocks, blocks_mut, first, first_mut, total};
use super::{Blas, Reductions, loops};
use crate::Result;
use crate::space::Threads;
use rayon::prelude::*;

impl Blas for Threads {
    fn partials_len(n: usize) -> usize {
        Threads::partials(n)
    }

    fn dot(&self, n: usize, x: &[f64], y: &[f64], sums: &mut Reductions<Threads>, slot: usize) -> Result<()> {
        if sums.is_stopped()? {
            return Ok(());
        }
        let Reductions { partials, scalars, .. } = sums;
        let (x, y) = (blocks("dot", "x", x, n)?, blocks("dot", "y", y, n)?);
        let partials = first_mut("dot", "partials", partials, Threads::partials(n))?;
        self.for_each(partials.par_iter_mut().zip(x).zip(y), |((partial, x), y)| *partial = loops::dot(x, y));
        total("dot", partials, slot, scalars)
    }

    fn max_abs(&self, n: usize, x: &[f64], partials: &mut [f64]) -> Result<f64> {
        let x = blocks("max_abs", "x", x, n)?;
        let partials = first_mut("max_abs", "partials", partials, Threads::partials(n))?;
        // `f64::max` would drop a NaN.
        let larger = |max: f64, x: f64| if x.abs() > max || x.is_nan() { x.abs() } else { max };
        self.for_each(partials.par_iter_mut().zip(x), |(partial, x)| {
            *partial = x.iter().fold(0.0, |max, &x| larger(max, x));
        });
        Ok(partials.iter().fold(0.0, |max, &x| larger(max, x)))
    }

    fn fill(&self, n: usize, value: f64, y: &mut [f64]) -> Result<()> {
        self.for_each(blocks_mut("fill", "y", y, n)?, |y| y.fill(value));
        Ok(())
    }

    fn copy(&self, n: usize, x: &[f64], y: &mut [f64]) -> Result<()> {
        let (x, y) = (blocks("copy", "x", x, n)?, blocks_mut("copy", "y", y, n)?);
        self.for_each(y.zip(x), |(y, x)| y.copy_from_slice(x));
        Ok(())
    }

    fn axpby(&self, n: usize, alpha: f64, x: &[f64], beta: f64, y: &[f64], z: &mut [f64]) -> Result<()> {
        let (x, y) = (blocks("axpby", "x", x, n)?, blocks("axpby", "y", y, n)?);
        let z = blocks_mut("axpby", "z", z, n)?;
        self.for_each(z.zip(x).zip(y), |((z, x), y)| loops::axpby(alpha, x, beta, y, z));
        Ok(())
    }

    fn reciprocals(&self, n: usize, x: &mut [f64]) -> Result<()> {
        self.for_each(blocks_mut("reciprocals", "x", x, n)?, |x| x.iter_mut().for_each(|x| *x = x.recip()));
        Ok(())
    }

    fn axpy(&self, n: usize, alpha: f64, x: &[f64], y: &mut [f64]) -> Result<()> {
        let (x, y) = (blocks("axpy", "x", x, n)?, blocks_mut("axpy", "y", y, n)?);
        self.for_each(y.zip(x), |(y, x)| loops::axpy(alpha, x, y));
        Ok(())
    }

    fn relax(
        &self,
        n: usize,
        [alpha, beta]: [f64; 2],
        w: &[f64],
        b: &[f64],
        y: Option<&[f64]>,
        d: &mut [f64],
        x: &mut [f64],
    ) -> Result<()> {
        let (w, b) = (blocks("relax", "w", w, n)?, blocks("relax", "b", b, n)?);
        let (d, x) = (blocks_mut("relax", "d", d, n)?, blocks_mut("relax", "x", x, n)?);
        let all = d.zip(x).zip(w.zip(b));
        match y {
            None => self.for_each(all, |((d, x), (w, b))| loops::relax_first(beta, w, b, d, x)),
            Some(y) => {
                let all = all.zip(blocks("relax", "y", y, n)?);
                self.for_each(all, |(((d, x), (w, b)), y)| loops::relax(alpha, beta, [w, b, y], d, x));
            }
        }
        Ok(())
    }
}

impl Reductions<Threads> {
    /// Whether operations with these are switched off.
    pub(crate) fn is_stopped(&self) -> Result<bool> {
        let Some(slot) = self.stop else { return Ok(false) };
        Ok(first("Reductions", "scalars", &self.scalars, slot + 1)?[slot] != 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Serial;

    #[test]
    fn dots_equal_those_by_hand_and_leave_ghosts_out() {
        let (x, y) = (vec![1.0, 2.0, 3.0, f64::NAN], vec![4.0, 5.0, 6.0, f64::NAN]);
        let mut sums = Reductions::new(&Serial, 3, 2).unwrap();
        Serial.dot(3, &x, &y, &mut sums, 1).unwrap();
        assert_eq!(sums.scalars, [0.0, 32.0]);
        sums.stop = Some(1);
        Serial.dot(3, &x, &x, &mut sums, 0).unwrap();
        assert_eq!(sums.scalars, [0.0, 32.0], "switched off by a scalar that is not 0");
    }

    #[test]
    fn the_largest_magnitude_is_found_and_nan_is_not_lost() {
        let mut partials = vec![0.0; 2];
        assert_eq!(Serial.max_abs(3, &[1.0, -7.0, 2.0], &mut partials).unwrap(), 7.0);
        let mut x = vec![1.0; Threads::CHUNK + 1];
        x[3] = f64::NAN;
        assert!(Serial.max_abs(x.len(), &x, &mut partials).unwrap().is_nan());
        assert_eq!(Serial.max_abs(0, &x, &mut partials).unwrap(), 0.0);
    }

    #[test]
    fn updates_equal_those_by_hand() {
        let (x, y) = (vec![1.0, 2.0], vec![10.0, 20.0]);
        let mut z = vec![0.0; 2];
        Serial.axpby(2, 2.0, &x, 0.5, &y, &mut z).unwrap();
        assert_eq!(z, [7.0, 14.0]);
        Serial.axpy(1, -1.0, &x, &mut z).unwrap();
        assert_eq!(z, [6.0, 14.0]);
        assert!(Serial.axpy(3, 1.0, &x, &mut z).unwrap_err().to_string().contains("axpy: `x`"));
        // d = 2 w b, x = d; then d = 0.5 d + 3 w (b - y), x += d.
        let (w, b, y, mut d, mut x) = ([1.0, 0.5], [4.0, 6.0], [1.0, 2.0], [9.0; 2], [9.0; 3]);
        Serial.relax(2, [7.0, 2.0], &w, &b, None, &mut d, &mut x).unwrap();
        assert_eq!((d, x), ([8.0, 6.0], [8.0, 6.0, 9.0]));
        Serial.relax(2, [0.5, 3.0], &w, &b, Some(&y), &mut d, &mut x).unwrap();
        assert_eq!((d, x), ([13.0, 9.0], [21.0, 15.0, 9.0]));
    }
}
