//! Motion by velocity Verlet, positions of ghosts, and sums. Mass is 1.
//!
//! ```text
//! Start   v += dt/2 f,  x += dt v        End   v += dt/2 f        per coordinate
//! Ghosts  x[first + i] = x[source_i] + shift of label_i
//! ```

#[minifenl::device]
pub mod motion_functions {
    use minifenl::space::atomic::{self, AtomicF64};
    use minifenl::space::{IndexFn, ItemFn, Reduction};

    /// First half of a step.
    pub struct Start {
        pub dt: f64,
    }

    impl ItemFn<1, 2> for Start {
        type Item = f64;

        fn item(&self, _: usize, [f]: [f64; 1], [v, x]: [f64; 2]) -> [f64; 2] {
            let faster = v + 0.5 * self.dt * f;
            [faster, x + self.dt * faster]
        }
    }

    /// Second half of a step.
    pub struct End {
        pub dt: f64,
    }

    impl ItemFn<1, 1> for End {
        type Item = f64;

        fn item(&self, _: usize, [f]: [f64; 1], [v]: [f64; 1]) -> [f64; 1] {
            [v + 0.5 * self.dt * f]
        }
    }

    /// Positions of ghosts, from the atom `first` on. The source of a ghost that another rank owns is the ghost itself, which holds the
    /// owner's position.
    pub struct Ghosts {
        pub first: f64,
    }

    impl IndexFn<1, 2, 1> for Ghosts {
        fn at(&self, i: usize, [shifts]: [&[f64]; 1], [sources, labels]: [&[u32]; 2], [x]: [&[AtomicF64]; 1]) {
            let (from, to) = (3 * sources[i] as usize, 3 * (self.first as usize + i));
            for axis in 0..3 {
                atomic::set(&x[to + axis], atomic::get(&x[from + axis]) + shifts[3 * labels[i] as usize + axis]);
            }
        }
    }

    /// Sum of squares.
    pub struct Squares {}

    impl Reduction<1> for Squares {
        type Item = f64;
        type Value = f64;
        const COMMUTES: bool = true;

        fn identity(&self) -> f64 {
            0.0
        }

        fn value(&self, _: usize, [v]: [f64; 1]) -> f64 {
            v * v
        }

        fn join(&self, a: f64, b: f64) -> f64 {
            a + b
        }
    }

    /// Energy and virial.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Both {
        pub energy: f64,
        pub virial: f64,
    }

    /// Sums of energies and virials.
    pub struct Sums {}

    impl Reduction<2> for Sums {
        type Item = f64;
        type Value = Both;
        const COMMUTES: bool = true;

        fn identity(&self) -> Both {
            Both { energy: 0.0, virial: 0.0 }
        }

        fn value(&self, _: usize, [energy, virial]: [f64; 2]) -> Both {
            Both { energy, virial }
        }

        fn join(&self, a: Both, b: Both) -> Both {
            Both { energy: a.energy + b.energy, virial: a.virial + b.virial }
        }
    }
}
