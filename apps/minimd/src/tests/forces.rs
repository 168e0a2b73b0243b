//! Forces, energy and pressure by lists against the sum over all pairs.

use super::thread_ranks::on_ranks;
use super::{gpu, moved};
use crate::fluid::Fluid;
use crate::space::Space;
use minifenl::comm::Solo;
use minifenl::space::{Serial, Threads};

const CUTOFF: f64 = 2.5;

/// Forces on the atoms at `here`, and twice the energy, by all atoms and their images in a box.
fn by_pairs(here: &[[f64; 3]], all: &[[f64; 3]], edges: [f64; 3]) -> (Vec<f64>, f64) {
    let (mut forces, mut energy) = (Vec::new(), 0.0);
    for a in here {
        let mut sum = [0.0; 3];
        for b in all {
            for code in 0..27 {
                let shift = |d: usize| ((code / 3usize.pow(d as u32) % 3) as f64 - 1.0) * edges[d];
                let d: [f64; 3] = std::array::from_fn(|d| a[d] - b[d] - shift(d));
                let r = d.iter().map(|d| d * d).sum::<f64>().sqrt();
                if r > 1e-6 && r < CUTOFF {
                    // V = 4 (r^-12 - r^-6) and -dV/dr.
                    energy += 4.0 * (r.powi(-12) - r.powi(-6));
                    let slope = 48.0 * r.powi(-13) - 24.0 * r.powi(-7);
                    (0..3).for_each(|axis| sum[axis] += slope * d[axis] / r);
                }
            }
        }
        forces.extend(sum);
    }
    (forces, energy)
}

/// Compares the forces of one rank, and its part of the energy where it is the only one.
fn check<S: Space>(fluid: &Fluid<'_, S>, all: &[[f64; 3]], edges: [f64; 3], is_alone: bool) {
    let [x, _, f] = fluid.arrays().unwrap();
    let (expected, energy) = by_pairs(x.as_chunks::<3>().0, all, edges);
    let largest = expected.iter().fold(1.0, |most: f64, f| most.max(f.abs()));
    let apart = f.iter().zip(&expected).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
    assert!(apart < 1e-10 * largest && f.len() == expected.len(), "{apart} of {largest}");
    if is_alone {
        let state = fluid.state(all.len()).unwrap();
        assert!((state.energy - 0.5 * energy / all.len() as f64).abs() < 1e-11, "{state:?} {energy}");
    }
}

fn check_alone<S: Space>(space: &S, words: &[&str]) {
    let (fluid, edges) = moved(space, &Solo, words);
    let all = fluid.arrays().unwrap()[0].as_chunks::<3>().0.to_vec();
    check(&fluid, &all, edges, true);
}

#[test]
fn forces_are_those_of_all_pairs() {
    // A box little longer than the reach of lists, and one that threads share by slabs; both between two rebuilds.
    for cells in ["2", "2x2x18"] {
        for lists in ["half", "full"] {
            for sort in ["yes", "no"] {
                let words = ["-n", cells, "--lists", lists, "--sort", sort, "--steps", "25"];
                check_alone(&Serial, &words);
                check_alone(&Threads::new(2).unwrap(), &words);
            }
        }
    }
}

#[test]
fn forces_are_those_of_all_pairs_on_a_gpu() {
    let Some(space) = gpu("forces_are_those_of_all_pairs_on_a_gpu") else { return };
    for lists in ["half", "full"] {
        check_alone(&space, &["-n", "3", "--lists", lists, "--steps", "25"]);
    }
}

#[test]
fn forces_on_ranks_are_those_of_all_pairs() {
    for ranks in [2, 3, 8] {
        for lists in ["half", "full"] {
            let words = ["-n", "3x2x4", "--lists", lists, "--steps", "45"];
            let found = on_ranks(ranks, |comm| moved(&Serial, comm, &words).0.arrays().unwrap()[0].clone());
            let all = found.concat().as_chunks::<3>().0.to_vec();
            assert_eq!(all.len(), 96);
            on_ranks(ranks, |comm| {
                let (fluid, edges) = moved(&Serial, comm, &words);
                check(&fluid, &all, edges, false);
            });
        }
    }
}
