//! Loops by hand on a host: plain ones on one thread, rayon's parallel iterators on several.

use super::{Native, Neighbours, Way};
use crate::functions::VECTORS;
use crate::rows::Rows;
use minifenl::space::atomic::{AtomicF64, atomic_view};
use minifenl::space::{ExecutionSpace, Threads};
use minifenl::{Error, Result};
use rayon::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

/// Items of a piece of work.
const CHUNK: usize = 4096;
/// Items of 16 vectors that stay in the nearest cache.
const TILE: usize = 128;

/// Loops on one thread, or on a pool.
#[derive(Debug)]
pub struct HostLoops {
    pool: Option<rayon::ThreadPool>,
}

impl HostLoops {
    /// The pool, if there is more than a piece of work.
    fn pool(&self, n: usize) -> Option<&rayon::ThreadPool> {
        self.pool.as_ref().filter(|_| n > CHUNK)
    }
}

impl HostLoops {
    fn add_by(&self, list: &[u32], cells: &[AtomicF64], add: impl Fn(&AtomicF64) + Sync) {
        let loops = |list: &[u32]| list.iter().for_each(|&cell| add(&cells[cell as usize]));
        match self.pool(list.len()) {
            None => loops(list),
            Some(pool) => pool.install(|| list.par_chunks(CHUNK).for_each(loops)),
        }
    }
}

impl Native<Threads> for HostLoops {
    fn new(space: &Threads) -> Result<Self> {
        let threads = space.threads();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Error::Invalid(format!("a pool of {threads} threads: {error}")))?;
        Ok(HostLoops { pool: (threads > 1).then_some(pool) })
    }

    fn axpby(&self, n: usize, a: f64, x: &[f64], b: f64, y: &mut [f64]) -> Result<()> {
        let loops = |x: &[f64], y: &mut [f64]| y.iter_mut().zip(x).for_each(|(y, x)| *y = a * x + b * *y);
        match self.pool(n) {
            None => loops(&x[..n], &mut y[..n]),
            Some(pool) => pool.install(|| {
                y[..n].par_chunks_mut(CHUNK).zip(x[..n].par_chunks(CHUNK)).for_each(|(y, x)| loops(x, y));
            }),
        }
        Ok(())
    }

    fn dot(&self, n: usize, x: &[f64], y: &[f64]) -> Result<f64> {
        Ok(match self.pool(n) {
            None => dot(&x[..n], &y[..n]),
            Some(pool) => pool.install(|| {
                let chunks = x[..n].par_chunks(CHUNK).zip(y[..n].par_chunks(CHUNK));
                chunks.map(|(x, y)| dot(x, y)).sum()
            }),
        })
    }

    fn triad(&self, n: usize, x: &[f64], a: f64, y: &[f64], z: &mut [f64]) -> Result<()> {
        let loops = |x: &[f64], y: &[f64], z: &mut [f64]| {
            z.iter_mut().zip(x).zip(y).for_each(|((z, x), y)| *z = x + a * y);
        };
        match self.pool(n) {
            None => loops(&x[..n], &y[..n], &mut z[..n]),
            Some(pool) => pool.install(|| {
                let chunks = z[..n].par_chunks_mut(CHUNK).zip(x[..n].par_chunks(CHUNK)).zip(y[..n].par_chunks(CHUNK));
                chunks.for_each(|((z, x), y)| loops(x, y, z));
            }),
        }
        Ok(())
    }

    fn gram(&self, n: usize, vectors: [&[f64]; VECTORS], products: &mut [f64]) -> Result<()> {
        let loops = |start: usize| {
            let mut sums = [0.0; VECTORS * VECTORS];
            let end = n.min(start + CHUNK);
            for start in (start..end).step_by(TILE) {
                let tile = start..end.min(start + TILE);
                for i in 0..VECTORS {
                    for j in i..VECTORS {
                        sums[VECTORS * i + j] += dot(&vectors[i][tile.clone()], &vectors[j][tile.clone()]);
                    }
                }
            }
            sums
        };
        let add = |mut a: [f64; VECTORS * VECTORS], b: [f64; VECTORS * VECTORS]| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let (chunks, zero) = (n.div_ceil(CHUNK), [0.0; VECTORS * VECTORS]);
        let sums = match self.pool(n) {
            None => (0..chunks).map(|chunk| loops(CHUNK * chunk)).fold(zero, add),
            Some(pool) => {
                pool.install(|| (0..chunks).into_par_iter().map(|chunk| loops(CHUNK * chunk)).reduce(|| zero, add))
            }
        };
        products.iter_mut().zip(sums).for_each(|(product, sum)| *product += sum);
        Ok(())
    }

    fn spmv(&self, rows: usize, a: &Rows<Threads>, x: &[f64], y: &mut [f64]) -> Result<()> {
        let Rows { starts, columns, values } = a;
        let loops = |(row, y): (usize, &mut f64)| {
            let entries = starts[row] as usize..starts[row + 1] as usize;
            let both = values[entries.clone()].iter().zip(&columns[entries]);
            *y = both.map(|(value, &column)| value * x[column as usize]).sum();
        };
        match self.pool(rows) {
            None => y[..rows].iter_mut().enumerate().for_each(loops),
            Some(pool) => pool.install(|| y[..rows].par_iter_mut().enumerate().for_each(loops)),
        }
        Ok(())
    }

    fn add(&self, way: Way, list: &[u32], cells: &mut [f64]) -> Result<()> {
        let cells = atomic_view(cells);
        match way {
            Way::Racy => self.add_by(list, cells, |cell| cell.store(cell.load(Relaxed) + 1.0, Relaxed)),
            Way::Atomic => self.add_by(list, cells, |cell| {
                cell.fetch_add(1.0, Relaxed);
            }),
            Way::Exchange => self.add_by(list, cells, |cell| {
                let mut before = cell.load(Relaxed);
                while let Err(found) = cell.compare_exchange_weak(before, before + 1.0, Relaxed, Relaxed) {
                    before = found;
                }
            }),
        }
        Ok(())
    }

    fn forces(&self, n: usize, of: &Neighbours<'_, Threads>, f: &mut [f64]) -> Result<()> {
        let loops = |(i, f): (usize, &mut [f64])| f.copy_from_slice(&force(i, of));
        match self.pool(n) {
            None => f[..3 * n].chunks_exact_mut(3).enumerate().for_each(loops),
            Some(pool) => pool.install(|| f[..3 * n].par_chunks_exact_mut(3).enumerate().for_each(loops)),
        }
        Ok(())
    }
}

/// 16 sums: one chain of additions waits for each of them.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let (x, x_rest) = x.as_chunks::<16>();
    let (y, y_rest) = y.as_chunks::<16>();
    let mut sums = [0.0; 16];
    for (x, y) in x.iter().zip(y) {
        for way in 0..16 {
            sums[way] += x[way] * y[way];
        }
    }
    sums.iter().sum::<f64>() + x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum::<f64>()
}

fn force(i: usize, of: &Neighbours<'_, Threads>) -> [f64; 3] {
    let Neighbours { x, counts, list, steps, cutoff } = of;
    let mut sum = [0.0; 3];
    for k in 0..counts[i] as usize {
        let j = list[i * steps[0] + k * steps[1]] as usize;
        let d = [x[3 * i] - x[3 * j], x[3 * i + 1] - x[3 * j + 1], x[3 * i + 2] - x[3 * j + 2]];
        let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        if square < cutoff * cutoff {
            let s2 = 1.0 / square;
            let s6 = s2 * s2 * s2;
            let force = 48.0 * s6 * (s6 - 0.5) * s2;
            for axis in 0..3 {
                sum[axis] += force * d[axis];
            }
        }
    }
    sum
}
