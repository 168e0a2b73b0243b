//! Words of the figures: devices, what speedups are over, numbers.

use crate::sweep::case::Order;
use crate::sweep::table::{LOOPS, Row, SERIAL, THREADS};

/// The GPU of the rows, or else their host; `None` of no rows.
pub fn device<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Option<String> {
    let gpu = rows.clone().find(|row| row.device.starts_with("cuda"));
    let name = &gpu.or_else(|| rows.into_iter().last())?.device;
    // "cuda:0 (NVIDIA H200)" is known by what is in parentheses.
    let inside = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    Some(inside.filter(|_| gpu.is_some()).unwrap_or(name).to_string())
}

/// What is divided by the time of each variant: the host's layout, or that of each GPU's row.
pub fn over_words(over: &str, host: Option<Order>) -> String {
    let what = match over {
        LOOPS => "the report's serial loops on one core of the host",
        SERIAL => "this library on one core of the host",
        THREADS => "this library on the threads of the host",
        _ => over,
    };
    match host {
        Some(order) => format!("{what} ({order} layout)"),
        None => format!("{what} in the same layout"),
    }
}

/// Two or three digits.
pub fn short(value: f64) -> String {
    match value {
        value if value >= 9.95 || value.fract() == 0.0 => format!("{value:.0}"),
        value if value >= 0.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// Without a row of zeros.
pub fn plain(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 || (size < 1e-3 && size > 0.0) => format!("{value:.1e}"),
        size if size >= 10.0 => format!("{value:.0}"),
        _ => format!("{}", (value * 1e4).round() / 1e4),
    }
}
