//! The nine contractions by name.

use crate::space::named_choice;

named_choice! { "contraction";
    /// Names of the nine contractions.
    #[derive(Hash)]
    pub enum Contraction {
        /// `sum_p left[c, l, p] right[c, r, p]`.
        FieldFieldScalar = "field_field_scalar",
        /// `sum_(p,i) left[c, l, p, i] right[c, r, p, i]`.
        FieldFieldVector = "field_field_vector",
        /// `sum_(p,i,j) left[c, l, p, i, j] right[c, r, p, i, j]`.
        FieldFieldTensor = "field_field_tensor",
        /// `sum_p data[c, p] fields[c, f, p]`.
        DataFieldScalar = "data_field_scalar",
        /// `sum_(p,i) data[c, p, i] fields[c, f, p, i]`.
        DataFieldVector = "data_field_vector",
        /// `sum_(p,i,j) data[c, p, i, j] fields[c, f, p, i, j]`.
        DataFieldTensor = "data_field_tensor",
        /// `sum_p left[c, p] right[c, p]`.
        DataDataScalar = "data_data_scalar",
        /// `sum_(p,i) left[c, p, i] right[c, p, i]`.
        DataDataVector = "data_data_vector",
        /// `sum_(p,i,j) left[c, p, i, j] right[c, p, i, j]`.
        DataDataTensor = "data_data_tensor",
    }
}

impl Contraction {
    /// Returns the number of dimensions of a point's values: 0, 1 or 2.
    pub fn rank(self) -> usize {
        self as usize % 3
    }

    /// Returns whether left and right have fields.
    pub fn fields(self) -> [bool; 2] {
        [(self as usize) < 3, (self as usize) < 6]
    }
}
