//! Estimates an iteration's remaining time from the slope of its logarithmic residual.
//!
//! ```text
//! ln r_k  ~  a + b k            least squares over the later half of the residuals seen: CG is slow at first
//! left    =  (ln r_k - ln target) / -b  iterations, each as long as the mean of those done
//! ```

use std::time::Duration;

/// Residuals needed for a slope.
const LEAST: usize = 4;

/// The residuals of one solve.
#[derive(Clone, Debug)]
pub struct TimeLeft {
    ln_target: f64,
    /// Iteration and ln of the residual after it.
    seen: Vec<(f64, f64)>,
}

impl TimeLeft {
    /// Starts an estimate for a solve that ends at this residual.
    pub fn until(target: f64) -> Self {
        TimeLeft { ln_target: target.ln(), seen: Vec::new() }
    }

    /// Takes the residual after `iteration` iterations.
    pub fn see(&mut self, iteration: usize, residual: f64) {
        let point = (iteration as f64, residual.ln());
        if point.1.is_finite() {
            self.seen.push(point);
        }
    }

    /// Returns the time left after `elapsed`, or `None` if it cannot be estimated.
    pub fn left(&self, elapsed: Duration) -> Option<Duration> {
        let (iteration, ln_residual) = *self.seen.last()?;
        let later = &self.seen[self.seen.len() / 2..];
        if self.seen.len() < LEAST || !self.ln_target.is_finite() || iteration <= 0.0 {
            return None;
        }
        let count = later.len() as f64;
        let mean = |value: fn(&(f64, f64)) -> f64| later.iter().map(value).sum::<f64>() / count;
        let (k, r) = (mean(|point| point.0), mean(|point| point.1));
        let slope = later.iter().map(|point| (point.0 - k) * (point.1 - r)).sum::<f64>()
            / later.iter().map(|point| (point.0 - k).powi(2)).sum::<f64>();
        let iterations = (ln_residual - self.ln_target).max(0.0) / -slope;
        // Longer than a year is no estimate.
        let seconds = elapsed.as_secs_f64() / iteration * iterations;
        (slope < 0.0 && seconds < 3.2e7).then(|| Duration::from_secs_f64(seconds))
    }
}

/// Writes a time as minutes and seconds, `0:07`, or with hours, `1:02:03`.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Residuals after 10, 20, ... iterations, and the seconds left to `target`. An iteration takes 0.1 s.
    fn left(residuals: &[f64], target: f64) -> Option<f64> {
        let mut estimate = TimeLeft::until(target);
        for (check, residual) in residuals.iter().enumerate() {
            estimate.see(10 * (check + 1), *residual);
        }
        estimate.left(Duration::from_millis(1000 * residuals.len() as u64)).map(|time| time.as_secs_f64())
    }

    #[test]
    fn a_straight_line_is_followed_to_its_target() {
        // A decade per 10 iterations: five more of them, 50 iterations of 0.1 s.
        let seconds = left(&[1e0, 1e-1, 1e-2, 1e-3], 1e-8).unwrap();
        assert!((seconds - 5.0).abs() < 1e-6, "{seconds}");
        assert_eq!(left(&[1e0, 1e-1, 1e-2, 1e-3], 1e-2), Some(0.0));
    }

    #[test]
    fn a_slow_start_does_not_spoil_the_slope() {
        let seconds = left(&[1.0, 1.1, 1.2, 1.1, 1e0, 1e-1, 1e-2, 1e-3], 1e-6).unwrap();
        assert!((seconds - 3.0).abs() < 1e-6, "{seconds}");
    }

    #[test]
    fn what_does_not_fall_has_no_estimate() {
        assert_eq!(left(&[1.0, 0.1, 0.01], 1e-8), None);
        assert_eq!(left(&[1.0, 1.1, 1.2, 1.3], 1e-8), None);
        assert_eq!(left(&[1.0, 1.0, 1.0, 1.0], 1e-8), None);
        assert_eq!(left(&[1.0, 0.1, 0.01, f64::NAN, 0.001], 0.0), None);
    }

    #[test]
    fn times_have_hours_where_needed() {
        assert_eq!(["0:07", "1:02:03"], [7, 3723].map(|seconds| clock(Duration::from_secs(seconds))));
    }
}
