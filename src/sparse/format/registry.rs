//! The registry of storage formats, and how one is chosen.

use super::copy::FormatCopy;
use super::precision::Precision;
use super::shape::{MatrixSizes, RowShape};
use super::{crs, slices};
use crate::Result;
#[cfg(feature = "cuda")]
use crate::space::cuda::{Cuda, CudaMemory};
use crate::space::{Threads, named_choice};
use crate::sparse::CrsGraph;
use std::sync::Arc;

/// Declares the formats: name of the variant, name of the format, and the module that makes its copies of a matrix.
macro_rules! formats {
    ($($(#[$attribute:meta])* $format:ident $name:literal $module:path;)*) => {
        /// Storage format of a matrix for products.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum Format {
            $($(#[$attribute])* $format,)*
        }

        impl Format {
            /// All formats with their names.
            pub const ALL: [(Self, &'static str); [$($name),*].len()] = [$((Format::$format, $name)),*];
        }

        /// Makes the copy that products on a host read; `None`: they read the assembled matrix.
        pub(super) fn host_copy(
            space: &Threads,
            storage: MatrixStorage,
            graph: &Arc<CrsGraph>,
        ) -> Result<Option<Box<dyn FormatCopy<Threads>>>> {
            match storage.format {
                $(Format::$format => {
                    use $module as format;
                    format::on_host(space, storage.values, graph)
                })*
            }
        }

        /// Returns the values that the copy for products stores, and the bytes of its tables and columns.
        pub(super) fn copy_lengths(format: Format, sizes: &MatrixSizes, on_gpu: bool) -> [u64; 2] {
            match format {
                $(Format::$format => {
                    use $module as format;
                    format::lengths(sizes, on_gpu)
                })*
            }
        }

        /// Makes the copy that products on a GPU read; `None`: they read the assembled matrix.
        #[cfg(feature = "cuda")]
        pub(super) fn device_copy(
            space: &Cuda,
            storage: MatrixStorage,
            graph: &Arc<CrsGraph<CudaMemory>>,
        ) -> Result<Option<Box<dyn FormatCopy<Cuda>>>> {
            match storage.format {
                $(Format::$format => {
                    use $module as format;
                    format::on_device(space, storage.values, graph)
                })*
            }
        }
    };
}

formats! {
    /// The CRS arrays themselves: 12 bytes per entry, no set-up.
    Crs "crs" crs;
    /// Slices of 32 rows that share one table of column - row: 8 bytes per entry where neighbouring rows have the same
    /// pattern. On hosts, nodes with 2 or 3 unknowns take the place of rows. Vectors have to be finite.
    #[default]
    Pattern "pattern" slices::pattern;
    /// The slices of `pattern` with each pair of entries (i, j) and (j, i) stored once: 4 bytes per entry. The matrix has to be
    /// symmetric, vectors finite.
    Symmetric "symmetric" slices::symmetric;
}
named_choice!(Format, "format");

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

impl MatrixStorage {
    /// Returns the bytes of what products read in place of an assembled matrix in CRS.
    pub fn copy_bytes(self, sizes: &MatrixSizes, on_gpu: bool) -> u64 {
        let [values, layout] = copy_lengths(self.format, sizes, on_gpu);
        if self == MatrixStorage::from(Format::Crs) { 0 } else { self.values.bytes() * values + layout }
    }
}

/// Selects a format from the shape of the rows, with the reason.
pub type ByRows = fn(RowShape) -> (Format, &'static str);

/// Most rows of a system that a GPU assembles in CRS in every format: CG solves small systems in one launch, which reads CRS.
#[cfg(feature = "cuda")]
pub(crate) const SMALL_ON_GPU: usize = 1 << 17;

#[cfg(feature = "cuda")]
impl MatrixStorage {
    /// Whether a GPU's slices hold the assembled values, so that assembly can write to them.
    pub(crate) fn holds_assembled_slices(self) -> bool {
        matches!(self.format, Format::Pattern | Format::Symmetric)
    }
}
