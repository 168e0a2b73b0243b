//! Matrices from and to faer. `cargo test --manifest-path tests/faer/Cargo.toml`

#![cfg(test)]

use faer::sparse::{SparseRowMatRef, SymbolicSparseRowMatRef};
use minifenl::sparse::{CrsGraph, CrsMatrix};
use std::sync::Arc;

#[test]
fn matrices_go_to_faer_and_back() -> minifenl::Result<()> {
    let graph = CrsGraph::new(vec![0, 2, 3], vec![0, 1, 1], 2)?;
    let a = CrsMatrix::new(Arc::new(graph), vec![2.0, -1.0, 3.0])?;

    // To faer: offsets and columns have one type there, u32 for up to 2^32 entries. Columns and values are borrowed.
    let (rows, columns) = (a.graph().rows(), a.graph().columns());
    let offsets: Vec<u32> = a.graph().row_map().iter().map(|&offset| offset.try_into().unwrap()).collect();
    let symbolic = SymbolicSparseRowMatRef::new_checked(rows, columns, &offsets, None, a.graph().entries());
    let theirs = SparseRowMatRef::new(symbolic, &a.values()[..]);
    assert_eq!((theirs.val().as_ptr(), theirs.get(0, 1)), (a.values().as_ptr(), Some(&-1.0)));
    assert_eq!((theirs.get(1, 0), theirs.get(1, 1)), (None, Some(&3.0)));

    // And back.
    let row_map = theirs.symbolic().row_ptr().iter().map(|&offset| offset.into()).collect();
    let entries = theirs.symbolic().col_idx().to_vec();
    let back = CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, columns)?), theirs.val().to_vec())?;
    assert_eq!((back.graph(), back.values()), (a.graph(), a.values()));
    Ok(())
}
