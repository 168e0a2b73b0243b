//! The measurements, one row each, as CSV and JSON. A CSV starts with comments (`#`): the version, the number of rows, by which
//! a part of a table is told from a whole one, and each device's ceilings, so that each fraction can be checked from the file
//! alone.

use super::case::{Case, Kernel, Order, Precision};
use super::ceilings::Ceilings;
use minifenl::files::read_text;
use minifenl::{Error, Result};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

#[cfg(test)]
mod tests;

/// Bytes of a table that is read, at most.
const MOST_BYTES: u64 = 256 << 20;
/// Start of the comment with the version and, after a comma, the processor.
const PROGRAM: &str = "# minifenl ";
/// Start of the comment with the number of rows.
const ROWS: &str = "# rows ";

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
    /// The version of the program that wrote the table; of a table that is being made, none.
    #[cfg_attr(not(feature = "plot"), allow(dead_code))]
    pub version: Option<String>,
    /// Model of the host's processor, if known.
    pub cpu: Option<String>,
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
        // All digits would change with each reading, which rounds.
        size if size >= 1e15 => format!("{value:.3e}"),
        size if size >= 1e5 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.3}"),
        size if size >= 1e-5 => format!("{value:.6}"),
        // With six decimals these would become 0, which a reader takes for a damaged number.
        _ => format!("{value:.3e}"),
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
        let cpu = self.cpu.as_ref().map_or(String::new(), |cpu| format!(", {}", cpu.replace('\n', " ")));
        let mut text = format!("{PROGRAM}{}{cpu}\n{ROWS}{}\n", env!("CARGO_PKG_VERSION"), self.rows.len());
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
        json!({"cpu": self.cpu, "ceilings": ceilings, "rows": rows})
    }

    /// Reads what [`csv`](Self::csv) wrote. Tables of earlier versions lack the processor.
    ///
    /// # Errors
    /// [`Error::File`] for what is no text; [`Error::Invalid`] with the line of what is no table, or only a part of one.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path, MOST_BYTES)?;
        Self::parse(&text).map_err(|why| Error::Invalid(format!("{}: {why}", path.display())))
    }

    /// Reads the text of a table.
    ///
    /// # Errors
    /// The line of what is no table, or what is missing.
    pub(super) fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        let (at, header) = lines.next().unwrap_or((0, ""));
        if header.split(',').ne(COLUMNS) {
            return Err(format!("line {} is not the header of a sweep", at + 1));
        }
        let rows = lines.map(|(at, line)| row(line).map_err(|why| format!("line {} {why}", at + 1)));
        let rows = rows.collect::<std::result::Result<Vec<_>, _>>()?;
        let comments = || text.lines().take_while(|line| line.starts_with('#'));
        let program = comments().find_map(|line| line.strip_prefix(PROGRAM));
        let (version, cpu) = match program.map(|words| words.split_once(", ").unwrap_or((words, ""))) {
            Some((version, "")) => (Some(version.into()), None),
            Some((version, cpu)) => (Some(version.into()), Some(cpu.into())),
            None => (None, None),
        };
        let ceilings = comments().filter_map(Ceilings::parse).collect();
        let counts: Vec<_> = comments().filter_map(|line| line.strip_prefix(ROWS)).collect();
        match counts[..].first().and_then(|count| count.parse::<usize>().ok()) {
            _ if counts.len() > 1 => Err(format!("more than one line `{ROWS}N`")),
            None => Err(format!("no line `{ROWS}N` above the header: it cannot be told whether all rows are there")),
            Some(count) if count != rows.len() => {
                Err(format!("{} rows, but its line `{ROWS}{count}` says {count}: a part of a table", rows.len()))
            }
            Some(_) if !text.ends_with('\n') => Err("the last line is cut off".into()),
            Some(_) => Ok(Table { rows, ceilings, version, cpu }),
        }
    }
}

/// Reads a row; an error continues `line N`.
fn row(line: &str) -> std::result::Result<Row, String> {
    let cells: Vec<&str> = line.split(',').collect();
    if cells.len() != COLUMNS.len() {
        return Err("is not a row of a sweep".into());
    }
    let cell = |name: &str| COLUMNS.iter().position(|column| *column == name).map_or("", |at| cells[at]);
    let bad = |name: &str, expected: &str| format!("has {name} {:?}: expected {expected}", cell(name));
    let size = |name: &str| cell(name).parse::<usize>().map_err(|_| bad(name, "a whole number"));
    // Neither NaN nor infinity is above 0 and finite. Below 1e-300 a change of units may give 0.
    let positive = |name: &str| {
        let number = cell(name).parse::<f64>().ok().filter(|number| *number >= 1e-300 && number.is_finite());
        number.ok_or_else(|| bad(name, "a finite number above 0"))
    };
    let named = |error: Error| format!("has a {error}");
    let kernel = cell("kernel").parse::<Kernel>().map_err(named)?;
    let dim = cell("D");
    let (d1, d2) = dim.split_once('x').unwrap_or((dim, if kernel.rank() == 2 { dim } else { "1" }));
    let extent = |text: &str| text.parse::<usize>().map_err(|_| bad("D", "one whole number, or two as in 3x2"));
    let case = Case {
        kernel,
        precision: cell("precision").parse::<Precision>().map_err(named)?,
        fields: [size("L")?, size("R")?],
        points: size("P")?,
        dims: [extent(d1)?, extent(d2)?],
        cells: size("cells")?,
    };
    if !case.is_possible() {
        return Err(format!("has sizes that {kernel} cannot have"));
    }
    // Two columns that follow from the sizes: a digit that was lost shows.
    for (name, number) in [("bytes", case.bytes().to_string()), ("flops", case.flops().to_string())] {
        if cell(name) != number {
            return Err(bad(name, &format!("{number}, by its sizes")));
        }
    }
    let checked = cell("checked");
    let timing = match (cell("median_ms"), cell("samples")) {
        ("", "") => None,
        _ if checked != CHECKED => return Err(format!("has a time that was not checked: {checked}")),
        _ => Some((1e-3 * positive("median_ms")?, positive("samples").and(size("samples"))?)),
    };
    let roofline = if cell("roofline_fraction").is_empty() { None } else { Some(positive("roofline_fraction")?) };
    Ok(Row {
        case,
        variant: cell("variant").into(),
        order: cell("layout").parse().map_err(named)?,
        memory_mib: positive("memory_mib")?,
        timing,
        roofline,
        device: cell("device").into(),
        checked: checked.into(),
    })
}
