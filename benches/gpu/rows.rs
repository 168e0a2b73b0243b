//! The measurements, one row each, as an aligned table and as JSON.

use crate::clock::Timing;
use minifenl::run::report::columns;
use serde_json::{Value, json};

/// One measurement.
#[derive(Debug)]
pub struct Row {
    /// What: "spmv", "cg", "fill", "graph", "vector".
    pub group: &'static str,
    /// Which way.
    pub variant: String,
    /// Whether another library did it.
    pub is_peer: bool,
    /// Nodes along an edge of the box; 0 for vectors.
    pub edge: usize,
    /// Nodes, or items.
    pub nodes: usize,
    pub timing: Timing,
    /// Bytes by the formula of `run::cost`: the same for every variant of a group.
    pub bytes: u64,
    /// Bytes that this variant itself has to move, where they differ.
    pub own: Option<u64>,
}

impl Row {
    fn gb_per_s(&self) -> f64 {
        1e-9 * self.bytes as f64 / self.timing.seconds
    }
}

/// All measurements of a run.
#[derive(Debug, Default)]
pub struct Table {
    pub rows: Vec<Row>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
    /// Bandwidth of the largest copy, GB/s.
    pub copy: f64,
}

impl Table {
    pub fn add(&mut self, row: Row) {
        eprintln!("{} {} {}: {:.4} ms", row.group, row.variant, row.nodes, 1e3 * row.timing.seconds);
        if row.group == "vector" && row.variant == "copy" {
            self.copy = self.copy.max(row.gb_per_s());
        }
        self.rows.push(row);
    }

    /// Sets the bytes that the variant of the last row itself has to move.
    pub fn own(&mut self, bytes: u64) {
        if let Some(row) = self.rows.last_mut() {
            row.own = Some(bytes);
        }
    }

    pub fn note(&mut self, text: String) {
        eprintln!("{text}");
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Bandwidth by a variant's own bytes over that of the copy.
    fn own_fraction(&self, row: &Row, own: u64) -> f64 {
        1e-9 * own as f64 / row.timing.seconds / self.copy
    }

    /// For people.
    pub fn text(&self) -> String {
        let lines = self.rows.iter().map(|row| {
            vec![
                row.group.into(),
                row.nodes.to_string(),
                format!("{}{}", row.variant, if row.is_peer { " (peer)" } else { "" }),
                format!("{:.4}", 1e3 * row.timing.seconds),
                format!("{:.4}", 1e9 * row.timing.seconds / row.nodes.max(1) as f64),
                format!("{:.1}", row.gb_per_s()),
                format!("{:.2}", row.gb_per_s() / self.copy),
                row.own.map_or_else(String::new, |own| format!("{:.1}", own as f64 / row.nodes.max(1) as f64)),
                row.own.map_or_else(String::new, |own| format!("{:.2}", self.own_fraction(row, own))),
                row.timing.samples.to_string(),
            ]
        });
        let header =
            ["what", "nodes", "variant", "median ms", "ns/node", "GB/s", "of copy", "own B/node", "of copy", "samples"];
        let notes: String = self.notes.iter().map(|note| format!("not measured: {note}\n")).collect();
        format!("{}\ncopy {:.1} GB/s\n{notes}", columns(&header, lines), self.copy)
    }

    /// For `plot.py`.
    pub fn json(&self, machine: Value) -> Value {
        let rows = self.rows.iter().map(|row| {
            json!({
                "what": row.group, "variant": row.variant, "peer": row.is_peer, "edge": row.edge, "size": row.nodes,
                "median_ms": 1e3 * row.timing.seconds, "samples": row.timing.samples, "bytes": row.bytes,
                "gb_per_s": row.gb_per_s(), "fraction_of_copy": row.gb_per_s() / self.copy,
                "own_bytes": row.own, "own_fraction_of_copy": row.own.map(|own| self.own_fraction(row, own)),
            })
        });
        json!({
            "machine": machine, "copy_gb_per_s": self.copy, "notes": self.notes, "rows": rows.collect::<Vec<_>>(),
        })
    }
}
