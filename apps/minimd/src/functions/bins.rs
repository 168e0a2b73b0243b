//! Atoms sorted by bins: counts, offsets, slots.
//!
//! ```text
//! CountBins   bins[i] = bin of atom i;  slots[k] = counts[bin + 1]++       i = first + k
//! Sum         starts = inclusive scan of counts
//! PlaceAtoms  order[starts[bins[i]] + slots[k]] = i
//! SortBin     order[starts[b]..starts[b + 1]] ascends
//! ```
//! Owned atoms are sorted first; ghosts join them in bins of their own behind.
//! Slots depend on which thread comes first; sorted bins do not.

#[minifenl::device]
pub mod bin_functions {
    use minifenl::space::atomic::{self, AtomicF64, AtomicU32};
    use minifenl::space::{IndexFn, Reduction};

    /// The bin of each atom, and its slot there; ghosts have bins of their own behind those of owned atoms.
    pub struct CountBins {
        pub origin: [f64; 3],
        pub edge: f64,
        /// Bins along each axis.
        pub extents: [f64; 3],
        /// The first atom that is counted.
        pub first: f64,
        /// The first of the bins: 0, or for ghosts the number of bins.
        pub first_bin: f64,
    }

    impl IndexFn<1, 0, 3, u32> for CountBins {
        fn at(&self, k: usize, [x]: [&[f64]; 1], []: [&[u32]; 0], [bins, slots, counts]: [&[AtomicU32]; 3]) {
            let i = self.first as usize + k;
            let mut place = [0.0; 3];
            for d in 0..3 {
                let at = ((x[3 * i + d] - self.origin[d]) / self.edge).max(0.0);
                place[d] = at.min(self.extents[d] - 1.0);
            }
            let (row, layer) = (self.extents[0] as usize, self.extents[1] as usize);
            let inside = place[0] as usize + row * (place[1] as usize + layer * place[2] as usize);
            let bin = self.first_bin as usize + inside;
            atomic::set(&bins[i], bin as u32);
            atomic::set(&slots[k], atomic::fetch_add(&counts[bin + 1], 1));
        }
    }

    /// Sum.
    pub struct Sum {}

    impl Reduction<1> for Sum {
        type Item = u32;
        type Value = u32;
        const COMMUTES: bool = true;

        fn identity(&self) -> u32 {
            0
        }

        fn value(&self, _: usize, [x]: [u32; 1]) -> u32 {
            x
        }

        fn join(&self, a: u32, b: u32) -> u32 {
            a + b
        }
    }

    /// Puts atoms at their slots.
    pub struct PlaceAtoms {
        pub first: f64,
    }

    impl IndexFn<0, 3, 1, u32> for PlaceAtoms {
        fn at(&self, k: usize, []: [&[f64]; 0], [bins, slots, starts]: [&[u32]; 3], [order]: [&[AtomicU32]; 1]) {
            let i = self.first as usize + k;
            atomic::set(&order[(starts[bins[i] as usize] + slots[k]) as usize], i as u32);
        }
    }

    /// Sorts the few atoms of a bin by insertion.
    pub struct SortBin {
        pub first_bin: f64,
    }

    impl IndexFn<0, 1, 1, u32> for SortBin {
        fn at(&self, k: usize, []: [&[f64]; 0], [starts]: [&[u32]; 1], [order]: [&[AtomicU32]; 1]) {
            let bin = self.first_bin as usize + k;
            let first = starts[bin] as usize;
            for next in first + 1..starts[bin + 1] as usize {
                let atom = atomic::get(&order[next]);
                let mut at = next;
                while at > first && atomic::get(&order[at - 1]) > atom {
                    atomic::set(&order[at], atomic::get(&order[at - 1]));
                    at -= 1;
                }
                atomic::set(&order[at], atom);
            }
        }
    }

    /// Bins and order of atoms that, with `is_reordered` of 1, have been put into that order since.
    pub struct KeepBins {
        pub is_reordered: f64,
    }

    impl IndexFn<0, 2, 2, u32> for KeepBins {
        fn at(&self, i: usize, []: [&[f64]; 0], [bins, order]: [&[u32]; 2], [to_bins, to_order]: [&[AtomicU32]; 2]) {
            let is_reordered = self.is_reordered > 0.0;
            atomic::set(&to_bins[i], bins[if is_reordered { order[i] as usize } else { i }]);
            atomic::set(&to_order[i], if is_reordered { i as u32 } else { order[i] });
        }
    }

    /// Positions and velocities in another order.
    pub struct Reorder {}

    impl IndexFn<2, 1, 2> for Reorder {
        fn at(&self, i: usize, [x, v]: [&[f64]; 2], [order]: [&[u32]; 1], [to_x, to_v]: [&[AtomicF64]; 2]) {
            let from = 3 * order[i] as usize;
            for axis in 0..3 {
                atomic::set(&to_x[3 * i + axis], x[from + axis]);
                atomic::set(&to_v[3 * i + axis], v[from + axis]);
            }
        }
    }
}
