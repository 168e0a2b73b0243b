//! What [`Variant::Auto`] stands for: the best that was measured for a case near enough, else a rule.
//! [`Variant::AutoInOrder`] chooses among those that add in the order of the terms.

use super::plan::{Plan, tiled_warps};
use super::variant::Variant;
use super::work::{Family, Limits, Work};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Measured times, written by the sweep named in its first lines.
const TABLE: &str = include_str!("../auto.csv");

/// Which index lies side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Side {
    /// Cells.
    Left,
    /// Terms.
    Right,
}

/// A case of the table with its variants, the fastest first.
#[derive(Clone, Debug)]
struct Case {
    family: Family,
    side: Side,
    item: usize,
    /// Logarithms of left and right fields, terms, points, cells.
    sizes: [f64; 5],
    /// With medians in milliseconds.
    times: Vec<(Variant, f64)>,
}

/// Columns of the table that are read.
const COLUMNS: [&str; 10] = ["kernel", "variant", "layout", "precision", "L", "R", "P", "D", "cells", "median_ms"];

/// A line of the table: its case, with the one variant.
fn case(line: &str, columns: &[usize; 10]) -> Option<Case> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let field = |at: usize| fields.get(columns[at]).copied();
    let number = |at: usize| field(at)?.parse::<f64>().ok().filter(|x| *x > 0.0);
    let (family, rank) = field(0)?.rsplit_once('_')?;
    let family = match family {
        "field_field" => Family::FieldField,
        "data_field" => Family::DataField,
        "data_data" => Family::DataData,
        _ => return None,
    };
    let power = ["scalar", "vector", "tensor"].iter().position(|name| *name == rank)?;
    let side = match field(2)? {
        "left" => Side::Left,
        "right" => Side::Right,
        _ => return None,
    };
    let item = match field(3)? {
        "f32" => 4,
        "f64" => 8,
        _ => return None,
    };
    // Data have one field, whatever the table says of it.
    let left = if family == Family::FieldField { number(4)? } else { 1.0 };
    let right = if family == Family::DataData { 1.0 } else { number(5)? };
    // "3" of vectors, "3x2" of tensors, or "3" for 3 x 3.
    let dims: Vec<f64> = field(7)?.split('x').map(str::parse).collect::<Result<_, _>>().ok()?;
    let dims: f64 = (0..power).map(|d| dims.get(d).or(dims.last()).copied().unwrap_or(1.0)).product();
    let terms = number(6)? * dims;
    let sizes = [left, right, terms, number(6)?, number(8)?].map(f64::ln);
    Some(Case { family, side, item, sizes, times: vec![(field(1)?.parse().ok()?, number(9)?)] })
}

/// Cases of a table with a line of names; lines that begin with `#`, and variants that are no more, are passed over.
fn cases(table: &str) -> Vec<Case> {
    let mut lines = table.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let names: Vec<&str> = lines.next().unwrap_or("").split(',').map(str::trim).collect();
    let columns = COLUMNS.map(|name| names.iter().position(|found| *found == name).unwrap_or(usize::MAX));
    let mut cases: Vec<Case> = Vec::new();
    for found in lines.filter_map(|line| case(line, &columns)).filter(|case| !case.times[0].0.is_auto()) {
        let same = |case: &&mut Case| {
            (case.family, case.side, case.item, case.sizes) == (found.family, found.side, found.item, found.sizes)
        };
        match cases.iter_mut().find(same) {
            Some(case) => case.times.extend(found.times),
            None => cases.push(found),
        }
    }
    for case in &mut cases {
        case.times.sort_by(|a, b| a.1.total_cmp(&b.1));
    }
    cases
}

/// Of two cases: the sum of the logarithms of the sizes' ratios; twice as many cells are half as far as twice as many terms. Points only
/// decide among cases of the same number of terms.
fn distance(a: &[f64; 5], b: &[f64; 5]) -> f64 {
    let weights = [1.0, 1.0, 1.0, 0.01, 0.5];
    a.iter().zip(b).zip(weights).map(|((a, b), weight)| weight * (a - b).abs()).sum()
}

/// A case is near when all together it is off by less than a factor of 8.
const NEAR: f64 = 2.1;

/// Choices that a thread remembers.
const REMEMBERED: usize = 4096;

/// One of the others, which applies; `is_ordered`: of those that add in the order of the terms.
pub fn choose(work: &Work, limits: &Limits, is_ordered: bool) -> Variant {
    thread_local! {
        static CHOSEN: RefCell<HashMap<(Work, Limits, bool), Variant>> = RefCell::default();
    }
    CHOSEN.with_borrow_mut(|chosen| {
        if chosen.len() >= REMEMBERED {
            chosen.clear();
        }
        *chosen.entry((*work, *limits, is_ordered)).or_insert_with(|| find(work, limits, is_ordered))
    })
}

fn find(work: &Work, limits: &Limits, is_ordered: bool) -> Variant {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    let applies = |variant: Variant| (!is_ordered || variant.keeps_order()) && Plan::new(work, variant, limits).is_ok();
    from_table(work, CASES.get_or_init(|| cases(TABLE)), applies).unwrap_or_else(|| rule(work, limits, applies))
}

fn from_table(work: &Work, cases: &[Case], applies: impl Fn(Variant) -> bool) -> Option<Variant> {
    let side = match (work.by_cells, work.terms.are_packed()) {
        (true, _) => Side::Left,
        (false, true) => Side::Right,
        (false, false) => return None,
    };
    let [cells, left, right] = work.sizes;
    let sizes = [left, right, work.terms.count(), work.contracted[0], cells].map(|size| (size as f64).ln());
    let near = cases
        .iter()
        .filter(|case| (case.family, case.side, case.item) == (work.family, side, work.item))
        .map(|case| (distance(&case.sizes, &sizes), case))
        .filter(|(distance, _)| *distance < NEAR)
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    near.1.times.iter().map(|(variant, _)| *variant).find(|variant| applies(*variant))
}

/// Bytes from which compiling, a part of a second once, is worth it.
const MANY_BYTES: usize = 256 << 10;
/// Fields from which a block works on a tile of a cell.
const MANY_FIELDS: usize = 33;

/// Without measurements: by what limits a kernel. Cells side by side: the largest tile that leaves enough warps. Terms side
/// by side: tensor cores where they are, cells in shared memory, vectors over the terms. Else a thread an output.
fn rule(work: &Work, limits: &Limits, applies: impl Fn(Variant) -> bool) -> Variant {
    let [_, left, right] = work.sizes;
    // What keeps a multiprocessor busy: 8 warps of independent loads.
    let enough = 8 * limits.multiprocessors;
    let is_much = work.bytes() >= MANY_BYTES;
    let first = |order: &[Variant]| order.iter().copied().find(|&variant| applies(variant)).unwrap_or(Variant::Flat);
    let few = work.sizes.iter().product::<usize>() < enough * 32 && work.terms.count() >= 32;
    if !work.by_cells {
        return match work.family {
            _ if !work.terms.are_packed() => Variant::Flat,
            Family::FieldField if is_much && left.max(right) >= MANY_FIELDS => {
                first(&[Variant::DmmaBlocked, Variant::FixedBlocked, Variant::FixedSplit])
            }
            Family::FieldField if is_much => {
                first(&[Variant::Dmma, Variant::FixedSplit, Variant::FixedStaged, Variant::FixedBlocked])
            }
            _ if is_much => first(&[Variant::FixedRows]),
            _ if few => first(&[Variant::Team2]),
            _ => Variant::Flat,
        };
    }
    let tiles: &[(Variant, usize, usize)] = match (left, right) {
        (1, 1) => &[],
        (1, _) => &[(Variant::Tile1x8, 1, 8)],
        (..=4, _) | (_, ..=4) => &[(Variant::Tile4x4, 4, 4)],
        _ => &[(Variant::Tile8x8, 8, 8), (Variant::Tile4x4, 4, 4)],
    };
    let tile = tiles.iter().find(|(_, rows, columns)| tiled_warps(work, *rows, *columns) >= enough);
    match tile {
        Some((Variant::Tile8x8 | Variant::Tile1x8, ..)) if is_much => first(&[Variant::FixedLanes]),
        Some((tile, ..)) => *tile,
        // As many threads an output as there are terms for, where outputs are few.
        None if few && work.terms.count() >= 256 => first(&[Variant::Teamstride128]),
        None => Variant::Flat,
    }
}

#[cfg(test)]
mod tests {
    use super::super::work::Terms;
    use super::*;

    const H200: Limits = Limits { multiprocessors: 132, shared: 227 << 10, dmma: true };

    fn work(family: Family, sizes: [usize; 3], terms: usize, side: Side, item: usize) -> Work {
        let strides = [[0, 0, if side == Side::Right { 1 } else { sizes[0] }]; 2];
        Work {
            family,
            sizes,
            contracted: [terms, 1, 1],
            terms: Terms { extents: [1, 1, terms], strides },
            item,
            alignment: 16,
            is_line: true,
            pairs: true,
            is_output_line: true,
            by_cells: side == Side::Left,
        }
    }

    fn ruled(work: &Work) -> Variant {
        rule(work, &H200, |variant| Plan::new(work, variant, &H200).is_ok())
    }

    #[test]
    fn tiles_for_many_cells_side_by_side() {
        let choose = |sizes: [usize; 3]| {
            let family = if sizes[1] > 1 { Family::FieldField } else { Family::DataField };
            ruled(&work(family, sizes, 24, Side::Left, 8))
        };
        assert_eq!(choose([100_000, 8, 8]), Variant::FixedLanes);
        assert_eq!(choose([20_000, 8, 8]), Variant::Tile4x4);
        assert_eq!(choose([100, 8, 8]), Variant::Flat);
        assert_eq!(choose([100_000, 8, 3]), Variant::Tile4x4);
        assert_eq!(choose([100_000, 1, 8]), Variant::FixedLanes);
        assert_eq!(choose([100_000, 1, 1]), Variant::Flat);
        assert_eq!(tiled_warps(&work(Family::FieldField, [33, 9, 8], 24, Side::Left, 8), 8, 8), 4);
    }

    #[test]
    fn terms_side_by_side_are_loaded_in_vectors() {
        let choose = |family, sizes, terms, item| ruled(&work(family, sizes, terms, Side::Right, item));
        assert_eq!(choose(Family::FieldField, [100_000, 8, 8], 24, 8), Variant::Dmma);
        assert_eq!(choose(Family::FieldField, [100_000, 8, 8], 24, 4), Variant::FixedSplit);
        assert_eq!(choose(Family::FieldField, [100_000, 10, 10], 24, 8), Variant::Dmma);
        assert_eq!(choose(Family::FieldField, [1000, 125, 125], 2048, 4), Variant::FixedBlocked);
        assert_eq!(choose(Family::FieldField, [1000, 125, 125], 2048, 8), Variant::DmmaBlocked);
        assert_eq!(choose(Family::DataData, [1_000_000, 1, 1], 72, 8), Variant::FixedRows);
        assert_eq!(choose(Family::DataData, [200, 1, 1], 72, 8), Variant::Team2);
        assert_eq!(choose(Family::FieldField, [50, 8, 8], 8, 8), Variant::Flat);
    }

    const SMALL: &str = "# made by hand\n\
        kernel,variant,layout,precision,L,R,P,D,cells,median_ms,gb_per_s,gflop_per_s\n\
        field_field_vector,flat,left,f64,8,8,8,3,1000,2.0,1,1\n\
        field_field_vector,tile8,left,f64,8,8,8,3,1000,1.0,1,1\n\
        field_field_vector,dmma,left,f64,8,8,8,3,1000,0.5,1,1\n\
        field_field_vector,no-such,left,f64,8,8,8,3,1000,0.1,1,1\n\
        data_data_tensor,teamstride64,right,f32,1,1,8,3x3,1000,1.0,1,1\n";

    #[test]
    fn the_fastest_that_applies_of_the_nearest_case() {
        let cases = cases(SMALL);
        assert_eq!(cases.len(), 2);
        let near = |family, sizes, terms, side, item| {
            let work = work(family, sizes, terms, side, item);
            from_table(&work, &cases, |variant| Plan::new(&work, variant, &H200).is_ok())
        };
        // Cells side by side: tensor cores do not apply.
        assert_eq!(near(Family::FieldField, [1100, 8, 8], 24, Side::Left, 8), Some(Variant::Tile8));
        assert_eq!(near(Family::FieldField, [1100, 8, 8], 24, Side::Left, 4), None);
        assert_eq!(near(Family::FieldField, [1100, 27, 27], 24, Side::Left, 8), None);
        assert_eq!(near(Family::DataData, [500, 1, 1], 72, Side::Right, 4), Some(Variant::Teamstride64));
    }

    /// Where a sweep has the choice: how much slower than the fastest recorded it is, by case.
    fn behind(sweep: &str) -> Vec<(f64, String)> {
        let ratio = |case: &Case| {
            let [left, right, terms, points, cells] = case.sizes.map(|size| size.exp().round() as usize);
            let mut work = work(case.family, [cells, left, right], terms, case.side, case.item);
            work.contracted[0] = points;
            (work.is_line, work.pairs) = (true, right.is_multiple_of(2));
            if !(terms * work.item).is_multiple_of(16) {
                work.alignment = work.item;
            }
            let chosen = choose(&work, &H200, false);
            let time = case.times.iter().find(|(variant, _)| *variant == chosen)?.1;
            let best = case.times[0];
            let text = format!("{case:?}: {chosen} takes {time} ms, {} {} ms", best.0, best.1);
            Some((time / best.1, text))
        };
        cases(sweep).iter().filter_map(ratio).collect()
    }

    /// Auto's choice for each case of the sweeps that it learnt from is at most 10 % slower than the fastest recorded.
    #[test]
    fn auto_is_never_far_behind_the_last_sweep() {
        let sweeps = [
            ("auto", include_str!("../../../docs/contractions/auto.csv"), 352 - 72),
            ("fem", include_str!("../../../docs/contractions/fem.csv"), 72),
        ];
        for (name, sweep, count) in sweeps {
            let behind = behind(sweep);
            assert!(behind.len() >= count, "{name}: {} of {count} cases", behind.len());
            for (ratio, text) in behind {
                assert!(ratio <= 1.1, "{name}: {ratio:.2}: {text}");
            }
        }
    }

    #[test]
    fn every_row_of_the_table_is_read() {
        let (cases, mut checked) = (cases(TABLE), 0);
        for case in &cases {
            checked += case.times.len();
        }
        println!("auto: {checked} rows of {} cases checked", cases.len());
        let written = TABLE.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).count();
        assert_eq!(checked + 1, written, "auto.csv");
    }
}
