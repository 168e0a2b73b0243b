//! Additions to cells that several indices share, in three ways.

#[minifenl::device]
pub mod cell_functions {
    use minifenl::space::IndexFn;
    use minifenl::space::atomic::{self, AtomicF64};

    /// Adds 1 to eight cells of a list, by the atomic addition of the space.
    pub struct Add {}

    impl IndexFn<0, 1, 1> for Add {
        fn at(&self, i: usize, _: [&[f64]; 0], [list]: [&[u32]; 1], [cells]: [&[AtomicF64]; 1]) {
            for k in 0..8 {
                atomic::add(&cells[list[8 * i + k] as usize], 1.0);
            }
        }
    }

    /// As [`Add`] by a compare-and-swap loop.
    pub struct AddByExchange {}

    impl IndexFn<0, 1, 1> for AddByExchange {
        fn at(&self, i: usize, _: [&[f64]; 0], [list]: [&[u32]; 1], [cells]: [&[AtomicF64]; 1]) {
            for k in 0..8 {
                atomic::add_by_exchange(&cells[list[8 * i + k] as usize], 1.0);
            }
        }
    }

    /// As [`Add`] without atomicity: additions of several threads to one cell may be lost.
    pub struct AddUnshared {}

    impl IndexFn<0, 1, 1> for AddUnshared {
        fn at(&self, i: usize, _: [&[f64]; 0], [list]: [&[u32]; 1], [cells]: [&[AtomicF64]; 1]) {
            for k in 0..8 {
                atomic::add_unshared(&cells[list[8 * i + k] as usize], 1.0);
            }
        }
    }
}
