//! Output of a study besides its runs: `study.csv`, `results.json`, `report.md`, `report.html` and the figures as
//! SVG and PNG. Each file is written whole.

mod chart;
mod csv;
mod document;
pub mod figures;
pub mod report;
#[cfg(test)]
mod tests;
mod words;

use crate::model::{Partition, Prediction};
use crate::study::peer::Program;
use crate::study::{Row, Study, Table};
use document::Block;
use minifenl::{Error, Result, files};
use serde_json::json;
use std::path::Path;

/// Writes everything and returns what a terminal shows.
///
/// # Errors
/// [`minifenl::Error::File`] for a file that cannot be written.
pub fn write(study: &Study, table: &Table, folder: &Path) -> Result<String> {
    let model = Prediction::new(study, table);
    let put = |name: &str, text: String| files::write(&folder.join(name), text.as_bytes());
    let failed = |name: &str, reason| Error::File { path: folder.join(name).display().to_string(), reason };
    put("study.csv", csv::of(table))?;
    put("results.json", json_of(study, table, model.as_ref()))?;
    let (title, blocks) = (study.to_string(), report::blocks(study, table, model.as_ref()));
    for block in &blocks {
        if let Block::Figure(name, _, svg) = block {
            put(&format!("{name}.svg"), svg.clone())?;
            let picture = format!("{name}.png");
            let bytes = minifenl_figure::png(svg).map_err(|reason| failed(&picture, reason))?;
            files::write(&folder.join(picture), &bytes)?;
        }
    }
    put("report.md", document::markdown(&title, &blocks))?;
    put("report.html", document::html(&title, &blocks))?;
    let shown: Vec<Block> = blocks.into_iter().filter(|block| !matches!(block, Block::Figure(..))).collect();
    Ok(document::markdown(&title, &shown) + &format!("\nThe report is {}.\n", folder.join("report.html").display()))
}

/// The table with its provenance and the model.
fn json_of(study: &Study, table: &Table, model: Option<&Prediction>) -> String {
    let provenance = table.first.as_ref().map(|first| {
        let machine = &first.provenance.machine;
        json!({
            "date": first.date, "version": first.version, "device": first.device,
            "host": machine.host, "cpu": machine.cpu, "cores": machine.cores, "hardware_threads": machine.hardware_threads,
            "mpi": first.provenance.mpi, "commit": first.provenance.build.commit, "profile": first.provenance.build.profile,
        })
    });
    let imbalance = |row: &Row| f64::from(row.point.imbalance);
    let partition = |row: &Row| Partition::uneven(row.nodes, row.point.ranks, imbalance(row)).ok();
    let partitions: Vec<Option<Partition>> = table.rows.iter().map(partition).collect();
    let mut value = json!({
        "schema_version": 1, "study": study, "provenance": provenance, "points": table.rows, "partitions": partitions, "missing": table.missing,
        "refusal": table.refusal(), "model": model,
    });
    for program in Program::ALL {
        value[program.key()] = json!(table.peers_of(program).collect::<Vec<_>>());
    }
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}
