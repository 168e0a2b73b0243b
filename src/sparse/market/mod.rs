//! Matrix Market files (Boisvert, Pozo, Remington 1996, NISTIR 5935): every format, field and symmetry.
//!
//! | word of the first line | accepted |
//! |---|---|
//! | format | `coordinate`; `array`, which holds all entries: also a vector, as a matrix of one column |
//! | field | `real`; `integer`; `complex`; `pattern`, whose values are 1 (not with `array`) |
//! | symmetry | `general`; `symmetric`; `skew-symmetric` (not with `pattern`); `hermitian` (with `complex`) |
//!
//! The file is read line by line and its size bounds the memory, whatever it declares. Entries of the same place are added in the order
//! of the file. A line that the format does not allow is an error with its number.
//!
//! The reader is our own because the readers of other crates are not safe on files from elsewhere, and refuse some of these kinds.
//! sprs 0.11.6 never returns from a file of one line, panics at an index beyond the extents, allocates all entries that are declared, and has
//! no arrays; nalgebra-sparse 0.12.0 panics at extents beyond 64 bits, allocates declared rows when it makes a CSR matrix, and refuses
//! integer and pattern values for a matrix of f64.

mod header;
mod read;
#[cfg(test)]
mod tests;
mod triplets;
mod value;
mod write;

pub use value::MarketValue;
pub use write::write_matrix_market;

use super::CrsMatrix;
use crate::Result;
use crate::files::Lines;
use std::path::Path;

/// Reads a Matrix Market file of real, integer or pattern values. Integers beyond 2^53 are rounded.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("minifenl-market-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// use minifenl::files::write;
/// use minifenl::sparse::{read_matrix_market, write_matrix_market};
///
/// let path = folder.join("k.mtx");
/// write(&path, b"%%MatrixMarket matrix coordinate integer symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n")?;
/// let k = read_matrix_market(&path)?;
/// assert_eq!((k.graph().row_map(), k.values()), (&vec![0, 2, 4], &vec![2.0, -1.0, -1.0, 2.0]));
/// write_matrix_market(&path, &k)?;
///
/// write(&path, b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.5\n")?;
/// let error = read_matrix_market(&path).unwrap_err().to_string();
/// assert!(error.ends_with("k.mtx: line 3: expected \"row column value\" of a 2 x 2 matrix, found \"3 1 1.5\""));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), minifenl::Error>(())
/// ```
///
/// # Errors
/// [`Error::File`](crate::Error::File) with the path, and the line if one is at fault, when the file is absent, is not regular, is
/// truncated or malformed, values of one place add up beyond the range of f64, or the matrix needs more than the free memory.
pub fn read_matrix_market(path: impl AsRef<Path>) -> Result<CrsMatrix> {
    read_matrix_market_as(path)
}

/// [`read_matrix_market`] with values of another type: `f32`; `num_complex::Complex` of `f32` or `f64` (feature `num-complex`), which
/// holds complex values, too.
///
/// # Errors
/// As [`read_matrix_market`], and when a value or the sum of values of one place exceeds the range of the type.
pub fn read_matrix_market_as<V: MarketValue>(path: impl AsRef<Path>) -> Result<CrsMatrix<V>> {
    read::read(&mut Lines::open(path.as_ref())?)
}
