//! Vector kernels and Gram-Schmidt.

use super::{gpu, hosts, reported};
use crate::functions::{Axpby, Centroid, Dot, Prefix, Ramp, Scale, Triad};
use crate::kernels::{gram_schmidt, vector_set, vectors};
use crate::native::Native;
use crate::peers::Peers;
use crate::space::Space;
use minifenl::space::{ExecutionSpace, Loops, MemorySpace};

/// No items, one, odd numbers around a piece of work, several pieces.
const SIZES: [usize; 6] = [0, 1, 15, 4095, 4097, 12_289];

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-12 * expected.abs().max(1.0)
}

fn check<S: Space>(space: &S) {
    let native = S::Native::new(space).unwrap();
    for n in SIZES {
        let x = support::wave(n, 0.7);
        let y = support::wave(n, 1.3);
        let at = |x: &[f64]| space.upload(x).unwrap();
        let (x_there, y_there) = (at(&x), at(&y));
        let slice = S::Memory::slice::<f64>;
        let both: Vec<f64> = x.iter().zip(&y).map(|(x, y)| 0.75 * x + 0.25 * y).collect();
        let sum: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x + 0.75 * y).collect();
        let product: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        let same = |found: &[f64], expected: &[f64]| {
            assert_eq!(found.len(), expected.len());
            assert!(found.iter().zip(expected).all(|(a, b)| near(*a, *b)), "{n}: {}", space.label());
        };
        let mut out = at(&y);
        space.for_items(n, &Axpby { a: 0.75, b: 0.25 }, [slice(&x_there)], [S::Memory::slice_mut(&mut out)]).unwrap();
        same(&space.download(&out).unwrap(), &both);
        let mut out = at(&y);
        native.axpby(n, 0.75, slice(&x_there), 0.25, S::Memory::slice_mut(&mut out)).unwrap();
        same(&space.download(&out).unwrap(), &both);
        let inputs = [slice(&x_there), slice(&y_there)];
        let mut out = at(&vec![7.0; n]);
        space.for_items(n, &Triad { a: 0.75 }, inputs, [S::Memory::slice_mut(&mut out)]).unwrap();
        same(&space.download(&out).unwrap(), &sum);
        let mut out = at(&vec![7.0; n]);
        native.triad(n, inputs[0], 0.75, inputs[1], S::Memory::slice_mut(&mut out)).unwrap();
        same(&space.download(&out).unwrap(), &sum);
        space.for_items(n, &Scale { a: 2.0 }, [], [S::Memory::slice_mut(&mut out)]).unwrap();
        same(&space.download(&out).unwrap(), &sum.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
        space.for_items(n, &Ramp {}, [], [S::Memory::slice_mut(&mut out)]).unwrap();
        same(&space.download(&out).unwrap(), &(0..n).map(|i| (i % 64) as f64 / 64.0).collect::<Vec<_>>());
        assert!(near(space.reduce_items(n, &Dot {}, inputs).unwrap(), product), "{n}");
        assert!(near(native.dot(n, inputs[0], inputs[1]).unwrap(), product), "{n}");
        let moment = space.reduce_items(n, &Centroid {}, [inputs[0], inputs[1], inputs[0], inputs[1]]).unwrap();
        let (point, mass) = (moment.point, moment.mass);
        let square: f64 = x.iter().map(|x| x * x).sum();
        assert!(near(point[0], product) && near(point[1], square) && near(point[2], product), "{n}");
        assert!(near(mass, x.iter().sum()), "{n}");
        let mut out = at(&vec![7.0; n]);
        space.scan_items(n, &Prefix {}, [inputs[0]], S::Memory::slice_mut(&mut out)).unwrap();
        let mut before = 0.0;
        let prefix = x.iter().map(|x| {
            before += x;
            before
        });
        same(&space.download(&out).unwrap(), &prefix.collect::<Vec<_>>());
        let refused = space.for_items(n + 1, &Scale { a: 2.0 }, [], [S::Memory::slice_mut(&mut out)]).unwrap_err();
        assert!(refused.to_string().contains("expected") && !refused.to_string().contains('\n'), "{refused}");
    }
}

#[test]
fn vector_kernels_equal_plain_loops() {
    hosts().iter().for_each(check);
}

#[test]
fn vector_kernels_equal_plain_loops_on_a_gpu() {
    let Some(space) = gpu("vector_kernels_equal_plain_loops_on_a_gpu") else { return };
    check(&space);
    // More than one level of a reduction, and of a scan.
    reported(&space, |run| vectors::measure(run, 5_000_011));
    let mut x = space.zeros::<f64>(1).unwrap();
    let refused = space.for_items(1 << 31, &Scale { a: 2.0 }, [], [&mut x]).unwrap_err().to_string();
    assert!(refused.ends_with("needs 2147483648 items, the limit is 2147483647 items"), "{refused}");
}

fn check_parts<S: Space>(space: &S) {
    let report = reported(space, |run| vectors::measure(run, 1001));
    let names: Vec<&str> = report.rows.iter().map(|row| row.kernel).collect();
    assert_eq!(names, ["axpby", "triad", "dot", "centroid", "prefix-sum"]);
    let peer = S::Peers::new(space).0.of_vectors();
    for (row, is_beside) in report.rows.iter().zip([true, false, true, false, false]) {
        assert_eq!(row.beside.as_ref().map(|beside| beside.peer), peer.filter(|_| is_beside), "{}", row.kernel);
    }
    let report = reported(space, |run| gram_schmidt::measure(run, &[vector_set::VECTORS, 1001, 40_001]));
    assert_eq!(report.rows.len(), if S::SYNCHRONOUS { 6 } else { 12 });
}

#[test]
fn parts_report_their_rows() {
    hosts().iter().for_each(check_parts);
}

#[test]
fn parts_report_their_rows_on_a_gpu() {
    let Some(space) = gpu("parts_report_their_rows_on_a_gpu") else { return };
    check_parts(&space);
}
