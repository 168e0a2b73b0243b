//! The suite on one space: parts and sizes.

use crate::args::{Args, Part};
use crate::kernels::{atomics, gram_schmidt, lattice, lennard_jones, sparse, streams, vectors};
use crate::measure::Run;
use crate::native::Native;
use crate::peers::Peers;
use crate::report::{Measured, Report, Row};
use minifenl::Result;
use minifenl::comm::Solo;
use minifenl::run::program::StatusLine;
use minifenl::space::Threads;

/// Nodes along the edges of boxes.
const EDGES: [usize; 4] = [10, 22, 46, 100];
/// Cells along the edges of lattices; the last one is miniMD's test of its kernel.
const CELLS: [usize; 4] = [10, 20, 40, 60];

/// Powers of ten from 10^3 on.
fn sizes(last: u32, most: usize) -> Vec<usize> {
    (3..=last).map(|k| 10usize.pow(k)).filter(|n| *n <= most).collect()
}

/// Runs the parts that are asked for.
pub fn run<S: lennard_jones::Turn>(space: &S, host: &Threads, args: &Args, report: &mut Report) -> Result<()> {
    let mut line = StatusLine::on_stderr(true);
    line.step(|_| format!("{}: triad", space.label()));
    let triad = space.triad_bandwidth(&Solo)?;
    let first = report.rows.len();
    let native = &S::Native::new(space)?;
    let (peers, missing) = S::Peers::new(space);
    report.libraries.extend(peers.versions());
    report.libraries.dedup();
    let mut run = Run { space, native, peers: &peers, effort: args.seconds, report, line: &mut line };
    if args.has(Part::Vectors) {
        for n in sizes(8, args.most) {
            if run.fits((24 * n) as f64)? {
                vectors::measure(&mut run, n)?;
            } else {
                run.report.left_out.push(format!("vectors of {n} items on {}: memory", space.label()));
            }
        }
    }
    if args.has(Part::Sparse) {
        for edge in EDGES.into_iter().filter(|edge| edge.pow(3) <= args.most) {
            sparse::measure(&mut run, host, edge)?;
        }
    }
    if args.has(Part::GramSchmidt) {
        gram_schmidt::measure(&mut run, &sizes(7, args.most))?;
    }
    if args.has(Part::LennardJones) {
        for cells in CELLS.into_iter().filter(|cells| 4 * cells.pow(3) <= args.most) {
            lennard_jones::measure(&mut run, host, &lattice::atoms(cells))?;
        }
    }
    if args.has(Part::Atomics) {
        for n in sizes(7, args.most) {
            atomics::measure(&mut run, n)?;
        }
    }
    if args.has(Part::Streams) {
        let sizes: &[usize] = if S::SYNCHRONOUS { &[1000, 10_000] } else { &[100_000, 1_000_000, 10_000_000] };
        for &n in sizes.iter().filter(|n| **n <= args.most) {
            streams::measure(&mut run, n)?;
        }
    }
    let is_asked = |row: &Row| row.kernel == "axpby" || row.kernel == "spmv" && !S::SYNCHRONOUS;
    if let Some(line) =
        missing.filter(|line| report.rows[first..].iter().any(is_asked) && !report.left_out.contains(line))
    {
        report.left_out.push(line);
    }
    // Before and after: other programs may have slowed one of them.
    let triad = triad.max(space.triad_bandwidth(&Solo)?);
    report.rows[first..].iter_mut().for_each(|row| row.of_triad = row.gigabytes_per_second / triad);
    report.spaces.push(Measured { space: space.label(), triad });
    line.clear();
    // Kernels by kernel, not size by size.
    let rows = &mut report.rows[first..];
    let mut order = Vec::new();
    for row in &*rows {
        if !order.contains(&row.kernel) {
            order.push(row.kernel);
        }
    }
    rows.sort_by_key(|row| order.iter().position(|kernel| *kernel == row.kernel));
    Ok(())
}
