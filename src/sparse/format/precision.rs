//! The types of stored values.

use crate::space::named_choice;

/// Type of the stored values that products read. Vectors, sums and the assembled matrix are f64 for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// The assembled values.
    #[default]
    F64,
    /// The assembled values rounded to single precision: half the bytes.
    F32,
}

impl Precision {
    /// All types with their names.
    pub const ALL: [(Self, &'static str); 2] = [(Precision::F64, "f64"), (Precision::F32, "f32")];

    /// Relative spacing of the numbers: twice the largest rounding error.
    pub fn epsilon(self) -> f64 {
        match self {
            Precision::F64 => f64::EPSILON,
            Precision::F32 => f64::from(f32::EPSILON),
        }
    }
}
named_choice!(Precision, "matrix values");
