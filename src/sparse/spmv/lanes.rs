//! Threads of a warp that share a row of a CRS product on a GPU. A host computes each row by one thread.

use crate::space::named_choice;

named_choice! { "lanes";
    /// Threads that share a row of a product.
    pub enum Lanes {
        /// 1 thread per row.
        One = "1",
        /// 2 threads per row.
        Two = "2",
        /// 4 threads per row.
        Four = "4",
        /// 8 threads per row.
        Eight = "8",
        /// 16 threads per row.
        Sixteen = "16",
        /// One warp per row, with several rows in flight.
        Warp = "32",
    }
}

impl Lanes {
    /// The choice for rows of `entries` entries on average: three to six entries per thread, up to 12 of 16 threads.
    pub fn of(entries: f64) -> Self {
        let longest = [(3.0, Lanes::One), (8.0, Lanes::Two), (18.0, Lanes::Four), (48.0, Lanes::Eight)];
        let fits = longest.into_iter().find(|&(longest, _)| entries <= longest);
        fits.map_or(if entries <= 192.0 { Lanes::Sixteen } else { Lanes::Warp }, |(_, lanes)| lanes)
    }

    /// Returns the number of threads.
    pub fn count(self) -> usize {
        1 << self as usize
    }

    /// Returns the rows that a block of `threads` threads computes at a time, as in `kernels/sparse.cu`.
    #[cfg(feature = "cuda")]
    pub(super) fn tile(self, threads: usize) -> usize {
        let in_flight = if self == Lanes::Warp { 4 } else { 1 };
        threads / self.count() * in_flight
    }
}
