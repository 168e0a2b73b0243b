//! Numbers of a matrix: by its rows a format is chosen, by all of them its bytes are forecast.

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
