//! The table as CSV: one line per point and phase.

use crate::study::Table;

const HEADER: &str = "ranks,threads,nodes_x,nodes_y,nodes_z,runs,cg_iterations,communication,triad_gb_per_s,binding,oversubscribed,\
imbalance_asked_percent,imbalance_percent,\
phase,median_seconds,low_seconds,high_seconds,imbalance,efficiency";

/// The text.
pub fn of(table: &Table) -> String {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.6e}"));
    let mut text = format!("{HEADER}\n");
    for row in &table.rows {
        let ([x, y, z], point, place) = (row.nodes, row.point, &row.placement);
        for phase in &row.phases {
            let time = &phase.seconds;
            text += &format!(
                "{},{},{x},{y},{z},{},{},{:.6},{},{},{},{},{},{},{:.6e},{:.6e},{:.6e},{:.4},{}\n",
                point.ranks,
                point.threads,
                row.runs,
                row.iterations,
                row.communication,
                number(row.triad_gb_per_s),
                place.binding,
                place.oversubscribed.is_some(),
                point.imbalance,
                number(row.imbalance_percent),
                phase.name,
                time.median_seconds,
                time.p10_seconds,
                time.p90_seconds,
                phase.imbalance,
                number(phase.efficiency)
            );
        }
    }
    text
}
