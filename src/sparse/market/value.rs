//! The values of Matrix Market files: real or complex numbers.

use crate::space::Item;

/// A value that a Matrix Market file can hold.
pub trait MarketValue: Item {
    /// Name for messages.
    const NAME: &'static str;

    /// Whether values have an imaginary part.
    const IS_COMPLEX: bool;

    /// Makes the value nearest to a real and an imaginary part. The latter is 0 unless [`IS_COMPLEX`](Self::IS_COMPLEX).
    fn from_parts(parts: [f64; 2]) -> Self;

    /// Returns the real and the imaginary part.
    fn parts(self) -> [f64; 2];
}

impl MarketValue for f64 {
    const NAME: &'static str = "f64";
    const IS_COMPLEX: bool = false;

    fn from_parts([re, _]: [f64; 2]) -> Self {
        re
    }

    fn parts(self) -> [f64; 2] {
        [self, 0.0]
    }
}

impl MarketValue for f32 {
    const NAME: &'static str = "f32";
    const IS_COMPLEX: bool = false;

    fn from_parts([re, _]: [f64; 2]) -> Self {
        re as f32
    }

    fn parts(self) -> [f64; 2] {
        [self.into(), 0.0]
    }
}

#[cfg(feature = "num-complex")]
impl MarketValue for num_complex::Complex<f64> {
    const NAME: &'static str = "Complex<f64>";
    const IS_COMPLEX: bool = true;

    fn from_parts([re, im]: [f64; 2]) -> Self {
        Self { re, im }
    }

    fn parts(self) -> [f64; 2] {
        [self.re, self.im]
    }
}

#[cfg(feature = "num-complex")]
impl MarketValue for num_complex::Complex<f32> {
    const NAME: &'static str = "Complex<f32>";
    const IS_COMPLEX: bool = true;

    fn from_parts([re, im]: [f64; 2]) -> Self {
        Self { re: re as f32, im: im as f32 }
    }

    fn parts(self) -> [f64; 2] {
        [self.re.into(), self.im.into()]
    }
}
