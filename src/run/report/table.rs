//! The report for people: aligned columns, units in the header, the verdict last.

use super::Report;
use super::columns::{columns, count};

impl Report {
    /// The report as text, ending with a line that begins with PASS or FAIL.
    pub fn table(&self) -> String {
        let mut text = self.header() + "\n";
        let history = self.history.iter().map(|step| {
            let [newton, iterations, reductions] =
                [step.newton, step.cg_iterations, step.cg_reductions].map(|n| n.to_string());
            let norms = [step.residual, step.cg_residual, step.true_residual].map(|norm| format!("{norm:.3e}"));
            let [residual, recurrence, recomputed] = norms;
            vec![newton, residual, iterations, reductions, recurrence, recomputed]
        });
        text +=
            &columns(&["Newton", "residual", "CG iterations", "all-reduces", "CG residual", "true residual"], history);
        text.push('\n');
        let phases = self.phases.iter().map(|phase| {
            let fraction = phase.triad_fraction.map_or("-".into(), |fraction| format!("{:.0} %", 100.0 * fraction));
            let name = match phase.name.rsplit_once('/') {
                Some((_, name)) => format!("  {name}"),
                None => phase.name.clone(),
            };
            // A rate without a formula, or of nothing, is no rate.
            let rate = |amount: f64, rate: String| if amount > 0.0 { rate } else { "-".into() };
            vec![
                name,
                phase.calls.to_string(),
                format!("{:.4}", phase.seconds),
                format!("{:.5}", phase.us_per_node),
                rate(phase.bytes, format!("{:.2}", phase.gb_per_s)),
                rate(phase.bytes, fraction),
                rate(phase.flops, format!("{:.2}", phase.gflop_per_s)),
                format!("{:.2}", phase.imbalance),
            ]
        });
        let header = ["phase", "calls", "seconds", "us/node/call", "GB/s", "of triad", "GFLOP/s", "max/mean"];
        text += &columns(&header, phases);
        let triad = self.triad_gb_per_s.map_or("not measured (--triad)".into(), |triad| format!("{triad:.1} GB/s"));
        let peak = self.peak_bytes as f64 / f64::from(1 << 20);
        text += &format!("\ntriad       {triad}\npeak memory {peak:.1} MiB, {:.0} B/node\n", self.peak_bytes_per_node);
        let checks = [self.algebraic_error, self.symmetry].map(|value| format!("{value:.1e}"));
        text += &format!("checks      algebraic error {}, asymmetry of the matrix {}\n", checks[0], checks[1]);
        text + &self.verdict_line()
    }

    /// The last line: PASS, or FAIL with the first reason.
    fn verdict_line(&self) -> String {
        let (verdict, relation) = match (self.verified, self.verdict.first()) {
            (true, _) => ("PASS:".into(), "within the bound"),
            (false, Some(reason)) => (format!("FAIL: {reason};"), "bound"),
            (false, None) => ("FAIL:".into(), "bound"),
        };
        format!(
            "{verdict} {}, {}, max error {:.3e} {relation} {:.3e}, L2 error {:.3e}\n",
            count(self.newton_iterations as u64, "Newton step"),
            count(self.cg_iterations as u64, "CG iteration"),
            self.error_max,
            self.error_bound,
            self.error_l2,
        )
    }
}
