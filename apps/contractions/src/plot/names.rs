//! Words of the figures: machines and versions, what speedups are over.

use super::groups::is_on_host;
use crate::sweep::Table;
use crate::sweep::case::Order;
use crate::sweep::table::{LOOPS, Row, SERIAL, THREADS};

/// A device by its name in the table: "cuda:0 (NVIDIA H200)" is H200, "threads(16)" 16 threads.
pub fn device(name: &str) -> String {
    let inside = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    match inside {
        Some("1") => "1 thread".into(),
        Some(count) if name.starts_with(THREADS) => format!("{count} threads"),
        Some(gpu) => gpu.trim_start_matches("NVIDIA ").into(),
        None if name == SERIAL => "1 core".into(),
        None => name.into(),
    }
}

/// GPU, processor with its threads, and version; `None` for no rows.
pub fn source(rows: &[&Row], table: &Table) -> Option<String> {
    let gpu = rows.iter().find(|row| !is_on_host(row)).map(|row| {
        let name = &row.device;
        name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name).to_string()
    });
    // Speedups of a GPU may be over times of the host, which are not drawn.
    let on_host = |rows: &mut dyn Iterator<Item = &Row>| {
        rows.filter(|row| is_on_host(row)).map(|row| device(&row.device)).max_by_key(|name| name.contains("thread"))
    };
    let host = on_host(&mut rows.iter().copied())
        .or_else(|| on_host(&mut table.rows.iter().filter(|row| row.timing.is_some())));
    let host = host.map(|threads| match (&table.cpu, gpu.is_some()) {
        (Some(cpu), true) => format!("host: {cpu}, {threads}"),
        (None, true) => format!("host: {threads}"),
        (Some(cpu), false) => format!("{cpu}, {threads}"),
        (None, false) => threads,
    });
    let version = table.version.as_ref().map(|version| format!("minifenl {version}"));
    rows.first()?;
    Some([gpu, host, version].into_iter().flatten().collect::<Vec<_>>().join("; "))
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

#[test]
fn devices_are_named_as_people_name_them() {
    let names = ["cuda:0 (NVIDIA H200)", "threads(16)", "threads(1)", "serial", "cuda:1"].map(device);
    assert_eq!(names, ["H200", "16 threads", "1 thread", "1 core", "cuda:1"]);
}
