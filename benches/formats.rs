//! Products and CG on a GPU in every storage format, in f64 and f32: microseconds, and GB/s of what CRS in f64 has to move.
//!
//! `cargo bench --bench formats`; without a GPU it says so and ends. The matrix is the 27-point Laplacian of a box of m^3 nodes.

use minifenl::Result;
use minifenl::comm::Solo;
use minifenl::graph::{self, Strategy};
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg, cg_single_launch};
use minifenl::space::{Cuda, CudaMemory, ExecutionSpace, Threads, allowed_cores};
use minifenl::sparse::{CrsMatrix, DeviceCrs, Format, Lanes, Operator, SlicedEll, Spmv, StoredValue};
use std::time::Instant;

/// Returns a wave without symmetries.
fn wave(n: usize, k: f64) -> Vec<f64> {
    (0..n).map(|i| 1.5 + (i as f64 * k).sin()).collect()
}

/// Returns the matrix with -1 beside the diagonal and slightly more than their number on it.
fn laplace(m: u64) -> Result<CrsMatrix> {
    let space = Threads::with_current(allowed_cores())?;
    let spec = BoxSpec::unit([m; 3], CoordinateMap::None)?;
    let mesh = Mesh::new(&space, BoxPart::new(&spec, 0, 1)?)?;
    let graph = graph::build(&space, &mesh.elem_node, mesh.map.owned_count(), Strategy::default())?.crs;
    let diagonal = graph.longest_row() as f64 - 1.0 + 0.01;
    let mut a = CrsMatrix::zero(graph.clone());
    let (_, values) = a.parts_mut();
    for row in 0..graph.rows() {
        for entry in graph.row_range(row) {
            values[entry] = if graph.entries()[entry] as usize == row { diagonal } else { -1.0 };
        }
    }
    Ok(a)
}

/// Returns the matrix with its values rounded to f32.
fn single(a: &CrsMatrix) -> CrsMatrix<f32> {
    let mut single = CrsMatrix::zero(a.graph().clone());
    let (_, values) = single.parts_mut();
    values.iter_mut().zip(a.values()).for_each(|(single, &value)| *single = value as f32);
    single
}

/// Returns the microseconds of one call, from events around twenty calls.
fn time(space: &Cuda, mut work: impl FnMut() -> Result<()>) -> f64 {
    work().unwrap();
    let before = space.record().unwrap();
    for _ in 0..20 {
        work().unwrap();
    }
    space.record().unwrap().since(&before).unwrap().as_secs_f64() / 20.0 * 1e6
}

fn speeds<V: StoredValue>(space: &Cuda, a: &CrsMatrix<V, CudaMemory>, value: &str) {
    let (rows, nnz) = (a.graph().rows(), a.graph().nnz());
    // What CRS in f64 has to move.
    let least = (12 * nnz + 24 * rows) as f64;
    let (x, mut y) = (space.upload(&wave(rows, 0.3)).unwrap(), space.zeros(rows).unwrap());
    for (lanes, name) in Lanes::ALL {
        let us = time(space, || space.spmv_lanes(lanes, a, &x, &mut y));
        println!("{value} crs, {name:>2} lanes: {us:9.2} us, {:6.0} GB/s of CRS f64", least / us * 1e-3);
    }
    let b = space.upload(&wave(rows, 0.77)).unwrap();
    let mut work = CgWorkspace::new(space, rows, rows).unwrap();
    for (format, name) in Format::ALL {
        let start = Instant::now();
        let mut slices = (format != Format::Crs)
            .then(|| SlicedEll::<V>::new(space, format == Format::Symmetric, a.graph()).unwrap());
        let setup = start.elapsed().as_secs_f64() * 1e3;
        let update = time(space, || slices.as_mut().map_or(Ok(()), |slices| slices.update(space, a)));
        let crs = DeviceCrs::from(a.try_clone().unwrap());
        let stored: &dyn Operator<Cuda> = slices.as_ref().map_or(&crs, |slices| slices);
        let us = time(space, || match &slices {
            Some(slices) => slices.spmv(space, &x, &mut y),
            None => space.spmv(a, &x, &mut y),
        });
        let (gbs, own) = (least / us * 1e-3, stored.bytes() as f64 / us * 1e-3);
        println!(
            "{value} {name:>8}: {us:9.2} us, {gbs:6.0} GB/s of CRS f64, {own:6.0} own; setup {setup:.2} ms, update {update:.1} us"
        );
        for launch in [None, space.single_launch_of(a).unwrap()] {
            let at_once = launch.is_some();
            let params = CgParams::new(1e-10, 500);
            let mut solve = || {
                let mut x = space.zeros(rows).unwrap();
                let mut system = LinearSystem { operator: stored, preconditioner: &mut Identity, comm: &Solo, rhs: &b };
                let observe = &mut |_, _| Ok(());
                match &launch {
                    Some(launch) => cg_single_launch(space, launch, &mut system, &mut x, params, &mut work, observe),
                    None => cg(space, &mut system, &mut x, params, &mut work, observe),
                }
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

fn main() -> Result<()> {
    let space = match Cuda::new(0) {
        Ok(space) => space,
        Err(error) => {
            println!("bench formats needs a GPU: {error}");
            return Ok(());
        }
    };
    for m in [16, 24, 32, 40, 64, 128] {
        let a = laplace(m)?;
        println!("{m}^3");
        speeds(&space, &a.upload(&space)?, "f64");
        speeds(&space, &single(&a).upload(&space)?, "f32");
    }
    Ok(())
}
