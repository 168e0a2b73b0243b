//! What `Variant::Auto` learns from tables of sweeps: `src/contraction/auto.csv`, all of it.

use super::table::{CHECKED, Table, dims};
use crate::contraction;
use crate::{Error, Result};
use std::path::PathBuf;

/// The table for Auto, with the command that makes it in its first lines, of sweeps on one GPU.
///
/// # Errors
/// Files that are no tables; tables of several GPUs.
pub fn learned(paths: &[PathBuf]) -> Result<String> {
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
    let (text, [all, kept]) = contraction::learned(&tables.iter().map(measured).collect::<Vec<_>>());
    let names: Vec<_> = paths.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    Ok(format!(
        "# Times that Variant::Auto chooses by: of {all} cases measured on {device} the {kept} that the others and its rule\n\
         # do not tell. Written, with these lines, in the folder of the tables by\n\
         # minifenl-contractions --learn {}\n{text}",
        names.join(" ")
    ))
}

/// Its checked times on a GPU.
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

#[cfg(test)]
mod tests {
    use super::super::case::{Case, Kernel, Order, Precision};
    use super::super::table::Row;
    use super::*;

    #[test]
    fn near_ones_and_ordered_ones_are_kept() {
        let case = Case::filling(Kernel::FieldFieldVector, Precision::F64, [8, 8], 8, [3, 1], 1 << 20);
        let row = |variant: &str, ms: f64, device: &str| Row {
            case,
            variant: variant.into(),
            order: Order(crate::space::Layout::Right),
            memory_mib: 1.0,
            timing: Some((1e-3 * ms, 5)),
            roofline: None,
            device: device.into(),
            checked: CHECKED.into(),
        };
        // The rule would take `dmma`.
        let rows = vec![
            row("flat", 9.0, "cuda:0 (x)"),
            row("fixed-staged", 4.0, "cuda:0 (x)"),
            row("dmma", 1.3, "cuda:0 (x)"),
            row("fixed-split", 1.2, "cuda:0 (x)"),
            row("fixed-rows", 1.1, "cuda:0 (x)"),
            row("auto", 0.5, "cuda:0 (x)"),
            row("cublas-gemm", 0.5, "cuda:0 (x)"),
            row("serial", 0.5, "serial"),
        ];
        let text = |rows| measured(&Table { rows, ceilings: Vec::new() });
        // Another table has one of them again, less disturbed.
        let (text, counts) = contraction::learned(&[text(rows), text(vec![row("fixed-rows", 1.0, "cuda:0 (x)")])]);
        let variants: Vec<_> = text.lines().skip(1).filter_map(|line| line.split(',').nth(1)).collect();
        assert_eq!((&variants[..], counts), (&["fixed-rows", "fixed-split", "fixed-staged"][..], [1, 1]));
        assert_eq!(text.lines().nth(1), Some("field_field_vector,fixed-rows,right,f64,8,8,8,3,292,1.00000"));
    }

    #[test]
    fn no_gpu_and_several_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let case = Case::filling(Kernel::DataDataScalar, Precision::F64, [1, 1], 8, [1, 1], 1 << 10);
        let write = |name: &str, device: &str| {
            let (path, order) = (dir.path().join(name), Order(crate::space::Layout::Left));
            let [variant, device, checked] = ["flat", device, CHECKED].map(String::from);
            let row =
                Row { case, variant, order, memory_mib: 1.0, timing: Some((1.0, 1)), roofline: None, device, checked };
            std::fs::write(&path, Table { rows: vec![row], ceilings: Vec::new() }.csv()).unwrap();
            path
        };
        let [host, one, other] =
            [("a.csv", "serial"), ("b.csv", "cuda:0 (x)"), ("c.csv", "cuda:0 (y)")].map(|(a, b)| write(a, b));
        let error = |paths: &[PathBuf]| learned(paths).unwrap_err().to_string();
        assert!(error(std::slice::from_ref(&host)).ends_with("have no row of one"));
        assert!(error(&[host, one, other]).ends_with("are of 2: cuda:0 (x), cuda:0 (y)"));
    }

    /// The table in the source is what these sweeps teach, byte for byte.
    #[test]
    fn the_table_of_auto_is_learnt_from_all_recorded_sweeps() {
        let files = std::fs::read_dir("docs/contractions").unwrap().map(|entry| entry.unwrap().path());
        let sweeps: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "csv")).collect();
        let (text, recorded) = (learned(&sweeps).unwrap(), include_str!("../../contraction/auto.csv"));
        let at = text.lines().zip(recorded.lines()).position(|(a, b)| a != b);
        assert!(
            text == recorded,
            "line {:?} of src/contraction/auto.csv: run the command in its first lines",
            at.map(|n| n + 1)
        );
    }
}
