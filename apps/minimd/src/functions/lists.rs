//! Neighbour lists from bins: count and fill in one pass.
//!
//! Atoms of bin b are `order[starts[b]..starts[b + 1]]`: owned atoms in the first `bins` bins, ghosts in as many behind them; atom i
//! is in `own_bins[i]`. The bins around an atom are rows, each of `row_bins` bins that follow each other in x and so are one range of
//! `order`; the middle row holds the atom. Neighbour k of atom i stands at `i * atom_step + k * neighbour_step`.

#[minifenl::device]
pub mod list_functions {
    use minifenl::space::atomic::{self, AtomicU32};
    use minifenl::space::{IndexFn, Reduction};

    /// Lists of the owned atoms. With `is_half` of 1 a pair of owned atoms is listed once: by the atom in the lower row, or in the
    /// same row by the one with the smaller number. Counts may exceed the width: then lists lack neighbours.
    pub struct List {
        pub reach: f64,
        pub is_half: f64,
        /// An atom between these corners has no ghosts around it.
        pub low: [f64; 3],
        pub high: [f64; 3],
        /// With 1 a neighbour is written before it is known whether it counts, which costs a host less than a branch.
        pub is_eager: f64,
        pub bins: f64,
        /// From the lowest of the bins around an atom to its own.
        pub corner: f64,
        pub rows: f64,
        pub row_bins: f64,
        pub width: f64,
        pub atom_step: f64,
        pub neighbour_step: f64,
    }

    impl IndexFn<1, 4, 2, u32> for List {
        fn at(
            &self,
            i: usize,
            [x]: [&[f64]; 1],
            [own_bins, rows, starts, order]: [&[u32]; 4],
            [counts, list]: [&[AtomicU32]; 2],
        ) {
            let (first, step) = (i * self.atom_step as usize, self.neighbour_step as usize);
            let (limit, last) = (self.reach * self.reach, self.width as usize - 1);
            let (all, row_bins) = (self.rows as usize, self.row_bins as usize);
            let middle = if self.is_half > 0.0 { all / 2 } else { all };
            let here = [x[3 * i], x[3 * i + 1], x[3 * i + 2]];
            let mut is_deep = true;
            for d in 0..3 {
                is_deep = is_deep && here[d] >= self.low[d] && here[d] < self.high[d];
            }
            let mut count = 0;
            for kind in 0..if is_deep { 1 } else { 2 } {
                let lowest = own_bins[i] as usize - self.corner as usize + kind * self.bins as usize;
                for row in if kind == 0 && middle < all { middle } else { 0 }..all {
                    let bin = lowest + rows[row] as usize;
                    let least = if kind == 0 && row == middle { i } else { 0 };
                    for k in starts[bin] as usize..starts[bin + row_bins] as usize {
                        let j = order[k] as usize;
                        let d = [here[0] - x[3 * j], here[1] - x[3 * j + 1], here[2] - x[3 * j + 2]];
                        let is_near = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= limit;
                        let is_listed = is_near && j >= least && j != i;
                        // One that does not count is overwritten by the next neighbour.
                        if is_listed || self.is_eager > 0.0 {
                            atomic::set(&list[first + count.min(last) * step], j as u32);
                        }
                        count += is_listed as usize;
                    }
                }
            }
            atomic::set(&counts[i], count as u32);
        }
    }

    /// Largest number.
    pub struct Largest {}

    impl Reduction<1> for Largest {
        type Item = u32;
        type Value = u32;
        const COMMUTES: bool = true;

        fn identity(&self) -> u32 {
            0
        }

        fn value(&self, _: usize, [x]: [u32; 1]) -> u32 {
            x
        }

        fn join(&self, a: u32, b: u32) -> u32 {
            a.max(b)
        }
    }
}
