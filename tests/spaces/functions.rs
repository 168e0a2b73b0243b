//! Functions of a user for loops over arrays.

pub use for_arrays::{Kept, Line, Sum};

#[minifenl::device]
pub mod for_arrays {
    use minifenl::space::{ItemFn, Joiner};

    /// a x + y, and x less the index where x exceeds a.
    #[derive(Debug)]
    pub struct Line {
        pub a: f64,
    }

    impl ItemFn<2, 2> for Line {
        fn item(&self, i: usize, [x, y]: [f64; 2]) -> [f64; 2] {
            let rest = if x > self.a { x - i as f64 } else { f64::MAX };
            [self.a * x + y, rest]
        }
    }

    #[derive(Debug)]
    pub struct Sum {}

    impl Joiner for Sum {
        fn identity(&self) -> f64 {
            0.0
        }

        fn join(&self, a: f64, b: f64) -> f64 {
            a + b
        }
    }

    /// The last number that is not 0: the order counts.
    #[derive(Debug)]
    pub struct Kept {}

    impl Joiner for Kept {
        fn identity(&self) -> f64 {
            0.0
        }

        fn join(&self, a: f64, b: f64) -> f64 {
            if b == 0.0 { a } else { b }
        }
    }
}
