//! Where the time goes: seconds, calls, bytes and flops by phase name.
//!
//! Names are `graph`, `fill`, `boundary`, `spmv`, `cg`, `halo`, and sub-phases such as `graph/scan`. One call of `cg` and
//! of `spmv` is one iteration. All ranks must name the same phases in the same order.

use super::{cost::Cost, report::PhaseReport};
use std::{cell::RefCell, time::Instant};

/// What one rank spent on one phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseTotals {
    /// The phase.
    pub name: &'static str,
    /// How often it ran.
    pub calls: u64,
    /// Seconds of all calls.
    pub seconds: f64,
    /// Bytes and flops of one call, by formula.
    pub cost: Cost,
}

/// Accumulates [`PhaseTotals`] in the order of first mention. A phase may be timed inside another.
#[derive(Debug, Default)]
pub struct Phases {
    totals: RefCell<Vec<PhaseTotals>>,
}

impl Phases {
    /// Runs `work` and adds its time to phase `name`, as one call.
    pub fn time<R>(&self, name: &'static str, work: impl FnOnce() -> R) -> R {
        // Mentions the phase before those inside it, which end first.
        self.update(name, |_| {});
        let start = Instant::now();
        let result = work();
        self.add(name, 1, start.elapsed().as_secs_f64());
        result
    }

    /// Adds calls and seconds that were measured elsewhere.
    pub fn add(&self, name: &'static str, calls: u64, seconds: f64) {
        self.update(name, |phase| {
            phase.calls += calls;
            phase.seconds += seconds;
        });
    }

    /// Sets what one call of a phase moves and computes.
    pub fn set_cost(&self, name: &'static str, cost: Cost) {
        self.update(name, |phase| phase.cost = cost);
    }

    /// What was accumulated so far.
    pub fn totals(&self) -> Vec<PhaseTotals> {
        self.totals.borrow().clone()
    }

    /// The phases of all ranks: `max` and `sum` reduce a slice over the ranks in place, `nodes` counts all nodes,
    /// `triad` is the bandwidth of all ranks together in GB/s. Phases that never ran are left out.
    pub fn report(
        &self,
        ranks: usize,
        nodes: u64,
        triad: Option<f64>,
        mut max: impl FnMut(&mut [f64]),
        mut sum: impl FnMut(&mut [f64]),
    ) -> Vec<PhaseReport> {
        // The slowest rank decides the run time; the mean shows the imbalance.
        let own: Vec<PhaseTotals> = self.totals().into_iter().filter(|phase| phase.calls > 0).collect();
        let mut slowest: Vec<f64> = own.iter().map(|phase| phase.seconds).collect();
        let per_rank = |phase: &PhaseTotals| [phase.seconds, phase.cost.bytes as f64, phase.cost.flops as f64];
        let mut sums: Vec<f64> = own.iter().flat_map(per_rank).collect();
        max(&mut slowest);
        sum(&mut sums);
        let rows = own.iter().zip(slowest).zip(sums.chunks_exact(3));
        rows.map(|((phase, seconds), sums)| {
            let mean = sums[0] / ranks as f64;
            let calls = phase.calls as f64;
            PhaseReport::new(phase.name, phase.calls, seconds, mean, sums[1] * calls, sums[2] * calls, nodes, triad)
        })
        .collect()
    }

    fn update(&self, name: &'static str, change: impl FnOnce(&mut PhaseTotals)) {
        let mut totals = self.totals.borrow_mut();
        let index = totals.iter().position(|phase| phase.name == name).unwrap_or_else(|| {
            totals.push(PhaseTotals { name, calls: 0, seconds: 0.0, cost: Cost::default() });
            totals.len() - 1
        });
        change(&mut totals[index]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_phases_keep_their_order_and_add_up() {
        let phases = Phases::default();
        phases.time("graph", || phases.time("graph/scan", || ()));
        phases.add("graph/scan", 2, 0.5);
        let totals = phases.totals();
        assert_eq!((totals[0].name, totals[0].calls), ("graph", 1));
        assert_eq!((totals[1].name, totals[1].calls), ("graph/scan", 3));
        assert!(totals[1].seconds >= 0.5);
    }

    #[test]
    fn phases_of_two_ranks_are_merged_as_by_hand() {
        let phases = Phases::default();
        phases.add("spmv", 10, 2.0);
        phases.set_cost("spmv", Cost { bytes: 1_000_000_000, flops: 500_000_000 });
        // The other rank needed 1 s and has the same cost.
        let sum = |x: &mut [f64]| x.iter_mut().zip([1.0, 1e9, 5e8]).for_each(|(x, other)| *x += other);
        let report = phases.report(2, 1000, Some(20.0), |_| {}, sum).remove(0);
        assert_eq!((report.seconds, report.imbalance), (2.0, 2.0 / 1.5));
        assert_eq!((report.gb_per_s, report.gflop_per_s, report.triad_fraction), (10.0, 5.0, Some(0.5)));
        assert!((report.us_per_node - 200.0).abs() < 1e-9);
    }
}
