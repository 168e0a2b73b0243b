//! The 16 vectors that Gram-Schmidt makes orthonormal, its counts, and how far from orthonormal they are.

pub use crate::functions::VECTORS;
use crate::functions::{Gram, ITEMS_OF_TEAM, Ramp};
use crate::measure::difference;
use crate::space::Space;
use minifenl::Result;
use minifenl::space::{Array, MemorySpace, Slice};

const PAIRS: usize = VECTORS * (VECTORS - 1) / 2;
/// Kernels of a call.
pub const DISPATCHES: usize = 2 * VECTORS + 2 * PAIRS;
/// Numbers of a call per item.
pub const NUMBERS: usize = 3 * VECTORS + 5 * PAIRS;

/// Vectors that are independent: a ramp, and one item of its own each.
pub fn independent<S: Space>(space: &S, n: usize) -> Result<Vec<Array<S, f64>>> {
    let vector = |k: usize| {
        let mut vector = space.to_be_written(n)?;
        space.for_items(n, &Ramp {}, [], [S::Memory::slice_mut(&mut vector)])?;
        let mut first = vec![0.0; n.min(VECTORS)];
        space.read(&vector, &mut first)?;
        if let Some(item) = first.get_mut(k) {
            *item += (n as f64).sqrt();
        }
        space.overwrite(&first, &mut vector)?;
        Ok(vector)
    };
    (0..VECTORS).map(vector).collect()
}

/// Adds the products of the vectors with each other, [i, j] for i <= j.
pub fn add_products<S: Space>(
    space: &S,
    n: usize,
    vectors: &[Array<S, f64>],
    products: &mut Array<S, f64>,
) -> Result<()> {
    let gram = Gram { items: n as f64 };
    space.for_tiles(n.div_ceil(ITEMS_OF_TEAM), &gram, slices::<S>(vectors), [], [S::Memory::slice_mut(products)])
}

/// The vectors as loops take them.
pub fn slices<S: Space>(vectors: &[Array<S, f64>]) -> [&Slice<S, f64>; VECTORS] {
    std::array::from_fn(|k| S::Memory::slice(&vectors[k]))
}

/// Largest distance of the products of the 16 vectors from those of orthonormal ones.
pub fn defect<S: Space>(space: &S, n: usize, vectors: &[Array<S, f64>]) -> Result<f64> {
    let mut products = space.zeros(VECTORS * VECTORS)?;
    add_products(space, n, vectors, &mut products)?;
    let (found, unit) = (space.download(&products)?, |i, j| f64::from(u8::from(i == j)));
    let expected: Vec<f64> = (0..VECTORS * VECTORS).map(|k| unit(k / VECTORS, k % VECTORS)).collect();
    Ok(difference(&found, &expected))
}
