//! The model's factors from measured iterations, by least squares with terms that are not negative.
//!
//! ```text
//! t = a m + L n + g / W + R s        m = bytes / bandwidth of the slowest rank, n messages, g ghost bytes, s = reductions ceil(log2 p)
//! minimise sum over samples of ((a m + L n + g / W + R s - t) / t)^2,   a, L, 1/W, R >= 0
//! ```
//! The 15 choices of terms that may be positive are solved one by one; the best without a negative factor is the minimum. No more
//! terms are used than there are samples.

use serde::Serialize;

/// Factors of the model.
const TERMS: usize = 4;

/// A measured iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// Seconds at the measured bandwidth, messages, ghost bytes, stages of all-reduces.
    pub amounts: [f64; TERMS],
    /// Seconds.
    pub seconds: f64,
}

/// The factors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Time over that at the measured bandwidth.
    pub slowdown: f64,
    /// Seconds of a message.
    pub latency: f64,
    /// Seconds of a byte over the link.
    pub per_byte: f64,
    /// Seconds of a stage of an all-reduce.
    pub per_stage: f64,
}

impl Fit {
    /// Fits samples with positive times; `None` for none.
    pub fn new(samples: &[Sample]) -> Option<Self> {
        let choices = (1usize..1 << TERMS).filter(|choice| choice.count_ones() as usize <= samples.len());
        let fits = choices.filter_map(|choice| solve(samples, choice));
        let best = fits.min_by(|a, b| squares(samples, a).total_cmp(&squares(samples, b)))?;
        let [slowdown, latency, per_byte, per_stage] = best;
        Some(Fit { slowdown, latency, per_byte, per_stage })
    }

    /// Seconds of an iteration.
    pub fn predict(&self, amounts: &[f64; TERMS]) -> f64 {
        value(&[self.slowdown, self.latency, self.per_byte, self.per_stage], amounts)
    }

    /// Largest relative error on samples; `None` of none.
    pub fn error(&self, samples: &[Sample]) -> Option<f64> {
        let errors = samples.iter().map(|sample| (self.predict(&sample.amounts) / sample.seconds - 1.0).abs());
        errors.max_by(f64::total_cmp)
    }
}

fn value(factors: &[f64; TERMS], amounts: &[f64; TERMS]) -> f64 {
    factors.iter().zip(amounts).map(|(factor, amount)| factor * amount).sum()
}

fn squares(samples: &[Sample], factors: &[f64; TERMS]) -> f64 {
    samples.iter().map(|sample| (value(factors, &sample.amounts) / sample.seconds - 1.0).powi(2)).sum()
}

/// Least squares with the terms of a choice, the others 0; `None` if one would be negative or the samples do not determine it.
fn solve(samples: &[Sample], choice: usize) -> Option<[f64; TERMS]> {
    let terms: Vec<usize> = (0..TERMS).filter(|term| choice >> term & 1 == 1).collect();
    // Columns scaled to unit length, orthogonalised (modified Gram-Schmidt); back substitution gives the factors.
    let column =
        |&term: &usize| samples.iter().map(|sample| sample.amounts[term] / sample.seconds).collect::<Vec<f64>>();
    let mut columns: Vec<Vec<f64>> = terms.iter().map(column).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (count, mut rhs) = (terms.len(), vec![1.0; samples.len()]);
    let mut upper = vec![vec![0.0; count]; count];
    let mut along = vec![0.0; count];
    for i in 0..count {
        let before = columns[i].clone();
        for j in 0..i {
            upper[j][i] = dot(&columns[j], &columns[i]);
            let (done, rest) = columns.split_at_mut(i);
            rest[0].iter_mut().zip(&done[j]).for_each(|(x, q)| *x -= upper[j][i] * q);
        }
        let length = dot(&columns[i], &columns[i]).sqrt();
        // A column that the others make up is not determined.
        if length <= 1e-9 * dot(&before, &before).sqrt() || length == 0.0 {
            return None;
        }
        upper[i][i] = length;
        columns[i].iter_mut().for_each(|x| *x /= length);
        along[i] = dot(&columns[i], &rhs);
        rhs.iter_mut().zip(&columns[i]).for_each(|(r, q)| *r -= along[i] * q);
    }
    let mut factors = [0.0; TERMS];
    for i in (0..count).rev() {
        let known: f64 = (i + 1..count).map(|j| upper[i][j] * factors[terms[j]]).sum();
        factors[terms[i]] = (along[i] - known) / upper[i][i];
    }
    factors.iter().all(|factor| *factor >= 0.0).then_some(factors)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of a machine with these factors on made-up amounts of 1 to 64 ranks.
    fn samples(factors: [f64; TERMS]) -> Vec<Sample> {
        let counts = [1.0f64, 2.0, 4.0, 8.0, 16.0, 64.0];
        let amounts = counts
            .map(|p| [1e-3 * (1.0 + 0.1 * p.sqrt()), (p - 1.0).min(26.0), 1e4 * (p - 1.0).powf(0.3), 2.0 * p.log2()]);
        amounts.into_iter().map(|amounts| Sample { amounts, seconds: value(&factors, &amounts) }).collect()
    }

    #[test]
    fn known_factors_are_found_and_predict_what_was_held_out() {
        let factors = [1.2, 2e-6, 1e-9, 5e-6];
        let all = samples(factors);
        let fit = Fit::new(&all[..5]).unwrap();
        for (found, known) in [fit.slowdown, fit.latency, fit.per_byte, fit.per_stage].iter().zip(factors) {
            assert!((found / known - 1.0).abs() < 1e-6, "{fit:?}");
        }
        assert!(fit.error(&all[5..]).unwrap() < 1e-9);
        // 10 % more than the model says is an error of 1 - 1 / 1.1.
        let slow = Sample { seconds: 1.1 * all[5].seconds, ..all[5] };
        assert!((fit.error(&[slow]).unwrap() - (1.0 - 1.0 / 1.1)).abs() < 1e-9);
        assert_eq!(fit.error(&[]), None);
    }

    #[test]
    fn a_term_that_would_be_negative_is_0_and_the_rest_is_the_least_squares_by_hand() {
        // t = 2, 3.5 for m = 1, 2: with n = 0, 1 the factor of n would be -0.5; alone, a minimises (a/2-1)^2 + (2a/3.5-1)^2.
        let sample = |m, n, seconds| Sample { amounts: [m, n, 0.0, 0.0], seconds };
        let fit = Fit::new(&[sample(1.0, 0.0, 2.0), sample(2.0, 1.0, 3.5)]).unwrap();
        let (u, v) = (1.0 / 2.0, 2.0 / 3.5);
        assert!((fit.slowdown - (u + v) / (u * u + v * v)).abs() < 1e-12, "{fit:?}");
        assert_eq!((fit.latency, fit.per_byte, fit.per_stage), (0.0, 0.0, 0.0));
        let one = Fit::new(&[sample(1.0, 0.0, 2.0)]).unwrap();
        assert_eq!((one.slowdown, one.predict(&[3.0, 0.0, 0.0, 0.0])), (2.0, 6.0));
        assert_eq!(Fit::new(&[]), None);
    }
}
