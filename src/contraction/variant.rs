//! The algorithms by name. The table in [`contraction`](crate::contraction) says where each applies.

crate::space::named_choice! { "contraction variant";
    /// Division of a contraction's work among threads.
    #[derive(Default, Hash)]
    #[non_exhaustive]
    pub enum Variant {
        /// Chooses another variant by shapes, strides and a table of measured times.
        #[default]
        Auto = "auto",
        /// Chooses among the variants that add an output's products in the order of (p, i, j): the same bits for any number of
        /// cells.
        AutoInOrder = "auto-in-order",
        /// One output per thread; neighbouring threads compute neighbouring cells or outputs of a cell.
        Flat = "flat",
        /// One tile of 1 x 8 outputs of a cell per thread, sums in registers; neighbouring threads compute neighbouring cells. Made
        /// for cells with stride 1, correct for any layout, as are the other tiles.
        Tile1x8 = "tile-1x8",
        /// Tiles of 4 x 4.
        Tile4x4 = "tile-4x4",
        /// Tiles of 8 x 8: elements with 8 nodes load each number once.
        Tile8x8 = "tile-8x8",
        /// One cell per block, threads over its outputs; for a single output, threads over the last contracted index.
        Team1 = "team1",
        /// One cell per block, groups of lanes over its outputs, lanes over the contracted index; for a single output, threads over
        /// the last two contracted indices.
        Team2 = "team2",
        /// One output per block, 32 threads over all contracted indices as one.
        Teamstride32 = "teamstride32",
        /// As [`Teamstride32`](Self::Teamstride32) with 64 threads.
        Teamstride64 = "teamstride64",
        /// As [`Teamstride32`](Self::Teamstride32) with 128 threads.
        Teamstride128 = "teamstride128",
        /// Several outputs per warp, one product per lane; shuffles add the products.
        Segments = "segments",
        /// As [`Segments`](Self::Segments) with atomic additions to the output. The last bits may differ between runs.
        SegmentsAtomic = "segments-atomic",
        /// One row of a cell's left operand per block, kept in shared memory.
        Slicing = "slicing",
        /// Slicing with the largest of 16, 8, 4, 2 rows that the cell has and shared memory holds.
        Adaptive = "adaptive",
        /// Slicing with 2 rows.
        Adaptive2 = "adaptive2",
        /// Slicing with 4 rows.
        Adaptive4 = "adaptive4",
        /// Slicing with 8 rows.
        Adaptive8 = "adaptive8",
        /// Slicing with 16 rows.
        Adaptive16 = "adaptive16",
        /// One tile of 8 x 8 outputs per block, pieces of 8 x 8 of both operands in shared memory.
        Tile8 = "tile8",
        /// Tiles of 16 x 16.
        Tile16 = "tile16",
        /// Tiles of 32 x 32.
        Tile32 = "tile32",
        /// Specialised: cells in lanes, a tile of outputs in a thread's registers.
        FixedLanes = "fixed-lanes",
        /// Specialised: neighbouring lanes over the contracted index, vector loads, shuffles.
        FixedRows = "fixed-rows",
        /// Specialised: some cells per block, copied asynchronously to shared memory, tiles in registers.
        FixedStaged = "fixed-staged",
        /// As [`FixedStaged`](Self::FixedStaged); groups of threads share the terms of a cell, and their sums are added at the end.
        FixedSplit = "fixed-split",
        /// Specialised: one tile of up to 128 x 128 outputs per block, operands in shared memory, tiles in registers.
        FixedBlocked = "fixed-blocked",
        /// Specialised: f64 tensor cores.
        Dmma = "dmma",
        /// Specialised: f64 tensor cores, one tile of up to 128 x 64 outputs per block, operands in shared memory.
        DmmaBlocked = "dmma-blocked",
    }
}

impl Variant {
    /// Returns whether the variant stands for another one.
    pub fn is_auto(self) -> bool {
        matches!(self, Variant::Auto | Variant::AutoInOrder)
    }

    /// Returns whether the variant is compiled for the sizes of a call: the first call with a shape takes about half a second.
    pub fn is_specialised(self) -> bool {
        use Variant::*;
        matches!(self, FixedLanes | FixedRows | FixedStaged | FixedSplit | FixedBlocked | Dmma | DmmaBlocked)
    }

    /// Returns whether products are added in the order (p, i, j), with [`Variant::Flat`]'s bits. (`Team1` does so for
    /// outputs with fields, but not for `data_data`.)
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
}
