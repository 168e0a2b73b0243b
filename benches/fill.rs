//! Fill by every strategy and kernel, the price of atomics, and what the numbering of nodes costs.

mod common;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use minifenl::contraction::Sum;
use minifenl::element::equations::Heat;
use minifenl::fill::{ElementBatch, ElementKernel, Fill, FusedKernel, Parts, Strategy, Wanted, element_fn};
use minifenl::graph;
use minifenl::mesh::{ElemNode, Numbering};
use minifenl::run::cost;
use minifenl::space::Threads;
use minifenl::space::atomic::{add, add_unshared, atomic_view};
use minifenl::space::lanes::LANES;
use minifenl::sparse::CrsMatrix;
use rayon::prelude::*;
use std::time::Instant;

/// Adds 1 to each of `entries` by `put`: with the atomic add, and with a relaxed load and store in its place, which is
/// wrong on several threads and shows what the atomicity costs.
fn scatter_all(
    space: &Threads,
    entries: &[u32],
    values: &mut [f64],
    put: impl Fn(&minifenl::space::atomic::AtomicF64, f64) + Sync + Send,
) {
    let cells = atomic_view(values);
    space.for_each(entries.par_chunks(1 << 16), |entries| entries.iter().for_each(|&e| put(&cells[e as usize], 1.0)));
}

fn bench(criterion: &mut Criterion) {
    let space = common::space();
    let mesh = common::mesh(&space);
    let rows = mesh.map.owned_count();
    let graph = graph::build(&space, &mesh.elem_node, rows, graph::Strategy::Gather).unwrap();
    let sizes = common::sizes(&mesh, &graph.crs);
    let at = |[x, y, z]: [f64; 3]| 1.0 + 0.1 * (x + y) + z;
    let temperature = space.map(rows, |node| at(mesh.node_coord[node])).unwrap();
    let kernel = FusedKernel::new(&mesh.elem_node, &mesh.node_coord, &temperature, Heat::new(1.9)).unwrap();
    let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; rows]);
    let mut group = common::group(criterion, "fill", &space);
    common::triad(&mut group, &space);
    for (strategy, name) in Strategy::ALL {
        let cost = cost::fill(sizes, cost::Shape::HEX8, if strategy == Strategy::Gather { 8 } else { 24 }, 0, 0);
        group.throughput(Throughput::Bytes(cost.bytes));
        let mut fill = Fill::<8>::new(&space, strategy, &graph).unwrap();
        group.bench_function(format!("{name} fused"), |bencher| {
            let run = || fill.assemble(&space, &kernel, &mut matrix, &mut residual).unwrap();
            bencher.iter_custom(common::timed(run));
        });
    }
    group.throughput(Throughput::Elements(mesh.elem_count() as u64));
    group.bench_function("kernel alone, fused", |bencher| {
        bencher.iter_custom(common::timed(|| {
            space.for_each((0..mesh.elem_count().div_ceil(1024)).into_par_iter(), |block| {
                let mut batch = ElementBatch::<8>::ZERO;
                let elems = block * 1024..mesh.elem_count().min((block + 1) * 1024);
                let mut evaluate = kernel.evaluator(Wanted { matrix: true, residual: true }, elems.clone()).unwrap();
                for first in elems.step_by(LANES) {
                    evaluate(first..mesh.elem_count().min(first + LANES), &mut batch).unwrap();
                    std::hint::black_box(&batch);
                }
            });
        }));
    });
    let crs = &graph.crs;
    let pairs = |elem: usize| (0..64).map(move |ij| (elem, ij / 8, ij % 8));
    let entry = |(elem, i, j)| graph.elem.entry(crs, elem, i, j).unwrap() as u32;
    let entries: Vec<u32> = (0..mesh.elem_count()).flat_map(pairs).map(entry).collect();
    let values = matrix.parts_mut().1;
    group.bench_function("64 atomic adds per element", |bencher| {
        bencher.iter_custom(common::timed(|| scatter_all(&space, &entries, values, add)));
    });
    group.bench_function("64 plain adds per element", |bencher| {
        bencher.iter_custom(common::timed(|| scatter_all(&space, &entries, values, add_unshared)));
    });
    group.finish();
    // Only one space may run on this thread.
    numberings(criterion, &space);
}

/// The order of the ids of a mesh.
struct Order {
    name: &'static str,
    nodes: Vec<u32>,
    elems: Vec<usize>,
}

/// Returns 0..count in a random order (SplitMix64: Steele, Lea and Flood 2014).
fn shuffled(count: usize) -> Vec<u32> {
    let (mut order, mut state): (Vec<u32>, u64) = ((0..count as u32).collect(), 1);
    for i in (1..count).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        order.swap(i, ((bits ^ (bits >> 31)) % (i as u64 + 1)) as usize);
    }
    order
}

/// Six tetrahedra per cell of a grid of `edge`^3 nodes: paths along the edges from the lowest corner to the highest.
fn tetrahedra(edge: u32) -> Vec<[u32; 4]> {
    let mut elems = Vec::new();
    for cell in 0..(edge - 1).pow(3) {
        let corner = [cell % (edge - 1), cell / (edge - 1) % (edge - 1), cell / (edge - 1).pow(2)];
        for path in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let node = |at: [u32; 3]| at[0] + edge * (at[1] + edge * at[2]);
            let mut at = corner;
            elems.push([0, 1, 2, 3].map(|step| {
                if step > 0 {
                    at[path[step - 1]] += 1;
                }
                node(at)
            }));
        }
    }
    elems
}

/// Sums of stored matrices of tetrahedra, by every strategy and by a plain loop that has the index of each entry (4 bytes each,
/// against 1 byte per position), for nodes and elements in several orders.
fn numberings(criterion: &mut Criterion, space: &Threads) {
    let edge = common::nodes() as u32;
    let (tets, rows) = (tetrahedra(edge), (edge as usize).pow(3));
    let (nodes, elems): (Vec<u32>, Vec<usize>) = ((0..rows as u32).collect(), (0..tets.len()).collect());
    let random_elems: Vec<usize> = shuffled(tets.len()).into_iter().map(|elem| elem as usize).collect();
    let orders = [
        Order { name: "grid", nodes: nodes.clone(), elems: elems.clone() },
        Order { name: "random nodes", nodes: shuffled(rows), elems: elems.clone() },
        Order { name: "random elements", nodes: nodes.clone(), elems: random_elems.clone() },
        Order { name: "random nodes and elements", nodes: shuffled(rows), elems: random_elems },
    ];
    let mut group = common::group(criterion, "fill of tetrahedra", space);
    group.throughput(Throughput::Elements(tets.len() as u64));
    for Order { name, nodes, elems } in orders {
        let table = elems.iter().flat_map(|&elem| tets[elem].map(|node| nodes[node as usize])).collect();
        let table = ElemNode::new(table, 4, rows).unwrap();
        rows_of(&mut group, space, name, &table);
        let graph = graph::build(space, &table, rows, graph::Strategy::default()).unwrap();
        let start = Instant::now();
        let numbering = Numbering::reverse_cuthill_mckee(&graph.crs).unwrap();
        let table = numbering.renumber(&table).unwrap();
        println!("{name}: reverse Cuthill-McKee {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
        rows_of(&mut group, space, &format!("{name}, renumbered"), &table);
    }
    group.finish();
}

/// The rows of one table.
fn rows_of(group: &mut BenchmarkGroup<'_, WallTime>, space: &Threads, name: &str, table: &ElemNode) {
    let graph = graph::build(space, table, table.node_count(), graph::Strategy::default()).unwrap();
    let stored: Vec<[[f64; 4]; 4]> = (0..table.elem_count()).map(|elem| [[elem as f64; 4]; 4]).collect();
    let kernel = element_fn(|elem: usize| (stored[elem], [0.0; 4]));
    let mut matrix = CrsMatrix::zero(graph.crs.clone());
    for (strategy, strategy_name) in Strategy::ALL {
        let mut fill = Fill::<4>::new(space, strategy, &graph).unwrap();
        if let Some(counts) = fill.blocks() {
            println!("{name}: {strategy_name}: {} phases, {} blocks", counts.phases, counts.blocks);
        }
        group.bench_function(format!("{name}: {strategy_name}"), |bencher| {
            let run = || fill.assemble_parts(space, &kernel, Sum::Overwrite, Parts::Matrix(&mut matrix)).unwrap();
            bencher.iter_custom(common::timed(run));
        });
    }
    let pairs = |elem: usize| (0..16).map(move |ij| (elem, ij / 4, ij % 4));
    let entry = |(elem, i, j)| graph.elem.entry(&graph.crs, elem, i, j).unwrap() as u32;
    let map: Vec<[u32; 16]> = (0..table.elem_count())
        .map(|elem| {
            let mut entries = pairs(elem).map(entry);
            std::array::from_fn(|_| entries.next().unwrap())
        })
        .collect();
    let expected = matrix.values().to_vec();
    let values = matrix.parts_mut().1;
    group.bench_function(format!("{name}: plain loop, 1 thread"), |bencher| {
        bencher.iter_custom(common::timed(|| {
            values.fill(0.0);
            for (matrix, map) in stored.iter().zip(&map) {
                matrix.as_flattened().iter().zip(map).for_each(|(term, &entry)| values[entry as usize] += term);
            }
        }));
    });
    assert_eq!(expected, values, "whole numbers, whose sums are exact");
}

criterion_group!(benches, bench);
criterion_main!(benches);
