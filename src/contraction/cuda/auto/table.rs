//! The tuning table: measured times by case, and the cases that are near a contraction.

use super::super::work::{Family, WARP, Work};
use crate::contraction::Variant;
use crate::contraction::shape::Shape;
use crate::space::Layout;
use std::collections::HashMap;

/// The index that is contiguous in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Cells.
    Left,
    /// Terms.
    Right,
}

/// A contraction of packed arrays with its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which operands have fields.
    pub family: Family,
    /// The index that is contiguous in memory.
    pub side: Side,
    /// Bytes of a number.
    pub item: usize,
    /// Cells, left fields, right fields.
    pub sizes: [usize; 3],
    /// Indices after the points: 0, 1 or 2.
    pub rank: usize,
    /// Points, dims, dims.
    pub contracted: [usize; 3],
}

/// A case of a table with its variants, the fastest first.
#[derive(Clone, Debug)]
pub struct Case {
    /// What was measured.
    pub key: Key,
    /// Position for distances between cases: logarithms of left and right fields, terms, points, cells.
    near: [f64; 5],
    /// Variants with the median of their times in milliseconds.
    pub times: Vec<(Variant, f64)>,
}

const RANKS: [&str; 3] = ["scalar", "vector", "tensor"];
/// Columns of a table that are read.
const COLUMNS: [&str; 10] = ["kernel", "variant", "layout", "precision", "L", "R", "P", "D", "cells", "median_ms"];

/// Largest product of all sizes of a case, in bytes, so that no size computed from them overflows.
const MOST: usize = isize::MAX as usize;

impl Key {
    /// The contraction of this case with arrays aligned to 16 bytes.
    pub(in super::super) fn work(&self) -> Work {
        let (layout, [cells, left, right]) =
            (if self.side == Side::Left { Layout::Left } else { Layout::Right }, self.sizes);
        let [points, d1, d2] = self.contracted;
        let shape = |fields: usize| {
            let extents = [cells, fields, points, d1, d2];
            Shape { extents, strides: layout.strides(extents) }
        };
        let fields = [self.family == Family::FieldField, self.family != Family::DataData];
        let out = layout.strides([cells, left, right]);
        Work::new(fields, [(16, &shape(left)), (16, &shape(right))], (16, out), self.item)
    }

    /// A line of a table without its newline.
    pub fn line(&self, variant: Variant, ms: f64) -> String {
        let family = self.family;
        let (layout, bits) = (if self.side == Side::Left { "left" } else { "right" }, 8 * self.item);
        let ([cells, left, right], [points, d1, d2]) = (self.sizes, self.contracted);
        let dims = if self.rank == 2 { format!("{d1}x{d2}") } else { d1.to_string() };
        let rank = RANKS[self.rank];
        format!("{family}_{rank},{variant},{layout},f{bits},{left},{right},{points},{dims},{cells},{ms:.5}")
    }
}

/// The first line of a table of [`Key::line`]s.
pub fn header() -> String {
    COLUMNS.join(",")
}

/// Reads a line of a table: case, variant and time.
fn line(text: &str, columns: &[usize; 10]) -> Option<(Key, Variant, f64)> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let field = |at: usize| fields.get(columns[at]).copied();
    let number = |at: usize| field(at)?.parse::<usize>().ok().filter(|n| *n > 0);
    let (family, rank) = field(0)?.rsplit_once('_')?;
    let family: Family = family.parse().ok()?;
    let rank = RANKS.iter().position(|name| *name == rank)?;
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
    // Data have one field, whatever the table states.
    let left = if family == Family::FieldField { number(4)? } else { 1 };
    let right = if family == Family::DataData { 1 } else { number(5)? };
    // "3" for vectors, "3x2" for tensors, where "3" means 3 x 3.
    let dims: Vec<usize> = field(7)?.split('x').map(str::parse).collect::<Result<_, _>>().ok()?;
    let dim = |d: usize| if d < rank { dims.get(d).or(dims.last()).copied().unwrap_or(1) } else { 1 };
    let (sizes, contracted) = ([number(8)?, left, right], [number(6)?, dim(0), dim(1)]);
    // No array of a real case, and no number of products, exceeds the address space.
    let factors = sizes.iter().chain(&contracted).chain([&item]);
    factors.copied().try_fold(1, usize::checked_mul).filter(|bytes| (1..=MOST).contains(bytes))?;
    let ms = field(9)?.parse().ok().filter(|ms: &f64| ms.is_finite() && *ms > 0.0)?;
    Some((Key { family, side, item, sizes, rank, contracted }, field(1)?.parse().ok()?, ms))
}

/// Reads the cases of a table (CSV with a header). Comment lines (`#`), unknown variants, cases larger than the address space and
/// the rows of Auto itself are skipped.
pub fn cases(table: &str) -> Vec<Case> {
    let mut lines = table.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let names: Vec<&str> = lines.next().unwrap_or("").split(',').map(str::trim).collect();
    let columns = COLUMNS.map(|name| names.iter().position(|found| *found == name).unwrap_or(usize::MAX));
    let (mut cases, mut places): (Vec<Case>, HashMap<Key, usize>) = Default::default();
    // The rows of Auto do not state what it chose.
    for (key, variant, ms) in lines.filter_map(|text| line(text, &columns)).filter(|(_, variant, _)| !variant.is_auto())
    {
        let at = *places.entry(key).or_insert(cases.len());
        if at == cases.len() {
            cases.push(Case::new(key, Vec::new()));
        }
        cases[at].times.push((variant, ms));
    }
    cases.iter_mut().for_each(Case::sort);
    cases
}

/// Returns the position for distances: logarithms of left and right fields, terms, points, cells.
fn near(sizes: [usize; 3], terms: usize, points: usize) -> [f64; 5] {
    let [cells, left, right] = sizes;
    [left, right, terms, points, cells].map(|size| (size as f64).ln())
}

/// Returns the distance of two positions: the weighted sum of the logarithms of the ratios of sizes. A factor in cells counts
/// half as much as a factor in terms. Points decide only among cases with the same number of terms.
fn distance(a: &[f64; 5], b: &[f64; 5]) -> f64 {
    let weights = [1.0, 1.0, 1.0, 0.01, 0.5];
    a.iter().zip(b).zip(weights).map(|((a, b), weight)| weight * (a - b).abs()).sum()
}

/// Distance below which a case is near: ratios of sizes with a product below about 8.
const NEAR: f64 = 2.1;
/// Largest ratio to a case's fastest time at which a variant may be chosen: the fastest need not apply.
pub const SLOWEST: f64 = 1.25;

impl Case {
    /// A case with its variants, the fastest first, each with its median in milliseconds.
    pub fn new(key: Key, times: Vec<(Variant, f64)>) -> Self {
        let near = near(key.sizes, key.contracted.iter().product(), key.contracted[0]);
        Case { key, near, times }
    }

    /// Sorts the variants by time.
    fn sort(&mut self) {
        self.times.sort_by(|a, b| a.1.total_cmp(&b.1));
    }

    /// Takes over the times that another table has for this case: the least per variant.
    pub fn take(&mut self, other: &Case) {
        for &(variant, ms) in &other.times {
            match self.times.iter_mut().find(|(known, _)| *known == variant) {
                Some((_, least)) => *least = least.min(ms),
                None => self.times.push((variant, ms)),
            }
        }
        self.sort();
    }

    /// Returns whether the time of a variant in this case is comparable for `work`. The threads per output of `data_data` depend
    /// on the last extents; a factor of up to two between the case and `work` is allowed.
    fn tells_of(&self, variant: Variant, work: &Work) -> bool {
        let count = match variant {
            Variant::Team1 => 1,
            Variant::Team2 => 2,
            _ => return true,
        };
        let there = Work { contracted: self.key.contracted, ..*work };
        let [there, here] = [&there, work].map(|work| work.last(count).div_ceil(WARP));
        work.family != Family::DataData || (here <= 2 * there && there <= 2 * here)
    }
}

/// Returns the index that is contiguous; for a single cell without contiguous terms, the cells.
pub fn side(work: &Work) -> Option<Side> {
    match (work.by_cells, work.terms.are_packed(), work.sizes[0]) {
        (true, ..) => Some(Side::Left),
        (_, true, _) => Some(Side::Right),
        (.., 1) => Some(Side::Left),
        _ => None,
    }
}

/// Returns the fastest variant that `applies`, from the nearest case with one within [`SLOWEST`]. `is_ordered`
/// restricts the choice to variants that add in the order of the terms.
pub fn fastest<'a>(
    work: &Work,
    cases: impl IntoIterator<Item = &'a Case>,
    is_ordered: bool,
    applies: impl Fn(Variant) -> bool,
) -> Option<Variant> {
    let (side, here) = (side(work)?, near(work.sizes, work.terms.count(), work.contracted[0]));
    let is_like = |case: &&Case| (case.key.family, case.key.side, case.key.item) == (work.family, side, work.item);
    let of = |case: &'a Case| {
        let mut times = case.times.iter().filter(|(variant, _)| !is_ordered || variant.keeps_order());
        let most = SLOWEST * times.clone().next()?.1;
        let found = times.find(|&&(variant, ms)| ms <= most && case.tells_of(variant, work) && applies(variant));
        found.map(|(variant, _)| *variant)
    };
    let mut near: Vec<(f64, &Case)> =
        cases.into_iter().filter(is_like).map(|case| (distance(&case.near, &here), case)).collect();
    near.retain(|(distance, _)| *distance < NEAR);
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    near.into_iter().find_map(|(_, case)| of(case))
}
