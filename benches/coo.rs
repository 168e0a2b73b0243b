//! The COO front beside SciPy's `coo_matrix(...).tocsr()`, in turn and on the same arrays: a cube of tetrahedra, 16 pairs each.
//!
//! ```text
//! cargo bench --bench coo                     998 250 tetrahedra
//! MINIFENL_EDGE=30 cargo bench --bench coo    29^3 * 6 = 146 334
//! ```
//! SciPy runs in a process of its own, started as `python3` (MINIFENL_PYTHON names another); without it, the columns of SciPy stay
//! empty. SciPy keeps no plan: its one number is to be compared with plan and sum for a first matrix, and with the sum alone for all
//! later ones. "first" is a plan with its matrix and the first sum, which touches the pages of the matrix; "sum" is a later one; "read" is one pass over the values, the least that a
//! sum needs. Medians of rounds, in ms, and medians of the ratios within rounds; on a shared machine compare numbers of one run only.

#![allow(missing_docs)]

#[path = "common/python.rs"]
mod python;

use minifenl::contraction::Sum;
use minifenl::fill::{Coo, ElementIndices};
use minifenl::space::Threads;
use python::Peer;
use rayon::prelude::*;
use std::time::Instant;

const ROUNDS: usize = 7;

/// Reads the arrays, then answers each line with the milliseconds of one conversion and a checksum.
const SCIPY: &str = r#"
import sys, time, numpy, scipy.sparse
i, j, v = (numpy.fromfile(sys.argv[1] + n, dtype=t) for n, t in (("i", "i4"), ("j", "i4"), ("v", "f8")))
n = int(sys.argv[2])
print("scipy", scipy.__version__, flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    a = scipy.sparse.coo_matrix((v, (i, j)), shape=(n, n)).tocsr()
    ms = 1e3 * (time.perf_counter() - start)
    print(ms, a.nnz, a.data.sum(), flush=True)
"#;

/// Six tetrahedra per cell of a grid of `edge`^3 nodes, each node numbered by `number`.
fn tetrahedra(edge: i32, number: impl Fn(i32) -> i32) -> Vec<i32> {
    let mut table = Vec::new();
    for cell in 0..(edge - 1).pow(3) {
        let corner = [cell % (edge - 1), cell / (edge - 1) % (edge - 1), cell / (edge - 1).pow(2)];
        for path in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut at = corner;
            let mut add = |at: [i32; 3]| table.push(number(at[0] + edge * (at[1] + edge * at[2])));
            add(at);
            for axis in path {
                at[axis] += 1;
                add(at);
            }
        }
    }
    table
}

/// Rows and columns, element after element, as loops over elements write them.
fn by_elements(table: &[i32]) -> [Vec<i32>; 2] {
    let i = table.iter().flat_map(|&node| [node; 4]).collect();
    [i, table.chunks(4).flat_map(|nodes| nodes.repeat(4)).collect()]
}

/// Rows and columns of all elements for one pair of local nodes after the other, as programs on arrays write them (scikit-fem).
fn by_local_nodes(table: &[i32]) -> [Vec<i32>; 2] {
    let all = |local: usize| table.iter().skip(local).step_by(4).copied();
    let pairs = || (0..16).map(|pair| (pair / 4, pair % 4));
    [pairs().flat_map(|(a, _)| all(a)).collect(), pairs().flat_map(|(_, b)| all(b)).collect()]
}

/// Reads all values once.
fn read(space: &Threads, values: &[f64]) {
    space.for_each(values.par_chunks(1 << 16), |values| {
        let mut sums = [0.0; 8];
        for values in values.as_chunks::<8>().0 {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        std::hint::black_box(sums);
    });
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn ms<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (1e3 * start.elapsed().as_secs_f64(), result)
}

fn main() {
    let edge: i32 = std::env::var("MINIFENL_EDGE").map_or(56, |text| text.parse().expect("MINIFENL_EDGE is a number"));
    let nodes = edge.pow(3);
    let folder = std::env::temp_dir().join(format!("minifenl-coo-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    // A permutation of the nodes that sends neighbours far apart.
    let scattered = |node: i32| (i64::from(node) * 99_991 % i64::from(nodes)) as i32;
    let ordered = tetrahedra(edge, |node| node);
    let cases = [
        ("ordered", &ordered, by_elements as fn(&[i32]) -> [Vec<i32>; 2]),
        ("scattered", &tetrahedra(edge, scattered), by_elements),
        ("ordered, by local nodes", &ordered, by_local_nodes),
    ];
    for (name, table, pairs) in cases {
        let [i, j] = pairs(table);
        let values: Vec<f64> = (0..i.len()).map(|k| (k % 17) as f64 - 8.0).collect();
        let write = |file: &str, bytes: Vec<u8>| std::fs::write(folder.join(file), bytes).expect("room for the arrays");
        write("i", i.iter().flat_map(|x| x.to_ne_bytes()).collect());
        write("j", j.iter().flat_map(|x| x.to_ne_bytes()).collect());
        write("v", values.iter().flat_map(|x| x.to_ne_bytes()).collect());
        let mut peer = Peer::start(SCIPY, &folder, nodes as usize);
        let elements = ElementIndices { indices: &table[..], per_elem: 4 };
        let mut sizes = String::new();
        println!("{name}: {} tetrahedra, {} pairs, {nodes} nodes; ms", table.len() / 4, i.len());
        println!(
            "{:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>14} {:>15} {:>13} {:>12} {:>12}",
            "threads",
            "SciPy",
            "read",
            "plan",
            "first",
            "sum",
            "plan(elements)",
            "first(elements)",
            "sum(elements)",
            "first/SciPy",
            "elem./SciPy"
        );
        for threads in [1, 2] {
            let space = Threads::with_current(threads).or_else(|_| Threads::new(threads)).expect("threads");
            let n = nodes as usize;
            // SciPy, read; plan, first and sum of pairs; those of elements.
            let mut times: [Vec<f64>; 8] = Default::default();
            for round in 0..ROUNDS {
                let scipy = peer.as_mut().and_then(Peer::convert::<3>);
                times[0].push(scipy.map_or(f64::NAN, |numbers| numbers[0]));
                times[1].push(ms(|| read(&space, &values)).0);
                let plans = [
                    ms(|| Coo::new(&space, n, n, &i, &j).expect("a plan")),
                    ms(|| Coo::from_elements(&space, n, n, elements, elements).expect("a plan")),
                ];
                for (at, (time, plan)) in plans.into_iter().enumerate() {
                    let refill =
                        |matrix: &mut _| plan.set_values(&space, &values, Sum::Overwrite, matrix).expect("sums");
                    let (first, mut matrix) = ms(|| {
                        let mut matrix = plan.matrix().expect("memory");
                        refill(&mut matrix);
                        matrix
                    });
                    let sum = ms(|| refill(&mut matrix)).0;
                    for (of, time) in [time, time + first, sum].into_iter().enumerate() {
                        times[2 + 3 * at + of].push(time);
                    }
                    if let (0, Some([_, nnz, sum])) = (round, scipy) {
                        let own = matrix.values().iter().sum::<f64>();
                        assert_eq!((matrix.values().len() as f64, own), (nnz, sum), "SciPy has other sums");
                    }
                    sizes += &format!("{} MiB ", plan.bytes() >> 20);
                }
            }
            let ratio = |at: usize| {
                median(&mut times[at].iter().zip(&times[0]).map(|(own, scipy)| own / scipy).collect::<Vec<_>>())
            };
            let ratios = [ratio(3), ratio(6)];
            let [scipy, read, plan, first, sum, of_elements @ ..] = times.map(|mut times| median(&mut times));
            let [elements_plan, elements_first, elements_sum] = of_elements;
            println!(
                "{threads:>8} {scipy:>8.1} {read:>8.1} {plan:>8.1} {first:>8.1} {sum:>8.1} {elements_plan:>14.1} {elements_first:>15.1} {elements_sum:>13.1} {:>12.2} {:>12.2}",
                ratios[0], ratios[1]
            );
        }
        let sizes: Vec<&str> = sizes.split_inclusive("MiB ").take(2).collect();
        println!("bytes of a plan: pairs {}elements {}\n", sizes[0], sizes[1]);
    }
    let _ = std::fs::remove_dir_all(&folder);
}
