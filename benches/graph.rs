//! Graph construction by every strategy, beside what a Rust user would reach for: triplets to CSR in sprs and
//! nalgebra-sparse (which sum values too, so their honest comparison is graph + fill; see bench `fill`).

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use minifenl::graph::{self, Strategy};
use minifenl::run::cost;

fn bench(criterion: &mut Criterion) {
    let space = common::space();
    let mesh = common::mesh(&space);
    let (elem_node, rows) = (&mesh.elem_node, mesh.map.owned_count());
    let build = |strategy| graph::build(&space, elem_node, rows, strategy).unwrap();
    let sizes = common::sizes(&mesh, &build(Strategy::Gather).crs);
    let mut group = common::group(criterion, "graph", &space);
    common::triad(&mut group, &space);
    group.throughput(Throughput::Bytes(cost::graph(sizes, cost::Shape::HEX8).bytes));
    for (strategy, name) in Strategy::ALL {
        group.bench_function(name, |bencher| bencher.iter_custom(common::timed(|| build(strategy))));
    }
    group.bench_function("sprs triplets", |bencher| {
        bencher.iter_custom(common::timed(|| {
            let mut triplets = sprs::TriMatI::<f64, u32>::with_capacity((rows, rows), 64 * mesh.elem_count());
            for nodes in elem_node.iter() {
                nodes
                    .iter()
                    .for_each(|&i| nodes.iter().for_each(|&j| triplets.add_triplet(i as usize, j as usize, 1.0)));
            }
            triplets.to_csr::<u64>()
        }));
    });
    group.bench_function("nalgebra-sparse triplets", |bencher| {
        bencher.iter_custom(common::timed(|| {
            let mut triplets = nalgebra_sparse::CooMatrix::<f64>::new(rows, rows);
            for nodes in elem_node.iter() {
                nodes.iter().for_each(|&i| nodes.iter().for_each(|&j| triplets.push(i as usize, j as usize, 1.0)));
            }
            nalgebra_sparse::CsrMatrix::from(&triplets)
        }));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
