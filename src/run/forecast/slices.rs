//! What products read of a matrix besides or instead of its assembled values.

use super::{Choices, Sizes};
use crate::sparse::{Format, MatrixStorage, Precision};

/// Offsets of ends of lines beside other ranks, beyond those of all rows.
const MORE: u64 = 9;
/// Longest row whose slices have a table, as in the layouts.
const TABLE: u64 = 40;

/// Bytes of a stored value.
fn item(values: Precision) -> u64 {
    match values {
        Precision::F64 => 8,
        Precision::F32 => 4,
    }
}

impl Sizes {
    /// Values of slices, and bytes of their tables and columns; none in CRS. Slices of nodes with more than 40 neighbours list their
    /// columns, on a GPU those of several unknowns per node, too.
    pub(super) fn slices(&self, format: Format, on_gpu: bool) -> [u64; 2] {
        let (rows, in_row) = (self.rows(), self.dofs * self.longest);
        let lists = self.longest > TABLE || on_gpu && self.dofs > 1;
        let lined = self.dofs * self.dofs * if on_gpu { self.lined } else { self.nnz };
        match format {
            Format::Crs => [0; 2],
            Format::Pattern | Format::Symmetric if lists && on_gpu => [lined, 4 * lined + rows / 2],
            Format::Pattern | Format::Symmetric if lists => [lined, 0],
            // Parts of the box of hexahedra: few slices list their columns.
            Format::Pattern if on_gpu && self.is_generated() => {
                [in_row * rows + MORE * self.padded, 4 * in_row * self.listed + rows / 2]
            }
            // Rows that list their columns have all entries.
            Format::Symmetric if on_gpu && self.is_generated() => [
                in_row.div_ceil(2) * rows + in_row / 2 * self.listed + MORE * self.padded,
                4 * in_row * self.listed + rows / 2,
            ],
            Format::Pattern => [in_row * rows, rows / 2],
            // On hosts, places with a quarter of all possible links.
            Format::Symmetric => [self.dofs * self.longest.div_ceil(2) * rows, 2 * rows],
        }
    }

    /// Bytes of what products on a host read in place of the assembled matrix.
    pub(super) fn copied_on_host(&self, storage: MatrixStorage) -> u64 {
        match (storage.format, storage.values) {
            (Format::Crs, Precision::F64) => 0,
            (Format::Crs, Precision::F32) => 4 * self.entries(),
            (format, values) => {
                let [sliced, layout] = self.slices(format, false);
                item(values) * sliced + layout
            }
        }
    }

    /// Bytes of the values of a matrix on a GPU, assembled and copied, and of the graph that stays with them. The graph stays with a
    /// matrix in CRS; slices are copied from one unless they are assembled directly.
    pub(super) fn matrix_on_gpu(&self, choices: &Choices) -> [u64; 2] {
        let MatrixStorage { format, values: precision } = choices.storage;
        let [sliced, layout] = self.slices(format, true);
        let (assembled, kept) = match self.is_direct(choices) {
            true => (sliced, 0),
            false => (self.entries(), 8 * self.rows() + 4 * self.entries()),
        };
        let copied = match precision {
            Precision::F64 if self.is_direct(choices) => 0,
            Precision::F64 => 8 * sliced,
            Precision::F32 if format == Format::Crs => 4 * self.entries(),
            Precision::F32 => 4 * sliced,
        };
        [8 * assembled + copied + layout, kept]
    }

    /// Whether a GPU assembles the matrix in slices.
    pub(super) fn is_direct(&self, choices: &Choices) -> bool {
        choices.storage.holds_assembled_slices() && choices.fill.assembles_in_slices(self.rows() as usize)
    }
}
