//! A sparsity pattern from the library's parts: a concurrent map, a prefix sum and atomics.
//!
//! ```text
//! cargo run --release --example crs_by_hand
//! ```
//!
//! Row i has a column j for each pair (i, j) of nodes of an element. Hoemmen and Edwards (2014) build it in four steps,
//! each a parallel loop:
//!
//! 1. count: insert the pairs into a map that stores each once and reports when it is too small;
//! 2. scan: row offsets are the prefix sums of the numbers of pairs per row;
//! 3. allocate;
//! 4. fill: copy the pairs to their rows, each to a place that an atomic counter hands out, and sort the rows.

use minifenl::element::ElementType;
use minifenl::graph::{self, PairMap, Strategy};
use minifenl::mesh::Mesh;
use minifenl::space::atomic::atomic_view;
use minifenl::space::{Threads, offsets};
use minifenl::sparse::CrsGraph;
use rayon::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

fn main() -> minifenl::Result<()> {
    let space = Threads::new(2)?;
    let mesh = Mesh::of_box(ElementType::Hex8, [32; 3], [1.0; 3])?;
    let (table, rows) = (&mesh.elem_node, mesh.elem_node.node_count());

    // 1. A guess of 10 pairs per row is too small: inserts fail, and the map is made larger until none does.
    let mut room = vec![10; rows];
    let mut map = PairMap::new(&space, &room)?;
    loop {
        let view = map.view();
        space.for_each(table.as_slice().par_chunks(8), |nodes| {
            for &row in nodes {
                nodes.iter().for_each(|&column| _ = view.insert(row, column));
            }
        });
        println!("{} slots: {} pairs, {} inserts failed", map.capacity(), map.len(&space), map.failed());
        if map.failed() == 0 {
            break;
        }
        room.iter_mut().for_each(|slots| *slots *= 2);
        map = map.rehash(&space, &room)?;
    }
    assert!(map.contains(0, 1) && !map.contains(0, 2));

    // 2. The row lengths, and their prefix sums.
    let mut counts = vec![0u32; rows];
    let cells = atomic_view(&mut counts);
    map.for_each_key(&space, |row, _| _ = cells[row as usize].fetch_add(1, Relaxed));
    let row_map = offsets(&space, &counts)?;

    // 3. and 4. The counters fall from the row's length to 0.
    let mut entries = vec![0u32; row_map[rows] as usize];
    let (places, columns) = (atomic_view(&mut counts), atomic_view(&mut entries));
    map.for_each_key(&space, |row, column| {
        let place = row_map[row as usize] + u64::from(places[row as usize].fetch_sub(1, Relaxed)) - 1;
        columns[place as usize].store(column, Relaxed);
    });
    for row in row_map.windows(2) {
        entries[row[0] as usize..row[1] as usize].sort_unstable();
    }

    let by_hand = CrsGraph::new(row_map, entries, rows)?;
    assert_eq!(by_hand, *graph::build(&space, table, rows, Strategy::Map)?.crs);
    println!("{rows} rows, {} entries: the same as graph::build", by_hand.nnz());
    Ok(())
}
