//! Fill by every strategy and kernel, and the price of atomics.

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use minifenl::fill::{ContractionKernel, ElementBatch, ElementKernel, Elements, Fill, FusedKernel, Strategy};
use minifenl::graph;
use minifenl::run::cost;
use minifenl::space::atomic::{add, add_unshared, atomic_view};
use minifenl::space::lanes::LANES;
use minifenl::space::{HostSpace, Threads};
use minifenl::sparse::CrsMatrix;
use rayon::prelude::*;

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
    let elements = Elements::new(&mesh.elem_node, &mesh.node_coord, &temperature, 1.9).unwrap();
    let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; rows]);
    let mut group = common::group(criterion, "fill", &space);
    common::triad(&mut group, &space);
    for (strategy, name) in Strategy::ALL {
        let cost =
            if strategy == Strategy::Gather { cost::fill_gather(sizes, 0, 0) } else { cost::fill_scatter(sizes, 0, 0) };
        group.throughput(Throughput::Bytes(cost.bytes));
        let mut fill = Fill::<8>::new(&space, strategy, &graph).unwrap();
        let kernel = FusedKernel::new(elements);
        group.bench_function(format!("{name} fused"), |bencher| {
            let run = || fill.assemble(&space, &kernel, &mut matrix, &mut residual).unwrap();
            bencher.iter_custom(common::timed(run));
        });
        let kernel = ContractionKernel::new(elements);
        group.bench_function(format!("{name} contraction"), |bencher| {
            let run = || fill.assemble(&space, &kernel, &mut matrix, &mut residual).unwrap();
            bencher.iter_custom(common::timed(run));
        });
    }
    group.throughput(Throughput::Elements(mesh.elem_count() as u64));
    group.bench_function("kernel alone, fused", |bencher| {
        let kernel = FusedKernel::new(elements);
        bencher.iter_custom(common::timed(|| {
            space.for_each((0..mesh.elem_count().div_ceil(1024)).into_par_iter(), |block| {
                let mut batch = ElementBatch::<8>::ZERO;
                for first in (block * 1024..mesh.elem_count().min((block + 1) * 1024)).step_by(LANES) {
                    kernel.evaluate(first..mesh.elem_count().min(first + LANES), &mut (), &mut batch);
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
}

criterion_group!(benches, bench);
criterion_main!(benches);
