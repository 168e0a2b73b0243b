//! Functions of a user for loops over arrays.

pub use for_arrays::{Centroid, Doubled, Gather, Kept, Line, Listed, Moment, Sum};

#[minifenl::device]
pub mod for_arrays {
    use minifenl::space::atomic::{self, AtomicF64, AtomicU32};
    use minifenl::space::{IndexFn, ItemFn, Reduction};

    /// a x + y and, in place, x less the index and the former value where x exceeds a.
    #[derive(Debug)]
    pub struct Line {
        pub a: f64,
    }

    impl ItemFn<2, 2> for Line {
        type Item = f64;

        fn item(&self, i: usize, [x, y]: [f64; 2], [_, before]: [f64; 2]) -> [f64; 2] {
            let rest = if x > self.a { x - i as f64 - before } else { f64::MAX };
            [self.a * x + y, rest]
        }
    }

    /// Adds x at an index from a list to a cell in three ways, and writes it to another one.
    #[derive(Debug)]
    pub struct Gather {
        pub factor: f64,
    }

    impl IndexFn<1, 1, 2> for Gather {
        fn at(&self, i: usize, [x]: [&[f64]; 1], [list]: [&[u32]; 1], [sums, out]: [&[AtomicF64]; 2]) {
            let value = self.factor * x[list[i] as usize];
            atomic::add(&sums[0], value);
            atomic::add_by_exchange(&sums[1], value);
            atomic::add_unshared(&sums[2 + i], value);
            atomic::set(&out[i], value);
        }
    }

    /// Twice a cell, in place.
    #[derive(Debug)]
    pub struct Doubled {}

    impl IndexFn<0, 0, 1> for Doubled {
        fn at(&self, i: usize, _: [&[f64]; 0], _: [&[u32]; 0], [cells]: [&[AtomicF64]; 1]) {
            atomic::set(&cells[i], 2.0 * atomic::get(&cells[i]));
        }
    }

    /// The items of a list up to a limit, counted and copied to a row.
    #[derive(Debug)]
    pub struct Listed {
        pub limit: f64,
    }

    impl IndexFn<0, 1, 2, u32> for Listed {
        fn at(&self, i: usize, _: [&[f64]; 0], [list]: [&[u32]; 1], [counts, rows]: [&[AtomicU32]; 2]) {
            let mut count = 0;
            for k in 0..2 {
                if list[2 * i + k] as f64 <= self.limit {
                    atomic::set(&rows[2 * i + count], list[2 * i + k]);
                    count += 1;
                }
            }
            atomic::set(&counts[i], count as u32);
        }
    }

    #[derive(Debug)]
    pub struct Sum {}

    impl Reduction<1> for Sum {
        type Item = f64;
        type Value = f64;
        const COMMUTES: bool = true;

        fn identity(&self) -> f64 {
            0.0
        }

        fn value(&self, _i: usize, [x]: [f64; 1]) -> f64 {
            x
        }

        fn join(&self, a: f64, b: f64) -> f64 {
            a + b
        }
    }

    /// The last number that is not 0: the order counts.
    #[derive(Debug)]
    pub struct Kept {}

    impl Reduction<1> for Kept {
        type Item = f64;
        type Value = f64;

        fn identity(&self) -> f64 {
            0.0
        }

        fn value(&self, _i: usize, [x]: [f64; 1]) -> f64 {
            x
        }

        fn join(&self, a: f64, b: f64) -> f64 {
            if b == 0.0 { a } else { b }
        }
    }

    /// Mass times position, and mass, summed: a reduction of structs.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Moment {
        pub point: [f64; 3],
        pub mass: f64,
    }

    #[derive(Debug)]
    pub struct Centroid {}

    impl Reduction<2> for Centroid {
        type Item = f64;
        type Value = Moment;

        fn identity(&self) -> Moment {
            Moment { point: [0.0; 3], mass: 0.0 }
        }

        fn value(&self, i: usize, [x, mass]: [f64; 2]) -> Moment {
            Moment { point: [mass * x, mass * i as f64, mass], mass }
        }

        fn join(&self, a: Moment, b: Moment) -> Moment {
            let point = [a.point[0] + b.point[0], a.point[1] + b.point[1], a.point[2] + b.point[2]];
            Moment { point, mass: a.mass + b.mass }
        }
    }
}
