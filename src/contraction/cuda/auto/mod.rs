//! The choice of [`Variant::Auto`]: the fastest variant of the nearest measured case, or a rule if no case is near.
//! [`Variant::AutoInOrder`] chooses among the variants that add in the order of the terms.

mod table;
#[cfg(test)]
mod tests;

use super::configure::configure;
use super::launch::{Launch, tiled_warps};
use super::work::{Family, Limits, WARP, Work};
use crate::contraction::Variant;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::OnceLock;
use table::{fastest, side};

pub use table::{Case, Key, SLOWEST, Side, cases, header};

/// Measured times that the library chooses by; the first lines of the text name the command that wrote it.
pub const TABLE: &str = include_str!("../../auto.csv");

/// The GPU of the recorded sweeps, an H200.
const RECORDED_ON: Limits = Limits { multiprocessors: 132, shared: 227 << 10, ampere: true };

/// Choices that each thread caches.
const REMEMBERED: usize = 4096;

/// Returns a variant that applies. `is_ordered` restricts the choice to variants that add in the order of the terms.
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

/// Chooses by the table of the library.
fn find(work: &Work, limits: &Limits, is_ordered: bool) -> Variant {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    by(CASES.get_or_init(|| cases(TABLE)), work, limits, is_ordered)
}

/// Returns whether a variant may be chosen.
fn applies(variant: Variant, work: &Work, limits: &Limits, is_ordered: bool) -> bool {
    (!is_ordered || variant.keeps_order()) && configure(work, variant, limits).is_ok()
}

/// Returns what [`Variant::Auto`] stands for on the GPU of the recorded sweeps if the library's table holds these cases; `is_ordered`:
/// what [`Variant::AutoInOrder`] does.
pub fn chosen_by<'a>(cases: impl IntoIterator<Item = &'a Case>, key: &Key, is_ordered: bool) -> Variant {
    by(cases, &key.work(), &RECORDED_ON, is_ordered)
}

/// Chooses by the given cases.
fn by<'a>(cases: impl IntoIterator<Item = &'a Case>, work: &Work, limits: &Limits, is_ordered: bool) -> Variant {
    let applies = |variant| applies(variant, work, limits, is_ordered);
    fastest(work, cases, is_ordered, applies).unwrap_or_else(|| rule(work, limits, applies))
}

/// Bytes of the arrays from which compiling a specialised kernel pays.
const MANY_BYTES: usize = 256 << 10;
/// Fields from which a block computes a tile of a cell.
const MANY_FIELDS: usize = 33;

/// Chooses without measurements, by what limits a kernel. Cells with stride 1: the largest tile that leaves enough warps.
/// Contiguous terms: tensor cores, or cells in shared memory, or vectors over the terms. Otherwise one output per thread.
fn rule(work: &Work, limits: &Limits, applies: impl Fn(Variant) -> bool) -> Variant {
    let ([_, left, right], side) = (work.sizes, side(work));
    // 8 warps of independent loads keep a multiprocessor busy.
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
            // For `data_data`, `Team2` has only as many threads as the last two extents have indices.
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
        // Few cells: one tile of a cell per block.
        None if pays_compiling && left.min(right) >= 16 => first_that_applies(&[Variant::FixedBlocked]),
        // Few outputs: as many threads per output as there are terms for.
        None if leaves_idle && work.terms.count() >= 256 => first_that_applies(&[Variant::Teamstride128]),
        None => Variant::Flat,
    }
}

/// Returns the CUDA C++ of a variant's kernel for a case and its dynamic shared memory per block in bytes, if the variant is
/// compiled for its sizes. The arrays are aligned to `alignment` bytes; the GPU has `multiprocessors` multiprocessors and
/// `shared` bytes of shared memory per block.
pub fn specialised_text(
    key: &Key,
    variant: Variant,
    alignment: usize,
    (multiprocessors, shared): (usize, usize),
) -> Option<(String, u32)> {
    let mut work = key.work();
    work.alignment = work.alignment.min(alignment);
    work.pairs &= alignment == 16;
    work.is_output_line &= alignment == 16;
    let launch = configure(&work, variant, &Limits { multiprocessors, shared, ampere: true }).ok()?;
    let Launch { file, defines: Some(defines), grid, .. } = launch else { return None };
    Some((file.source(&defines), grid.shared))
}
