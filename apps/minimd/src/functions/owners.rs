//! Owners of atoms: the periodic box, atoms that leave a part, atoms that arrive.
//!
//! A coordinate that left the box comes back by one edge. Numbers of atoms that change their rank stand in rows of 6: position, velocity.

#[minifenl::device]
pub mod owner_functions {
    use minifenl::space::atomic::{self, AtomicF64, AtomicU32};
    use minifenl::space::{IndexFn, ItemFn, Reduction};

    /// Moves a coordinate towards the box, by one edge at most.
    pub fn wrapped(x: f64, edge: f64) -> f64 {
        let lifted = if x < 0.0 { x + edge } else { x };
        if lifted >= edge { lifted - edge } else { lifted }
    }

    /// Returns which of the `parts` along an axis owns a coordinate of the box.
    pub fn part(x: f64, edge: f64, parts: f64) -> usize {
        ((x / edge * parts) as usize).min(parts as usize - 1)
    }

    /// Number of coordinates that are more than an edge outside the box, or not finite.
    pub struct Lost {
        pub edges: [f64; 3],
    }

    impl Reduction<1> for Lost {
        type Item = f64;
        type Value = f64;
        const COMMUTES: bool = true;

        fn identity(&self) -> f64 {
            0.0
        }

        fn value(&self, i: usize, [x]: [f64; 1]) -> f64 {
            let edge = self.edges[i % 3];
            let inside = wrapped(x, edge);
            if inside >= 0.0 && inside < edge { 0.0 } else { 1.0 }
        }

        fn join(&self, a: f64, b: f64) -> f64 {
            a + b
        }
    }

    /// Moves coordinates into the box.
    pub struct Wrap {
        pub edges: [f64; 3],
    }

    impl ItemFn<0, 1> for Wrap {
        type Item = f64;

        fn item(&self, i: usize, []: [f64; 0], [x]: [f64; 1]) -> [f64; 1] {
            [wrapped(x, self.edges[i % 3])]
        }
    }

    /// Whether each atom, which is in the box, leaves the part at `place` of `grid`: 1 or 0.
    pub struct Leaves {
        pub edges: [f64; 3],
        pub grid: [f64; 3],
        pub place: [f64; 3],
    }

    impl IndexFn<1, 0, 1, u32> for Leaves {
        fn at(&self, i: usize, [x]: [&[f64]; 1], []: [&[u32]; 0], [leaves]: [&[AtomicU32]; 1]) {
            let mut stays = true;
            for d in 0..3 {
                stays = stays && part(x[3 * i + d], self.edges[d], self.grid[d]) == self.place[d] as usize;
            }
            atomic::set(&leaves[i], if stays { 0_u32 } else { 1_u32 });
        }
    }

    /// Lists the atoms that stay, and those that leave; `ends` is the inclusive scan of `leaves`.
    pub struct Split {}

    impl IndexFn<0, 2, 2, u32> for Split {
        fn at(&self, i: usize, []: [&[f64]; 0], [leaves, ends]: [&[u32]; 2], [staying, leaving]: [&[AtomicU32]; 2]) {
            let end = ends[i] as usize;
            if leaves[i] > 0 {
                atomic::set(&leaving[end - 1], i as u32);
            } else {
                atomic::set(&staying[i - end], i as u32);
            }
        }
    }

    /// Rows of atoms that leave.
    pub struct Pack {}

    impl IndexFn<2, 1, 1> for Pack {
        fn at(&self, i: usize, [x, v]: [&[f64]; 2], [atoms]: [&[u32]; 1], [rows]: [&[AtomicF64]; 1]) {
            let from = 3 * atoms[i] as usize;
            for axis in 0..3 {
                atomic::set(&rows[6 * i + axis], x[from + axis]);
                atomic::set(&rows[6 * i + 3 + axis], v[from + axis]);
            }
        }
    }

    /// Puts the atoms of rows behind `first` others.
    pub struct Unpack {
        pub first: f64,
    }

    impl IndexFn<1, 0, 2> for Unpack {
        fn at(&self, i: usize, [rows]: [&[f64]; 1], []: [&[u32]; 0], [x, v]: [&[AtomicF64]; 2]) {
            let to = 3 * (self.first as usize + i);
            for axis in 0..3 {
                atomic::set(&x[to + axis], rows[6 * i + axis]);
                atomic::set(&v[to + axis], rows[6 * i + 3 + axis]);
            }
        }
    }
}
