//! Operations against plain loops that are written here: no code of the library computes an expected value.
//!
//! Sizes are above one chunk of 4096 items and end inside a chunk. Values are whole numbers, so that sums have the same bits
//! in every order; what must not be read is NaN.

use minifenl::blas::{Blas, Reductions};
use minifenl::comm::{Halo, Map, Solo};
use minifenl::solve::{
    CgDirection, CgParams, CgSlot, CgStep, CgSteps, CgWorkspace, DistributedOperator, Identity, LinearSystem, cg,
};
use minifenl::space::{Serial, Threads, exclusive_scan};
use minifenl::sparse::{CrsGraph, CrsMatrix, Operator};
use std::sync::Arc;

/// Two chunks and a part of a third.
const N: usize = 2 * 4096 + 1234;

fn threads() -> Vec<Threads> {
    [1, 2, 3, 7].map(|threads| Threads::new(threads).unwrap()).into()
}

/// Whole numbers from -8 to 8 without a short period.
fn whole(n: usize, k: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * k + i / 4096) % 17) as f64 - 8.0).collect()
}

/// A vector with something behind its items that must be neither read nor written.
fn with_tail(mut x: Vec<f64>) -> Vec<f64> {
    x.extend([f64::NAN; 3]);
    x
}

/// Splits the tail off and checks that it is untouched.
fn without_tail(mut x: Vec<f64>) -> Vec<f64> {
    let tail = x.split_off(x.len() - 3);
    assert!(tail.iter().all(|x| x.is_nan()), "written behind the items");
    x
}

#[test]
fn scans_equal_a_running_sum_around_the_length_from_which_two_passes_are_used() {
    for n in [0, 1, 4095, 4096, 4097, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (1 << 20) + 56_789] {
        let counts: Vec<u64> = (0..n).map(|i: u64| i.wrapping_mul(0x9e37_79b9) % 41).collect();
        let (mut expected, mut sum) = (vec![], 0);
        for count in &counts {
            expected.push(sum);
            sum += count;
        }
        for space in threads() {
            let mut offsets = counts.clone();
            assert_eq!(exclusive_scan(&space, &mut offsets), sum, "{n} items");
            assert!(offsets == expected, "{n} items");
        }
    }
}

#[test]
fn sorts_and_maps_keep_every_item() {
    let key = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
    let mut expected = std::collections::BTreeMap::new();
    (0..N).for_each(|i| *expected.entry(key(i)).or_insert(0) += 1);
    for space in threads() {
        let mut keys = space.map(N, key).unwrap();
        assert!((0..N).all(|i| keys[i] == key(i)));
        space.sort(&mut keys);
        assert!(keys.windows(2).all(|two| two[0] <= two[1]));
        let mut counts = std::collections::BTreeMap::new();
        keys.iter().for_each(|&key| *counts.entry(key).or_insert(0) += 1);
        assert_eq!(counts, expected);
    }
}

#[test]
fn vector_operations_equal_plain_loops() {
    let (x, y) = (whole(N, 3), whole(N, 5));
    let (with_x, with_y) = (with_tail(x.clone()), with_tail(y.clone()));
    let dot: f64 = (0..N).map(|i| x[i] * y[i]).sum();
    for space in threads() {
        let mut sums = Reductions::new(&space, N, 4).unwrap();
        sums.partials.fill(f64::NAN);
        space.dot(N, &with_x, &with_y, &mut sums, 2).unwrap();
        assert_eq!(sums.scalars, [0.0, 0.0, dot, 0.0]);
        for at in [0, 4095, 4096, 8191, N - 1] {
            let mut largest = with_x.clone();
            largest[at] = -99.0;
            assert_eq!(space.max_abs(N, &largest, &mut sums.partials).unwrap(), 99.0, "at {at}");
            largest[at] = f64::NAN;
            assert!(space.max_abs(N, &largest, &mut sums.partials).unwrap().is_nan(), "at {at}");
        }
        let fresh = || with_tail(vec![f64::NAN; N]);
        let (mut copy, mut seven, mut z, mut w) = (fresh(), fresh(), fresh(), with_y.clone());
        space.copy(N, &with_x, &mut copy).unwrap();
        assert!(without_tail(copy) == x);
        space.fill(N, 7.0, &mut seven).unwrap();
        assert!(without_tail(seven) == vec![7.0; N]);
        space.axpby(N, 2.0, &with_x, -0.5, &with_y, &mut z).unwrap();
        assert!(without_tail(z).iter().enumerate().all(|(i, &z)| z == 2.0 * x[i] - 0.5 * y[i]));
        space.axpy(N, -3.0, &with_x, &mut w).unwrap();
        assert!(without_tail(w).iter().enumerate().all(|(i, &w)| w == y[i] - 3.0 * x[i]));
    }
}

#[test]
fn the_steps_of_cg_equal_plain_loops() {
    let (p, q, x, r, z) = (whole(N, 3), whole(N, 5), whole(N, 7), whole(N, 11), whole(N, 13));
    for space in threads() {
        let mut sums = Reductions::new(&space, N, CgSlot::LEN).unwrap();
        // A solve in mid-iteration: r.z = 24, p.q = 8; the old r.r is another number than r.z.
        sums.scalars[CgSlot::RZ[0]] = 24.0;
        sums.scalars[CgSlot::RR[0]] = 5.0;
        (sums.scalars[CgSlot::PQ], sums.scalars[CgSlot::LIMIT], sums.scalars[CgSlot::RHS]) = (8.0, 9.0, 1.0);
        let (mut found_x, mut found_r) = (with_tail(x.clone()), with_tail(r.clone()));
        let (with_p, with_q) = (with_tail(p.clone()), with_tail(q.clone()));
        let (rz, rr) = (CgSlot::RZ[0], CgSlot::RR[1]);
        let step = CgStep { rz, rr, p: &with_p[..], q: &with_q[..], x: &mut found_x[..], r: &mut found_r[..] };
        space.cg_step(N, step, &mut sums).unwrap();
        let (found_x, found_r) = (without_tail(found_x), without_tail(found_r));
        assert!((0..N).all(|i| found_x[i] == x[i] + 3.0 * p[i] && found_r[i] == r[i] - 3.0 * q[i]));
        assert_eq!(sums.scalars[CgSlot::RR[1]], found_r.iter().map(|r| r * r).sum::<f64>());

        // beta = 12 / 24
        sums.scalars[CgSlot::RZ[1]] = 12.0;
        let mut found = with_tail(p.clone());
        let (top, with_z) = (CgSlot::RZ[1], with_tail(z.clone()));
        let direction = CgDirection { rr, top, bottom: rz, z: &with_z[..], p: &mut found[..] };
        space.cg_direction(N, direction, &mut sums).unwrap();
        assert!(without_tail(found).iter().enumerate().all(|(i, &found)| found == z[i] + 0.5 * p[i]));
        assert_eq!((sums.scalars[CgSlot::COUNT], sums.scalars[CgSlot::STATE]), (1.0, 0.0));
    }
}

/// -1, 3, -1 on `N` points, and its product by a loop.
fn difference() -> (CrsMatrix, impl Fn(&[f64]) -> Vec<f64>) {
    let (mut row_map, mut entries, mut values) = (vec![0], vec![], vec![]);
    for i in 0..N {
        for j in i.saturating_sub(1)..N.min(i + 2) {
            entries.push(j as u32);
            values.push(if i == j { 3.0 } else { -1.0 });
        }
        row_map.push(entries.len() as u64);
    }
    let matrix = CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, N).unwrap()), values).unwrap();
    let product = |x: &[f64]| {
        let at = |i: Option<usize>| i.and_then(|i| x.get(i)).copied().unwrap_or(0.0);
        (0..N).map(|i| 3.0 * x[i] - at(i.checked_sub(1)) - at(Some(i + 1))).collect()
    };
    (matrix, product)
}

/// Textbook CG: the iterates after each number of iterations.
fn plain_cg(product: &impl Fn(&[f64]) -> Vec<f64>, b: &[f64], iterations: usize) -> (Vec<f64>, f64) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (mut x, mut r, mut p) = (vec![0.0; b.len()], b.to_vec(), b.to_vec());
    let mut rr = dot(&r, &r);
    for _ in 0..iterations {
        let q = product(&p);
        let alpha = rr / dot(&p, &q);
        (0..b.len()).for_each(|i| (x[i], r[i]) = (x[i] + alpha * p[i], r[i] - alpha * q[i]));
        let next = dot(&r, &r);
        (0..b.len()).for_each(|i| p[i] = r[i] + next / rr * p[i]);
        rr = next;
    }
    (x, rr.sqrt())
}

#[test]
fn cg_takes_the_iterations_of_the_textbook() {
    let (matrix, product) = difference();
    let b = whole(N, 3);
    let norm = b.iter().map(|b| b * b).sum::<f64>().sqrt();
    let tolerance = 1e-9;
    let needed = (1..100).find(|&iterations| plain_cg(&product, &b, iterations).1 <= tolerance * norm).unwrap();
    let (expected, residual) = plain_cg(&product, &b, needed);
    for space in threads() {
        let mut work = CgWorkspace::new(&space, N, N).unwrap();
        let mut system = LinearSystem { operator: &matrix, preconditioner: &mut Identity, comm: &Solo, rhs: &b[..] };
        let params = CgParams::new(tolerance, needed);
        let mut x = vec![0.0; N];
        let info = cg(&space, &mut system, &mut x, params, &mut work, &mut |_, _| Ok(())).unwrap();
        assert_eq!(info.iterations, needed);
        assert!((info.residual / residual - 1.0).abs() < 1e-6 && (info.rhs / norm - 1.0).abs() < 1e-14);
        assert!(x.iter().zip(&expected).all(|(x, expected)| (x - expected).abs() < 1e-12 * norm));
        // The true residual: b - A x.
        let true_residual = product(&x).iter().zip(&b).map(|(y, b)| (b - y) * (b - y)).sum::<f64>().sqrt();
        assert!(true_residual <= 1.01 * tolerance * norm, "{true_residual:e}");
        // The same workspace again: nothing of the solve before is left in it.
        let mut again = vec![0.0; N];
        let info_again = cg(&space, &mut system, &mut again, params, &mut work, &mut |_, _| Ok(())).unwrap();
        assert!(info_again == info && again == x);
        let one_less = CgParams::new(tolerance, needed - 1);
        assert!(cg(&space, &mut system, &mut vec![0.0; N], one_less, &mut work, &mut |_, _| Ok(())).is_err());
    }
}

#[test]
fn a_distributed_product_is_whole_wherever_it_is_split() {
    let (matrix, product) = difference();
    let p = whole(N, 3);
    let expected = product(&p);
    let dot: f64 = expected.iter().zip(&p).map(|(q, p)| q * p).sum();
    let map = Map::new(N as u64, N, vec![]).unwrap();
    for space in threads() {
        let mut halo = Halo::new(&space, &Solo, &map).unwrap();
        for interior in [0, 1, 4095, 4096, 4097, 8192, N - 1, N] {
            let operator = DistributedOperator::new(&matrix, &mut halo, interior).unwrap();
            let mut sums = Reductions::new(&space, N, 3).unwrap();
            sums.partials.fill(f64::NAN);
            let (mut x, mut y, mut z) = (p.clone(), vec![f64::NAN; N], vec![f64::NAN; N]);
            operator.apply_dot(&space, &mut x, &mut y, &mut sums, 1).unwrap();
            assert!(y == expected && sums.scalars == [0.0, dot, 0.0], "interior {interior}");
            operator.apply(&space, &mut x, &mut z).unwrap();
            assert!(z == expected && x == p, "interior {interior}");
        }
        assert!(DistributedOperator::new(&matrix, &mut halo, N + 1).is_err());
    }
    // A serial space is not a pool of one thread.
    let mut sums = Reductions::new(&Serial, N, 1).unwrap();
    let (mut x, mut y) = (p.clone(), vec![f64::NAN; N]);
    matrix.apply_dot(&Serial, &mut x, &mut y, &mut sums, 0).unwrap();
    assert!(y == expected && sums.scalars == [dot]);
}
