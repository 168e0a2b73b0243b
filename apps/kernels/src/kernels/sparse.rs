//! Products with a matrix in CRS on a box of hexahedra, and CG with it: the library's own.

use crate::functions::Ramp;
use crate::measure::{Case, Run};
use crate::space::Space;
use minifenl::Result;
use minifenl::comm::Solo;
use minifenl::element::ElementType;
use minifenl::graph::{self, Strategy};
use minifenl::mesh::Mesh;
use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg};
use minifenl::space::{Array, MemorySpace, Threads};
use minifenl::sparse::CrsMatrix;

/// Iterations of a CG solve.
const ITERATIONS: usize = 20;

/// The matrix of a box of so many nodes along an edge: 27 on the diagonal, -1 beside it.
pub fn matrix(host: &Threads, edge: usize) -> Result<CrsMatrix> {
    let mesh = Mesh::of_box(ElementType::Hex8, [edge - 1; 3], [1.0; 3])?;
    let graph = graph::build(host, &mesh.elem_node, edge * edge * edge, Strategy::default())?.crs;
    let values = (0..graph.rows()).flat_map(|row| graph.row(row).iter().map(move |&column| (row, column as usize)));
    let values = values.map(|(row, column)| if row == column { 27.0 } else { -1.0 }).collect();
    CrsMatrix::new(graph, values)
}

/// Bytes of a matrix of so many entries and rows: values, columns, offsets, and two vectors.
fn product(entries: usize, rows: usize) -> usize {
    12 * entries + 24 * rows
}

/// Measures a product and an iteration of CG on a box of so many nodes along an edge, 2 or more.
pub fn measure<S: Space>(run: &mut Run<'_, S>, host: &Threads, edge: usize) -> Result<()> {
    let (space, rows) = (run.space, edge * edge * edge);
    run.step("spmv", rows);
    let on_host = matrix(host, edge)?;
    let (entries, a) = (on_host.graph().nnz(), on_host.upload(space)?);
    let case = |kernel, bytes: usize, note: String| Case {
        kernel,
        variant: format!("{edge}^3 nodes"),
        items: rows,
        bytes: bytes as f64,
        difference: None,
        note,
    };
    let mut x = space.zeros::<f64>(rows)?;
    space.for_items(rows, &Ramp {}, [], [S::Memory::slice_mut(&mut x)])?;
    let mut y = space.zeros::<f64>(rows)?;
    let spmv = |y: &mut Array<S, f64>| space.spmv(&a, S::Memory::slice(&x), S::Memory::slice_mut(y));
    run.row(case("spmv", product(entries, rows), String::new()), &mut y, &[&spmv])?;

    run.step("cg", rows);
    let work = CgWorkspace::new(space, rows, rows)?;
    let solve = |(y, work): &mut (Array<S, f64>, CgWorkspace<S>)| {
        let mut system =
            LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &Solo, rhs: S::Memory::slice(&x) };
        let y = S::Memory::slice_mut(y);
        space.fill(rows, 0.0, y)?;
        cg(space, &mut system, y, CgParams::exactly(ITERATIONS), work, &mut |_, _| {}).map(drop)
    };
    // Three dots with the norm, three updates of vectors: 96 bytes per row beside the product.
    let bytes = ITERATIONS * (product(entries, rows) + 96 * rows);
    run.row(case("cg", bytes, format!("{ITERATIONS} iterations")), &mut (y, work), &[&solve])?;
    Ok(())
}
