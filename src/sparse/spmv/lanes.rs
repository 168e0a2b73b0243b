//! Threads of a warp that share a row of a CRS product on a GPU. A host computes each row by one thread.

use crate::space::named_choice;

/// Threads that share a row of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// 1 thread per row.
    One,
    /// 2 threads per row.
    Two,
    /// 4 threads per row.
    Four,
    /// 8 threads per row.
    Eight,
    /// 16 threads per row.
    Sixteen,
    /// One warp per row.
    Warp,
}

impl Lanes {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 6] = [
        (Lanes::One, "1"),
        (Lanes::Two, "2"),
        (Lanes::Four, "4"),
        (Lanes::Eight, "8"),
        (Lanes::Sixteen, "16"),
        (Lanes::Warp, "32"),
    ];

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
}
named_choice!(Lanes, "lanes");
