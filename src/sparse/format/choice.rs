//! Names of storage formats and of the types of stored values.

use crate::space::named_choice;

/// Storage format of a matrix for products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// The CRS arrays themselves: 12 bytes per entry, no set-up.
    Crs,
    /// Slices of 32 rows, padded to the longest (SELL-32): 12 bytes per entry, every load is a full cache line. On GPUs only.
    Sell,
    /// Slices of 32 rows that share one table of column - row: 8 bytes per entry where neighbouring rows have the same
    /// pattern. On hosts, nodes with 2 or 3 unknowns take the place of rows. Vectors have to be finite.
    #[default]
    Pattern,
    /// The slices of `pattern` with each pair of entries (i, j) and (j, i) stored once: 4 bytes per entry. The matrix has to be
    /// symmetric, vectors finite.
    Symmetric,
}

impl Format {
    /// All formats with their names.
    pub const ALL: [(Self, &'static str); 4] =
        [(Format::Crs, "crs"), (Format::Sell, "sell"), (Format::Pattern, "pattern"), (Format::Symmetric, "symmetric")];
}
named_choice!(Format, "format");

/// Type of the stored values that products read. Vectors, sums and the assembled matrix are f64 for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// The assembled values.
    #[default]
    F64,
    /// The assembled values rounded to single precision: half the bytes.
    F32,
}

impl Precision {
    /// All types with their names.
    pub const ALL: [(Self, &'static str); 2] = [(Precision::F64, "f64"), (Precision::F32, "f32")];

    /// Relative spacing of the numbers: twice the largest rounding error.
    pub fn epsilon(self) -> f64 {
        match self {
            Precision::F64 => f64::EPSILON,
            Precision::F32 => f64::from(f32::EPSILON),
        }
    }
}
named_choice!(Precision, "matrix values");

/// How products store a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatrixStorage {
    /// Where the values lie.
    pub format: Format,
    /// Their type.
    pub values: Precision,
}

impl From<Format> for MatrixStorage {
    fn from(format: Format) -> Self {
        MatrixStorage { format, values: Precision::F64 }
    }
}

/// The rows of a matrix, by which a format is chosen before the values are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// Rows.
    pub rows: usize,
    /// Entries.
    pub entries: usize,
    /// Entries of slices of 32 rows, padded to the longest of each.
    pub padded: usize,
    /// Entries of the longest row.
    pub longest: usize,
    /// Whether the values will be symmetric.
    pub is_symmetric: bool,
}

/// Selects a format from the shape of the rows, with the reason.
pub type ByRows = fn(RowShape) -> (Format, &'static str);

/// Most rows of a system that a GPU assembles in CRS in every format: CG solves small systems in one launch, which reads CRS.
#[cfg(any(feature = "cli", feature = "cuda"))]
pub(crate) const SMALL_ON_GPU: usize = 1 << 17;

#[cfg(any(feature = "cli", feature = "cuda"))]
impl MatrixStorage {
    /// Whether a GPU's slices hold the assembled values, so that assembly can write to them.
    pub(crate) fn holds_assembled_slices(self) -> bool {
        self.format != Format::Crs
    }
}
