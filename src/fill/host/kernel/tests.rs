//! The fused kernel against the reference, and each lane alone against the same lane in a batch.

use super::*;
use crate::element::equations::Heat;
use crate::element::testing::{distorted_hex, temperatures};
use crate::element::{BasisTables, ElementType, HEX8_NODES, reference};
use crate::mesh::ElemNode;
use proptest::prelude::*;

fn batch<K: ElementKernel<HEX8_NODES>>(kernel: &K, elems: Range<usize>) -> ElementBatch<HEX8_NODES> {
    let mut out = ElementBatch::ZERO;
    out.matrix.as_flattened_mut().as_flattened_mut().fill(f64::NAN);
    kernel.evaluator(Wanted { matrix: true, residual: true }, elems.clone()).unwrap()(elems, &mut out).unwrap();
    out
}

/// One lane's residual, then its matrix, row by row.
fn lane(batch: &ElementBatch<HEX8_NODES>, lane: usize) -> Vec<f64> {
    batch.residual.iter().chain(batch.matrix.as_flattened()).map(|lanes| lanes[lane]).collect()
}

fn check<K: ElementKernel<HEX8_NODES>>(kernel: &K, expected: &[Vec<f64>]) -> Result<(), TestCaseError> {
    for first in (0..expected.len()).step_by(LANES) {
        let elems = first..(first + LANES).min(expected.len());
        let together = batch(kernel, elems.clone());
        for elem in elems {
            let found = lane(&together, elem - first);
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&found), bits(&lane(&batch(kernel, elem..elem + 1), 0)), "alone, in lane 0");
            let largest = expected[elem].iter().fold(0.0f64, |a, b| a.max(b.abs()));
            for (found, expected) in found.iter().zip(&expected[elem]) {
                prop_assert!((found - expected).abs() < 1e-12 * largest, "{found} {expected}");
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_fused_kernel_equals_the_reference(
        elems in prop::collection::vec((distorted_hex(), temperatures()), 1..20),
        k in 0.1..5.0f64,
    ) {
        let (tables, heat) = (BasisTables::of(ElementType::Hex8), Heat::new(k));
        // Elements that share no node, so that each is as random as the others.
        let nodes = elems.len() * HEX8_NODES;
        let elem_node = ElemNode::new((0..nodes as u32).rev().collect(), HEX8_NODES, nodes).unwrap();
        let coords: Vec<_> = elems.iter().rev().flat_map(|(x, _)| x.iter().rev().copied()).collect();
        let solution: Vec<_> = elems.iter().rev().flat_map(|(_, t)| t.iter().rev().copied()).collect();
        let expected: Vec<Vec<f64>> = elems
            .iter()
            .map(|(x, t)| {
                let (residual, matrix) = reference(&tables, *x, *t, &heat).unwrap();
                residual.iter().chain(matrix.as_flattened()).copied().collect()
            })
            .collect();
        check(&FusedKernel::new(&elem_node, &coords, &solution, heat).unwrap(), &expected)?;
    }
}

#[test]
fn arrays_of_other_lengths_are_refused() {
    let table = ElemNode::new((0..8).collect(), HEX8_NODES, 9).unwrap();
    let error = FusedKernel::new(&table, &[[0.0; 3]; 9], &[0.0; 8], Heat::new(1.0)).unwrap_err().to_string();
    assert!(error.contains("`solution` has extents [8], expected [9]"), "{error}");
}
