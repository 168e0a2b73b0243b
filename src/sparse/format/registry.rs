//! The registry of storage formats, and how one is chosen.

use super::copy::Maker;
use super::shape::{MatrixSizes, Precision, RowShape};
use super::{crs, slices};
use crate::space::named_choice;

/// Declares the formats: name of the variant, name of the format, and what makes its copies of a matrix.
macro_rules! formats {
    ($($(#[$attribute:meta])* $format:ident $name:literal $maker:path;)*) => {
        /// Storage format of a matrix for products.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum Format {
            $($(#[$attribute])* $format,)*
        }

        impl Format {
            /// All formats with their names.
            pub const ALL: [(Self, &'static str); [$($name),*].len()] = [$((Format::$format, $name)),*];

            pub(super) fn maker(self) -> &'static Maker {
                match self {
                    $(Format::$format => &$maker,)*
                }
            }
        }
    };
}

formats! {
    /// The CRS arrays themselves: 12 bytes per entry, no set-up.
    Crs "crs" crs::MAKER;
    /// Slices of 32 rows that share one table of column - row: 8 bytes per entry where neighbouring rows have the same
    /// pattern. On hosts, nodes with 2 or 3 unknowns take the place of rows. Vectors have to be finite.
    #[default]
    Pattern "pattern" slices::PATTERN;
    /// The slices of `pattern` with each pair of entries (i, j) and (j, i) stored once: 4 bytes per entry. The matrix has to be
    /// symmetric, vectors finite.
    Symmetric "symmetric" slices::SYMMETRIC;
}
named_choice!(Format, "format");

/// How products store a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatrixStorage {
    /// Where the values lie.
    pub format: Format,
    /// Their type.
    pub values: Precision,
    /// Whether assembly writes CRS where it could write the format: set-ups of preconditioners read CRS.
    pub keeps_crs: bool,
}

impl From<Format> for MatrixStorage {
    fn from(format: Format) -> Self {
        MatrixStorage { format, values: Precision::F64, keeps_crs: false }
    }
}

impl MatrixStorage {
    /// Returns the bytes of what products read in place of an assembled matrix in CRS.
    pub fn copy_bytes(self, sizes: &MatrixSizes, on_gpu: bool) -> u64 {
        let [values, layout] = (self.format.maker().lengths)(sizes, on_gpu);
        let is_assembled = (self.format, self.values) == (Format::Crs, Precision::F64);
        if is_assembled { 0 } else { self.values.bytes() * values + layout }
    }

    /// Whether the format's slices can hold assembled values, so that assembly writes to them.
    pub(crate) fn holds_assembled_slices(self) -> bool {
        !self.keeps_crs && matches!(self.format, Format::Pattern | Format::Symmetric)
    }
}

/// Selects a format from the shape of the rows, with the reason; the flag is [`MatrixStorage::keeps_crs`].
pub type ByRows = fn(RowShape, bool) -> (Format, &'static str);

/// Most rows of a system that a GPU assembles in CRS in every format: CG solves small systems in one launch, which reads CRS.
#[cfg(feature = "cuda")]
pub(crate) const SMALL_ON_GPU: usize = 1 << 17;
