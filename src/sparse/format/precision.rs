//! The types of stored values.

use crate::space::named_choice;

named_choice! { "matrix values";
    /// Type of the stored values that products read. Vectors, sums and the assembled matrix are f64 for all.
    #[derive(Default)]
    pub enum Precision {
        /// The assembled values.
        #[default]
        F64 = "f64",
        /// The assembled values rounded to single precision: half the bytes.
        F32 = "f32",
    }
}

impl Precision {
    /// Returns the bytes of a value.
    pub fn bytes(self) -> u64 {
        match self {
            Precision::F64 => 8,
            Precision::F32 => 4,
        }
    }

    /// Relative spacing of the numbers: twice the largest rounding error.
    pub fn epsilon(self) -> f64 {
        match self {
            Precision::F64 => f64::EPSILON,
            Precision::F32 => f64::from(f32::EPSILON),
        }
    }
}
