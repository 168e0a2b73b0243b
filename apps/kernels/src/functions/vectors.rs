//! Functions of vectors.

#[minifenl::device]
pub mod vector_functions {
    use minifenl::space::{ItemFn, Reduction};

    /// Numbers below 1 that come again every 64 items.
    pub struct Ramp {}

    impl ItemFn<0, 1> for Ramp {
        type Item = f64;

        fn item(&self, i: usize, _: [f64; 0], _: [f64; 1]) -> [f64; 1] {
            [(i % 64) as f64 / 64.0]
        }
    }

    /// y = a x + b y
    pub struct Axpby {
        pub a: f64,
        pub b: f64,
    }

    impl ItemFn<1, 1> for Axpby {
        type Item = f64;

        fn item(&self, _: usize, [x]: [f64; 1], [y]: [f64; 1]) -> [f64; 1] {
            [self.a * x + self.b * y]
        }
    }

    /// y = a y
    pub struct Scale {
        pub a: f64,
    }

    impl ItemFn<0, 1> for Scale {
        type Item = f64;

        fn item(&self, _: usize, _: [f64; 0], [y]: [f64; 1]) -> [f64; 1] {
            [self.a * y]
        }
    }

    /// z = x + a y
    pub struct Triad {
        pub a: f64,
    }

    impl ItemFn<2, 1> for Triad {
        type Item = f64;

        fn item(&self, _: usize, [x, y]: [f64; 2], _: [f64; 1]) -> [f64; 1] {
            [x + self.a * y]
        }
    }

    /// x.y
    pub struct Dot {}

    impl Reduction<2> for Dot {
        type Item = f64;
        type Value = f64;
        const COMMUTES: bool = true;

        fn identity(&self) -> f64 {
            0.0
        }

        fn value(&self, _: usize, [x, y]: [f64; 2]) -> f64 {
            x * y
        }

        fn join(&self, a: f64, b: f64) -> f64 {
            a + b
        }
    }

    /// Sums of all items up to each one.
    pub struct Prefix {}

    impl Reduction<1> for Prefix {
        type Item = f64;
        type Value = f64;

        fn identity(&self) -> f64 {
            0.0
        }

        fn value(&self, _: usize, [x]: [f64; 1]) -> f64 {
            x
        }

        fn join(&self, a: f64, b: f64) -> f64 {
            a + b
        }
    }

    /// Mass times position, and mass: the struct of Figure 9 of Edwards, Trott and Sunderland (2014).
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Moment {
        pub point: [f64; 3],
        pub mass: f64,
    }

    /// The sums of a centroid: m x, m y, m z and m.
    pub struct Centroid {}

    impl Reduction<4> for Centroid {
        type Item = f64;
        type Value = Moment;
        const COMMUTES: bool = true;

        fn identity(&self) -> Moment {
            Moment { point: [0.0; 3], mass: 0.0 }
        }

        fn value(&self, _: usize, [mass, x, y, z]: [f64; 4]) -> Moment {
            Moment { point: [mass * x, mass * y, mass * z], mass }
        }

        fn join(&self, a: Moment, b: Moment) -> Moment {
            let point = [a.point[0] + b.point[0], a.point[1] + b.point[1], a.point[2] + b.point[2]];
            Moment { point, mass: a.mass + b.mass }
        }
    }
}
