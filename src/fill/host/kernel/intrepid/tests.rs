//! The kernel against [`EquationKernel`], whose tests compare it with the integral, for every equation and element type; and worksets.

use super::*;
use crate::element::BasisTables;
use crate::element::ElementType;
use crate::element::equations::{Diffusion, Elasticity, Field, Heat, Poisson, Weak};
use crate::fill::host::EquationKernel;
use crate::fill::host::any_equation::AnyEquation;
use crate::fill::{ContractionCalls, Workset};
use crate::space::Layout;
use crate::space::lanes::Number;
use support::noise;

const ELEMS: usize = 45;
const BOTH: Wanted = Wanted { matrix: true, residual: true };

/// Batches of the elements between bounds, each range by an evaluator of its own.
fn batches<const ND: usize>(kernel: &impl ElementKernel<ND>, bounds: &[usize]) -> Vec<ElementBatch<ND>> {
    let mut all = Vec::new();
    for range in bounds.windows(2).map(|range| range[0]..range[1]) {
        let mut evaluate = kernel.evaluator(BOTH, range.clone()).unwrap();
        for first in range.clone().step_by(LANES) {
            all.push(ElementBatch::ZERO);
            evaluate(first..range.end.min(first + LANES), all.last_mut().unwrap()).unwrap();
        }
    }
    all
}

/// Residual and matrix of an element, row by row.
fn lane<const ND: usize>(batches: &[ElementBatch<ND>], elem: usize) -> Vec<f64> {
    let batch = &batches[elem / LANES];
    batch.residual.iter().chain(batch.matrix.as_flattened()).map(|lanes| lanes[elem % LANES]).collect()
}

/// Distorted elements that share no node, with random unknowns. Every layout and size of worksets gives the numbers of the general
/// kernel to rounding, and the same bits for all sizes; each workset calls each contraction once per block.
fn check<E: Equation<D>, const D: usize, const NN: usize, const ND: usize>(equation: &E, element: ElementType) {
    let nodes = ELEMS * NN;
    let elem_node = ElemNode::new((0..nodes as u32).rev().collect(), NN, nodes).unwrap();
    let (mut coords, mut nodal) = (vec![[0.0; 3]; nodes], vec![[0.0; D]; nodes]);
    for (elem, table) in elem_node.iter().enumerate() {
        for (m, &node) in table.iter().enumerate() {
            let xi = element.reference_nodes()[m];
            coords[node as usize] = std::array::from_fn(|a| xi[a] + elem as f64 + 0.2 * noise(3 * node as usize + a));
            nodal[node as usize] = std::array::from_fn(|c| 1.5 + noise(7919 + D * node as usize + c));
        }
    }
    let tables = BasisTables::of(element);
    let general = EquationKernel::<D, NN, ND>::new(equation, &tables, &elem_node, &coords, &nodal).unwrap();
    let expected = batches(&general, &[0, ELEMS]);
    // Pairs of components whose sources depend on the unknowns.
    let sources =
        nonzero(&equation.noise_slopes()).as_flattened().iter().filter(|&bits| bits >> 12 != 0).count() as u64;
    for (layout, name) in Layout::ALL {
        let mut first = None;
        for (cells, of_all) in [(1, 6), (16, 3), (24, 2), (1000, 1)] {
            let workset = Workset { cells: Some(cells), layout: Some(layout), ..Workset::default() };
            let worksets = Worksets::new(&tables, ELEMS, workset, 1).unwrap();
            let kernel =
                IntrepidKernel::<D, NN, ND>::new(equation, &tables, &elem_node, &coords, &nodal, &worksets).unwrap();
            let found = batches(&kernel, &[0, ELEMS]);
            let (blocks, rows) = ((D * D) as u64 * of_all, D as u64 * of_all);
            let mut calls = ContractionCalls::default();
            calls.0[Contraction::FieldFieldVector as usize] = blocks;
            calls.0[Contraction::FieldFieldScalar as usize] = sources * of_all;
            calls.0[Contraction::DataFieldVector as usize] = rows;
            calls.0[Contraction::DataFieldScalar as usize] = rows;
            assert_eq!(worksets.calls(), calls, "{element}, {name}, {cells} cells");
            for elem in 0..ELEMS {
                let (expected, found) = (lane(&expected, elem), lane(&found, elem));
                let largest = expected.iter().fold(0.0f64, |max, x| max.max(x.abs()));
                let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * largest;
                assert!(expected.iter().zip(&found).all(is_close), "{element}, {name}, {cells} cells, element {elem}");
            }
            let bits: Vec<u64> = (0..ELEMS).flat_map(|elem| lane(&found, elem)).map(f64::to_bits).collect();
            assert!(*first.get_or_insert(bits.clone()) == bits, "{element}, {name}, {cells} cells");
            // Ranges of a strategy end worksets, and change no bits.
            let bits_of =
                |batches: &[ElementBatch<ND>]| (16..40).flat_map(|e| lane(batches, e)).map(f64::to_bits).collect();
            let (ranges, whole): (Vec<u64>, Vec<u64>) = (bits_of(&batches(&kernel, &[0, 16, 40])), bits_of(&found));
            assert_eq!(ranges, whole, "{element}, {name}, {cells} cells");
        }
    }
}

/// Two unknowns, neither symmetric nor of gradients alone.
#[derive(Clone, Copy)]
struct Driven;

impl Equation<2> for Driven {
    fn weak<N: Number>(&self, _: [N; 3], [u, v]: [Field<N>; 2]) -> [Weak<N>; 2] {
        let [a, b] = [0.3, 0.7].map(N::from);
        let flux = [v.grad[0] + a * u.grad[1], v.grad[1], v.grad[2] - b * u.value];
        [Weak { flux: u.grad, source: b * u.grad[0] }, Weak { flux, source: u.value * v.value }]
    }
}

fn check_all<const NN: usize, const N2: usize, const N3: usize>(element: ElementType) {
    check::<_, 1, NN, NN>(&Heat::new(1.7), element);
    check::<_, 1, NN, NN>(&Poisson { load: 0.5 }, element);
    check::<_, 1, NN, NN>(&Diffusion { direction: [0.5, 1.0, -0.25] }, element);
    check::<_, 2, NN, N2>(&Driven, element);
    check::<_, 3, NN, N3>(&Elasticity { lambda: 1.2, mu: 0.8, force: [0.1, 0.0, -1.0] }, element);
}

#[test]
fn every_equation_and_element_is_composed_of_contractions() {
    check_all::<8, 16, 24>(ElementType::Hex8);
    check_all::<20, 40, 60>(ElementType::Hex20);
    check_all::<27, 54, 81>(ElementType::Hex27);
    check_all::<4, 8, 12>(ElementType::Tet4);
    check_all::<10, 20, 30>(ElementType::Tet10);
    check_all::<6, 12, 18>(ElementType::Wedge6);
    check_all::<15, 30, 45>(ElementType::Wedge15);
}

/// Heat on `hex8`, with worksets for one thread.
fn hex8(worksets: &Worksets<1>, work: impl FnOnce(Result<IntrepidKernel<'_, 1, 8, 8>>)) {
    let element = ElementType::Hex8;
    let elem_node = ElemNode::new((0..8).collect(), 8, 8).unwrap();
    let (tables, coords) = (BasisTables::of(element), element.reference_nodes().to_vec());
    work(IntrepidKernel::new(&Heat::new(1.0), &tables, &elem_node, &coords, &[[1.0]; 8], worksets));
}

#[test]
fn a_part_that_is_not_wanted_is_not_contracted() {
    let element = ElementType::Hex8;
    let tables = BasisTables::of(element);
    for (matrix, residual) in [(true, false), (false, true)] {
        let worksets = Worksets::new(&tables, 1, Workset::default(), 1).unwrap();
        let mut out = ElementBatch::ZERO;
        hex8(&worksets, |kernel| {
            kernel.unwrap().evaluator(Wanted { matrix, residual }, 0..1).unwrap()(0..1, &mut out).unwrap();
        });
        let names: Vec<&str> = worksets.calls().by_name().into_keys().collect();
        let expected = if matrix {
            ["field_field_scalar", "field_field_vector"]
        } else {
            ["data_field_scalar", "data_field_vector"]
        };
        assert_eq!(names, expected);
    }
}

#[test]
fn worksets_of_other_elements_missing_threads_and_memory_are_refused() {
    let tables = |element: ElementType| BasisTables::of(element);
    let of_tets = Worksets::new(&tables(ElementType::Tet4), 1, Workset::default(), 1).unwrap();
    hex8(&of_tets, |kernel| {
        let message = kernel.unwrap_err().to_string();
        assert!(message.contains("IntrepidKernel::new") && message.contains("worksets (nodes)"), "{message}");
    });
    let of_hexes = Worksets::new(&tables(ElementType::Hex8), 1, Workset::default(), 1).unwrap();
    hex8(&of_hexes, |kernel| {
        let kernel = kernel.unwrap();
        let _first = kernel.evaluator(BOTH, 0..1).unwrap();
        let message = kernel.evaluator(BOTH, 0..1).err().unwrap().to_string();
        assert!(message.contains("all 1 are in use"), "{message}");
    });
    let huge = Workset { cells: Some(usize::MAX), ..Workset::default() };
    let error = Worksets::<1>::new(&tables(ElementType::Hex27), u32::MAX as usize, huge, 1).unwrap_err();
    assert!(matches!(error, crate::Error::OutOfMemory { .. }), "{error}");
    // The mesh bounds a workset.
    assert_eq!(Worksets::<1>::new(&tables(ElementType::Hex8), 20, huge, 1).unwrap().cells(), 24);
}
