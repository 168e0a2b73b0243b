//! Ways to store a matrix for products.

use crate::space::named_choice;

/// How a matrix is stored for products on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// The CRS arrays themselves: 12 bytes an entry, nothing to build.
    Crs,
    /// Slices of 32 rows, padded to the longest: 12 bytes an entry, all reads of whole lines.
    Sell,
    /// Slices of 32 rows with one table of column - row each: 8 bytes an entry where neighbouring rows look alike. Vectors
    /// have to be finite.
    #[default]
    Pattern,
}

impl Format {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Format::Crs, "crs"), (Format::Sell, "sell"), (Format::Pattern, "pattern")];
}
named_choice!(Format, "format");
