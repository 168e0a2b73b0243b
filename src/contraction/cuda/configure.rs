//! Makes the launch of a variant for one contraction, or says why it does not apply.
//!
//! The limits on sizes keep every index that a kernel computes in 32 bits within 32 bits.

use super::fixed;
use super::kernel_files::{CONTRACTION, CONTRACTION_TEAM, CONTRACTION_TILE};
use super::launch::{Launch, Refusal, tiled_warps};
use super::work::{Family, Limits, WARP, Work};
use crate::contraction::Variant;
use crate::space::cuda::{Grid, KernelFile};

const NOT_FIELDS: Refusal = "of field_field only: others use no number of the left operand's rows for two outputs";
const NO_ROOM: Refusal = "a block's shared memory does not hold the slices";

/// Largest number of blocks of a grid.
const BLOCKS: usize = i32::MAX as usize;
/// Largest number of terms for kernels that count terms in 32 bits; they count up to one step past the last.
const TERMS: usize = 1 << 30;

/// Returns the launch of `variant`, which is not one of the two automatic variants.
pub fn configure(work: &Work, variant: Variant, limits: &Limits) -> Result<Launch, Refusal> {
    use Variant::*;
    let [_, left, right] = work.sizes;
    let (outputs, terms) = (work.outputs(), work.terms.count());
    if terms > TERMS && !matches!(variant, Flat | Tile1x8 | Tile4x4 | Tile8x8) {
        return Err("more than 2^30 terms");
    }
    if terms == 0 && variant.is_specialised() {
        return Err("without terms there is nothing to compile for");
    }
    if variant.is_specialised() && outputs.max((left + right).saturating_mul(terms)) > i32::MAX as usize {
        return Err("a cell of 2^31 numbers or more");
    }
    let launch = unchecked(work, variant, limits)?;
    if launch.grid.blocks as usize > BLOCKS {
        return Err("more blocks than a grid has");
    }
    Ok(launch)
}

/// As [`configure`], without the limits that hold for all variants.
fn unchecked(work: &Work, variant: Variant, limits: &Limits) -> Result<Launch, Refusal> {
    use Variant::*;
    let [cells, left, right] = work.sizes;
    let (outputs, terms) = (work.outputs(), work.terms.count());
    let is_field_field = work.family == Family::FieldField;
    // One block per team, with as many threads as the team has outputs or products.
    let teams = |teams: usize, threads: usize| {
        Grid::new(teams.min(BLOCKS), threads.next_multiple_of(WARP).clamp(WARP, 256) as u32)
    };
    let by_warps = |rows, columns, threads| Grid::cover(tiled_warps(work, rows, columns) * WARP, threads);
    let launch = |file: &'static KernelFile, names: [&'static str; 2], grid, option| {
        Ok(Launch { file, defines: None, kernel: names[usize::from(work.item == 8)], grid, option, clears: false })
    };
    let teamstride = |threads: usize| {
        let grid = Grid::new((cells * outputs).min(BLOCKS), threads.next_multiple_of(WARP) as u32);
        launch(&CONTRACTION_TEAM, ["teamstride_f32", "teamstride_f64"], grid, threads)
    };
    let sliced = |slices: usize| {
        let bytes = slices.saturating_mul(terms).saturating_mul(work.item);
        if bytes > limits.shared {
            return Err(NO_ROOM);
        }
        let grid = teams(cells * left.div_ceil(slices), slices * right).shared(bytes);
        launch(&CONTRACTION_TILE, ["slicing_f32", "slicing_f64"], grid, slices)
    };
    let adaptive = |slices: usize| match (is_field_field, slices <= left) {
        (false, _) => Err(NOT_FIELDS),
        (_, false) => Err("the cell has fewer rows than the block takes"),
        _ => sliced(slices),
    };
    let tiled = |side: usize, names| {
        if !is_field_field {
            return Err(NOT_FIELDS);
        }
        let tiles = cells * left.div_ceil(side) * right.div_ceil(side);
        launch(&CONTRACTION_TILE, names, Grid::new(tiles.min(BLOCKS), (side * side) as u32), 0)
    };
    match variant {
        Auto | AutoInOrder => Err("to be chosen"),
        Flat => {
            let grid = if work.by_cells { by_warps(1, 1, 256) } else { Grid::cover(work.sizes.iter().product(), 256) };
            launch(&CONTRACTION, ["flat_f32", "flat_f64"], grid, usize::from(work.by_cells))
        }
        Tile1x8 => launch(&CONTRACTION, ["tiled_1x8_f32", "tiled_1x8_f64"], by_warps(1, 8, 128), 0),
        Tile4x4 => launch(&CONTRACTION, ["tiled_4x4_f32", "tiled_4x4_f64"], by_warps(4, 4, 128), 0),
        Tile8x8 => launch(&CONTRACTION, ["tiled_8x8_f32", "tiled_8x8_f64"], by_warps(8, 8, 128), 0),
        Team1 if work.family == Family::DataData => teamstride(work.last(1)),
        Team1 => launch(&CONTRACTION_TEAM, ["team1_f32", "team1_f64"], teams(cells, outputs), 0),
        Team2 if work.family == Family::DataData => teamstride(work.last(2)),
        Team2 => {
            let lanes = terms.next_power_of_two().clamp(1, WARP);
            launch(&CONTRACTION_TEAM, ["team2_f32", "team2_f64"], teams(cells, outputs * lanes), lanes)
        }
        Teamstride32 => teamstride(32),
        Teamstride64 => teamstride(64),
        Teamstride128 => teamstride(128),
        Segments | SegmentsAtomic if terms > 16 => Err("more than 16 terms"),
        Segments => {
            let lanes = terms.next_power_of_two();
            let grid = Grid::cover(cells * outputs * lanes, 256);
            launch(&CONTRACTION_TEAM, ["segments_f32", "segments_f64"], grid, lanes)
        }
        SegmentsAtomic => {
            // Without terms no warp is needed.
            let warps = WARP.checked_div(terms).map_or(0, |together| (cells * outputs).div_ceil(together));
            let names = ["segments_atomic_f32", "segments_atomic_f64"];
            let launch = launch(&CONTRACTION_TEAM, names, Grid::cover(warps * WARP, 256), 0)?;
            Ok(Launch { clears: true, ..launch })
        }
        Slicing if work.family == Family::DataData => Err("of data_data no number is used twice"),
        Slicing => sliced(1),
        Adaptive => match [16, 8, 4, 2].into_iter().find(|&slices| adaptive(slices).is_ok()) {
            Some(slices) => adaptive(slices),
            None => adaptive(2),
        },
        Adaptive2 => adaptive(2),
        Adaptive4 => adaptive(4),
        Adaptive8 => adaptive(8),
        Adaptive16 => adaptive(16),
        Tile8 => tiled(8, ["tile8_f32", "tile8_f64"]),
        Tile16 => tiled(16, ["tile16_f32", "tile16_f64"]),
        Tile32 => tiled(32, ["tile32_f32", "tile32_f64"]),
        FixedLanes => Ok(fixed::lanes(work, limits)),
        FixedRows => fixed::rows(work),
        FixedStaged => fixed::staged(work, limits, false),
        FixedSplit => fixed::staged(work, limits, true),
        FixedBlocked => fixed::blocked(work, limits),
        Dmma => fixed::dmma(work, limits),
        DmmaBlocked => fixed::dmma_blocked(work, limits),
    }
}

#[cfg(test)]
mod tests {
    use super::super::auto::{Key, Side};
    use super::super::work::Terms;
    use super::*;

    const LIMITS: Limits = Limits { multiprocessors: 132, shared: 227 << 10, ampere: true };

    /// A contraction with contiguous terms, enlarged beyond what a view of an array in memory can have.
    fn work(family: Family, sizes: [usize; 3], terms: usize) -> Work {
        let key = Key { family, side: Side::Right, item: 4, sizes: [1; 3], rank: 0, contracted: [1; 3] };
        let mut work = key.work();
        (work.sizes, work.contracted) = (sizes, [terms, 1, 1]);
        work.terms = Terms { extents: [1, 1, terms], strides: [[0, 0, 1]; 2] };
        work
    }

    fn why(work: &Work, variant: Variant) -> &'static str {
        configure(work, variant, &LIMITS).err().unwrap_or("")
    }

    #[test]
    fn grids_have_fewer_than_2_31_blocks() {
        let most = i32::MAX as usize * 256;
        assert_eq!(why(&work(Family::DataData, [most, 1, 1], 8), Variant::Flat), "");
        for variant in [Variant::Flat, Variant::SegmentsAtomic, Variant::FixedRows] {
            let work = work(Family::DataData, [64 * most, 1, 1], 16);
            assert_eq!(why(&work, variant), "more blocks than a grid has", "{variant}");
        }
        // Blocks of this variant loop over cells.
        assert_eq!(why(&work(Family::DataData, [64 * most, 1, 1], 16), Variant::Teamstride32), "");
    }

    #[test]
    fn kernels_count_terms_and_numbers_of_a_cell_in_32_bits() {
        let long = work(Family::DataData, [1; 3], (1 << 30) + 1);
        assert_eq!(why(&long, Variant::Flat), "");
        assert_eq!(why(&long, Variant::Teamstride128), "more than 2^30 terms");
        for (family, sizes, terms) in [
            (Family::DataData, [1; 3], 1 << 30),
            (Family::DataField, [1, 1, 1 << 16], 1 << 15),
            (Family::FieldField, [1, 1 << 16, 1 << 15], 1),
        ] {
            let large = work(family, sizes, terms);
            assert_eq!(why(&large, Variant::FixedRows), "a cell of 2^31 numbers or more", "{sizes:?} {terms}");
        }
    }

    #[test]
    fn before_capability_8_there_are_no_asynchronous_copies() {
        let old = Limits { ampere: false, ..LIMITS };
        for variant in [Variant::FixedStaged, Variant::FixedSplit, Variant::Dmma, Variant::DmmaBlocked] {
            let mut work = work(Family::FieldField, [100, 8, 8], 24);
            work.item = 8;
            assert!(configure(&work, variant, &LIMITS).is_ok(), "{variant}");
            assert!(configure(&work, variant, &old).unwrap_err().contains("capability 8.0"), "{variant}");
        }
    }
}
