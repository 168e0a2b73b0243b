//! The report for people: aligned columns, units in the header, the verdict last.

use super::columns::columns;
use super::header::line;
use super::{PairMapReport, PhaseReport, ProblemKind, Report, Solver};
use crate::error::count;

impl Report {
    /// Returns the report as text, ending with PASS, FAIL or NOT JUDGED.
    pub fn table(&self) -> String {
        let pair_map = self.pair_map.as_ref().map_or(String::new(), pair_map);
        let mut text = self.header() + &pair_map;
        if let Some(plain) = self.plain_start_residual {
            text += &format!("start       from coarser boxes; at the boundary values ||F|| is {plain:.3e}\n");
        }
        text.push('\n');
        let history = self.history.iter().map(|step| {
            let [newton, iterations, reductions] =
                [step.newton, step.cg_iterations, step.cg_reductions].map(|n| n.to_string());
            let norms = [step.residual, step.cg_residual, step.true_residual].map(|norm| format!("{norm:.3e}"));
            let [residual, recurrence, recomputed] = norms;
            vec![newton, residual, iterations, reductions, recurrence, recomputed]
        });
        let names = match self.strategies.solver {
            Solver::Cg => ["CG iterations", "CG residual"],
            _ => ["iterations", "its residual"],
        };
        text += &columns(&["Newton", "residual", names[0], "all-reduces", names[1], "true residual"], history);
        text.push('\n');
        text += &self.level_table();
        text += &self.phase_table();
        text += &self.spread_table();
        let triad = self.triad_gb_per_s.map_or("not measured (--triad)".into(), |triad| format!("{triad:.1} GB/s"));
        let peak = self.peak_bytes as f64 / f64::from(1 << 20);
        let kind = if self.provenance.gpu.is_some() { "arrays on the GPUs" } else { "resident, with the program" };
        text += &format!(
            "\ntriad       {triad}\npeak memory {peak:.1} MiB, {:.0} B/node (all ranks: {kind})\n",
            self.peak_bytes_per_node
        );
        text += &self.rating_line();
        let norms = [self.error_max, self.error_bound, self.error_l2].map(|value| format!("{value:.3e}"));
        let [max, bound, l2] = norms;
        text += &match self.problem.name {
            // The largest value of the brick is 1, and not that at its centre.
            ProblemKind::Minife => {
                format!("errors      at the centre: max {max} of 1, bound {bound}, rel. L2 {l2}\n")
            }
            _ => format!("errors      max {max}, bound {bound}, L2 {l2}\n"),
        };
        let checks = [self.algebraic_error, self.symmetry].map(|value| format!("{value:.1e}"));
        text += &format!("checks      algebraic error {}, asymmetry of the matrix {}\n", checks[0], checks[1]);
        text + &self.verdict_line()
    }

    /// One row per level of a multigrid cycle; `complexity` sums the entries down to the level, relative to the finest, if it has a matrix.
    fn level_table(&self) -> String {
        if self.levels.len() < 2 {
            return String::new();
        }
        let mut entries = 0;
        let rows = self.levels.iter().enumerate().map(|(at, level)| {
            entries += level.entries;
            let complexity = entries as f64 / self.levels[0].entries as f64;
            let complexity = if complexity.is_finite() { format!("{complexity:.3}") } else { "-".into() };
            vec![
                at.to_string(),
                level.ranks.to_string(),
                level.rows.to_string(),
                level.entries.to_string(),
                complexity,
                format!("{:.3}", 1e3 * level.seconds),
            ]
        });
        columns(&["level", "ranks", "rows", "entries", "complexity", "ms per cycle"], rows) + "\n"
    }

    /// One row per phase, parts indented. The column `us/node` is per call.
    fn phase_table(&self) -> String {
        let rows = self.phases.iter().map(|phase| {
            vec![
                shown_name(phase),
                phase.calls.to_string(),
                format!("{:.4}", phase.seconds),
                format!("{:.5}", phase.us_per_node),
                phase.gb_per_s.map_or("-".into(), |rate| format!("{rate:.2}")),
                phase.triad_fraction.map_or("-".into(), |fraction| format!("{:.0} %", 100.0 * fraction)),
                phase.gflop_per_s.map_or("-".into(), |rate| format!("{rate:.2}")),
                format!("{:.2}", phase.imbalance),
            ]
        });
        columns(&["phase", "calls", "seconds", "us/node", "GB/s", "triad", "GFLOP/s", "max/mean"], rows)
    }

    /// Percentiles of the phases whose single times are known.
    fn spread_table(&self) -> String {
        let rows = self.phases.iter().filter_map(|phase| {
            let spread = phase.spread.as_ref()?;
            let seconds = [spread.p10_seconds, spread.median_seconds, spread.p90_seconds];
            let mut row = vec![phase.name.clone(), phase.calls.to_string()];
            row.extend(seconds.map(|seconds| format!("{:.3}", 1e3 * seconds)));
            row.push(if spread.noisy { "noisy".into() } else { String::new() });
            Some(row)
        });
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() {
            return String::new();
        }
        format!("\n{}", columns(&["per call", "calls", "p10 ms", "median ms", "p90 ms", ""], rows.into_iter()))
    }

    /// The rated figure.
    fn rating_line(&self) -> String {
        let rating = &self.rating;
        let mut parts = Vec::new();
        if let Some(rate) = rating.cg_gflop_per_s {
            let fraction = rating.cg_triad_fraction;
            let bound = fraction.map_or(String::new(), |fraction| format!(" ({:.0} % of triad)", 100.0 * fraction));
            parts.push(format!("{} {rate:.2} GFLOP/s{bound}", self.strategies.solver.title()));
        }
        parts.extend(rating.total_gflop_per_s.map(|rate| format!("all {rate:.2} GFLOP/s")));
        parts.push(format!("{:.3e} unknowns/s", rating.unknowns_per_second));
        let verified = if rating.verified { "VERIFIED" } else { "NOT VERIFIED" };
        parts.push(if self.is_not_judged() { "NOT JUDGED" } else { verified }.into());
        line("rating", parts)
    }

    /// Whether the run is verified, or not to be judged.
    pub fn is_good(&self) -> bool {
        self.verified || self.is_not_judged()
    }

    /// Whether a number of iterations was asked for instead of a solution.
    pub fn is_not_judged(&self) -> bool {
        self.cg_iterations_asked.is_some() && self.stopped.is_none()
    }

    /// The last line: PASS, FAIL with the first reason, or NOT JUDGED.
    fn verdict_line(&self) -> String {
        let verdict = match (self.verified, self.verdict.first()) {
            _ if self.is_not_judged() => "NOT JUDGED:".into(),
            (true, _) => "PASS:".into(),
            (false, Some(reason)) => format!("FAIL: {reason};"),
            (false, None) => "FAIL:".into(),
        };
        format!(
            "{verdict} {}, {}, max error {:.3e}\n",
            count(self.newton_iterations, "Newton step"),
            count(self.cg_iterations, &format!("{} iteration", self.strategies.solver.title())),
            self.error_max,
        )
    }
}

/// The last word of a name, indented below the phase that it is part of.
fn shown_name(phase: &PhaseReport) -> String {
    let indent = if phase.parent.is_some() { "  " } else { "" };
    indent.to_string() + phase.name.rsplit('/').next().unwrap_or("")
}

/// The pair map in two lines.
fn pair_map(map: &PairMapReport) -> String {
    let load = map.load.map_or(String::new(), |load| format!(", {:.1} % full", 100.0 * load));
    let probe = map.longest_probe.map_or(String::new(), |longest| format!(", longest probe {longest}"));
    let duplicates = map.duplicates.map_or(String::new(), |found| format!(", {}", count(found, "duplicate")));
    let retries = count(map.retries, "retry");
    let failed = count(map.failed_inserts, "failed insert");
    format!("pair map    {}{load}{probe}{duplicates}\n            {failed}, {retries}\n", count(map.capacity, "slot"))
}
