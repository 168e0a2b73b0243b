//! What storages on hosts refuse, and what `auto` leaves alone.

use super::host_slices::HostSlices;
use super::host_tests::{box_columns, of_unknowns, on, product, random_columns, whole};
use crate::space::{Serial, Threads};
use crate::sparse::CrsMatrix;
use crate::sparse::{Format, FormatCopy, Formats, HostMatrix, MatrixStorage, Operator, Precision};

#[test]
fn halves_refuse_what_is_not_symmetric_and_say_where() {
    let a = on(box_columns([13, 17, 7], 0), 13 * 17 * 7, whole);
    let entry =
        |row: usize, column: u32| a.graph().row_range(row).start + a.graph().row(row).binary_search(&column).unwrap();
    // In the first slice, in the middle, in the last row; below and above the diagonal.
    for (row, column) in [(1, 0), (0, 1), (800, 799), (799, 800), (1546, 1545), (1545, 1546), (700, 465), (465, 700)] {
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let refused = |a: &CrsMatrix| {
                let mut slices = HostSlices::<f64>::new(&space, a.graph(), true).unwrap();
                slices.update(&space, a).map_err(|error| error.to_string())
            };
            let mut changed = a.clone();
            let place = entry(row, column);
            changed.parts_mut().1[place] += 1e-6;
            let message = refused(&changed).unwrap_err();
            let pair = format!("({}, {})", row.max(column as usize), row.min(column as usize));
            assert!(message.contains("not symmetric") && message.contains(&pair), "{message}");
            // By rounding: accepted, and reported.
            let mut rounded = a.clone();
            rounded.parts_mut().1[place] = a.values()[place].next_up();
            assert_eq!(refused(&rounded), Ok(()));
            assert_eq!(refused(&a), Ok(()));
        }
    }
    // An entry without a partner, in a regular and in a random graph.
    for (mut columns, width) in [(box_columns([13, 17, 7], 0), 1547), (random_columns(777, 4000), 777)] {
        let lost = columns[500].iter().copied().find(|&column| column as usize != 500).unwrap();
        columns[500].remove(&lost);
        let refused = HostSlices::<f64>::new(&Serial, on(columns, width, whole).graph(), true).unwrap_err().to_string();
        assert!(refused.contains("entries below the diagonal"), "{refused}");
    }
    // As many below as above, but not of the same pairs.
    let mut columns = box_columns([13, 17, 7], 0);
    columns[500].remove(&499);
    columns[600].remove(&601);
    let unpaired = on(columns, 1547, |_, _| 2.0);
    let mut slices = HostSlices::<f64>::new(&Serial, unpaired.graph(), true).unwrap();
    let refused = slices.update(&Serial, &unpaired).unwrap_err().to_string();
    assert!(refused.contains("not symmetric: entry (500, 499) is 0e0, entry (499, 500) is 2e0"), "{refused}");
}

/// Entries of blocks on the diagonal and beside it, where all others are those of a symmetric matrix.
#[test]
fn halves_of_blocks_refuse_what_is_not_symmetric() {
    let mut irregular = box_columns([13, 17, 7], 0);
    for row in (600..700u32).step_by(3) {
        let other = row * 7 % 1547;
        irregular[row as usize].insert(other);
        irregular[other as usize].insert(row);
    }
    for (columns, d) in [(box_columns([13, 17, 7], 0), 3), (box_columns([13, 17, 7], 0), 2), (irregular, 3)] {
        let rows = 1547 * d as usize;
        let a = on(of_unknowns(&columns, d), rows, whole);
        let near = |node: u32, other: u32, [c, e]: [u32; 2]| ((d * node + c) as usize, d * other + e);
        let last = d - 1;
        for (row, column) in [
            near(1, 0, [0, 0]),
            near(0, 1, [last, 0]),
            near(800, 799, [0, last]),
            near(800, 800, [last, 0]),
            near(800, 800, [0, 1]),
            near(1546, 1546, [1, 0]),
            near(1546, 1545, [1, last]),
            near(700, 465, [last, 1]),
            near(465, 700, [0, last]),
            near(630, 631, [1, 1]),
        ] {
            for threads in [1, 3] {
                let space = Threads::new(threads).unwrap();
                let mut changed = a.clone();
                let place = a.graph().row_range(row).start + a.graph().row(row).binary_search(&column).unwrap();
                changed.parts_mut().1[place] += 1e-6;
                let mut slices = HostSlices::<f64>::new(&space, a.graph(), true).unwrap();
                let message = slices.update(&space, &changed).unwrap_err().to_string();
                let pair = format!("({}, {})", row.max(column as usize), row.min(column as usize));
                assert!(message.contains("not symmetric") && message.contains(&pair), "{d}: {pair}: {message}");
                changed.parts_mut().1[place] = a.values()[place].next_up();
                assert_eq!(slices.update(&space, &changed), Ok(()));
                assert_eq!(slices.update(&space, &a), Ok(()));
            }
        }
    }
}

/// The pieces of up to as many threads as there are slices begin at every slice; pairs of its first and its last row are changed.
#[test]
fn pairs_at_the_borders_of_pieces_are_compared_whatever_the_threads() {
    let columns = box_columns([13, 5, 7], 0);
    for d in [1, 3] {
        let a = on(of_unknowns(&columns, d), 455 * d as usize, whole);
        let at_ends = (0..455).filter(|node| [0, 31].contains(&(node % 32)) || *node == 454);
        let below = at_ends.flat_map(|node| columns[node].range(..node as u32).map(move |&other| (node, other)));
        // The last unknown of the row's node and the first of the column's.
        let pairs: Vec<(usize, u32)> =
            below.map(|(node, other)| (d as usize * (node + 1) - 1, d * other)).step_by(d as usize).collect();
        for threads in 1..=455usize.div_ceil(32) {
            let space = Threads::new(threads).unwrap();
            let (mut changed, mut slices) = (a.clone(), HostSlices::<f64>::new(&space, a.graph(), true).unwrap());
            for &(row, column) in &pairs {
                let place = a.graph().row_range(row).start + a.graph().row(row).binary_search(&column).unwrap();
                changed.parts_mut().1[place] += 1e-6;
                let message = slices.update(&space, &changed).unwrap_err().to_string();
                assert!(message.contains(&format!("entry ({row}, {column}) is")), "{threads} threads: {message}");
                changed.parts_mut().1[place] = a.values()[place];
            }
            assert_eq!(slices.update(&space, &a), Ok(()), "{threads} threads");
        }
    }
}

#[test]
fn values_beyond_single_precision_are_refused_with_their_place() {
    let a = on(box_columns([13, 17, 7], 0), 1547, |_, _| 1.5);
    for (value, is_fine) in [
        (1e39, false),
        (-1e-39, false),
        (1e-300, false),
        (3e38, true),
        (-1.2e-38, true),
        (0.0, true),
        (f64::INFINITY, true),
    ] {
        for format in [Format::Crs, Format::Pattern, Format::Symmetric] {
            let mut matrix =
                HostMatrix::new(&Serial, MatrixStorage { values: Precision::F32, ..format.into() }, a.graph().clone())
                    .unwrap();
            let diagonal = a.graph().row_range(900).start + a.graph().row(900).binary_search(&900).unwrap();
            Threads::values_mut(&mut matrix).copy_from_slice(a.values());
            Threads::values_mut(&mut matrix)[diagonal] = value;
            match Serial.update(&mut matrix) {
                Ok(is_copied) => assert!(is_fine && is_copied, "{format} {value}"),
                Err(error) => {
                    let message = error.to_string();
                    assert!(!is_fine && message.contains("entry (900, 900)") && message.contains("f64"), "{message}");
                }
            }
        }
    }
}

#[test]
fn slices_take_values_of_their_own_graph_only_and_again() {
    let a = on(box_columns([13, 17, 7], 0), 1547, whole);
    let other = on(box_columns([13, 17, 7], 0), 1547, whole);
    let mut slices = HostSlices::<f64>::new(&Serial, a.graph(), true).unwrap();
    assert!(slices.update(&Serial, &other).unwrap_err().to_string().contains("another graph"));
    let mut twice = a.clone();
    twice.parts_mut().1.iter_mut().for_each(|value| *value *= 2.0);
    let x: Vec<f64> = (0..1547).map(|i| (i % 11) as f64).collect();
    for a in [&a, &twice, &a] {
        slices.update(&Serial, a).unwrap();
        let mut y = vec![0.0; 1547];
        slices.apply(&Serial, &mut x.clone(), &mut y).unwrap();
        assert_eq!(y, product(a, &x));
    }
}
