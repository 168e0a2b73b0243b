//! One strategy, measured and checked.

use serde::Serialize;

/// Promise of a strategy about the bits of its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// All strategies of the step give the same integers, on any number of threads.
    Identical,
    /// Sums in a fixed order: the same bits on any number of threads.
    #[default]
    SameBits,
    /// Sums in the order in which threads come.
    AnyOrder,
    /// Sums that lose terms where threads meet.
    Nothing,
}

/// One strategy for one step, measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Compared {
    /// `graph`, `fill` or `product`.
    pub step: &'static str,
    /// The strategy.
    pub name: String,
    /// Whether the papers' path takes it on this device.
    pub is_papers: bool,
    /// Seconds of each round, on the slowest rank. Empty where the device does not offer the strategy.
    pub seconds: Vec<f64>,
    /// Median of `seconds`; null where the device does not offer the strategy.
    pub median_seconds: Option<f64>,
    /// Microseconds per node of the whole box, at the median.
    pub us_per_node: Option<f64>,
    /// Median of the papers' strategy over the median of this one.
    pub speedup: Option<f64>,
    /// Bytes that a run with it needs at its peak, by forecast, over all ranks. Other choices are those of the papers.
    pub run_bytes: u64,
    /// Largest difference from the reference, over all ranks. For graphs the number of entries that differ.
    pub difference: Option<f64>,
    /// What `difference` may be.
    pub tolerance: f64,
    /// What the strategy promises about bits.
    pub promise: Promise,
    /// Whether the first and the last round gave the same bits on all ranks.
    pub is_repeatable: Option<bool>,
}

impl Compared {
    /// Whether the result is right, or the device does not offer the strategy.
    pub fn is_right(&self) -> bool {
        self.difference.is_none_or(|difference| difference <= self.tolerance)
    }

    /// Whether the promise is kept; also where the device does not offer the strategy.
    pub fn is_good(&self) -> bool {
        match self.promise {
            Promise::Nothing => true,
            Promise::AnyOrder => self.is_right(),
            Promise::Identical | Promise::SameBits => self.is_right() && self.is_repeatable != Some(false),
        }
    }

    /// Sets the ratios to the papers' strategy of the same step.
    pub(super) fn with_ratios(mut strategies: Vec<Self>) -> Vec<Self> {
        let papers = strategies.iter().find(|strategy| strategy.is_papers).and_then(|strategy| strategy.median_seconds);
        for strategy in &mut strategies {
            strategy.speedup = papers.zip(strategy.median_seconds).map(|(papers, own)| papers / own);
        }
        strategies
    }
}
