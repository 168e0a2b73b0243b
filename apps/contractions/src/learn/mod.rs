//! Makes the tuning table of `Variant::Auto`, `src/contraction/auto.csv`, from tables of sweeps.

mod condense;
#[cfg(test)]
mod tests;

use crate::sweep::Table;
use crate::sweep::table::{CHECKED, dims};
use minifenl::{Error, Result};
use std::path::PathBuf;

/// Returns the tuning table of sweeps on one GPU; its first lines name the command that makes it.
///
/// # Errors
/// Files that are no tables; tables of several GPUs.
pub fn tuning_table(paths: &[PathBuf]) -> Result<String> {
    let mut paths = paths.to_vec();
    paths.sort();
    let tables = paths.iter().map(|path| Table::read(path)).collect::<Result<Vec<_>>>()?;
    let mut devices: Vec<&str> = tables.iter().flat_map(|table| &table.rows).map(|row| row.device.as_str()).collect();
    devices.retain(|device| device.starts_with("cuda"));
    devices.sort_unstable();
    devices.dedup();
    let device = match devices[..] {
        [device] => device,
        [] => {
            return Err(Error::Invalid("auto learns from sweeps on a GPU, and these tables have no row of one".into()));
        }
        _ => {
            let all = devices.join(", ");
            let count = devices.len();
            return Err(Error::Invalid(format!(
                "auto learns from sweeps on one GPU, and these tables are of {count}: {all}"
            )));
        }
    };
    let (text, [all, kept]) = condense::tuning_table(&tables.iter().map(measured).collect::<Vec<_>>());
    let names: Vec<_> = paths.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    Ok(format!(
        "# Times that Variant::Auto chooses by: of {all} cases measured on {device} the {kept} that the others and its rule\n\
         # do not tell. Written, with these lines, in the folder of the tables by\n\
         # minifenl-contractions --learn {}\n{text}",
        names.join(" ")
    ))
}

/// Returns the checked times on a GPU, as CSV.
fn measured(table: &Table) -> String {
    let mut text = String::from("kernel,variant,layout,precision,L,R,P,D,cells,median_ms\n");
    for row in table.rows.iter().filter(|row| row.checked == CHECKED && row.device.starts_with("cuda")) {
        let Some((seconds, _)) = row.timing else { continue };
        let (case, [l, r], d) = (&row.case, row.case.fields, dims(&row.case));
        let (kernel, variant, order, precision) = (case.kernel, &row.variant, row.order, case.precision);
        let (points, cells, ms) = (case.points, case.cells, 1e3 * seconds);
        text += &format!("{kernel},{variant},{order},{precision},{l},{r},{points},{d},{cells},{ms:.6}\n");
    }
    text
}
