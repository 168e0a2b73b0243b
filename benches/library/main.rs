//! Assembly as a library: sparsity pattern, first assembly and re-assembly of Poisson and elasticity, hexahedra and tetrahedra.
//!
//! ```text
//! cargo bench --bench library                                      all candidates of this library, small meshes
//! python3 benches/library_peers.py                                 beside dolfinx, scikit-fem, PETSc and SciPy
//! ```
//! The second command starts this program as one candidate among others:
//!
//! ```text
//! library write FOLDER PROBLEM CELLS                               writes the mesh and the element matrices for the peers
//! library serve FOLDER PROBLEM CELLS THREADS                       reads `round`, writes a line of ms per candidate, then `done`
//! ```
//! `serve` writes the reference matrix into FOLDER and first checks that all candidates assemble the same matrix, within 1e-12 of
//! its largest entry.

#![allow(missing_docs)]

mod candidates;
mod kernels;
mod problem;

use candidates::{Input, Run, Times};
use minifenl::space::{Threads, allowed_cores};
use minifenl::sparse::CrsMatrix;
use problem::{ALL, Problem};
use std::io::Write;
use std::path::Path;

const ROUNDS: usize = 5;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"));
    match words[..] {
        ["write", folder, problem, cells] => {
            let space = Threads::new(1).expect("a thread");
            write(Path::new(folder), &Input::new(Problem::new(problem, number(cells)), space));
        }
        ["serve", folder, problem, cells, threads] => {
            let space = Threads::with_current(number(threads) as usize).expect("threads");
            serve(Path::new(folder), &Input::new(Problem::new(problem, number(cells)), space));
        }
        _ => (1..=allowed_cores().min(2)).for_each(table),
    }
}

fn table(threads: usize) {
    for (name, cells) in ALL {
        let input = Input::new(Problem::new(name, cells), Threads::new(threads).expect("threads"));
        let elems = input.problem.table.elem_count();
        println!("{name}: {elems} elements, threads: {threads}; medians of {ROUNDS} rounds, ms");
        println!("{:<26} {:>9} {:>9} {:>9} {:>9}", "", "graph", "pattern", "first", "again");
        let mut runs = input.candidates();
        check(&mut runs);
        let mut found: Vec<Vec<Times>> = runs.iter().map(|_| Vec::new()).collect();
        for _ in 0..ROUNDS {
            runs.iter_mut().zip(&mut found).for_each(|((_, run), found)| found.push(run(false).0));
        }
        for ((name, _), times) in runs.iter().zip(&found) {
            let graph = times[0].graph.map_or("-".into(), |_| cell(times, |t| t.graph.unwrap_or(f64::NAN)));
            let [pattern, first, again] =
                [cell(times, |t| t.pattern), cell(times, |t| t.first), cell(times, |t| t.again)];
            println!("{name:<26} {graph:>9} {pattern:>9} {first:>9} {again:>9}");
        }
        println!();
    }
}

/// The median of one stage.
fn cell(times: &[Times], stage: impl Fn(&Times) -> f64) -> String {
    let mut values: Vec<f64> = times.iter().map(stage).collect();
    values.sort_by(f64::total_cmp);
    format!("{:.2}", values[values.len() / 2])
}

/// Compares the matrices of all candidates with that of the first one, which is returned.
fn check(runs: &mut [(&'static str, Run<'_>)]) -> CrsMatrix {
    let mut matrices = runs.iter_mut().map(|(name, run)| (*name, run(true).1.expect("a matrix")));
    let (_, first) = matrices.next().expect("a candidate");
    let largest = first.values().iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    for (name, matrix) in matrices {
        assert!(matrix.graph() == first.graph(), "{name}: another pattern");
        let mut differences = matrix.values().iter().zip(first.values()).map(|(a, b)| (a - b).abs());
        // NaN fails, too.
        assert!(differences.all(|difference| difference <= 1e-12 * largest), "{name}: another matrix");
    }
    first
}

fn serve(folder: &Path, input: &Input) {
    let mut runs = input.candidates();
    let matrix = check(&mut runs);
    put(folder, "reference.offsets", matrix.graph().row_map().iter().map(|x| x.to_ne_bytes()));
    put(folder, "reference.columns", matrix.graph().entries().iter().map(|x| x.to_ne_bytes()));
    put(folder, "reference.values", matrix.values().iter().map(|x| x.to_ne_bytes()));
    println!("ready {}", env!("CARGO_PKG_VERSION"));
    for line in std::io::stdin().lines() {
        if line.expect("a command") != "round" {
            break;
        }
        for (name, run) in &mut runs {
            let Times { graph, pattern, first, again } = run(false).0;
            println!("{name}|{}|{pattern}|{first}|{again}", graph.unwrap_or(f64::NAN));
        }
        println!("done");
    }
}

fn write(folder: &Path, input: &Input) {
    let (matrices, [i, j]) = input.given();
    put(folder, "points", input.problem.points.iter().flatten().map(|x| x.to_ne_bytes()));
    put(folder, "table", input.problem.table.as_slice().iter().map(|x| x.to_ne_bytes()));
    put(folder, "values", matrices.iter().map(|x| x.to_ne_bytes()));
    put(folder, "i", i.iter().map(|x| x.to_ne_bytes()));
    put(folder, "j", j.iter().map(|x| x.to_ne_bytes()));
}

fn put<const N: usize>(folder: &Path, name: &str, numbers: impl Iterator<Item = [u8; N]>) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join(name)).expect("a file"));
    numbers.for_each(|bytes| file.write_all(&bytes).expect("room for the arrays"));
    file.flush().expect("room for the arrays");
}
