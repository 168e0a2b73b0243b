//! The algorithms by name. Where each applies is told in the table of the contractions' page.

/// How a contraction is shared out among threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Variant {
    /// By shapes, strides and a table of measured times, one of the others.
    #[default]
    Auto,
    /// The same among those that add an output's products in the order of (p, i, j): the same bits for any number of cells.
    AutoInOrder,
    /// A thread an output, neighbouring threads on neighbouring cells or on the outputs of a cell.
    Flat,
    /// A thread a tile of 1 x 8 outputs of a cell, sums in registers, neighbouring threads on neighbouring cells: for
    /// layouts that have cells side by side; right for any, as the other tiles.
    Tile1x8,
    /// Tiles of 4 x 4.
    Tile4x4,
    /// Tiles of 8 x 8: of elements with 8 nodes each number is loaded once.
    Tile8x8,
    /// A block a cell, threads over its outputs; of a single output, threads over the last contracted index.
    Team1,
    /// A block a cell, groups of lanes over its outputs, lanes over the contracted index; of a single output, threads over
    /// the last two contracted indices.
    Team2,
    /// A block an output, 32 threads over all contracted indices as one.
    Teamstride32,
    /// The same with 64 threads.
    Teamstride64,
    /// The same with 128 threads.
    Teamstride128,
    /// Several outputs a warp, a lane a product, shuffles add up.
    Segments,
    /// The same with atomic additions to the output. Not the same bits at each run.
    SegmentsAtomic,
    /// A block a row of a cell's left operand, which it keeps in shared memory.
    Slicing,
    /// Slicing with as many rows of 16, 8, 4, 2 as the cell has and shared memory holds.
    Adaptive,
    /// Slicing with 2 rows.
    Adaptive2,
    /// Slicing with 4 rows.
    Adaptive4,
    /// Slicing with 8 rows.
    Adaptive8,
    /// Slicing with 16 rows.
    Adaptive16,
    /// A block a tile of 8 x 8 outputs, 8 x 8 pieces of both operands in shared memory.
    Tile8,
    /// Tiles of 16 x 16.
    Tile16,
    /// Tiles of 32 x 32.
    Tile32,
    /// Compiled for its sizes: cells in lanes, a tile of outputs in a thread's registers.
    FixedLanes,
    /// Compiled for its sizes: neighbouring lanes over the contracted index, vector loads, shuffles.
    FixedRows,
    /// Compiled for its sizes: some cells a block, copied to shared memory asynchronously, tiles in registers.
    FixedStaged,
    /// The same with a cell's terms shared out among groups of threads, whose sums are added at the end.
    FixedSplit,
    /// Compiled for its sizes: a block a tile of up to 128 x 128 outputs, operands in shared memory, tiles in registers.
    FixedBlocked,
    /// Compiled for its sizes: f64 tensor cores.
    Dmma,
    /// Compiled for its sizes: f64 tensor cores, a block a tile of up to 128 x 64 outputs, operands in shared memory.
    DmmaBlocked,
}

impl Variant {
    /// Every variant, with its name.
    pub const ALL: [(Variant, &'static str); 29] = [
        (Variant::Auto, "auto"),
        (Variant::AutoInOrder, "auto-in-order"),
        (Variant::Flat, "flat"),
        (Variant::Tile1x8, "tile-1x8"),
        (Variant::Tile4x4, "tile-4x4"),
        (Variant::Tile8x8, "tile-8x8"),
        (Variant::Team1, "team1"),
        (Variant::Team2, "team2"),
        (Variant::Teamstride32, "teamstride32"),
        (Variant::Teamstride64, "teamstride64"),
        (Variant::Teamstride128, "teamstride128"),
        (Variant::Segments, "segments"),
        (Variant::SegmentsAtomic, "segments-atomic"),
        (Variant::Slicing, "slicing"),
        (Variant::Adaptive, "adaptive"),
        (Variant::Adaptive2, "adaptive2"),
        (Variant::Adaptive4, "adaptive4"),
        (Variant::Adaptive8, "adaptive8"),
        (Variant::Adaptive16, "adaptive16"),
        (Variant::Tile8, "tile8"),
        (Variant::Tile16, "tile16"),
        (Variant::Tile32, "tile32"),
        (Variant::FixedLanes, "fixed-lanes"),
        (Variant::FixedRows, "fixed-rows"),
        (Variant::FixedStaged, "fixed-staged"),
        (Variant::FixedSplit, "fixed-split"),
        (Variant::FixedBlocked, "fixed-blocked"),
        (Variant::Dmma, "dmma"),
        (Variant::DmmaBlocked, "dmma-blocked"),
    ];

    /// Whether it stands for one of the others.
    pub fn is_auto(self) -> bool {
        matches!(self, Variant::Auto | Variant::AutoInOrder)
    }

    /// Whether it is compiled at run time for the sizes of the call: its first call of a shape takes half a second.
    pub fn is_specialised(self) -> bool {
        use Variant::*;
        matches!(self, FixedLanes | FixedRows | FixedStaged | FixedSplit | FixedBlocked | Dmma | DmmaBlocked)
    }

    /// Whether an output's products are added one after the other in the order of (p, i, j), so that results have the bits
    /// of [`Variant::Flat`]. (Team depth 1 does so for outputs with fields; of data it adds up parts.)
    pub fn keeps_order(self) -> bool {
        use Variant::*;
        !matches!(
            self,
            Auto | Team1
                | Team2
                | Teamstride32
                | Teamstride64
                | Teamstride128
                | Segments
                | SegmentsAtomic
                | FixedRows
                | FixedSplit
                | Dmma
                | DmmaBlocked
        )
    }

    /// Whether the same call gives the same bits again.
    pub fn is_deterministic(self) -> bool {
        self != Variant::SegmentsAtomic
    }
}

crate::space::named_choice!(Variant, "contraction variant");
