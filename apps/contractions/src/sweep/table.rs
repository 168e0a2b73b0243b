//! The measurements, one row each, as CSV and JSON. A CSV starts with comments (`#`): the version and each device's
//! ceilings, so that each fraction can be checked from the file alone.

use super::case::{Case, Kernel, Order, Precision};
use super::ceilings::Ceilings;
use minifenl::{Error, Result};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

/// The plain loops of the clinic report, which its speedups are over.
pub const LOOPS: &str = "loops";
/// The library on one core.
pub const SERIAL: &str = "serial";
/// The library on the threads of the host.
pub const THREADS: &str = "threads";
/// What the last column says of a result that was compared before it was timed.
pub const CHECKED: &str = "yes";

const COLUMNS: [&str; 21] = [
    "kernel",
    "variant",
    "layout",
    "precision",
    "L",
    "R",
    "P",
    "D",
    "cells",
    "bytes",
    "flops",
    "median_ms",
    "gb_per_s",
    "gflop_per_s",
    "roofline_fraction",
    "speedup_over_serial",
    "speedup_over_loops",
    "memory_mib",
    "samples",
    "device",
    "checked",
];

/// One measurement, or why there is none.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was computed.
    pub case: Case,
    /// By which algorithm.
    pub variant: String,
    /// Of all three arrays.
    pub order: Order,
    /// Memory size that the case was to fill, in MiB.
    pub memory_mib: f64,
    /// Median of a call and how many there were; `None` where it was not timed.
    pub timing: Option<(f64, usize)>,
    /// Share of min(intensity x copy bandwidth, peak) of the device.
    pub roofline: Option<f64>,
    /// Where.
    pub device: String,
    /// [`CHECKED`], or why it was not timed.
    pub checked: String,
}

/// All rows of a sweep.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// In the order of their measurement.
    pub rows: Vec<Row>,
    /// Of each device.
    pub ceilings: Vec<Ceilings>,
}

/// D; both dimensions where they differ.
pub fn dims(case: &Case) -> String {
    match case.dims {
        [d1, d2] if case.kernel.rank() == 2 && d1 != d2 => format!("{d1}x{d2}"),
        [d1, _] => d1.to_string(),
    }
}

/// Significant digits enough, no more.
fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| match value.abs() {
        _ if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value}"),
        size if size >= 1e5 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.6}"),
    })
}

impl Table {
    /// Rows whose result was wrong.
    pub fn wrong(&self) -> usize {
        self.rows.iter().filter(|row| row.checked.starts_with("wrong")).count()
    }

    /// The shortest time in seconds of each case by one variant, over layouts.
    pub fn best(&self, variant: &str) -> HashMap<Case, f64> {
        let mut best = HashMap::new();
        for row in self.rows.iter().filter(|row| row.variant == variant) {
            if let Some((seconds, _)) = row.timing {
                let entry = best.entry(row.case).or_insert(seconds);
                *entry = entry.min(seconds);
            }
        }
        best
    }

    /// The columns as text, row by row.
    fn cells(&self) -> impl Iterator<Item = [String; COLUMNS.len()]> {
        let (serial, loops) = (self.best(SERIAL), self.best(LOOPS));
        self.rows.iter().map(move |row| {
            let case = &row.case;
            let seconds = row.timing.map(|(seconds, _)| seconds);
            let rate = |amount: f64| number(seconds.map(|seconds| 1e-9 * amount / seconds));
            let over =
                |base: &HashMap<Case, f64>| number(base.get(case).zip(seconds).map(|(base, seconds)| base / seconds));
            [
                case.kernel.to_string(),
                row.variant.clone(),
                row.order.to_string(),
                case.precision.to_string(),
                case.fields[0].to_string(),
                case.fields[1].to_string(),
                case.points.to_string(),
                dims(case),
                case.cells.to_string(),
                case.bytes().to_string(),
                case.flops().to_string(),
                number(seconds.map(|seconds| 1e3 * seconds)),
                rate(case.bytes() as f64),
                rate(case.flops()),
                number(row.roofline),
                over(&serial),
                over(&loops),
                row.memory_mib.to_string(),
                row.timing.map_or(String::new(), |(_, samples)| samples.to_string()),
                row.device.replace(',', ";"),
                row.checked.replace([',', '\n', '"'], ";"),
            ]
        })
    }

    /// Comments with the ceilings, a header and one line per row; no cell has a comma.
    pub fn csv(&self) -> String {
        let mut text = format!("# minifenl {}\n", env!("CARGO_PKG_VERSION"));
        if !self.ceilings.is_empty() {
            text += "# device,copy_gb_per_s,peak_f32_gflop_per_s,peak_f64_gflop_per_s\n";
        }
        for Ceilings { device, copy, peak } in &self.ceilings {
            let [copy, single, double] = [*copy, peak[0], peak[1]].map(|rate| number(Some(rate / 1e9)));
            text += &format!("# {},{copy},{single},{double}\n", device.replace(',', ";"));
        }
        text += &(COLUMNS.join(",") + "\n");
        for cells in self.cells() {
            text += &cells.join(",");
            text.push('\n');
        }
        text
    }

    /// The same with the ceilings of each device, under the names of the columns.
    pub fn json(&self) -> Value {
        let value = |cell: String| match cell.parse::<f64>() {
            Ok(number) => json!(number),
            Err(_) if cell.is_empty() => Value::Null,
            Err(_) => json!(cell),
        };
        let rows: Vec<Value> = self
            .cells()
            .map(|cells| COLUMNS.iter().zip(cells).map(|(name, cell)| (name.to_string(), value(cell))).collect())
            .collect();
        let ceilings: Vec<Value> = self
            .ceilings
            .iter()
            .map(|c| {
                json!({"device": c.device, "copy_gb_per_s": c.copy * 1e-9, "peak_f32_gflop_per_s": c.peak[0] * 1e-9,
                       "peak_f64_gflop_per_s": c.peak[1] * 1e-9})
            })
            .collect();
        json!({"ceilings": ceilings, "rows": rows})
    }

    /// Reads what [`csv`](Self::csv) wrote, but for its comments.
    ///
    /// # Errors
    /// [`Error::File`] or [`Error::Invalid`] with the line.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::File { path: name.clone(), reason: error.to_string() })?;
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        let (at, header) = lines.next().unwrap_or((0, ""));
        let wrong = |at: usize, what: &str| Error::Invalid(format!("{name}: line {} is not {what} of a sweep", at + 1));
        if header.split(',').ne(COLUMNS) {
            return Err(wrong(at, "the header"));
        }
        let rows = lines.map(|(at, line)| row(line).ok_or_else(|| wrong(at, "a row")));
        Ok(Table { rows: rows.collect::<Result<_>>()?, ceilings: Vec::new() })
    }
}

fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.split(',').collect();
    let cell = |name: &str| cells.get(COLUMNS.iter().position(|column| *column == name)?).copied();
    let size = |name| cell(name)?.parse::<usize>().ok();
    let real = |name| cell(name)?.parse::<f64>().ok();
    let kernel = cell("kernel")?.parse::<Kernel>().ok()?;
    let dim = cell("D")?;
    let (d1, d2) = dim.split_once('x').unwrap_or((dim, if kernel.rank() == 2 { dim } else { "1" }));
    let case = Case {
        kernel,
        precision: cell("precision")?.parse::<Precision>().ok()?,
        fields: [size("L")?, size("R")?],
        points: size("P")?,
        dims: [d1.parse().ok()?, d2.parse().ok()?],
        cells: size("cells")?,
    };
    (cells.len() == COLUMNS.len()).then_some(Row {
        case,
        variant: cell("variant")?.into(),
        order: cell("layout")?.parse().ok()?,
        memory_mib: real("memory_mib")?,
        timing: real("median_ms").map(|ms| 1e-3 * ms).zip(size("samples")),
        roofline: real("roofline_fraction"),
        device: cell("device")?.into(),
        checked: cell("checked")?.into(),
    })
}

#[test]
fn a_table_reads_itself() {
    let case = Case::filling(Kernel::FieldFieldVector, Precision::F64, [8, 8], 8, [3, 1], 1 << 20);
    let other = Case::filling(Kernel::FieldFieldTensor, Precision::F32, [8, 8], 8, [3, 2], 1 << 20);
    let row = |variant: &str, timing| Row {
        case,
        variant: variant.into(),
        order: Order(minifenl::space::Layout::Left),
        memory_mib: 1.0,
        timing,
        roofline: Some(0.5),
        device: "a, b".into(),
        checked: CHECKED.into(),
    };
    let rows = vec![row(SERIAL, Some((0.5, 3))), row("flat", Some((0.25, 5))), Row { case: other, ..row("odd", None) }];
    let ceilings = vec![Ceilings { device: "a, b".into(), copy: 4.0e12, peak: [6.5e13, 6.25e13] }];
    let text = Table { rows: rows.clone(), ceilings }.csv();
    assert_eq!(text.lines().nth(2), Some("# a; b,4000,65000,62500"));
    let table = Table { rows, ceilings: Vec::new() };
    let text = text.lines().enumerate().filter(|(at, _)| ![1, 2].contains(at)).map(|(_, line)| format!("{line}\n"));
    let text: String = text.collect();
    assert_eq!(table.csv(), text);
    assert!(
        text.contains(",250,") && text.lines().nth(3).is_some_and(|line| line.contains(",2,,1,5,a; b,yes")),
        "{text}"
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.csv");
    std::fs::write(&path, &text).unwrap();
    assert_eq!(Table::read(&path).unwrap().csv(), text);
    std::fs::write(&path, text + "no row\n").unwrap();
    assert!(Table::read(&path).unwrap_err().to_string().ends_with("line 6 is not a row of a sweep"));
    assert!(Table::read(Path::new("no-such.csv")).is_err());
}
