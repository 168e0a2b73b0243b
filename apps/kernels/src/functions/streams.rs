//! Functions whose scalars stay in the space, and one that computes longer than its items take to copy.

#[minifenl::device]
pub mod stream_functions {
    use minifenl::space::atomic::{self, AtomicF64};
    use minifenl::space::{IndexFn, ItemFn};

    /// v / sqrt(v.v), with v.v in memory
    pub struct Normalise {}

    impl IndexFn<1, 0, 1> for Normalise {
        fn at(&self, i: usize, [square]: [&[f64]; 1], _: [&[u32]; 0], [v]: [&[AtomicF64]; 1]) {
            atomic::set(&v[i], atomic::get(&v[i]) / square[0].sqrt());
        }
    }

    /// w - (v.w) v, with v.w in memory
    pub struct Project {}

    impl IndexFn<2, 0, 1> for Project {
        fn at(&self, i: usize, [product, v]: [&[f64]; 2], _: [&[u32]; 0], [w]: [&[AtomicF64]; 1]) {
            atomic::add_unshared(&w[i], -(product[0] * v[i]));
        }
    }

    /// 1 + x/2 + (x/2)^2 + ..., so many terms
    pub struct Series {
        pub terms: f64,
    }

    impl ItemFn<1, 1> for Series {
        type Item = f64;

        fn item(&self, _: usize, [x]: [f64; 1], _: [f64; 1]) -> [f64; 1] {
            let half = 0.5 * x;
            let mut sum = 0.0;
            for _term in 0..self.terms as usize {
                sum = 1.0 + half * sum;
            }
            [sum]
        }
    }
}
