//! Tests of what reports say and draw.

use super::document::Block;
use super::report::blocks;
use super::words::conclusions;
use crate::study::plan::Point;
use crate::study::{Kind, Study, Table};
use crate::testing::{self, Sample, sample, table};

fn study() -> Study {
    testing::study(Kind::Weak, vec![1, 2], vec![0, 50], 1)
}

/// Even and uneven boxes of 2 ranks; the uneven run takes `ratio` times as long for 1.5 times the rows.
fn uneven(ratio: f64) -> Table {
    let two = sample(2, [8, 16, 8], 1e-3);
    let runs = [sample(1, [8; 3], 1e-3), two, Sample { imbalance: 50, iteration: ratio * 1e-3, ..two }];
    table(Kind::Weak, &runs.map(|sample| (sample, 1)))
}

#[test]
fn uneven_boxes_are_compared_with_even_ones_on_the_same_ranks() {
    for (ratio, why) in [(1.5, "as expected"), (1.3, "gains from the memory bandwidth"), (1.7, "more than the rows")] {
        let found = uneven(ratio);
        assert_eq!(found.rows.iter().map(|row| row.point.imbalance).collect::<Vec<_>>(), [0, 0, 50]);
        let (even, times) = found.against_even(&found.rows[2]).unwrap();
        assert!(even.point == Point::even(2, 1) && (times - ratio).abs() < 1e-12, "{times}");
        let words = conclusions(&study(), &found, None).join("\n");
        let start = format!(
            "With an imbalance of 50 % (50 % asked), an iteration of CG on 2 ranks x 1 thread takes {ratio:.2} times"
        );
        assert!(words.contains(&start) && words.contains("1.50 times the rows") && words.contains(why), "{words}");
        let mut crowded = uneven(ratio);
        crowded.rows[1].placement.oversubscribed = Some("crowded".into());
        assert!(crowded.against_even(&found.rows[2]).is_none());
        // The efficiency that is told is that of even boxes.
        assert!(words.contains("CG on 2 ranks x 1 thread has an efficiency of 1.00"), "{words}");
    }
    let figures = |ratio| {
        let figure = |block| match block {
            Block::Figure(name, _, svg) => Some((name, svg)),
            _ => None,
        };
        blocks(&study(), &uneven(ratio), None).into_iter().filter_map(figure).collect::<Vec<_>>()
    };
    let [first, second] = [1.5, 1.7].map(figures);
    let (_, svg) = first.iter().find(|(name, _)| *name == "uneven").unwrap();
    assert!(svg.contains(">50 %, by rows<") && svg.contains(">0 %<"), "{svg}");
    // All other figures are those of even boxes, whatever the uneven ones take.
    assert!(first.len() > 3 && first.len() == second.len());
    assert!(first.iter().zip(&second).all(|(a, b)| (a == b) == (a.0 != "uneven")));
    // Lines of several numbers of threads say how many.
    let run = |threads, imbalance| (Sample { threads, imbalance, cores: 4, ..sample(2, [8, 16, 8], 1e-3) }, 1);
    let threads = table(Kind::Weak, &[run(1, 0), run(1, 50), run(2, 0), run(2, 50)]);
    let mut found = blocks(&study(), &threads, None).into_iter();
    let svg =
        found.find_map(|block| if let Block::Figure("uneven", _, svg) = block { Some(svg) } else { None }).unwrap();
    for name in ["0 %, 1 thread", "50 %, 1 thread", "0 %, 2 threads", "50 %, 2 threads", "50 %, 1 thread, by rows"] {
        assert!(svg.contains(&format!(">{name}<")), "{name}: {svg}");
    }
    // A study of even boxes has no such figure.
    let even = table(Kind::Weak, &[(sample(1, [8; 3], 1e-3), 1), (sample(2, [8, 16, 8], 1e-3), 1)]);
    let even = blocks(&study(), &even, None);
    assert!(
        !even
            .iter()
            .any(|block| matches!(block, Block::Figure("uneven" | "peers", ..) | Block::Heading("Uneven boxes")))
    );
}

/// Growing numbers of iterations are told, others are not.
#[test]
fn iterations_that_grow_with_the_box_are_told() {
    for (iterations, is_told) in [([50, 80], true), ([50, 50], false), ([80, 50], false)] {
        let of = |at: usize| Sample { iterations: iterations[at], ..sample(at + 1, [8, 8 * (at as u64 + 1), 8], 1e-3) };
        let words = conclusions(&study(), &table(Kind::Weak, &[(of(0), 1), (of(1), 1)]), None).join("\n");
        assert_eq!(words.contains("CG needs 50 iterations on"), is_told, "{words}");
    }
}

/// The cells of the first table with this many columns.
fn cells(blocks: &[Block], columns: usize) -> Vec<Vec<String>> {
    let found = blocks.iter().find_map(|block| match block {
        Block::Table(header, rows) if header.len() == columns => Some(rows.clone()),
        _ => None,
    });
    found.expect("a table")
}

#[test]
fn the_line_of_the_model_is_a_table_in_its_units() {
    use crate::model::{Fit, Partition, Prediction, prediction::Predicted};
    let partition = Partition {
        owned: 1024,
        owned_max: 288,
        ghosts_max: 64,
        neighbours_max: 3,
        elements: 770,
        ..Partition::default()
    };
    let model = Prediction {
        fit: Fit { slowdown: 1.0, latency: 0.0, per_byte: 0.0, per_stage: 1e-6 },
        fitted: vec![],
        held_out: vec![],
        error_fitted: 0.0,
        error_held_out: None,
        threads: 1,
        line: vec![Predicted {
            partition: Partition { ranks: 4, nodes: [8, 16, 8], ..partition },
            seconds: 1.25e-3,
            communication: 0.375,
            efficiency: 0.625,
        }],
        too_many: vec![],
    };
    let table = table(Kind::Weak, &[(sample(1, [8; 3], 1e-3), 1)]);
    let found = blocks(&testing::study(Kind::Weak, vec![1], vec![0], 1), &table, Some(&model));
    // 735 elements; two ranks compute 35 of them.
    let expected = ["4", "8x16x8", "1.125", "64", "3", "4.8 %", "1.25", "37.5 %", "0.62"];
    assert_eq!(cells(&found, 9), [expected.map(String::from)]);
}

/// Differences within half of both spreads are noise, where the boxes are alike; times are per node.
#[test]
fn two_studies_are_compared_per_node_and_within_their_spreads() {
    let runs = |time: f64, nodes| {
        let runs = [0.9, 1.0, 1.1].map(|factor| sample(1, nodes, time * factor));
        table(Kind::Weak, &runs.into_iter().zip(1..).collect::<Vec<_>>())
    };
    let ratio_of_cg = |second: &Table| {
        let (first, study) = (runs(1e-3, [8; 3]), testing::study(Kind::Weak, vec![1], vec![0], 3));
        let text = super::report::of_two(["a", "b"], [&study, &study], [&first, second]);
        let line = text.lines().find(|line| line.contains("| cg |")).unwrap();
        line.split(" | ").skip(3).take(3).collect::<Vec<_>>().join(" ")
    };
    // Spreads of 0.2 and 0.22 ms: their halves together are 0.21 ms.
    assert_eq!(ratio_of_cg(&runs(1.2e-3, [8; 3])), "1.00 1.20 1.20 (noise)");
    assert_eq!(ratio_of_cg(&runs(1.25e-3, [8; 3])), "1.00 1.25 1.25");
}
