//! The rated figure of a run, as HPCG and miniFE give one.

use super::PhaseReport;
use serde::Serialize;

/// Rating of a run. The numbers count only if the run is verified.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatingReport {
    /// Whether the run is verified.
    pub verified: bool,
    /// Flops of CG, by formula, over the seconds of CG; null if no iteration ran.
    pub cg_gflop_per_s: Option<f64>,
    /// Bandwidth of CG over the measured triad: its fraction of the bound by bandwidth. Null if the triad was not measured.
    pub cg_triad_fraction: Option<f64>,
    /// Flops of assembly and CG over `total_seconds`.
    pub total_gflop_per_s: Option<f64>,
    /// Nodes of the box over `total_seconds`.
    pub unknowns_per_second: f64,
}

impl RatingReport {
    /// Derives the figures from the phases and the total time.
    pub fn new(phases: &[PhaseReport], nodes: u64, seconds: f64, verified: bool) -> Self {
        let cg = phases.iter().find(|phase| phase.name == "cg");
        let total = phases.iter().find(|phase| phase.name == "total");
        RatingReport {
            verified,
            cg_gflop_per_s: cg.and_then(|cg| cg.gflop_per_s),
            cg_triad_fraction: cg.and_then(|cg| cg.triad_fraction),
            total_gflop_per_s: total.and_then(|total| total.gflop_per_s),
            unknowns_per_second: if seconds > 0.0 { nodes as f64 / seconds } else { 0.0 },
        }
    }
}
