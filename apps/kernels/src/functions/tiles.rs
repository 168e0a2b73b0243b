//! Products of 16 vectors with each other; a team keeps a tile of all of them in its scratch.

#[minifenl::device]
pub mod tile_functions {
    use minifenl::space::atomic::{self, AtomicF64};
    use minifenl::space::{Scratch, TileFn};

    /// Items of each vector in the scratch.
    pub const WIDTH: usize = 32;
    /// From one vector to the next in the scratch: lanes of a warp read different banks.
    const STEP: usize = 33;
    /// Tiles of a team.
    pub const TILES: usize = 64;

    /// G = V^T V of 16 vectors of so many items, [i, j], added to cells: lane 16 i + j sums v_i.v_j for i <= j, over `WIDTH` times `TILES` items per team, 1 at least.
    /// The scratch is loaded once and read 16 times.
    pub struct Gram {
        pub items: f64,
    }

    impl TileFn<16, 0, 1> for Gram {
        type Value = f64;
        const LANES: usize = 256;
        const SCRATCH: usize = 528;

        fn start(&self) -> f64 {
            0.0
        }

        fn phases(&self, team: usize, _: [&[u32]; 0]) -> usize {
            let first = TILES * WIDTH * team;
            TILES.min((self.items as usize - first - 1) / WIDTH + 1)
        }

        fn load(&self, team: usize, phase: usize, k: usize, vectors: [&[f64]; 16], _: [&[u32]; 0]) -> f64 {
            let item = (TILES * team + phase) * WIDTH + k % STEP;
            if k % STEP < WIDTH && item < self.items as usize { vectors[k / STEP][item] } else { 0.0 }
        }

        fn step(&self, lane: usize, value: f64, scratch: &[Scratch]) -> f64 {
            let (i, j) = (STEP * (lane / 16), STEP * (lane % 16));
            let mut sums = [value, 0.0, 0.0, 0.0];
            if i <= j {
                let (x, y) = (&scratch[i..i + WIDTH], &scratch[j..j + WIDTH]);
                for k in 0..WIDTH / 4 {
                    for way in 0..4 {
                        sums[way] += x[4 * k + way] * y[4 * k + way];
                    }
                }
            }
            (sums[0] + sums[1]) + (sums[2] + sums[3])
        }

        fn at(&self, _: usize, lane: usize, value: f64, [products]: [&[AtomicF64]; 1]) {
            if lane / 16 <= lane % 16 {
                atomic::add(&products[lane], value);
            }
        }
    }
}
