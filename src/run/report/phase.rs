//! Time, traffic and rates of a phase, and the spread of its calls.

use serde::Serialize;

/// One phase, over all ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseReport {
    /// `graph`, `graph/scan`, ..., and `total`; each name occurs once.
    pub name: String,
    /// The phase whose time contains this one's.
    pub parent: Option<String>,
    /// How often it ran on a rank (iterations for `cg` and `spmv`).
    pub calls: u64,
    /// Seconds of all calls on the slowest rank.
    pub seconds: f64,
    /// Microseconds of one call per node of the whole box.
    pub us_per_node: f64,
    /// The spread of single calls; null where single times are not known.
    pub spread: Option<SpreadReport>,
    /// `bytes` over `seconds`; null where bytes are not counted.
    pub gb_per_s: Option<f64>,
    /// `gb_per_s` over the measured triad; null when either is not known.
    pub triad_fraction: Option<f64>,
    /// Bytes of all calls and ranks, by formula; 0 where they are not counted.
    pub bytes: f64,
    /// Flops of all calls and ranks, by formula; 0 where they are not counted.
    pub flops: f64,
    /// `flops` over `seconds`; null where flops are not counted.
    pub gflop_per_s: Option<f64>,
    /// Slowest rank over the mean.
    pub imbalance: f64,
}

/// Seconds of single calls, each on its slowest rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpreadReport {
    /// Tenth percentile; the smallest of fewer than 4 calls.
    pub p10_seconds: f64,
    /// Median.
    pub median_seconds: f64,
    /// Ninetieth percentile; the largest of fewer than 4 calls.
    pub p90_seconds: f64,
    /// Whether p90 exceeds p10 by more than [`NOISY`] of the median.
    pub noisy: bool,
}

/// Spread, in units of the median, above which times are called noisy.
pub const NOISY: f64 = 0.3;

impl SpreadReport {
    /// The spread of one or more times. Percentiles between two times are interpolated.
    pub fn new(times: &[f64]) -> Self {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |fraction: f64| {
            let place = fraction * (sorted.len() - 1) as f64;
            let [low, high] = [place.floor(), place.ceil()].map(|place| sorted[place as usize]);
            low + (place - place.floor()) * (high - low)
        };
        // Two or three times have no tenths: the smallest and the largest stand for them.
        let [p10, p90] = if sorted.len() < 4 { [at(0.0), at(1.0)] } else { [at(0.1), at(0.9)] };
        let median = at(0.5);
        SpreadReport { p10_seconds: p10, median_seconds: median, p90_seconds: p90, noisy: p90 - p10 > NOISY * median }
    }
}

impl PhaseReport {
    /// Derives the rates. `bytes` and `flops` are of all calls and ranks, `mean` is the mean of the ranks' seconds.
    pub fn new(
        name: &str,
        calls: u64,
        seconds: f64,
        mean: f64,
        bytes: f64,
        flops: f64,
        nodes: u64,
        triad: Option<f64>,
    ) -> Self {
        let rate = |amount: f64| (amount > 0.0 && seconds > 0.0).then(|| amount * 1e-9 / seconds);
        let of_all = calls as f64 * nodes as f64;
        let gb_per_s = rate(bytes);
        PhaseReport {
            name: name.into(),
            parent: None,
            calls,
            seconds,
            us_per_node: if of_all > 0.0 { seconds * 1e6 / of_all } else { 0.0 },
            spread: None,
            gb_per_s,
            triad_fraction: gb_per_s.zip(triad).filter(|(_, triad)| *triad > 0.0).map(|(rate, triad)| rate / triad),
            bytes,
            flops,
            gflop_per_s: rate(flops),
            imbalance: if mean > 0.0 { seconds / mean } else { 1.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_by_hand() {
        let spread = |times: &[f64]| {
            let SpreadReport { p10_seconds, median_seconds, p90_seconds, noisy } = SpreadReport::new(times);
            (p10_seconds, median_seconds, p90_seconds, noisy)
        };
        assert_eq!(spread(&[2.0, 1.0]), (1.0, 1.5, 2.0, true));
        assert_eq!(spread(&[1.1, 1.0, 1.2]), (1.0, 1.1, 1.2, false));
        // 0 to 10: the places of the percentiles are whole numbers.
        let times: Vec<f64> = (0..11).rev().map(f64::from).collect();
        assert_eq!(spread(&times), (1.0, 5.0, 9.0, true));
        assert_eq!(spread(&[1.0, 2.0, 3.0, 4.0, 5.0]), (1.4, 3.0, 4.6, true));
        // Four times have tenths.
        assert_eq!(spread(&[40.0, 10.0, 20.0, 30.0]), (13.0, 25.0, 37.0, true));
    }

    #[test]
    fn rates_are_amounts_over_seconds_and_null_of_nothing() {
        let row = PhaseReport::new("cg", 4, 2.0, 1.6, 3e9, 5e9, 1000, Some(6.0));
        assert_eq!((row.gb_per_s, row.gflop_per_s, row.triad_fraction), (Some(1.5), Some(2.5), Some(0.25)));
        assert_eq!((row.us_per_node, row.imbalance, row.bytes, row.flops), (500.0, 1.25, 3e9, 5e9));
        let nothing = PhaseReport::new("cg", 0, 0.0, 0.0, 3e9, 0.0, 1000, Some(6.0));
        assert_eq!((nothing.gb_per_s, nothing.gflop_per_s, nothing.triad_fraction), (None, None, None));
        assert_eq!((nothing.us_per_node, nothing.imbalance), (0.0, 1.0));
    }

    /// A spread of exactly 30 % of the median is not noisy.
    #[test]
    fn times_are_noisy_above_their_limit() {
        let noisy = |highest: f64| SpreadReport::new(&[10.0, 10.0, highest]).noisy;
        assert_eq!([12.5, 13.0, 13.125].map(noisy), [false, false, true]);
    }
}
