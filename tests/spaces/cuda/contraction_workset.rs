//! Element matrices from worksets of contractions against the reference element.

use super::gpu;
use minifenl::contraction::Variant;
use minifenl::element::basis::CORNERS;
use minifenl::element::equations::Heat;
use minifenl::element::{min_determinant, reference};
use minifenl::fill::{ContractionWorkset, HeatInput};
use minifenl::mesh::ElemNode;
use minifenl::space::{Cuda, ExecutionSpace, Layout};
use std::ops::Range;

const ELEMS: usize = 331;
const HEAT: Heat = Heat::new(1.7);
const POISON: f64 = -1e300;

/// Numbers in -1..1 that look random.
fn noise(i: usize) -> f64 {
    (i as f64 * 12.9898).sin() * 43758.5453 % 1.0
}

/// Hexahedra that share no node, no face plane; nodes numbered backwards.
fn mesh() -> (ElemNode, Vec<[f64; 3]>, Vec<f64>) {
    let count = 8 * ELEMS;
    let nodes = (0..count).map(|i| (count - 1 - i) as u32).collect();
    let node_coord: Vec<[f64; 3]> = (0..count)
        .rev()
        .map(|i| {
            std::array::from_fn(|d| 0.5 * CORNERS[i % 8][d] + 0.18 * noise(3 * i + d) + 3.0 * noise(i / 8 + 5 * d))
        })
        .collect();
    (ElemNode::new(nodes, 8, count).unwrap(), node_coord, (0..count).map(|i| 3.0 * noise(i + 77)).collect())
}

/// Matrices `[i * 8 + j][elem]`, residuals `[i][elem]`.
fn on_device(
    space: &Cuda,
    workset: ContractionWorkset,
    elems: impl IntoIterator<Item = Range<usize>>,
) -> (Vec<f64>, Vec<f64>) {
    let (table, node_coord, temperature) = mesh();
    let table = table.upload(space).unwrap();
    let (node_coord, temperature) = (space.upload(&node_coord).unwrap(), space.upload(&temperature).unwrap());
    let mut matrices = space.upload(&vec![POISON; 64 * ELEMS]).unwrap();
    let mut residuals = space.upload(&vec![POISON; 8 * ELEMS]).unwrap();
    let mut workset = workset;
    for elems in elems {
        let input = HeatInput { node_coord: &node_coord, temperature: &temperature, heat: HEAT };
        workset.evaluate(space, &table, input, elems, &mut matrices, &mut residuals).unwrap();
    }
    (space.download(&matrices).unwrap(), space.download(&residuals).unwrap())
}

#[test]
fn no_element_of_these_tests_is_folded() {
    let (table, node_coord, _) = mesh();
    for nodes in table.iter() {
        let coords = std::array::from_fn(|i| node_coord[nodes[i] as usize]);
        assert!(min_determinant(coords).1 > 0.01, "{coords:?}");
    }
}

#[test]
fn element_matrices_equal_the_reference() {
    let Some(space) = gpu("element_matrices_equal_the_reference") else { return };
    let (table, node_coord, temperature) = mesh();
    for layout in [Layout::Left, Layout::Right] {
        // Those that apply to all four contractions of a workset, and keep quiet about layouts.
        use Variant::*;
        for variant in [Auto, AutoInOrder, Flat, Tile1x8, Tile4x4, Tile8x8, Team1, Team2, Teamstride32, FixedLanes] {
            let workset = ContractionWorkset::new(&space, 100).unwrap().layout(layout).variant(variant);
            // Columns 0, 1 and the last stay.
            let done = 2..ELEMS - 1;
            let (matrices, residuals) = on_device(&space, workset, [2..ELEMS - 50, ELEMS - 50..ELEMS - 1, 7..7]);
            for elem in 0..ELEMS {
                let nodes: [usize; 8] = std::array::from_fn(|i| table.elem(elem)[i] as usize);
                let coords = nodes.map(|node| node_coord[node]);
                let (residual, matrix) = reference(coords, nodes.map(|node| temperature[node]), &HEAT);
                let largest = |numbers: &[f64]| numbers.iter().fold(0.0, |max: f64, x| max.max(x.abs()));
                let scale = [largest(&residual), largest(matrix.as_flattened())];
                for (i, j) in (0..8).flat_map(|i| (0..8).map(move |j| (i, j))) {
                    let found = [residuals[i * ELEMS + elem], matrices[(i * 8 + j) * ELEMS + elem]];
                    for (found, (expected, scale)) in
                        found.into_iter().zip([residual[i], matrix[i][j]].iter().zip(scale))
                    {
                        let right = if done.contains(&elem) {
                            (found - expected).abs() <= 1e-12 * scale
                        } else {
                            found == POISON
                        };
                        assert!(right, "{elem} [{i}, {j}] {layout:?} {variant}: {found}, expected {expected}");
                    }
                }
            }
        }
    }
}

#[test]
fn any_workset_gives_the_same_bits() {
    let Some(space) = gpu("any_workset_gives_the_same_bits") else { return };
    let run = |cells| on_device(&space, ContractionWorkset::new(&space, cells).unwrap(), std::iter::once(0..ELEMS));
    let expected = run(ELEMS);
    for cells in [0, 1, 33, 64, ELEMS - 1, 10 * ELEMS, ELEMS] {
        assert!(run(cells) == expected, "worksets of {cells} cells");
    }
}

#[test]
fn short_arrays_are_refused() {
    let Some(space) = gpu("short_arrays_are_refused") else { return };
    let (table, node_coord, temperature) = mesh();
    let table = table.upload(&space).unwrap();
    let mut workset = ContractionWorkset::new(&space, 64).unwrap();
    for (wrong, name) in ["elements", "node_coord", "temperature", "matrices", "residuals"].into_iter().enumerate() {
        let short = |number: usize| usize::from(number == wrong);
        let node_coord = space.upload(&node_coord[short(1)..]).unwrap();
        let temperature = space.upload(&temperature[short(2)..]).unwrap();
        let mut matrices = space.zeros(64 * ELEMS - short(3)).unwrap();
        let mut residuals = space.zeros(8 * ELEMS - short(4)).unwrap();
        let elems = 0..ELEMS + short(0);
        let (node_coord, temperature) = (&node_coord, &temperature);
        let input = HeatInput { node_coord, temperature, heat: Heat::new(1.0) };
        let error =
            workset.evaluate(&space, &table, input, elems, &mut matrices, &mut residuals).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
