//! Matrix Market files of matrices: format coordinate, symmetry general.

use super::value::MarketValue;
use crate::Result;
use crate::files::write_streamed;
use crate::sparse::CrsMatrix;
use std::io::{self, Write};
use std::path::Path;

/// Writes a Matrix Market file (coordinate, general; real or complex). Readers never see a partial file: the text goes to a temporary
/// file beside it, whose name no other file has, and which then takes its name. Numbers are written with the digits that reading back
/// the same bits needs.
///
/// # Errors
/// [`Error::File`](crate::Error::File) with the path when the file cannot be written. An earlier file of that name then stays
/// unchanged.
pub fn write_matrix_market<V: MarketValue>(path: impl AsRef<Path>, matrix: &CrsMatrix<V>) -> Result<()> {
    write_streamed(path.as_ref(), |out| lines(out, matrix))
}

fn lines<V: MarketValue>(out: &mut dyn Write, matrix: &CrsMatrix<V>) -> io::Result<()> {
    let graph = matrix.graph();
    let field = if V::IS_COMPLEX { "complex" } else { "real" };
    writeln!(out, "%%MatrixMarket matrix coordinate {field} general")?;
    writeln!(out, "{} {} {}", graph.rows(), graph.columns(), graph.nnz())?;
    for row in 0..graph.rows() {
        for (column, value) in graph.row(row).iter().zip(&matrix.values()[graph.row_range(row)]) {
            let ([re, im], row, column) = (value.parts(), row + 1, column + 1);
            if V::IS_COMPLEX {
                writeln!(out, "{row} {column} {re:?} {im:?}")?;
            } else {
                writeln!(out, "{row} {column} {re:?}")?;
            }
        }
    }
    Ok(())
}
