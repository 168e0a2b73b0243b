//! The rated figure of a run, as HPCG and miniFE give one.

use super::PhaseReport;
use serde::Serialize;

/// Rating of a run. The numbers count only if the run is verified.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatingReport {
    /// Whether the verdict found no failure, also of a run that is not judged.
    pub verified: bool,
    /// Flops of CG, by formula, over the seconds of CG; null if no iteration ran.
    pub cg_gflop_per_s: Option<f64>,
    /// Bandwidth of CG over the measured triad: its fraction of the bound by bandwidth. Null if the triad was not measured.
    pub cg_triad_fraction: Option<f64>,
    /// Flops of assembly and CG over `total_seconds`.
    pub total_gflop_per_s: Option<f64>,
    /// Unknowns of the box over `total_seconds`.
    pub unknowns_per_second: f64,
}

impl RatingReport {
    /// Derives the figures from the phases and the total time.
    pub fn new(phases: &[PhaseReport], unknowns: u64, seconds: f64, verified: bool) -> Self {
        let cg = phases.iter().find(|phase| phase.name == "cg");
        let total = phases.iter().find(|phase| phase.name == "total");
        RatingReport {
            verified,
            cg_gflop_per_s: cg.and_then(|cg| cg.gflop_per_s),
            cg_triad_fraction: cg.and_then(|cg| cg.triad_fraction),
            total_gflop_per_s: total.and_then(|total| total.gflop_per_s),
            unknowns_per_second: if seconds > 0.0 { unknowns as f64 / seconds } else { 0.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fraction_of_the_triad_is_that_of_cg() {
        // Two seconds each, at a triad of 8 GB/s.
        let phase = |name, bytes, flops| PhaseReport::new(name, 3, 2.0, 2.0, bytes, flops, 600, Some(8.0));
        let phases = [phase("fill", 2e9, 1e9), phase("cg", 12e9, 15e9), phase("total", 8e9, 10e9)];
        let rating = RatingReport::new(&phases, 600, 3.0, true);
        for (found, expected) in [
            (rating.cg_triad_fraction, 0.75),
            (rating.cg_gflop_per_s, 7.5),
            (rating.total_gflop_per_s, 5.0),
            (Some(rating.unknowns_per_second), 200.0),
        ] {
            assert!(found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-12), "{found:?}, not {expected}");
        }
    }
}
