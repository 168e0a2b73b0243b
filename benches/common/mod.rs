//! What the benches share: the mesh, the size and the threads.
//!
//! `MINIFENL_NODES=100 MINIFENL_THREADS=2 cargo bench --bench graph` chooses nodes along an edge (default 64) and threads
//! (default: all cores). Throughput lines are bytes by the formulas of `run::cost`, so they compare with `triad` beside
//! them; on a shared machine compare ratios within one run.

#![allow(dead_code, missing_docs)]

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use minifenl::blas;
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
use minifenl::run::cost::Sizes;
use minifenl::space::{Threads, allowed_cores};
use minifenl::sparse::CrsGraph;
use std::time::{Duration, Instant};

fn variable(name: &str) -> Option<usize> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

pub fn nodes() -> u64 {
    variable("MINIFENL_NODES").unwrap_or(64) as u64
}

pub fn space() -> Threads {
    Threads::with_current(variable("MINIFENL_THREADS").unwrap_or_else(allowed_cores)).unwrap()
}

pub fn mesh(space: &Threads) -> Mesh {
    let spec = BoxSpec::unit([nodes(); 3], CoordinateMap::TWIST).unwrap();
    Mesh::new(space, BoxPart::new(&spec, 0, 1).unwrap()).unwrap()
}

pub fn sizes(mesh: &Mesh, graph: &CrsGraph) -> Sizes {
    let (owned, elems) = (mesh.map.owned_count() as u64, mesh.elem_count() as u64);
    Sizes { owned, ghosts: 0, elems, nnz: graph.nnz() as u64 }
}

/// A group named after stage, size and threads, short enough for many candidates.
pub fn group<'a>(criterion: &'a mut Criterion, stage: &str, space: &Threads) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(format!("{stage} {}^3 {}t", nodes(), space.concurrency()));
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    group
}

/// The machine's own triad beside the candidates, 24 bytes an item.
pub fn triad(group: &mut BenchmarkGroup<'_, WallTime>, space: &Threads) {
    const ITEMS: u64 = 8 << 20;
    group.throughput(Throughput::Bytes(24 * ITEMS));
    group.bench_function("triad", |bencher| {
        bencher.iter_custom(|passes| {
            let rate = blas::triad(space, ITEMS as usize).unwrap().median;
            Duration::from_secs_f64(passes as f64 * 24e-9 * ITEMS as f64 / rate)
        });
    });
}

/// Times `work` alone: what it returns is dropped outside the clock.
pub fn timed<R>(mut work: impl FnMut() -> R) -> impl FnMut(u64) -> Duration {
    move |passes| {
        let mut sum = Duration::ZERO;
        for _ in 0..passes {
            let start = Instant::now();
            let result = std::hint::black_box(work());
            sum += start.elapsed();
            drop(result);
        }
        sum
    }
}
