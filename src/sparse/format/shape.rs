//! Numbers of a matrix: by its rows a format is chosen, by all of them its bytes are forecast. The types of stored values.

use crate::space::named_choice;

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
    /// Rows on a host in slices without a table of offsets: no faster there than in CRS.
    pub irregular: usize,
    /// Whether the values will be symmetric.
    pub is_symmetric: bool,
}

/// Numbers of a matrix on which the bytes of its storage depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixSizes {
    /// Its rows.
    pub shape: RowShape,
    /// Unknowns of a node.
    pub dofs: u64,
    /// Rows, at most, of slices that list their columns though no row is long.
    pub listed: u64,
    /// Rows, at most, of slices whose tables have 9 offsets more than the longest row has entries.
    pub padded: u64,
}

named_choice! { "matrix values";
    /// Type of the stored values that products read. Vectors, sums and the assembled matrix are f64 for all.
    #[derive(Default)]
    pub enum Precision {
        /// The assembled values.
        #[default]
        F64 = "f64",
        /// The assembled values rounded to single precision: half the bytes.
        F32 = "f32",
    }
}

impl Precision {
    /// Returns the bytes of a value.
    pub fn bytes(self) -> u64 {
        match self {
            Precision::F64 => 8,
            Precision::F32 => 4,
        }
    }

    /// Relative spacing of the numbers: twice the largest rounding error.
    pub fn epsilon(self) -> f64 {
        match self {
            Precision::F64 => f64::EPSILON,
            Precision::F32 => f64::from(f32::EPSILON),
        }
    }
}
