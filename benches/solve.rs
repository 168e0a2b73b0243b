//! SpMV and the CG iteration beside triad, sprs and nalgebra-sparse on the same matrix.

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use minifenl::comm::Solo;
use minifenl::run::cost;
use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg};
use minifenl::space::zeroed;
use minifenl::sparse::{CrsMatrix, Spmv};
use minifenl::{Error, graph};

/// Iterations that share one measurement of CG.
const ITERATIONS: usize = 20;

fn bench(criterion: &mut Criterion) {
    let space = common::space();
    let mesh = common::mesh(&space);
    let rows = mesh.map.owned_count();
    let graph = graph::build(&space, &mesh.elem_node, rows, graph::Strategy::Gather).unwrap();
    let sizes = common::sizes(&mesh, &graph.crs);
    // The 27-point operator of HPCG: 26 on the diagonal, -1 beside it.
    let mut values = zeroed(graph.crs.nnz());
    for row in 0..rows {
        for (entry, &column) in graph.crs.row_range(row).zip(graph.crs.row(row)) {
            values[entry] = if column as usize == row { 26.0 } else { -1.0 };
        }
    }
    let matrix = CrsMatrix::new(graph.crs.clone(), values).unwrap();
    let x: Vec<f64> = (0..rows).map(|i| (i as f64 * 0.01).sin()).collect();
    let mut y = zeroed::<f64>(rows);
    let mut group = common::group(criterion, "solve", &space);
    common::triad(&mut group, &space);
    group.throughput(Throughput::Bytes(cost::spmv(sizes).bytes));
    group.bench_function("spmv", |bencher| {
        bencher.iter(|| space.spmv(&matrix, &x, &mut y).unwrap());
    });
    let single = CrsMatrix::new(graph.crs.clone(), matrix.values().iter().map(|&v| v as f32).collect()).unwrap();
    group.bench_function("spmv f32 values (bytes as f64)", |bencher| {
        bencher.iter(|| space.spmv(&single, &x, &mut y).unwrap());
    });
    drop(single);
    group.bench_function("sprs spmv, 1 thread", |bencher| {
        let view = matrix.as_sprs();
        bencher.iter(|| sprs::prod::mul_acc_mat_vec_csr(view.view(), &x[..], &mut y[..]));
    });
    {
        let offsets = graph.crs.row_map().iter().map(|&o| o as usize).collect();
        let columns = graph.crs.entries().iter().map(|&c| c as usize).collect();
        let theirs =
            nalgebra_sparse::CsrMatrix::try_from_csr_data(rows, rows, offsets, columns, matrix.values().clone());
        let (theirs, x) = (theirs.unwrap(), nalgebra::DVector::from_vec(x.clone()));
        group.bench_function("nalgebra-sparse spmv, 1 thread", |bencher| bencher.iter(|| &theirs * &x));
    }
    group.throughput(Throughput::Bytes(ITERATIONS as u64 * cost::cg_iteration(sizes).bytes));
    let mut work = CgWorkspace::new(&space, rows, rows).unwrap();
    let params = CgParams::new(1e-300, ITERATIONS);
    group.bench_function(format!("{ITERATIONS} cg iterations"), |bencher| {
        bencher.iter(|| {
            y.fill(0.0);
            let mut system =
                LinearSystem { operator: &matrix, preconditioner: &mut Identity, comm: &Solo, rhs: &x[..] };
            let stopped = cg(&space, &mut system, &mut y, params, &mut work, &mut |_, _| Ok(()));
            assert!(matches!(stopped, Err(Error::NotConverged { .. })), "{stopped:?}");
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
