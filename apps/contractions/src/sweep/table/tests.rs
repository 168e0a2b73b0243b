//! Tables as they are written and read: whole ones, parts, damaged ones, numbers by hand.

use super::*;
use minifenl::space::Layout;

fn row(case: Case, variant: &str, layout: Layout, seconds: f64) -> Row {
    Row {
        case,
        variant: variant.into(),
        order: Order(layout),
        memory_mib: 1.0,
        timing: Some((seconds, 7)),
        roofline: Some(0.25),
        device: "serial".into(),
        checked: CHECKED.into(),
    }
}

fn case(points: usize) -> Case {
    Case::filling(Kernel::DataFieldVector, Precision::F64, [1, 5], points, [3, 1], 1 << 12)
}

/// Three rows with ceilings.
fn text() -> String {
    let rows = [8, 16, 32].map(|points| row(case(points), "flat", Layout::Left, 1e-3)).to_vec();
    let ceilings = vec![Ceilings { device: "serial".into(), copy: 1e10, peak: [2e10, 1e10] }];
    Table { rows, ceilings, ..Table::default() }.csv()
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
    let text = Table { rows: rows.clone(), ceilings, ..Table::default() }.csv();
    assert_eq!(text.lines().nth(3), Some("# a; b,4000,65000,62500"));
    let table = Table { rows, ..Table::default() };
    let text = text.lines().enumerate().filter(|(at, _)| ![2, 3].contains(at)).map(|(_, line)| format!("{line}\n"));
    let text: String = text.collect();
    assert_eq!(table.csv(), text);
    assert!(
        text.contains(",250,") && text.lines().nth(4).is_some_and(|line| line.contains(",2,,1,5,a; b,yes")),
        "{text}"
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.csv");
    std::fs::write(&path, &text).unwrap();
    assert_eq!(Table::read(&path).unwrap().csv(), text);
    std::fs::write(&path, text + "no row\n").unwrap();
    assert!(Table::read(&path).unwrap_err().to_string().ends_with("line 7 is not a row of a sweep"));
    assert!(Table::read(Path::new("no-such.csv")).is_err());
}

#[test]
fn version_processor_and_ceilings_are_read_again() {
    let ceilings = ["serial", "cuda:0 (NVIDIA H200)"].map(|device| Ceilings {
        device: device.into(),
        copy: 4.25e12,
        peak: [6.5e13, 6.25e13],
    });
    let cpu = Some("Intel(R) Xeon(R), 2 GHz".to_string());
    let table = Table {
        cpu: cpu.clone(),
        ceilings: ceilings.to_vec(),
        rows: vec![row(case(8), "flat", Layout::Left, 1e-3)],
        ..Table::default()
    };
    let text = table.csv();
    assert!(
        text.starts_with(&format!("# minifenl {}, Intel(R) Xeon(R), 2 GHz\n# rows 1\n", env!("CARGO_PKG_VERSION")))
    );
    let read = Table::parse(&text).unwrap();
    assert_eq!((read.cpu.as_ref(), read.version.as_deref()), (cpu.as_ref(), Some(env!("CARGO_PKG_VERSION"))));
    assert_eq!((read.ceilings.clone(), read.csv()), (ceilings.to_vec(), text.clone()));
    // Tables of earlier versions name no processor; a rate that is none is no ceiling.
    let old = text.replace(", Intel(R) Xeon(R), 2 GHz", "").replace("# serial,4250,", "# serial,inf,");
    let read = Table::parse(&old).unwrap();
    assert_eq!((read.cpu, read.ceilings), (None, ceilings[1..].to_vec()));
}

#[test]
fn no_part_of_a_table_is_a_table() {
    let whole = text();
    assert_eq!(Table::parse(&whole).unwrap().rows.len(), 3);
    // Cut after any byte.
    for end in 0..whole.len() {
        assert!(Table::parse(&whole[..end]).is_err(), "{}", &whole[..end]);
    }
    // Without any line but the version and the ceilings, or with a row twice.
    let lines: Vec<&str> = whole.lines().collect();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with("# ") || line.starts_with(ROWS)) {
        let without = [&lines[..at], &lines[at + 1..]].concat().join("\n") + "\n";
        assert!(Table::parse(&without).is_err(), "without {line}");
        let twice = [&lines[..at], &[line], &lines[at..]].concat().join("\n") + "\n";
        assert!(Table::parse(&twice).is_err(), "twice {line}");
    }
    let error = |from: &str, to: &str| Table::parse(&whole.replacen(from, to, 1)).unwrap_err();
    assert_eq!(error("# rows 3", "# rows 4"), "3 rows, but its line `# rows 4` says 4: a part of a table");
    assert!(error("# rows 3\n", "").starts_with("no line `# rows N` above the header"));
    assert!(error("# rows 3", "# rows many").starts_with("no line `# rows N`"));
}

#[test]
fn values_that_no_measurement_gives_are_refused_with_their_line() {
    let whole = text();
    let place = |name: &str| COLUMNS.iter().position(|column| *column == name).unwrap();
    let with = |name: &str, value: &str| {
        let mut lines: Vec<String> = whole.lines().map(String::from).collect();
        let at = lines.len() - 2;
        let mut cells: Vec<&str> = lines[at].split(',').collect();
        cells[place(name)] = value;
        lines[at] = cells.join(",");
        (at + 1, Table::parse(&(lines.join("\n") + "\n")))
    };
    for (name, values) in [
        ("median_ms", &["inf", "-inf", "NaN", "-1", "0", "1e999", "x", ""][..]),
        ("samples", &["0", "-1", "1.5", "inf", ""]),
        ("roofline_fraction", &["inf", "NaN", "-0.5", "x"]),
        ("memory_mib", &["inf", "NaN", "-1", "0", ""]),
        ("bytes", &["1", "inf", ""]),
        ("flops", &["1", "inf", ""]),
        ("L", &["2", "0", "-1"]),
        ("R", &["0", "6", "18446744073709551615"]),
        ("P", &["0", "17", "18446744073709551615"]),
        ("D", &["0", "3x2", "x", "18446744073709551615"]),
        ("cells", &["0", "18446744073709551615"]),
        ("kernel", &["dot", ""]),
        ("precision", &["f16"]),
        ("layout", &["up"]),
    ] {
        for value in values {
            let (line, read) = with(name, value);
            let error = read.expect_err(&format!("{name} {value}"));
            assert!(
                error.starts_with(&format!("line {line} has ")) && error.lines().count() == 1,
                "{name} {value}: {error}"
            );
        }
    }
    // A time of a result that was wrong; and what was not timed has no time.
    assert!(with("checked", "wrong: output 1 is off").1.unwrap_err().contains("a time that was not checked"));
    let untimed = Table {
        rows: vec![Row { timing: None, roofline: None, ..row(case(8), "flat", Layout::Left, 1.0) }],
        ..Table::default()
    };
    assert_eq!(Table::parse(&untimed.csv()).unwrap().rows[0].timing, None);
}

/// The least time is neither that of the first row nor that of the last.
#[test]
fn speedups_are_over_the_best_row_of_a_case() {
    let (one, other) = (case(8), case(16));
    let rows = vec![
        row(one, SERIAL, Layout::Left, 0.5),
        row(one, SERIAL, Layout::Right, 0.125),
        row(one, SERIAL, Layout::Left, 0.25),
        row(other, SERIAL, Layout::Left, 0.0625),
        row(one, LOOPS, Layout::Right, 2.0),
        row(one, "flat", Layout::Left, 0.03125),
        row(other, "flat", Layout::Left, 0.03125),
    ];
    let table = Table { rows, ..Table::default() };
    assert_eq!((table.best(SERIAL)[&one], table.best(SERIAL)[&other]), (0.125, 0.0625));
    let speedups: Vec<Vec<String>> = table.cells().map(|cells| cells[15..17].to_vec()).collect();
    assert_eq!(
        (speedups[5].clone(), speedups[6].clone()),
        (vec!["4".into(), "64".into()], vec!["2".into(), "".into()])
    );
}

/// C = 4096 / (8 (8 3 + 5 8 3 + 5)) = 3 cells: 149 numbers per cell, 2 5 24 flops per cell, in 0.5 ms.
#[test]
fn rates_equal_those_by_hand() {
    let cells =
        Table { rows: vec![row(case(8), "flat", Layout::Left, 5e-4)], ..Table::default() }.cells().next().unwrap();
    let cell = |name: &str| cells[COLUMNS.iter().position(|column| *column == name).unwrap()].as_str();
    for (name, expected) in [
        ("cells", "3"),
        ("bytes", "3576"),
        ("flops", "720"),
        ("median_ms", "0.500000"),
        ("gb_per_s", "0.007152"),
        ("gflop_per_s", "0.001440"),
        ("samples", "7"),
    ] {
        assert_eq!(cell(name), expected, "{name}");
    }
}
