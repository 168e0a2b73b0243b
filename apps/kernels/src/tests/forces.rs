//! Lennard-Jones forces against the sum over all pairs.

use super::{gpu, hosts, reported};
use crate::functions::{Full, Half};
use crate::kernels::lattice::{CUTOFF, Lists, atoms};
use crate::kernels::lennard_jones::{self, Turn};
use crate::measure::difference;
use minifenl::space::{IndexFn, Layout, Loops, MemorySpace, Serial};

/// Forces by all pairs, without lists.
fn by_pairs(x: &[f64]) -> Vec<f64> {
    let points = x.as_chunks::<3>().0;
    let force = |a: &[f64; 3]| {
        let mut sum = [0.0; 3];
        for b in points {
            let d: [f64; 3] = std::array::from_fn(|axis| a[axis] - b[axis]);
            let r = d.iter().map(|d| d * d).sum::<f64>().sqrt();
            if r > 0.0 && r < CUTOFF {
                // -dV/dr of V = 4 (r^-12 - r^-6).
                let slope = 48.0 * r.powi(-13) - 24.0 * r.powi(-7);
                (0..3).for_each(|axis| sum[axis] += slope * d[axis] / r);
            }
        }
        sum
    };
    points.iter().flat_map(force).collect()
}

/// Forces by lists in a layout.
fn by_lists<S: Turn + Loops<F>, F: IndexFn<1, 2, 1>>(
    space: &S,
    x: &[f64],
    layout: Layout,
    is_half: bool,
    f: impl Fn(f64, f64) -> F,
) -> Vec<f64> {
    let lists = Lists::new(&Serial, x, is_half).unwrap();
    let extents = [x.len() / 3, lists.width];
    let (counts, rows) = (space.upload(&lists.counts).unwrap(), space.upload(&lists.list).unwrap());
    let list = if layout == Layout::Left { space.turned(&rows, extents).unwrap() } else { rows };
    let [atom_step, neighbour_step] = layout.strides(extents).map(|step| step as f64);
    let (x_there, mut out) = (space.upload(x).unwrap(), space.zeros::<f64>(x.len()).unwrap());
    let lists = [&counts, &list].map(S::Memory::slice);
    let (x_there, cells) = (S::Memory::slice(&x_there), S::Memory::slice_mut(&mut out));
    space.for_indices(extents[0], &f(atom_step, neighbour_step), [x_there], lists, [cells]).unwrap();
    space.download(&out).unwrap()
}

fn check<S: Turn>(space: &S) {
    for cells in [0, 1, 3] {
        let mut x = atoms(cells);
        // An odd number of atoms, none of them alone.
        x.truncate(x.len().saturating_sub(3));
        let expected = by_pairs(&x);
        assert_eq!(expected.is_empty(), cells == 0);
        for layout in [Layout::Right, Layout::Left] {
            let full = |atom_step, neighbour_step| Full { cutoff: CUTOFF, atom_step, neighbour_step };
            assert!(difference(&by_lists(space, &x, layout, false, full), &expected) < 1e-11, "{cells} {layout:?}");
            let half = |atom_step, neighbour_step| Half { cutoff: CUTOFF, atom_step, neighbour_step };
            assert!(difference(&by_lists(space, &x, layout, true, half), &expected) < 1e-11, "{cells} {layout:?}");
        }
    }
    let report = reported(space, |run| lennard_jones::measure(run, &Serial, &atoms(4)));
    assert_eq!(report.rows.iter().filter(|row| row.ratio.is_some()).count(), 2);
    assert!(report.rows.iter().all(|row| row.difference.is_some()));
}

#[test]
fn forces_by_lists_are_those_of_all_pairs() {
    hosts().iter().for_each(check);
}

#[test]
fn forces_by_lists_are_those_of_all_pairs_on_a_gpu() {
    let Some(space) = gpu("forces_by_lists_are_those_of_all_pairs_on_a_gpu") else { return };
    check(&space);
}

/// A call of the functions without a lattice: two atoms at the minimum of the potential, 2^(1/6) apart, do not move.
#[test]
fn atoms_at_the_minimum_feel_no_force() {
    let apart = 2f64.powf(1.0 / 6.0);
    for (distance, sign) in [(apart, 0.0), (0.9 * apart, -1.0), (1.1 * apart, 1.0), (2.6, 0.0)] {
        let x = [0.0, 0.0, 0.0, distance, 0.0, 0.0];
        let full = |atom_step, neighbour_step| Full { cutoff: CUTOFF, atom_step, neighbour_step };
        let f = by_lists(&Serial, &x, Layout::Right, false, full);
        let pull = f[0];
        assert!(if sign == 0.0 { pull.abs() < 1e-12 } else { pull * sign > 0.1 }, "{distance}: {f:?}");
        assert!((f[0] + f[3]).abs() < 1e-12 && f[1..3] == [0.0; 2]);
    }
}
