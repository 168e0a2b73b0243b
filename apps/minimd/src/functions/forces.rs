//! Lennard-Jones forces and energies over neighbour lists; epsilon and sigma are 1. The kernel suite has forces without energies and ghosts,
//! in the layouts of a paper.
//!
//! ```text
//! f_i = sum_j 48 s6 (s6 - 1/2) s2 d_ij,   e = 4 s6 (s6 - 1),   d_ij = x_i - x_j,  s2 = 1 / |d_ij|^2,  s6 = s2^3,  |d_ij| < cutoff
//! full   atom i has all its neighbours in its list, and writes its own force
//! half   each pair of owned atoms stands in one list; its force is added to both atoms
//! ```
//! `x` and `f` are [atom, axis], ghosts last; neighbour k of atom i stands at `i * atom_step + k * neighbour_step`. Half lists add to ghosts,
//! too: these sums are never read.

#[minifenl::device]
pub mod force_functions {
    use minifenl::space::IndexFn;
    use minifenl::space::atomic::{self, AtomicF64};

    /// The position of an atom; the last coordinate first, so that one check of the length serves all.
    fn place(x: &[f64], i: usize) -> [f64; 3] {
        let z = x[3 * i + 2];
        [x[3 * i], x[3 * i + 1], z]
    }

    fn between(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
        [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
    }

    fn add(f: &[AtomicF64], i: usize, force: [f64; 3]) {
        atomic::add(&f[3 * i + 2], force[2]);
        atomic::add(&f[3 * i + 1], force[1]);
        atomic::add(&f[3 * i], force[0]);
    }

    fn add_unshared(f: &[AtomicF64], i: usize, force: [f64; 3]) {
        atomic::add_unshared(&f[3 * i + 2], force[2]);
        atomic::add_unshared(&f[3 * i + 1], force[1]);
        atomic::add_unshared(&f[3 * i], force[0]);
    }

    fn plus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
        [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
    }

    fn scaled(factor: f64, d: [f64; 3]) -> [f64; 3] {
        [factor * d[0], factor * d[1], factor * d[2]]
    }

    fn square(d: [f64; 3]) -> f64 {
        d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    }

    /// The force over the distance; 0 from the cutoff on, without a branch.
    fn pull(square: f64, cutoff: f64) -> f64 {
        let s2 = 1.0 / square;
        let s6 = s2 * s2 * s2;
        f64::from(square < cutoff * cutoff) * (48.0 * s6 * (s6 - 0.5) * s2)
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
            let here = place(x, i);
            let mut sum = [0.0; 3];
            for k in 0..counts[i] as usize {
                let d = between(here, place(x, list[first + k * step] as usize));
                let force = pull(square(d), self.cutoff);
                sum = plus(sum, scaled(force, d));
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
            let here = place(x, i);
            let mut sum = [0.0; 3];
            for k in 0..counts[i] as usize {
                let j = list[first + k * step] as usize;
                let d = between(here, place(x, j));
                let force = pull(square(d), self.cutoff);
                sum = plus(sum, scaled(force, d));
                add(f, j, scaled(-force, d));
            }
            add(f, i, sum);
        }
    }

    /// As [`Half`] without atomicity: index i does the atoms `bounds[2 i + colour]..bounds[2 i + colour + 1]`, whose neighbours are
    /// not those of another index.
    pub struct HalfSlabs {
        pub cutoff: f64,
        pub atom_step: f64,
        pub neighbour_step: f64,
        pub colour: f64,
    }

    impl IndexFn<1, 3, 1> for HalfSlabs {
        fn at(&self, i: usize, [x]: [&[f64]; 1], [counts, list, bounds]: [&[u32]; 3], [f]: [&[AtomicF64]; 1]) {
            let slab = 2 * i + self.colour as usize;
            for a in bounds[slab] as usize..bounds[slab + 1] as usize {
                let (first, step) = (a * self.atom_step as usize, self.neighbour_step as usize);
                let here = place(x, a);
                let mut sum = [0.0; 3];
                for k in 0..counts[a] as usize {
                    let j = list[first + k * step] as usize;
                    let d = between(here, place(x, j));
                    let force = pull(square(d), self.cutoff);
                    sum = plus(sum, scaled(force, d));
                    add_unshared(f, j, scaled(-force, d));
                }
                add_unshared(f, a, sum);
            }
        }
    }

    /// Energy and virial of the pairs in each list; a pair that stands in two lists, or in another rank's, counts half in each.
    pub struct Energy {
        pub cutoff: f64,
        pub atom_step: f64,
        pub neighbour_step: f64,
        /// Owned neighbours that count in full are those below this number.
        pub whole: f64,
    }

    impl IndexFn<1, 2, 2> for Energy {
        fn at(&self, i: usize, [x]: [&[f64]; 1], [counts, list]: [&[u32]; 2], [energies, virials]: [&[AtomicF64]; 2]) {
            let (first, step) = (i * self.atom_step as usize, self.neighbour_step as usize);
            let here = place(x, i);
            let (mut energy, mut virial) = (0.0, 0.0);
            for k in 0..counts[i] as usize {
                let j = list[first + k * step] as usize;
                let r2 = square(between(here, place(x, j)));
                if r2 < self.cutoff * self.cutoff {
                    let s6 = (1.0 / r2) * (1.0 / r2) * (1.0 / r2);
                    let share = if j < self.whole as usize { 1.0 } else { 0.5 };
                    energy += share * 4.0 * s6 * (s6 - 1.0);
                    virial += share * r2 * pull(r2, self.cutoff);
                }
            }
            atomic::set(&energies[i], energy);
            atomic::set(&virials[i], virial);
        }
    }
}
