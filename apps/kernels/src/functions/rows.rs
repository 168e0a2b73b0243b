//! y = A x with a matrix in rows, a team of threads per row.

#[minifenl::device]
pub mod row_functions {
    use minifenl::space::TeamFn;
    use minifenl::space::atomic::{self, AtomicF64};

    /// The product with a row: the sum of its values times items of x.
    pub struct RowProduct {}

    impl TeamFn<2, 2, 1> for RowProduct {
        type Value = f64;

        fn identity(&self) -> f64 {
            0.0
        }

        fn range(&self, i: usize, [starts, _]: [&[u32]; 2]) -> [usize; 2] {
            [starts[i] as usize, starts[i + 1] as usize]
        }

        fn value(&self, _: usize, k: usize, [values, x]: [&[f64]; 2], [_, columns]: [&[u32]; 2]) -> f64 {
            values[k] * x[columns[k] as usize]
        }

        fn join(&self, a: f64, b: f64) -> f64 {
            a + b
        }

        fn at(&self, i: usize, sum: f64, [y]: [&[AtomicF64]; 1]) {
            atomic::set(&y[i], sum);
        }
    }
}
