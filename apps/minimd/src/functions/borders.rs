//! Ghosts: images of atoms that a part sees.
//!
//! Row k of `images` has 10 numbers: a shift, the lowest and the highest corner that its part sees, and a label for the ghosts. An atom
//! is a ghost there if its shifted position lies between the corners.

#[minifenl::device]
pub mod border_functions {
    use minifenl::space::IndexFn;
    use minifenl::space::atomic::{self, AtomicU32};

    fn place(x: &[f64], i: usize) -> [f64; 3] {
        let z = x[3 * i + 2];
        [x[3 * i], x[3 * i + 1], z]
    }

    fn lies(x: f64, low: f64, high: f64) -> bool {
        x >= low && x <= high
    }

    fn sees(images: &[f64], image: usize, x: [f64; 3]) -> bool {
        let at = 10 * image;
        lies(x[0] + images[at], images[at + 3], images[at + 6])
            && lies(x[1] + images[at + 1], images[at + 4], images[at + 7])
            && lies(x[2] + images[at + 2], images[at + 5], images[at + 8])
    }

    /// Number of images of each atom that are seen. Nobody sees an atom between `low` and `high`.
    pub struct CountGhosts {
        pub low: [f64; 3],
        pub high: [f64; 3],
        pub images: f64,
    }

    impl IndexFn<2, 0, 1, u32> for CountGhosts {
        fn at(&self, i: usize, [x, images]: [&[f64]; 2], []: [&[u32]; 0], [counts]: [&[AtomicU32]; 1]) {
            let here = place(x, i);
            let mut deep = true;
            for d in 0..3 {
                deep = deep && here[d] >= self.low[d] && here[d] < self.high[d];
            }
            let mut count = 0;
            for image in 0..if deep { 0 } else { self.images as usize } {
                count += sees(images, image, here) as usize;
            }
            atomic::set(&counts[i], count as u32);
        }
    }

    /// Source and label of each ghost, in the order of sources; `ends` is the inclusive scan of the counts.
    pub struct ListGhosts {
        pub images: f64,
    }

    impl IndexFn<2, 2, 2, u32> for ListGhosts {
        fn at(
            &self,
            i: usize,
            [x, images]: [&[f64]; 2],
            [counts, ends]: [&[u32]; 2],
            [sources, labels]: [&[AtomicU32]; 2],
        ) {
            let here = place(x, i);
            let mut at = ends[i] as usize - counts[i] as usize;
            for image in 0..if counts[i] > 0 { self.images as usize } else { 0 } {
                if sees(images, image, here) {
                    atomic::set(&sources[at], i as u32);
                    atomic::set(&labels[at], images[10 * image + 9] as u32);
                    at += 1;
                }
            }
        }
    }
}
