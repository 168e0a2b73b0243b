//! Figures: of a kill, of a quick run, and those in the documentation.

use super::{deck, files, root, run, start};
use std::fs;
use std::time::{Duration, Instant};

/// A table with the given time in each row, so that its figures follow from the test and not from the machine.
fn with_times(table: &str, of: impl Fn(f64) -> f64) -> String {
    let lines = table.lines().enumerate().map(|(row, line)| {
        let mut cells: Vec<String> = line.split(',').map(String::from).collect();
        if cells.get(11).is_some_and(|cell| cell.parse::<f64>().is_ok()) {
            cells[11] = format!("{:.6}", of(row as f64));
        }
        cells.join(",") + "\n"
    });
    lines.collect()
}

#[test]
fn a_kill_leaves_each_figure_old_or_new() {
    const KILLS: u64 = 30;
    let dir = tempfile::tempdir().unwrap();
    let deck = deck(dir.path(), &[]);
    let out = dir.path().join("out");
    let folder = out.to_str().unwrap();
    assert_eq!(run(&[&deck, "--device", "cpu", "--quick", "--out", folder]).0, 0);
    let first = fs::read_to_string(out.join("x.csv")).unwrap();
    let tables = [with_times(&first, |row| 1.0 + row), with_times(&first, |row| 1.0 + row * row)];
    let redraw = [&*deck, "--quick", "--redraw", "--out", folder];
    // The figures of either table, and how long they take.
    let mut took = Duration::ZERO;
    let figures = tables.each_ref().map(|table| {
        fs::write(out.join("x.csv"), table).unwrap();
        let start = Instant::now();
        assert_eq!(run(&redraw).0, 0);
        took = start.elapsed();
        files(&out).into_iter().filter(|(name, _)| name.contains("x-")).collect::<Vec<_>>()
    });
    assert_eq!((figures[0].len(), figures[0].iter().zip(&figures[1]).filter(|(a, b)| a == b).count()), (8, 0));
    let (mut random, mut mixed) = (support::Random::new(11), 0);
    for kill in 0..KILLS {
        fs::write(out.join("x.csv"), &tables[kill as usize % 2]).unwrap();
        let mut child = start(&redraw);
        std::thread::sleep(Duration::from_micros(random.below(took.as_micros() as usize) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let found: Vec<_> = files(&out).into_iter().filter(|(name, _)| name.contains("x-")).collect();
        let is_new = |(at, figure): (usize, &(String, Vec<u8>))| {
            assert!(figure == &figures[0][at] || figure == &figures[1][at], "kill {kill}: {} is damaged", figure.0);
            figure == &figures[kill as usize % 2][at]
        };
        assert_eq!(found.len(), 8);
        let new = found.iter().enumerate().filter(|figure| is_new(*figure)).count();
        mixed += usize::from((1..8).contains(&new));
    }
    println!("{KILLS} kills, {mixed} of them between two figures");
    // A lock and temporary files that a kill left block nothing.
    assert_eq!(run(&redraw), (0, format!("{folder}/x.csv: 4 figures (SVG and PNG)\n"), String::new()));
}

#[test]
fn figures_of_a_quick_run_say_their_own_size() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let deck = root().join("inputs/contractions/figure-3.1.toml");
    // The deck says no size: those of the titles come from the rows.
    assert!(!fs::read_to_string(&deck).unwrap().contains("GiB"));
    assert_eq!(run(&[deck.to_str().unwrap(), "--device", "cpu", "--quick", "--out", out]).0, 0);
    let figure = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let times = figure("figure-3.1-time-f64.svg");
    assert!(times.contains(">Figure 3.1: FieldFieldScalar (quick run), 8 × 8, 0.125 MiB</title>"), "{times}");
    assert!(figure("figure-3.1-speedup-f64.svg").contains(">Figure 3.1: FieldFieldScalar (quick run), 8 × 8</title>"));
    let kept = fs::read_to_string(root().join("docs/contractions/figure-3.1-time-f64.svg")).unwrap();
    assert!(kept.contains(">Figure 3.1: FieldFieldScalar, 8 × 8, 1 GiB</title>"));
    // The roofline of the host's threads, from the table's own ceilings, and the host's processor.
    assert!(times.contains(">roofline, ") && times.contains("class=\"limit\""), "{times}");
    let table = fs::read_to_string(dir.path().join("figure-3.1.csv")).unwrap();
    let (version, cpu) = table.lines().next().unwrap().strip_prefix("# ").unwrap().split_once(", ").unwrap();
    assert!(!cpu.is_empty() && times.contains(&format!("; {version}</text>")), "{times}");
    let words: String = times.split(&['<', '>'][..]).collect::<Vec<_>>().join(" ");
    assert!(cpu.split(' ').all(|word| words.contains(word)), "{cpu}: {words}");
}

/// Every committed figure is the one that its table and the program make.
#[test]
fn kept_figures_are_those_of_the_kept_tables() {
    let (dir, kept) = (tempfile::tempdir().unwrap(), root().join("docs/contractions"));
    for (deck, name) in [("figure-3.1.toml", "figure-3.1"), ("figure-3.25.toml", "figure-3.25")] {
        fs::copy(kept.join(format!("{name}.csv")), dir.path().join(format!("{name}.csv"))).unwrap();
        let deck = root().join("inputs/contractions").join(deck);
        assert_eq!(run(&[deck.to_str().unwrap(), "--redraw", "--out", dir.path().to_str().unwrap()]).0, 0);
    }
    let drawn: Vec<_> = files(dir.path()).into_iter().filter(|(name, _)| name.ends_with(".svg")).collect();
    assert_eq!(drawn.len(), 8);
    for (name, text) in drawn {
        assert!(fs::read(kept.join(&name)).unwrap() == text, "{name}: redraw it from its table");
    }
}
