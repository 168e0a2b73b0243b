//! Products with a matrix in CRS on a box of hexahedra, beside loops by hand and another library, and CG with it: the library's own.

use crate::functions::{Ramp, RowProduct};
use crate::measure::{Case, Run, Work, difference};
use crate::native::Native;
use crate::peers::Peers;
use crate::rows::Rows;
use crate::space::Space;
use minifenl::Result;
use minifenl::comm::Solo;
use minifenl::element::ElementType;
use minifenl::graph::{self, Strategy};
use minifenl::mesh::Mesh;
use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg};
use minifenl::space::{Array, MemorySpace, Team, Threads};
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
    let (space, native, peers, rows) = (run.space, run.native, run.peers, edge * edge * edge);
    run.step("spmv", rows);
    let on_host = matrix(host, edge)?;
    let (entries, a) = (on_host.graph().nnz(), on_host.upload(space)?);
    let case = |kernel, bytes: usize, difference, note: String| Case {
        kernel,
        variant: format!("{edge}^3 nodes"),
        items: rows,
        bytes: bytes as f64,
        difference,
        peer: None,
        note,
    };
    let mut x = space.zeros::<f64>(rows)?;
    space.for_items(rows, &Ramp {}, [], [S::Memory::slice_mut(&mut x)])?;
    let mut y = space.zeros::<f64>(rows)?;
    let spmv = |y: &mut Array<S, f64>| space.spmv(&a, S::Memory::slice(&x), S::Memory::slice_mut(y));
    let by_rows = Rows::new(space, &on_host)?;
    let by_hand = |y: &mut Array<S, f64>| native.spmv(rows, &by_rows, S::Memory::slice(&x), S::Memory::slice_mut(y));
    let peer = peers.of_products();
    let of_peer = peer.map(|_| peers.product(&on_host)).transpose()?;
    let by_library = |y: &mut Array<S, f64>| match &of_peer {
        Some(product) => peers.apply(product, S::Memory::slice(&x), S::Memory::slice_mut(y)),
        None => Ok(()),
    };
    let all: [&Work<'_, Array<S, f64>>; 3] = [&spmv, &by_hand, &by_library];
    let works = &all[..if peer.is_some() { 3 } else { 2 }];
    let mut found = Vec::new();
    for work in works {
        space.fill(rows, 0.0, S::Memory::slice_mut(&mut y))?;
        work(&mut y)?;
        found.push(space.download(&y)?);
    }
    let apart = difference(&found[1..].concat(), &found[0].repeat(works.len() - 1));
    run.row(Case { peer, ..case("spmv", product(entries, rows), Some(apart), String::new()) }, &mut y, works)?;
    drop(of_peer);
    // A host has teams of one thread.
    for (team, threads) in Team::ALL.into_iter().filter(|(team, _)| !S::SYNCHRONOUS || *team == Team::default()) {
        let (numbers, indices) = ([&by_rows.values, &x].map(S::Memory::slice), [&by_rows.starts, &by_rows.columns]);
        let by_teams = |y: &mut Array<S, f64>| {
            let y = S::Memory::slice_mut(y);
            space.for_teams(rows, team, &RowProduct {}, numbers, indices.map(S::Memory::slice), [y])
        };
        space.fill(rows, 0.0, S::Memory::slice_mut(&mut y))?;
        by_teams(&mut y)?;
        let apart = difference(&space.download(&y)?, &found[0]);
        let variant = if S::SYNCHRONOUS { "by rows".into() } else { format!("teams of {threads}") };
        let case = Case { variant, ..case("spmv", product(entries, rows), Some(apart), String::new()) };
        run.row(case, &mut y, &[&by_teams, &by_hand])?;
    }
    drop(by_rows);

    run.step("cg", rows);
    let work = CgWorkspace::new(space, rows, rows)?;
    let solve = |(y, work): &mut (Array<S, f64>, CgWorkspace<S>)| {
        let mut system =
            LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &Solo, rhs: S::Memory::slice(&x) };
        let y = S::Memory::slice_mut(y);
        space.fill(rows, 0.0, y)?;
        cg(space, &mut system, y, CgParams::exactly(ITERATIONS), work, &mut |_, _| Ok(())).map(drop)
    };
    // Three dots with the norm, three updates of vectors: 96 bytes per row beside the product.
    let bytes = ITERATIONS * (product(entries, rows) + 96 * rows);
    run.row(case("cg", bytes, None, format!("{ITERATIONS} iterations")), &mut (y, work), &[&solve])?;
    Ok(())
}
