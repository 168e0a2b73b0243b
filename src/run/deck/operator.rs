//! Operator of CG: an assembled matrix, or products by elements.

use crate::space::named_choice;

/// The linear operator of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operator {
    /// A matrix, assembled in each Newton step and stored.
    #[default]
    Assembled,
    /// The Jacobian applied by elements: neither graph nor matrix is stored.
    MatrixFree,
}

impl Operator {
    /// All operators with their names.
    pub const ALL: [(Self, &'static str); 2] =
        [(Operator::Assembled, "assembled"), (Operator::MatrixFree, "matrix-free")];
}

named_choice!(Operator, "operator");
