//! Times of products and of CG, printed:
//! `cargo test --release --test spaces speed -- --ignored --nocapture`

use super::solve::laplace;
use super::sparse::{neighbours, single};
use super::{gpu, wave};
use minifenl::Result;
use minifenl::comm::Solo;
use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg};
use minifenl::space::{Cuda, CudaMemory, ExecutionSpace};
use minifenl::sparse::{CrsMatrix, DeviceValue, Format, Lanes, Storage};
use std::time::Instant;

/// Microseconds of one piece of work, by events around twenty.
fn time(space: &Cuda, mut work: impl FnMut() -> Result<()>) -> f64 {
    work().unwrap();
    let before = space.record().unwrap();
    for _ in 0..20 {
        work().unwrap();
    }
    space.record().unwrap().since(&before).unwrap().as_secs_f64() / 20.0 * 1e6
}

fn speeds<V: DeviceValue>(space: &Cuda, a: &CrsMatrix<V, CudaMemory>, value: &str) {
    let (rows, nnz) = (a.graph().rows(), a.graph().nnz());
    // What CRS in f64 has to move.
    let least = (12 * nnz + 24 * rows) as f64;
    let (x, mut y) = (space.upload(&wave(rows, 0.3)).unwrap(), space.zeros(rows).unwrap());
    for (lanes, name) in Lanes::ALL {
        let us = time(space, || space.spmv_lanes(lanes, 1.0, a, &x, 0.0, &mut y));
        println!("{value} crs, {name:>2} lanes: {us:9.2} us, {:6.0} GB/s of CRS f64", least / us * 1e-3);
    }
    let b = space.upload(&wave(rows, 0.77)).unwrap();
    let mut work = CgWorkspace::new(space, rows, rows).unwrap();
    for (format, name) in Format::ALL {
        let start = Instant::now();
        let mut storage = Storage::new(space, format, a.graph()).unwrap();
        let setup = start.elapsed().as_secs_f64() * 1e3;
        let update = time(space, || storage.update(space, a));
        let mut stored = storage.view(a);
        let us = time(space, || stored.spmv(space, 1.0, &x, 0.0, &mut y));
        let (gbs, own) = (least / us * 1e-3, stored.bytes() as f64 / us * 1e-3);
        println!(
            "{value} {name:>8}: {us:9.2} us, {gbs:6.0} GB/s of CRS f64, {own:6.0} own; setup {setup:.2} ms, update {update:.1} us"
        );
        for at_once in [false, true] {
            stored.at_once = at_once;
            let params = CgParams { tolerance: 1e-10, max_iterations: 500 };
            let mut solve = || {
                let mut x = space.zeros(rows).unwrap();
                let mut system = LinearSystem { operator: stored, preconditioner: Identity, comm: &Solo, rhs: &b };
                cg(space, &mut system, &mut x, params, &mut work, &mut |_, _| {})
            };
            solve().unwrap();
            let start = Instant::now();
            let info = solve().unwrap();
            let us = start.elapsed().as_secs_f64() * 1e6;
            let each = us / info.iterations as f64;
            println!(
                "{value} {name:>8}, at once {at_once:5}: {} iterations, {us:9.1} us, {each:8.2} each",
                info.iterations
            );
        }
    }
}

#[test]
#[ignore = "prints times"]
fn speed() {
    let Some(space) = gpu("speed") else { return };
    for m in [16, 24, 32, 40, 64, 128] {
        let a = laplace(neighbours([m; 3]), 0.01);
        println!("{m}^3");
        speeds(&space, &a.upload(&space).unwrap(), "f64");
        speeds(&space, &single(&a).upload(&space).unwrap(), "f32");
    }
}
