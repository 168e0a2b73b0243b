//! Seconds, calls, bytes and flops by phase.
//!
//! Names are `graph`, `fill`, `boundary`, `spmv`, `cg`, `halo`, and sub-phases such as `graph/scan`. One call of `cg` and
//! of `spmv` is one iteration. All ranks must name the same phases in the same order. Names form a tree: `graph/scan` is part of `graph`,
//! and other phases are put inside one by [`Phases::nest`].

use super::cost::Cost;
use super::report::{PhaseReport, SpreadReport};
use crate::comm::{Communicator, alike};
use crate::space::StepTimes;
use std::{cell::RefCell, time::Instant};

/// Totals of one rank for one phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseTotals {
    /// The phase.
    pub name: &'static str,
    /// How often it ran.
    pub calls: u64,
    /// Seconds of all calls.
    pub seconds: f64,
    /// Bytes and flops of one call, by formula.
    pub cost: Cost,
    /// The phase that it is part of.
    pub parent: Option<&'static str>,
    /// Seconds of single calls, where they are known; at most 1000.
    pub times: Vec<f64>,
}

/// Number of calls whose single times are kept.
const MOST_TIMES: usize = 1000;

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
        self.add_call(name, start.elapsed().as_secs_f64());
        result
    }

    /// Adds one call that took `seconds`.
    pub fn add_call(&self, name: &'static str, seconds: f64) {
        self.update(name, |phase| {
            phase.calls += 1;
            phase.seconds += seconds;
            if phase.times.len() < MOST_TIMES {
                phase.times.push(seconds);
            }
        });
    }

    /// Says that a phase happens inside another.
    pub fn nest(&self, name: &'static str, parent: &'static str) {
        self.update(name, |phase| phase.parent = Some(parent));
    }

    /// Adds calls and seconds that were measured elsewhere.
    pub fn add(&self, name: &'static str, calls: u64, seconds: f64) {
        self.update(name, |phase| {
            phase.calls += calls;
            phase.seconds += seconds;
        });
    }

    /// Adds steps as phases, if all ranks took the same ones: reports have the same phases on every rank. A GPU builds the graph in other
    /// steps where the local indices of a row lie far apart. Collective.
    pub fn add_steps(&self, comm: &dyn Communicator, steps: &StepTimes) {
        let names: String = steps.iter().flat_map(|(name, _)| [name, "\n"]).collect();
        if alike(comm, &names) {
            steps.iter().for_each(|(name, time)| self.add(name, 1, time.as_secs_f64()));
        }
    }

    /// Sets what one call of a phase moves and computes.
    pub fn set_cost(&self, name: &'static str, cost: Cost) {
        self.update(name, |phase| phase.cost = cost);
    }

    /// Returns the totals so far.
    pub fn totals(&self) -> Vec<PhaseTotals> {
        self.totals.borrow().clone()
    }

    /// Returns the phases of all ranks. `nodes` counts all nodes, `triad` is the bandwidth of all ranks together in GB/s. Phases that never ran
    /// are left out; parts follow their phase. `total` has the flops of `fill` and `cg`, which count each of theirs once. Collective.
    pub fn report(&self, comm: &dyn Communicator, nodes: u64, triad: Option<f64>) -> Vec<PhaseReport> {
        // The slowest rank decides the run time; the mean shows the imbalance.
        let own: Vec<PhaseTotals> = self.totals().into_iter().filter(|phase| phase.calls > 0).collect();
        let mut slowest: Vec<f64> = own.iter().map(|phase| phase.seconds).collect();
        let per_rank = |phase: &PhaseTotals| [phase.seconds, phase.cost.bytes as f64, phase.cost.flops as f64];
        let mut sums: Vec<f64> = own.iter().flat_map(per_rank).collect();
        comm.all_max(&mut slowest);
        comm.all_sum(&mut sums);
        // Ranks make the same calls in the same order: a call takes as long as on the slowest of them.
        let has_times = |phase: &PhaseTotals| phase.calls > 1 && phase.times.len() as u64 == phase.calls;
        let mut times: Vec<f64> =
            own.iter().filter(|phase| has_times(phase)).flat_map(|phase| phase.times.clone()).collect();
        comm.all_max(&mut times);
        let mut rest = &times[..];
        let of_solve = own.iter().zip(sums.chunks_exact(3)).filter(|(phase, _)| ["fill", "cg"].contains(&phase.name));
        let counted = of_solve.map(|(phase, sums)| sums[2] * phase.calls as f64).sum();
        let rows = own.iter().zip(slowest).zip(sums.chunks_exact(3));
        let rows = rows.map(|((phase, seconds), sums)| {
            let mean = sums[0] / comm.size() as f64;
            let calls = phase.calls as f64;
            let (bytes, flops) = (sums[1] * calls, sums[2] * calls);
            let flops = if phase.name == "total" { counted } else { flops };
            let mut row = PhaseReport::new(phase.name, phase.calls, seconds, mean, bytes, flops, nodes, triad);
            row.parent =
                phase.parent.or_else(|| phase.name.rsplit_once('/').map(|(parent, _)| parent)).map(String::from);
            if has_times(phase) {
                let (own, others) = rest.split_at(phase.times.len());
                row.spread = Some(SpreadReport::new(own));
                rest = others;
            }
            row
        });
        as_tree(rows.collect())
    }

    fn update(&self, name: &'static str, change: impl FnOnce(&mut PhaseTotals)) {
        let mut totals = self.totals.borrow_mut();
        let index = totals.iter().position(|phase| phase.name == name).unwrap_or_else(|| {
            totals.push(PhaseTotals { name, ..PhaseTotals::default() });
            totals.len() - 1
        });
        change(&mut totals[index]);
    }
}

/// Moves the parts of a phase behind it, in their order. A part whose phase never ran stays where it is.
fn as_tree(rows: Vec<PhaseReport>) -> Vec<PhaseReport> {
    fn append(row: &PhaseReport, rows: &[PhaseReport], tree: &mut Vec<PhaseReport>) {
        tree.push(row.clone());
        rows.iter().filter(|part| part.parent.as_ref() == Some(&row.name)).for_each(|part| append(part, rows, tree));
    }
    let ran = |name: &String| rows.iter().any(|row| row.name == *name);
    let mut tree = Vec::with_capacity(rows.len());
    let roots = rows.iter().filter(|row| !row.parent.as_ref().is_some_and(ran));
    roots.for_each(|root| append(root, &rows, &mut tree));
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::comm::ranks::on_ranks;

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

    /// Ranks that build a graph in different steps report the same phases.
    #[test]
    fn steps_are_phases_where_all_ranks_took_them() {
        for (names, count) in
            [([["a", "b"], ["a", "b"]], 2), ([["a", "b"], ["a", "c"]], 0), ([["a", "b"], ["b", "a"]], 0)]
        {
            let totals = on_ranks(2, |comm| {
                let (phases, mut steps) = (Phases::default(), StepTimes::default());
                names[comm.rank()].iter().for_each(|&name| steps.mark(name));
                phases.add_steps(comm, &steps);
                phases.report(comm, 1, None).len()
            });
            assert_eq!(totals, [count; 2], "{names:?}");
        }
    }

    #[test]
    fn phases_of_two_ranks_are_merged_as_by_hand() {
        // The other rank needed 1 s and has the same cost.
        let report = on_ranks(2, |comm| {
            let phases = Phases::default();
            phases.add("cg", 10, [2.0, 1.0][comm.rank()]);
            phases.set_cost("cg", Cost { bytes: 1_000_000_000, flops: 500_000_000 });
            phases.add_call("total", 5.0);
            phases.report(comm, 1000, Some(20.0))
        });
        assert_eq!((report[0][1].flops, report[0][1].bytes), (1e10, 0.0));
        let report = &report[0][0];
        assert_eq!((report.seconds, report.imbalance), (2.0, 2.0 / 1.5));
        let rates = (report.gb_per_s, report.gflop_per_s, report.triad_fraction);
        assert_eq!(rates, (Some(10.0), Some(5.0), Some(0.5)));
        assert!((report.us_per_node - 200.0).abs() < 1e-9);
    }

    #[test]
    fn parts_follow_their_phase_and_single_times_have_a_spread() {
        let phases = Phases::default();
        phases.add("spmv", 5, 0.5);
        phases.nest("spmv", "cg");
        [3.0, 1.0, 2.0].iter().for_each(|&seconds| phases.add_call("fill", seconds));
        phases.add_call("setup/cg", 0.5);
        phases.add("cg", 4, 1.0);
        let rows = phases.report(&Solo, 10, None);
        let found: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.parent.as_deref())).collect();
        // `setup` itself never ran.
        assert_eq!(found, [("fill", None), ("setup/cg", Some("setup")), ("cg", None), ("spmv", Some("cg"))]);
        assert_eq!(rows[0].spread.as_ref().map(|spread| spread.median_seconds), Some(2.0));
        // One call has no spread, and calls that were added up have no single times.
        assert!(rows[1..].iter().all(|row| row.spread.is_none()));
        // Nor has a phase with single times of some calls only.
        phases.add("fill", 1, 9.0);
        assert!(phases.report(&Solo, 10, None).iter().all(|row| row.spread.is_none()));
    }

    #[test]
    fn a_call_takes_as_long_as_on_the_slowest_rank() {
        let reports = on_ranks(2, |comm| {
            let phases = Phases::default();
            phases.add_call("mesh", 1.0);
            [[1.0, 5.0], [4.0, 4.0]][comm.rank()].iter().for_each(|&seconds| phases.add_call("fill", seconds));
            phases.report(comm, 10, None)
        });
        let spread = reports[0][1].spread.clone().unwrap();
        assert_eq!((spread.p10_seconds, spread.median_seconds, spread.p90_seconds), (4.0, 4.5, 5.0));
    }

    /// Ranks with other costs, a phase that has a cost and never ran, and a triad that measured nothing.
    #[test]
    fn costs_of_ranks_are_added_and_the_run_has_the_flops_of_assembly_and_cg() {
        let reports = on_ranks(2, |comm| {
            let (phases, more) = (Phases::default(), comm.rank() as u64);
            phases.add("fill", 3, 1.5);
            phases.set_cost("fill", Cost { bytes: 100 + more, flops: 10 + 2 * more });
            phases.add("cg", 4, [1.0, 4.0][comm.rank()]);
            phases.set_cost("cg", Cost { bytes: 1000, flops: 7 });
            phases.set_cost("halo", Cost { bytes: 8, flops: 8 });
            phases.add_call("total", 8.0);
            phases.report(comm, 500, Some(0.0))
        });
        let numbers =
            |row: &PhaseReport| (row.calls, row.seconds, row.bytes, row.flops, row.imbalance, row.us_per_node);
        let found: Vec<_> = reports[0].iter().map(|row| (row.name.as_str(), numbers(row))).collect();
        let [fill, cg] = [(3, 1.5, 603.0, 66.0, 1.0, 1000.0), (4, 4.0, 8000.0, 56.0, 1.6, 2000.0)];
        assert_eq!(found, [("fill", fill), ("cg", cg), ("total", (1, 8.0, 0.0, 122.0, 1.0, 16000.0))]);
        assert!(reports[0].iter().all(|row| row.triad_fraction.is_none()) && reports[1] == reports[0]);
    }

    #[test]
    fn single_times_are_known_of_a_thousand_calls() {
        let phases = Phases::default();
        (0..1000).for_each(|_| phases.add_call("fill", 1.0));
        assert!(phases.report(&Solo, 1, None)[0].spread.is_some());
        phases.add_call("fill", 1.0);
        let row = &phases.report(&Solo, 1, None)[0];
        assert_eq!((row.calls, row.seconds, row.spread.is_some()), (1001, 1001.0, false));
        // Work that is timed here is a call, too.
        (0..2).for_each(|_| phases.time("graph", || ()));
        assert!(phases.report(&Solo, 1, None)[1].spread.is_some());
        assert_eq!(phases.totals()[0].times.len(), 1000);
    }

    /// Spreads belong to the phases that have them, whatever stands between; parts of parts follow their part.
    #[test]
    fn phases_keep_their_own_times_in_the_tree() {
        let phases = Phases::default();
        [1.0, 2.0].iter().for_each(|&seconds| phases.add_call("a/b/c", seconds));
        phases.add("x", 2, 1.0);
        [3.0, 5.0].iter().for_each(|&seconds| phases.add_call("a/b", seconds));
        [7.0, 11.0].iter().for_each(|&seconds| phases.add_call("a", seconds));
        let rows = phases.report(&Solo, 10, None);
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.spread.as_ref().map(|spread| spread.median_seconds)))
            .collect();
        assert_eq!(found, [("x", None), ("a", Some(9.0)), ("a/b", Some(4.0)), ("a/b/c", Some(1.5))]);
    }
}
