//! Equation 1 of Edwards, Trott and Sunderland (2014), as a time: dispatches and bytes each have their price.

/// A measured call.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Kernels that it dispatches.
    pub dispatches: f64,
    /// Bytes that it moves.
    pub bytes: f64,
    /// Its time.
    pub seconds: f64,
}

/// seconds = dispatches * dispatch + bytes / bandwidth
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Seconds per dispatch.
    pub dispatch: f64,
    /// Bytes per second.
    pub bandwidth: f64,
}

impl Model {
    /// Least squares of the relative distances; none if the samples do not tell both prices.
    ///
    /// ```text
    /// minimise sum ((d D + b Q) / t - 1)^2 over D, Q
    /// [ sum dd/tt  sum db/tt ] [D]   [ sum d/t ]
    /// [ sum db/tt  sum bb/tt ] [Q] = [ sum b/t ]
    /// ```
    pub fn fitted(samples: &[Sample]) -> Option<Self> {
        let (mut dd, mut db, mut bb, mut d, mut b) = (0.0, 0.0, 0.0, 0.0, 0.0);
        // Bytes in units of the mean: the determinant then compares with the diagonal.
        let unit = samples.iter().map(|sample| sample.bytes).sum::<f64>() / samples.len().max(1) as f64;
        for sample in samples {
            let (x, y) = (sample.dispatches / sample.seconds, sample.bytes / unit / sample.seconds);
            (dd, db, bb, d, b) = (dd + x * x, db + x * y, bb + y * y, d + x, b + y);
        }
        let determinant = dd * bb - db * db;
        if determinant.is_nan() || determinant <= 1e-9 * dd * bb {
            return None;
        }
        let (dispatch, price) = ((d * bb - b * db) / determinant, (b * dd - d * db) / determinant);
        // A price below 0 means that caches serve the small sizes: bytes alone then.
        let (dispatch, price) = if dispatch < 0.0 { (0.0, b / bb) } else { (dispatch, price) };
        (price > 0.0).then_some(Model { dispatch, bandwidth: unit / price })
    }

    /// Seconds of a call.
    pub fn seconds(&self, sample: &Sample) -> f64 {
        sample.dispatches * self.dispatch + sample.bytes / self.bandwidth
    }

    /// Largest relative distance of a sample.
    pub fn largest_error(&self, samples: &[Sample]) -> f64 {
        samples.iter().fold(0.0, |most, sample| (self.seconds(sample) / sample.seconds - 1.0).abs().max(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(time: impl Fn(f64, f64) -> f64) -> Vec<Sample> {
        let sample = |k: i32| {
            let (dispatches, bytes) = (272.0, 648.0 * 8.0 * 10f64.powi(k));
            Sample { dispatches, bytes, seconds: time(dispatches, bytes) }
        };
        (3..8).map(sample).collect()
    }

    #[test]
    fn exact_times_give_their_prices() {
        let samples = samples(|d, b| 2e-6 * d + b / 40e9);
        let model = Model::fitted(&samples).unwrap();
        assert!((model.dispatch / 2e-6 - 1.0).abs() < 1e-9 && (model.bandwidth / 40e9 - 1.0).abs() < 1e-9, "{model:?}");
        assert!(model.largest_error(&samples) < 1e-9);
    }

    #[test]
    fn noise_moves_prices_by_its_size() {
        let mut samples = samples(|d, b| 2e-6 * d + b / 40e9);
        samples.iter_mut().enumerate().for_each(|(k, s)| s.seconds *= if k % 2 == 0 { 1.05 } else { 0.95 });
        let model = Model::fitted(&samples).unwrap();
        assert!((model.dispatch / 2e-6 - 1.0).abs() < 0.1 && (model.bandwidth / 40e9 - 1.0).abs() < 0.1, "{model:?}");
        assert!((0.01..0.2).contains(&model.largest_error(&samples)));
    }

    #[test]
    fn small_sizes_from_a_cache_leave_no_price_below_zero() {
        let samples = samples(|d, b| 1e-7 * d + b / if b < 1e8 { 100e9 } else { 30e9 });
        let model = Model::fitted(&samples).unwrap();
        assert!(model.dispatch == 0.0 && (30e9..100e9).contains(&model.bandwidth), "{model:?}");
    }

    #[test]
    fn one_size_tells_nothing() {
        let samples = samples(|d, b| 2e-6 * d + b / 40e9);
        assert_eq!((Model::fitted(&samples[..1]), Model::fitted(&[])), (None, None));
        assert_eq!(Model::fitted(&[samples[2]; 3]), None);
    }
}
