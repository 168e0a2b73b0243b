//! Operator of CG: an assembled matrix, or products by elements.

use crate::space::named_choice;

named_choice! { "operator";
    /// The linear operator of a solve.
    #[derive(Default)]
    pub enum Operator {
        /// A matrix, assembled in each Newton step and stored.
        #[default]
        Assembled = "assembled",
        /// The Jacobian applied by elements: neither graph nor matrix is stored.
        MatrixFree = "matrix-free",
    }
}
