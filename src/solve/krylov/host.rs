//! The operator of a matrix on host spaces: the CRS matrix itself.

use super::MatrixOperator;
use crate::space::HostSpace;
use crate::sparse::CrsMatrix;

impl<S: HostSpace> MatrixOperator for S {
    type Operator<'a> = &'a CrsMatrix;

    fn operator(matrix: &CrsMatrix) -> &CrsMatrix {
        matrix
    }
}
