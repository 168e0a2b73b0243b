//! The specialised kernels of the contractions of finite elements.

use minifenl::contraction::Variant;
use minifenl::contraction::tuning::{Family, Key, Side, specialised_text};
use std::collections::HashSet;

/// Fields and points of trilinear and triquadratic hexahedra.
const ELEMENTS: [(usize, usize); 2] = [(8, 8), (27, 27)];
const RANKS: [(&str, [usize; 2]); 3] = [("scalar", [1, 1]), ("vector", [3, 1]), ("tensor", [3, 3])];
/// Few cells, and enough cells for every multiprocessor.
const CELLS: [usize; 2] = [32, 1 << 20];

/// The source of a kernel that is compiled for one shape.
#[derive(Clone, Debug)]
pub struct SpecialisedKernel {
    /// Variant, contraction, fields x points, cells, precision, alignment of the arrays.
    pub name: String,
    /// CUDA C++.
    pub text: String,
    /// Dynamic shared memory per block, in bytes.
    pub shared: u32,
}

/// Returns the specialised kernels for finite elements on a GPU of these limits: hexahedra with 8 and with 27 nodes,
/// all nine contractions, few and many cells, both layouts, f32 and f64, arrays aligned to 16 bytes and to one
/// number. Each text occurs once.
pub fn element_kernels(multiprocessors: usize, shared: usize) -> Vec<SpecialisedKernel> {
    let (mut found, mut texts) = (Vec::new(), HashSet::new());
    for key in keys() {
        for alignment in [16, key.item] {
            for (variant, variant_name) in Variant::ALL.into_iter().filter(|(variant, _)| variant.is_specialised()) {
                // `fixed-lanes` is made for cells with stride 1; eight fields are too few for `fixed-blocked`.
                let is_made_for = (key.side == Side::Left) == (variant == Variant::FixedLanes);
                if !is_made_for || (key.sizes[2] <= 8 && variant == Variant::FixedBlocked) {
                    continue;
                }
                let gpu = (multiprocessors, shared);
                let Some((text, shared)) = specialised_text(&key, variant, alignment, gpu) else { continue };
                if !texts.insert(text.clone()) {
                    continue;
                }
                let name = format!("{variant_name}_{}_align{alignment}", name(&key));
                found.push(SpecialisedKernel { name, text, shared });
            }
        }
    }
    found
}

fn name(key: &Key) -> String {
    let (rank, [cells, _, right], bits) = (RANKS[key.rank].0, key.sizes, 8 * key.item);
    format!("{}_{rank}_{right}x{}_{cells}_f{bits}", key.family, key.contracted[0])
}

fn keys() -> impl Iterator<Item = Key> {
    let sizes = ELEMENTS.into_iter().flat_map(|element| Family::ALL.map(|(family, _)| (element, family)));
    let ranks = sizes.flat_map(|of| (0..RANKS.len()).map(move |rank| (of, rank)));
    let places =
        ranks.flat_map(|of| [(4, Side::Left), (4, Side::Right), (8, Side::Left), (8, Side::Right)].map(|at| (of, at)));
    places.flat_map(|((((fields, points), family), rank), (item, side))| {
        let left = if family == Family::FieldField { fields } else { 1 };
        let right = if family == Family::DataData { 1 } else { fields };
        let [d1, d2] = RANKS[rank].1;
        CELLS.map(|cells| Key { family, side, item, sizes: [cells, left, right], rank, contracted: [points, d1, d2] })
    })
}

#[test]
fn element_kernels_include_every_specialised_kind() {
    let kernels = element_kernels(132, 227 << 10);
    println!("{} kernels", kernels.len());
    let with = |part: &str| kernels.iter().filter(|kernel| kernel.name.contains(part)).count();
    let parts = [
        "dmma_",
        "dmma-blocked",
        "lanes",
        "rows",
        "staged",
        "split",
        "blocked",
        "8x8",
        "27x27",
        "_32_",
        "align4",
        "align8",
    ];
    assert!(parts.iter().all(|part| with(part) > 0), "{:?}", parts.map(with));
    assert!(kernels.iter().all(|kernel| kernel.text.contains("#define LEFT")));
    for (multiprocessors, shared) in [(108, 163), (132, 227), (148, 227), (132, 99)] {
        println!("{multiprocessors} {shared}: {}", element_kernels(multiprocessors, shared << 10).len());
    }
}
