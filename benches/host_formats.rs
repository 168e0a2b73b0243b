//! Products and CG on a host in every storage: ns per row, bytes per row and their share of a triad measured in the same run.
//!
//! ```text
//! cargo bench --bench host_formats -- [NODES]...      boxes of NODES^3 nodes, by default 32, 64 and 100: a 27-point operator
//! ```
//! On 1 thread and on all cores. Values differ. Rounds visit all storages in turn; the table has their medians. Products are checked
//! against sums over the entries before they are timed; sprs and nalgebra-sparse multiply the same CRS matrix on 1 thread.

use minifenl::Result;
use minifenl::blas::{Reductions, triad, triad_length};
use minifenl::comm::Solo;
use minifenl::graph::{self, Strategy};
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg};
use minifenl::space::{Threads, allowed_cores};
use minifenl::sparse::{CrsMatrix, Format, Formats, HostMatrix, MatrixStorage, Operator, Precision, RowProduct};
use std::time::Instant;

const ROUNDS: usize = 9;
const ITERATIONS: usize = 20;

/// Returns a symmetric, diagonally dominant 27-point operator on a box.
fn box_matrix(space: &Threads, m: u64) -> Result<CrsMatrix> {
    let spec = BoxSpec::unit([m; 3], CoordinateMap::None)?;
    let mesh = Mesh::new(space, BoxPart::new(&spec, 0, 1)?)?;
    let graph = graph::build(space, &mesh.elem_node, mesh.map.owned_count(), Strategy::default())?.crs;
    let mut a = CrsMatrix::zero(graph.clone());
    let (_, values) = a.parts_mut();
    for row in 0..graph.rows() {
        for entry in graph.row_range(row) {
            let column = graph.entries()[entry] as usize;
            let pair = row.min(column) * 7 + row.max(column) * 3;
            values[entry] = if column == row { 27.0 } else { -1.0 - 1e-3 * (pair % 11) as f64 };
        }
    }
    Ok(a)
}

/// One row of the table: what is timed, set-up and update in seconds, bytes of a product.
struct Row {
    name: String,
    matrix: HostMatrix,
    setup: f64,
    update: Vec<f64>,
    product: Vec<f64>,
    iteration: Vec<f64>,
}

fn seconds<R>(work: impl FnOnce() -> Result<R>) -> Result<(f64, R)> {
    let start = Instant::now();
    let result = work()?;
    Ok((start.elapsed().as_secs_f64(), result))
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Sums over the entries.
fn product(a: &CrsMatrix, x: &[f64]) -> Vec<f64> {
    let graph = a.graph();
    let row = |row| graph.row_range(row).map(|e| a.values()[e] * x[graph.entries()[e] as usize]).sum();
    (0..graph.rows()).map(row).collect()
}

fn check(name: &str, y: &[f64], expected: &[f64]) {
    let difference = y
        .iter()
        .zip(expected)
        .map(|(y, e)| (y - e).abs())
        .fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a });
    assert!(difference < if name.ends_with("f32") { 1e-4 } else { 1e-10 }, "{name}: {difference:e}");
}

fn rows(space: &Threads, a: &CrsMatrix) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (values, _) in Precision::ALL {
        for format in [Format::Crs, Format::Pattern, Format::Symmetric] {
            let storage = MatrixStorage { values, ..format.into() };
            let (setup, mut matrix) = seconds(|| HostMatrix::new(space, storage, a.graph().clone()))?;
            Threads::values_mut(&mut matrix).copy_from_slice(a.values());
            space.update(&mut matrix)?;
            let name = format!("{format} {values}");
            rows.push(Row { name, matrix, setup, update: vec![], product: vec![], iteration: vec![] });
        }
    }
    Ok(rows)
}

fn compare(space: &Threads, threads: usize, m: u64) -> Result<()> {
    let a = box_matrix(space, m)?;
    let n = a.graph().rows();
    let mut table = rows(space, &a)?;
    let (x, mut y): (Vec<f64>, _) = ((0..n).map(|i| (i as f64 * 0.3).sin()).collect(), vec![0.0; n]);
    let expected = product(&a, &x);
    let mut sums = Reductions::new(space, n, 2)?;
    for row in &table {
        y.fill(f64::NAN);
        row.matrix.operator().apply_dot_rows(
            space,
            RowProduct { rows: 0..n, exchange: None, x: &x, y: &mut y, sums: &mut sums, slot: 1 },
        )?;
        check(&row.name, &y, &expected);
    }
    let sprs = a.as_sprs();
    let offsets = a.graph().row_map().iter().map(|&o| o as usize).collect();
    let columns = a.graph().entries().iter().map(|&c| c as usize).collect();
    let theirs =
        nalgebra_sparse::CsrMatrix::try_from_csr_data(n, n, offsets, columns, a.values().clone()).expect("a matrix");
    let vector = nalgebra::DVector::from_vec(x.clone());
    let (mut peers, mut bandwidth) = ([vec![], vec![]], vec![]);
    let mut work = CgWorkspace::new(space, n, n)?;
    for _ in 0..ROUNDS {
        bandwidth.push(triad(space, triad_length(1).min(1 << 25))?.median);
        for row in &mut table {
            // Marks the values as changed.
            Threads::values_mut(&mut row.matrix);
            row.update.push(seconds(|| space.update(&mut row.matrix))?.0);
            let operator: &dyn Operator<Threads> = row.matrix.operator();
            row.product.push(
                seconds(|| {
                    operator.apply_dot_rows(
                        space,
                        RowProduct { rows: 0..n, exchange: None, x: &x, y: &mut y, sums: &mut sums, slot: 1 },
                    )
                })?
                .0,
            );
            let mut solution = vec![0.0; n];
            let mut system = LinearSystem { operator, preconditioner: &mut Identity, comm: &Solo, rhs: &x[..] };
            let params = CgParams::exactly(ITERATIONS);
            let (time, _) = seconds(|| cg(space, &mut system, &mut solution, params, &mut work, &mut |_, _| Ok(())))?;
            row.iteration.push(time / ITERATIONS as f64);
        }
        if threads == 1 {
            y.fill(0.0);
            let product = || {
                sprs::prod::mul_acc_mat_vec_csr(sprs.view(), &x[..], &mut y[..]);
                Ok(())
            };
            peers[0].push(seconds(product)?.0);
            peers[1].push(seconds(|| Ok(&theirs * &vector))?.0);
        }
    }
    let bandwidth = median(&mut bandwidth);
    println!("{m}^3 nodes, {threads} threads, triad {bandwidth:.1} GB/s (medians of {ROUNDS} interleaved rounds)");
    println!("storage          bytes/row  product ns/row  of triad  CG ns/row  set-up  update (products)");
    for row in &mut table {
        let bytes = row.matrix.operator().bytes() as f64;
        let (product, iteration) = (median(&mut row.product), median(&mut row.iteration));
        println!(
            "{:16} {:9.0} {:15.2} {:9.2} {:10.2} {:7.1} {:7.1}",
            row.name,
            bytes / n as f64,
            1e9 * product / n as f64,
            1e-9 * bytes / product / bandwidth,
            1e9 * iteration / n as f64,
            row.setup / product,
            median(&mut row.update) / product,
        );
    }
    for (name, times) in ["sprs", "nalgebra-sparse"].iter().zip(&mut peers).filter(|(_, times)| !times.is_empty()) {
        println!("{name:16} {:9} {:15.2}", "", 1e9 * median(times) / n as f64);
    }
    Ok(())
}

fn main() -> Result<()> {
    let sizes: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![32, 64, 100] } else { sizes };
    let mut counts = vec![1, allowed_cores()];
    counts.dedup();
    for threads in counts {
        let space = Threads::new(threads)?;
        sizes.iter().try_for_each(|&m| compare(&space, threads, m))?;
    }
    Ok(())
}
