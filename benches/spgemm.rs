//! The product of two sparse matrices beside sprs, in turn and on the same arrays: a matrix of a box times itself, and times a prolongator.
//!
//! ```text
//! cargo bench --bench spgemm                     64^3 rows, one thread
//! MINIFENL_EDGE=100 MINIFENL_THREADS=2 cargo bench --bench spgemm
//! ```
//! sprs has no plan: its one number is to be compared with plan and values for a first product, and with the values alone for all later
//! ones. Rates are entries of the product per second; medians of rounds. On a shared machine compare numbers of one run only.

#![allow(missing_docs)]

use minifenl::space::Threads;
use minifenl::sparse::{CrsGraph, CrsMatrix, Spgemm};
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: usize = 5;

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// A matrix whose row of node (x, y, z) has the columns that `of` maps its 27 neighbours to.
fn matrix(edge: usize, columns: usize, of: impl Fn([usize; 3]) -> usize) -> CrsMatrix {
    let (mut row_map, mut entries) = (vec![0], Vec::new());
    let near = |i: usize| i.saturating_sub(1)..(i + 2).min(edge);
    for (z, y, x) in (0..edge).flat_map(|z| (0..edge).flat_map(move |y| (0..edge).map(move |x| (z, y, x)))) {
        let of = &of;
        let mut row: Vec<u32> =
            near(z).flat_map(|z| near(y).flat_map(move |y| near(x).map(move |x| of([x, y, z]) as u32))).collect();
        row.sort_unstable();
        row.dedup();
        entries.extend(row);
        row_map.push(entries.len() as u64);
    }
    let values = entries.iter().map(|&column| 1.0 + f64::from(column % 7)).collect();
    CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, columns).expect("sorted")), values).expect("a value each")
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let (edge, threads) = (setting("MINIFENL_EDGE", 64), setting("MINIFENL_THREADS", 1));
    let space = Threads::new(threads).expect("threads");
    let third = edge.div_ceil(3);
    let a = matrix(edge, edge.pow(3), |[x, y, z]| x + edge * (y + edge * z));
    let p = matrix(edge, third.pow(3), |[x, y, z]| x / 3 + third * (y / 3 + third * (z / 3)));
    println!("{edge}^3 rows, {threads} threads; millions of entries of C per second");
    println!("{:8} {:>12} {:>10} {:>10} {:>10} {:>10}", "", "entries of C", "plan", "values", "both", "sprs");
    for (name, b) in [("A A", &a), ("A P", &p)] {
        let mut times: [Vec<f64>; 3] = Default::default();
        let mut count = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let plan = Spgemm::new(&space, a.graph(), b.graph(), 1).expect("memory");
            let planned = start.elapsed().as_secs_f64();
            let mut c = vec![0.0; plan.graph().nnz()];
            let start = Instant::now();
            plan.values(&space, &a, b, &mut c).expect("memory");
            let summed = start.elapsed().as_secs_f64();
            let start = Instant::now();
            let peer = &a.as_sprs() * &b.as_sprs();
            times[2].push(start.elapsed().as_secs_f64());
            let differs = c.iter().zip(peer.data()).any(|(found, value)| (found - value).abs() > 1e-9 * value.abs());
            assert!(!differs && c.len() == peer.nnz(), "products differ");
            times[0].push(planned);
            times[1].push(summed);
            count = c.len();
        }
        let [plan, values, peer] = times.map(median);
        let rate = |seconds: f64| 1e-6 * count as f64 / seconds;
        let rates = [plan, values, plan + values, peer].map(|seconds| format!("{:>10.1}", rate(seconds)));
        println!("{name:8} {count:>12} {}", rates.join(" "));
    }
}
