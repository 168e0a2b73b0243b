//! Every published number of a table, computed again from the other columns and from the ceilings above them.

use std::collections::HashMap;

const DECK: &str = r#"
name = "x"
title = "sizes that all differ"
[[sweep]]
kernels = ["field_field_tensor", "field_field_scalar", "data_field_vector", "data_data_tensor", "data_data_scalar"]
variants = []
precisions = ["f32", "f64"]
layouts = []
host_layouts = ["left", "right"]
fields = [[5, 7], [61, 83]]
points = [11, 13]
dims = [[2, 3]]
memory_mib = [1]
"#;

/// A row by the names of its columns.
type Row = HashMap<String, String>;

fn number(row: &Row, name: &str) -> f64 {
    row[name].parse().unwrap_or_else(|_| panic!("{name}: {:?}", row[name]))
}

/// Six digits after the point, or four in all.
fn assert_near(found: f64, expected: f64, what: &str, row: &Row) {
    assert!((found - expected).abs() <= 0.01 * expected + 1e-6, "{what}: {found}, by hand {expected}: {row:?}");
}

/// Ceilings by device (copy in GB/s, peaks in GFLOP/s of f32 and f64), and rows.
fn read(text: &str) -> (HashMap<String, [f64; 3]>, Vec<Row>) {
    let (comments, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    let ceilings = comments.iter().filter_map(|line| {
        let cells: Vec<&str> = line.trim_start_matches("# ").split(',').collect();
        let numbers: Vec<f64> = cells.iter().skip(1).filter_map(|cell| cell.parse().ok()).collect();
        Some((cells[0].to_string(), <[f64; 3]>::try_from(numbers).ok()?))
    });
    let names: Vec<&str> = lines[0].split(',').collect();
    let rows = lines[1..].iter().map(|line| {
        let cells = line.split(',').map(String::from);
        names.iter().map(|name| name.to_string()).zip(cells).collect()
    });
    (ceilings.collect(), rows.collect())
}

#[test]
fn rates_fractions_and_speedups_follow_from_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let deck = dir.path().join("deck.toml");
    std::fs::write(&deck, DECK).unwrap();
    let out = dir.path().to_str().unwrap();
    let args = [deck.to_str().unwrap(), "--device", "cpu", "--quick", "--threads", "2", "--out", out];
    let (code, summary, err) = support::run("minifenl-contractions", &args);
    assert_eq!((code, err.as_str()), (0, ""));
    let (ceilings, rows) = read(&std::fs::read_to_string(dir.path().join("x.csv")).unwrap());
    assert_eq!(ceilings.len(), 2);
    // The least time of each case by one variant, over layouts.
    let case = |row: &Row| ["kernel", "precision", "L", "R", "P", "D", "cells"].map(|name| row[name].clone()).join(" ");
    let mut least: HashMap<(String, String), f64> = HashMap::new();
    for row in rows.iter().filter(|row| !row["median_ms"].is_empty()) {
        let best = least.entry((case(row), row["variant"].clone())).or_insert(f64::INFINITY);
        *best = best.min(number(row, "median_ms"));
    }
    let (mut by_copy, mut by_peak, mut best_fraction) = (0, 0, HashMap::new());
    for row in &rows {
        let [l, r, p, cells] = ["L", "R", "P", "cells"].map(|name| number(row, name));
        let d: f64 = match row["D"].split_once('x') {
            Some((a, b)) => a.parse::<f64>().unwrap() * b.parse::<f64>().unwrap(),
            None => number(row, "D"),
        };
        let k = p * d;
        let [size, column] = if row["precision"] == "f32" { [4.0, 1.0] } else { [8.0, 2.0] };
        let (bytes, flops) = (size * cells * (l * k + r * k + l * r), 2.0 * cells * l * r * k);
        assert_eq!((number(row, "bytes"), number(row, "flops")), (bytes, flops), "{row:?}");
        if row["checked"] != "yes" {
            assert!(row["median_ms"].is_empty() && row["samples"].is_empty() && row["roofline_fraction"].is_empty());
            continue;
        }
        let ms = number(row, "median_ms");
        assert!(ms > 0.0 && number(row, "samples") >= 1.0);
        assert_near(number(row, "gb_per_s"), 1e-6 * bytes / ms, "GB/s", row);
        assert_near(number(row, "gflop_per_s"), 1e-6 * flops / ms, "GFLOP/s", row);
        let of = ceilings[&row["device"]];
        let (copy, peak) = (of[0] * flops / bytes, of[column as usize]);
        let counter = if copy < peak { &mut by_copy } else { &mut by_peak };
        *counter += 1;
        assert_near(number(row, "roofline_fraction"), 1e-6 * flops / ms / copy.min(peak), "roofline", row);
        let fraction: &mut f64 = best_fraction.entry(row["variant"].clone()).or_insert(0.0);
        *fraction = fraction.max(number(row, "roofline_fraction"));
        for (name, of) in [("speedup_over_serial", "serial"), ("speedup_over_loops", "loops")] {
            let base = least[&(case(row), of.to_string())];
            assert_near(number(row, name), base / ms, name, row);
        }
    }
    // Which line is the lower one depends on the machine; `a_roofline_is_the_lower_of_its_two_lines` meets both.
    assert!(by_copy + by_peak > 300, "{by_copy} by the copy, {by_peak} by the peak");
    for (variant, fraction) in best_fraction {
        let line = summary.lines().find(|line| line.starts_with(&format!("  {variant} "))).unwrap();
        let printed = line.split("at best ").nth(1).unwrap().split(' ').next().unwrap().parse::<f64>().unwrap();
        assert!((printed - 100.0 * fraction).abs() <= 0.51, "{line}: {fraction}");
    }
    // The JSON says the same.
    let json = std::fs::read_to_string(dir.path().join("x.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for (row, value) in rows.iter().zip(json["rows"].as_array().unwrap()) {
        for (name, cell) in row {
            let is_same = match cell.parse::<f64>() {
                Ok(number) => value[name].as_f64() == Some(number),
                Err(_) if cell.is_empty() => value[name].is_null(),
                Err(_) => value[name].as_str() == Some(cell),
            };
            assert!(is_same, "{name}: {cell}, {}", value[name]);
        }
    }
    assert_eq!(json["rows"].as_array().unwrap().len(), rows.len());
}
