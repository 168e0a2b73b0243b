//! What [`Variant::Auto`] stands for: the best that was measured for a case near enough, else a rule.
//! [`Variant::AutoInOrder`] chooses among those that add in the order of the terms.

mod table;
#[cfg(test)]
mod tests;

use super::configure::configure;
use super::launch::tiled_warps;
use super::variant::Variant;
use super::work::{Family, Limits, WARP, Work};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::OnceLock;
use table::{fastest, side};

pub use table::{Case, Key, SLOWEST, Side, cases, header};

/// Measured times that the library chooses by; the first lines of the text name the command that wrote it.
pub const TABLE: &str = include_str!("../../auto.csv");

/// The GPU of the recorded sweeps, an H200.
pub const RECORDED_ON: Limits = Limits { multiprocessors: 132, shared: 227 << 10, ampere: true };

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
    by(CASES.get_or_init(|| cases(TABLE)), work, limits, is_ordered)
}

/// Whether it may be chosen.
fn applies(variant: Variant, work: &Work, limits: &Limits, is_ordered: bool) -> bool {
    (!is_ordered || variant.keeps_order()) && configure(work, variant, limits).is_ok()
}

/// Returns what [`Variant::Auto`] stands for on the GPU of the recorded sweeps; `is_ordered`: what
/// [`Variant::AutoInOrder`] does.
pub fn chosen(key: &Key, is_ordered: bool) -> Variant {
    choose(&key.work(), &RECORDED_ON, is_ordered)
}

/// Returns what [`chosen`] would be if the library's table held these cases.
pub fn chosen_by<'a>(cases: impl IntoIterator<Item = &'a Case>, key: &Key, is_ordered: bool) -> Variant {
    by(cases, &key.work(), &RECORDED_ON, is_ordered)
}

/// By these cases.
fn by<'a>(cases: impl IntoIterator<Item = &'a Case>, work: &Work, limits: &Limits, is_ordered: bool) -> Variant {
    let applies = |variant| applies(variant, work, limits, is_ordered);
    fastest(work, cases, is_ordered, applies).unwrap_or_else(|| rule(work, limits, applies))
}

/// Bytes from which compiling once is worth it.
const MANY_BYTES: usize = 256 << 10;
/// Fields from which a block works on a tile of a cell.
const MANY_FIELDS: usize = 33;

/// Without measurements: by what limits a kernel. Cells side by side: the largest tile that leaves enough warps. Terms side
/// by side: tensor cores where they are, cells in shared memory, vectors over the terms. Else a thread an output.
fn rule(work: &Work, limits: &Limits, applies: impl Fn(Variant) -> bool) -> Variant {
    let ([_, left, right], side) = (work.sizes, side(work));
    // What keeps a multiprocessor busy: 8 warps of independent loads.
    let enough_warps = 8 * limits.multiprocessors;
    let pays_compiling = work.bytes() >= MANY_BYTES;
    let first_that_applies =
        |order: &[Variant]| order.iter().copied().find(|&variant| applies(variant)).unwrap_or(Variant::Flat);
    let leaves_idle = work.sizes.iter().product::<usize>() < enough_warps * WARP && work.terms.count() >= WARP;
    if side != Some(Side::Left) {
        return match work.family {
            _ if side.is_none() => Variant::Flat,
            Family::FieldField if pays_compiling && left.max(right) >= MANY_FIELDS => {
                first_that_applies(&[Variant::DmmaBlocked, Variant::FixedBlocked, Variant::FixedSplit])
            }
            Family::FieldField if pays_compiling => {
                first_that_applies(&[Variant::Dmma, Variant::FixedSplit, Variant::FixedStaged, Variant::FixedBlocked])
            }
            _ if pays_compiling => first_that_applies(&[Variant::FixedRows]),
            // Of data Team2 has as many threads as the last extents have indices.
            Family::DataData if leaves_idle => first_that_applies(&[Variant::Teamstride32]),
            _ if leaves_idle => first_that_applies(&[Variant::Team2]),
            _ => Variant::Flat,
        };
    }
    let tiles: &[(Variant, usize, usize)] = match (left, right) {
        (1, 1) => &[],
        (1, _) => &[(Variant::Tile1x8, 1, 8)],
        (..=4, _) | (_, ..=4) => &[(Variant::Tile4x4, 4, 4)],
        _ => &[(Variant::Tile8x8, 8, 8), (Variant::Tile4x4, 4, 4)],
    };
    let tile = tiles.iter().find(|(_, rows, columns)| tiled_warps(work, *rows, *columns) >= enough_warps);
    match tile {
        Some((Variant::Tile8x8 | Variant::Tile1x8, ..)) if pays_compiling => first_that_applies(&[Variant::FixedLanes]),
        Some((tile, ..)) => first_that_applies(&[*tile]),
        // A block a tile of a cell, where cells are few.
        None if pays_compiling && left.min(right) >= 16 => first_that_applies(&[Variant::FixedBlocked]),
        // As many threads an output as there are terms for, where outputs are few.
        None if leaves_idle && work.terms.count() >= 256 => first_that_applies(&[Variant::Teamstride128]),
        None => Variant::Flat,
    }
}
