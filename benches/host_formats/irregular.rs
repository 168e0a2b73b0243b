//! Products with matrices of other meshes than boxes of hexahedra: formats of the library beside prototypes.

use crate::prototypes::{Sell, ShortCrs};
use crate::{ROUNDS, check, median, on, product, seconds};
use minifenl::Result;
use minifenl::element::ElementType;
use minifenl::graph::{self, Strategy};
use minifenl::mesh::{ElemNode, ElementBox, Numbering};
use minifenl::space::Threads;
use minifenl::sparse::{CrsGraph, CrsMatrix, Format, Formats, HostMatrix, MatrixStorage, Precision, Product};
use std::sync::Arc;

/// Returns 0..count in a random order (SplitMix64: Steele, Lea and Flood 2014).
fn shuffled(count: usize) -> Vec<u32> {
    let (mut order, mut state): (Vec<u32>, u64) = ((0..count as u32).collect(), 1);
    for i in (1..count).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        order.swap(i, ((bits ^ (bits >> 31)) % (i as u64 + 1)) as usize);
    }
    order
}

fn graph_of(space: &Threads, table: &ElemNode, dofs: usize) -> Result<Arc<CrsGraph>> {
    let graph = graph::build(space, table, table.node_count(), Strategy::default())?;
    Ok(if dofs == 1 { graph.crs } else { graph.with_dofs(space, dofs)?.crs })
}

/// Meshes, unknowns per node and what their matrices show.
fn graphs(space: &Threads) -> Result<Vec<(&'static str, Arc<CrsGraph>)>> {
    let cells = |element, cells: usize| ElementBox::new(element, [cells; 3], [1.0; 3]).map(|mesh| mesh.elem_node);
    let tets = cells(ElementType::Tet4, 69)?;
    let order = shuffled(tets.node_count());
    let random = tets.as_slice().iter().map(|&node| order[node as usize]).collect();
    let random = ElemNode::new(random, 4, tets.node_count())?;
    let graph = graph_of(space, &random, 1)?;
    let renumbered = Numbering::reverse_cuthill_mckee(&graph)?.renumber(&random)?;
    Ok(vec![
        ("tetrahedra, numbered by a grid", graph_of(space, &tets, 1)?),
        ("tetrahedra, random", graph),
        ("tetrahedra, reverse Cuthill-McKee", graph_of(space, &renumbered, 1)?),
        ("hex27", graph_of(space, &cells(ElementType::Hex27, 24)?, 1)?),
        ("elasticity on hex8", graph_of(space, &cells(ElementType::Hex8, 37)?, 3)?),
        ("hex8", graph_of(space, &cells(ElementType::Hex8, 69)?, 1)?),
    ])
}

type Multiply<'a> = Box<dyn Fn(&[f64], &mut [f64]) -> Result<()> + 'a>;

/// A format, its bytes without vectors, and its product.
type Candidate<'a> = (String, usize, Multiply<'a>);

fn candidates<'a>(space: &'a Threads, a: &CrsMatrix) -> Result<Vec<Candidate<'a>>> {
    let vectors = 8 * (a.graph().rows() + a.graph().columns());
    let mut all: Vec<Candidate<'_>> = Vec::new();
    for format in [Format::Crs, Format::Pattern, Format::Symmetric] {
        let storage = MatrixStorage { format, values: Precision::F64 };
        let mut matrix = HostMatrix::new(space, storage, a.graph().clone())?;
        matrix.assembled_mut().parts_mut().1.copy_from_slice(a.values());
        space.update(&mut matrix)?;
        let bytes = Product::<Threads>::bytes(&matrix.view()) - vectors;
        all.push((format.to_string(), bytes, Box::new(move |x, y| matrix.view().multiply(space, x, y))));
    }
    fn add<'a>(all: &mut Vec<Candidate<'a>>, name: &str, bytes: usize, work: impl Fn(&[f64], &mut [f64]) + 'a) {
        let work = move |x: &[f64], y: &mut [f64]| {
            work(x, y);
            Ok(())
        };
        all.push((name.into(), bytes, Box::new(work)));
    }
    if let Some(m) = ShortCrs::new(a) {
        add(&mut all, "crs, 16 bits", m.bytes(), move |x, y| m.multiply(space, x, y));
    }
    if let Some(m) = Sell::<8, u32>::new(a) {
        add(&mut all, "SELL-8", m.bytes(), move |x, y| m.multiply(space, x, y));
    }
    if let Some(m) = Sell::<8, u16>::new(a) {
        add(&mut all, "SELL-8, 16 bits", m.bytes(), move |x, y| m.multiply(space, x, y));
    }
    if let Some(m) = Sell::<16, u16>::new(a) {
        add(&mut all, "SELL-16, 16 bits", m.bytes(), move |x, y| m.multiply(space, x, y));
    }
    if let Some(m) = Sell::<4, u16>::new(a) {
        add(&mut all, "SELL-4, 16 bits", m.bytes(), move |x, y| m.multiply(space, x, y));
    }
    Ok(all)
}

/// Prints a table for each mesh.
pub fn compare(space: &Threads, threads: usize) -> Result<()> {
    for (name, graph) in graphs(space)? {
        let a = on(graph);
        let (n, nnz) = (a.graph().rows(), a.graph().nnz());
        let (x, mut y): (Vec<f64>, _) = ((0..n).map(|i| (i as f64 * 0.3).sin()).collect(), vec![0.0; n]);
        let (expected, candidates) = (product(&a, &x), candidates(space, &a)?);
        let mut times = vec![Vec::new(); candidates.len()];
        for (name, _, multiply) in &candidates {
            y.fill(f64::NAN);
            multiply(&x, &mut y)?;
            check(name, &y, &expected);
        }
        for _ in 0..ROUNDS {
            for ((_, _, multiply), times) in candidates.iter().zip(&mut times) {
                times.push(seconds(|| multiply(&x, &mut y))?.0);
            }
        }
        println!("{name}: {n} rows, {:.1} entries per row, {threads} threads", nnz as f64 / n as f64);
        println!("storage           bytes/entry  product ns/entry  of crs");
        let crs = median(&mut times[0]);
        for ((name, bytes, _), times) in candidates.iter().zip(&mut times) {
            let (time, entries) = (median(times), nnz as f64);
            println!("{name:18} {:10.2} {:17.3} {:7.2}", *bytes as f64 / entries, 1e9 * time / entries, time / crs);
        }
    }
    Ok(())
}
