//! Lennard-Jones forces over neighbour lists: Figures 11 and 21 of Edwards, Trott and Sunderland (2014).
//!
//! ```text
//! f_i = sum_j 48 s6 (s6 - 1/2) s2 d_ij,   d_ij = x_i - x_j,  s2 = 1 / |d_ij|^2,  s6 = s2^3,   |d_ij| < cutoff
//! full   atom i has all its neighbours in its list, and writes its own force
//! half   each pair stands in one list, and its force is added to both atoms
//! ```
//! `x` and `f` are [atom, axis]; neighbour k of atom i stands at `i * atom_step + k * neighbour_step`.

#[minifenl::device]
pub mod force_functions {
    use minifenl::space::IndexFn;
    use minifenl::space::atomic::{self, AtomicF64};

    fn atom(x: &[f64], i: usize) -> [f64; 3] {
        [x[3 * i], x[3 * i + 1], x[3 * i + 2]]
    }

    fn plus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
        [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
    }

    fn scaled(factor: f64, d: [f64; 3]) -> [f64; 3] {
        [factor * d[0], factor * d[1], factor * d[2]]
    }

    fn between(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
        [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
    }

    fn square(d: [f64; 3]) -> f64 {
        d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    }

    fn factor(square: f64) -> f64 {
        let s2 = 1.0 / square;
        let s6 = s2 * s2 * s2;
        48.0 * s6 * (s6 - 0.5) * s2
    }

    /// Forces by full lists.
    pub struct Full {
        pub cutoff: f64,
        pub atom_step: f64,
        pub neighbour_step: f64,
    }

    impl IndexFn<1, 2, 1> for Full {
        fn at(&self, i: usize, [x]: [&[f64]; 1], [counts, list]: [&[u32]; 2], [f]: [&[AtomicF64]; 1]) {
            let (first, step) = (i * self.atom_step as usize, self.neighbour_step as usize);
            let here = atom(x, i);
            let mut sum = [0.0; 3];
            for k in 0..counts[i] as usize {
                let j = list[first + k * step] as usize;
                let d = between(here, atom(x, j));
                if square(d) < self.cutoff * self.cutoff {
                    sum = plus(sum, scaled(factor(square(d)), d));
                }
            }
            for axis in 0..3 {
                atomic::set(&f[3 * i + axis], sum[axis]);
            }
        }
    }

    /// Forces by half lists and atomic additions to cells that hold 0.
    pub struct Half {
        pub cutoff: f64,
        pub atom_step: f64,
        pub neighbour_step: f64,
    }

    impl IndexFn<1, 2, 1> for Half {
        fn at(&self, i: usize, [x]: [&[f64]; 1], [counts, list]: [&[u32]; 2], [f]: [&[AtomicF64]; 1]) {
            let (first, step) = (i * self.atom_step as usize, self.neighbour_step as usize);
            let here = atom(x, i);
            let mut sum = [0.0; 3];
            for k in 0..counts[i] as usize {
                let j = list[first + k * step] as usize;
                let d = between(here, atom(x, j));
                if square(d) < self.cutoff * self.cutoff {
                    let force = scaled(factor(square(d)), d);
                    sum = plus(sum, force);
                    for axis in 0..3 {
                        atomic::add(&f[3 * j + axis], -force[axis]);
                    }
                }
            }
            for axis in 0..3 {
                atomic::add(&f[3 * i + axis], sum[axis]);
            }
        }
    }

    /// As [`Half`] without atomicity: right on one thread only.
    pub struct HalfUnshared {
        pub cutoff: f64,
        pub atom_step: f64,
        pub neighbour_step: f64,
    }

    impl IndexFn<1, 2, 1> for HalfUnshared {
        fn at(&self, i: usize, [x]: [&[f64]; 1], [counts, list]: [&[u32]; 2], [f]: [&[AtomicF64]; 1]) {
            let (first, step) = (i * self.atom_step as usize, self.neighbour_step as usize);
            let here = atom(x, i);
            let mut sum = [0.0; 3];
            for k in 0..counts[i] as usize {
                let j = list[first + k * step] as usize;
                let d = between(here, atom(x, j));
                if square(d) < self.cutoff * self.cutoff {
                    let force = scaled(factor(square(d)), d);
                    sum = plus(sum, force);
                    for axis in 0..3 {
                        atomic::add_unshared(&f[3 * j + axis], -force[axis]);
                    }
                }
            }
            for axis in 0..3 {
                atomic::add_unshared(&f[3 * i + axis], sum[axis]);
            }
        }
    }
}
