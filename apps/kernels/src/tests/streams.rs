//! Copies beside kernels, and Gram-Schmidt without reads of the host.

use super::{gpu, hosts, reported};
use crate::kernels::streams::{Pipeline, expected};
use crate::kernels::{graph, streams, vector_set};
use crate::measure::difference;
use crate::native::Native;
use crate::space::Space;
use minifenl::space::MemorySpace;

/// Fewer items than chunks, and chunks of different lengths.
const SIZES: [usize; 6] = [0, 1, 15, 16, 17, 1003];

fn check<S: Space>(space: &S) {
    for n in SIZES {
        for count in [1, 3] {
            let mut pipeline = Pipeline::new(space, n, count).unwrap();
            for _ in 0..2 {
                pipeline.run().unwrap();
                let found = pipeline.results();
                assert_eq!(found.len(), n);
                assert!(difference(&found, &expected(n)) < 1e-14, "{n} on {count}");
            }
        }
    }
    let report = reported(space, |run| streams::measure(run, 1003));
    let variants: Vec<&str> = report.rows.iter().map(|row| row.variant.as_str()).collect();
    let all = ["1 stream", "2 streams", "4 streams"];
    assert_eq!(variants, all[..if S::SYNCHRONOUS { 1 } else { 3 }]);
}

#[test]
fn chunks_come_back_in_their_order() {
    hosts().iter().for_each(check);
}

#[test]
fn chunks_come_back_in_their_order_from_a_gpu() {
    let Some(space) = gpu("chunks_come_back_in_their_order_from_a_gpu") else { return };
    check(&space);
    // Long enough for the host to see work that is not done.
    let mut pipeline = Pipeline::new(&space, 3_000_001, 4).unwrap();
    pipeline.run().unwrap();
    assert!(difference(&pipeline.results(), &expected(3_000_001)) < 1e-14);
}

/// Three vectors by plain loops, as v / |v| and w - (v.w) v.
fn plain(vectors: &mut [Vec<f64>; 3]) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for k in 0..3 {
        let norm = dot(&vectors[k], &vectors[k]).sqrt();
        vectors[k].iter_mut().for_each(|x| *x /= norm);
        for j in k + 1..3 {
            let product = dot(&vectors[k], &vectors[j]);
            let v = vectors[k].clone();
            vectors[j].iter_mut().zip(v).for_each(|(w, v)| *w -= product * v);
        }
    }
}

fn check_products<S: Space>(space: &S) {
    let native = S::Native::new(space).unwrap();
    for n in [3, 1000, 40_001] {
        let mut expected = [0.3, 0.7, 1.3].map(|step| support::wave(n, step));
        let mut there: Vec<_> = expected.iter().map(|vector| space.upload(vector).unwrap()).collect();
        plain(&mut expected);
        graph::orthonormalise(space, n, &mut there, &mut space.zeros(1).unwrap()).unwrap();
        for (found, expected) in there.iter().zip(&expected) {
            assert!(difference(&space.download(found).unwrap(), expected) < 1e-9, "{n}");
        }
        // Sixteen times the same unit vector: each product is 1.
        let same = vec![1.0 / (n as f64).sqrt(); n];
        let same: Vec<_> = (0..vector_set::VECTORS).map(|_| space.upload(&same).unwrap()).collect();
        assert!((vector_set::defect(space, n, &same).unwrap() - 1.0).abs() < 1e-12, "{n}");
        let mut vectors = vector_set::independent(space, n.max(vector_set::VECTORS)).unwrap();
        let n = S::Memory::len(S::Memory::slice(&vectors[0]));
        let on_host: Vec<Vec<f64>> = vectors.iter().map(|vector| space.download(vector).unwrap()).collect();
        let product = |a: &Vec<f64>, b: &Vec<f64>| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let pairs = (0..vector_set::VECTORS).flat_map(|i| (0..vector_set::VECTORS).map(move |j| [i, j]));
        let expected: Vec<f64> =
            pairs.map(|[i, j]| if i <= j { product(&on_host[i], &on_host[j]) } else { 0.0 }).collect();
        let mut found = [0, 1].map(|_| space.zeros(expected.len()).unwrap());
        vector_set::add_products(space, n, &vectors, &mut found[0]).unwrap();
        native.gram(n, vector_set::slices::<S>(&vectors), S::Memory::slice_mut(&mut found[1])).unwrap();
        for found in found {
            assert!(difference(&space.download(&found).unwrap(), &expected) < 1e-12, "{n}");
        }
        // Norms are far from 1, and largest.
        let apart = on_host.iter().map(|v| product(v, v) - 1.0).fold(0.0, f64::max);
        let found = vector_set::defect(space, n, &vectors).unwrap();
        assert!((found - apart).abs() < 1e-12 * apart, "{n}: {found} {apart}");
        graph::orthonormalise(space, n, &mut vectors, &mut space.zeros(1).unwrap()).unwrap();
        assert!(vector_set::defect(space, n, &vectors).unwrap() < 1e-12, "{n}");
    }
    let mut samples = [const { Vec::new() }; 2];
    let report = reported(space, |run| graph::measure(run, 1001, &mut samples));
    let variants: Vec<&str> = report.rows.iter().map(|row| row.variant.as_str()).collect();
    assert_eq!((variants, samples.map(|samples| samples.len())), (vec!["no reads", "one graph"], [1, 1]));
}

#[test]
fn products_that_stay_in_the_space_make_vectors_orthonormal() {
    hosts().iter().for_each(check_products);
}

#[test]
fn a_graph_makes_vectors_orthonormal_on_a_gpu() {
    let Some(space) = gpu("a_graph_makes_vectors_orthonormal_on_a_gpu") else { return };
    check_products(&space);
}
