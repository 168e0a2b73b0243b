//! Assembly at seams: blocks claim rows, a row that two blocks touch is on a seam, and no term of a seam is lost.

use crate::seam::claim_row;
use crate::space::atomic::{AtomicF64, AtomicU8, AtomicU32, add, add_unshared};
use crate::{all_orders, some_orders};
use loom::sync::Arc;
use loom::thread;
use std::sync::atomic::Ordering::Relaxed;

struct Rows {
    claims: Vec<AtomicU32>,
    seams: Vec<AtomicU8>,
    sums: Vec<AtomicF64>,
}

impl Rows {
    fn new(count: usize) -> Arc<Rows> {
        Arc::new(Rows {
            claims: (0..count).map(|_| AtomicU32::new(0)).collect(),
            seams: (0..count).map(|_| AtomicU8::new(0)).collect(),
            sums: (0..count).map(|_| AtomicF64::new(0.0)).collect(),
        })
    }

    /// Claims the rows of block `block`, counted from 0.
    fn claim(&self, block: usize, rows: &[usize]) {
        rows.iter().for_each(|&row| claim_row(&self.claims[row], &self.seams[row], block as u32 + 1));
    }

    /// Adds the terms of a block: 1 to each of its rows, as the strategy `seam` does.
    fn assemble(&self, rows: &[usize]) {
        for &row in rows {
            let cell = &self.sums[row];
            if self.seams[row].load(Relaxed) == 0 { add_unshared(cell, 1.0) } else { add(cell, 1.0) }
        }
    }

    fn seams(&self) -> Vec<u8> {
        self.seams.iter().map(|seam| seam.load(Relaxed)).collect()
    }
}

/// Runs `work` on every block, each in a thread, and returns when all have ended.
fn on_all(rows: &Arc<Rows>, blocks: &'static [&'static [usize]], work: fn(&Rows, usize, &[usize])) {
    let threads: Vec<_> = (1..blocks.len())
        .map(|block| {
            let rows = rows.clone();
            thread::spawn(move || work(&rows, block, blocks[block]))
        })
        .collect();
    work(rows, 0, blocks[0]);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Rows are on a seam if two blocks touch them; the sums then count all terms.
fn check(count: usize, blocks: &'static [&'static [usize]]) {
    let rows = Rows::new(count);
    on_all(&rows, blocks, |rows, block, own| rows.claim(block, own));
    let touching = |row: usize| blocks.iter().filter(|own| own.contains(&row)).count();
    assert_eq!(rows.seams(), (0..count).map(|row| u8::from(touching(row) > 1)).collect::<Vec<_>>());
    on_all(&rows, blocks, |rows, _, own| rows.assemble(own));
    for row in 0..count {
        let terms = blocks.concat().iter().filter(|&&own| own == row).count();
        assert_eq!(rows.sums[row].load(Relaxed), terms as f64, "row {row}");
    }
}

#[test]
fn two_blocks_that_share_a_row_lose_no_term() {
    all_orders(|| check(1, &[&[0], &[0]]));
    all_orders(|| check(3, &[&[0, 1], &[1, 2]]));
    all_orders(|| check(2, &[&[0, 0, 1], &[1, 1]]));
}

#[test]
fn blocks_without_common_rows_have_no_seam() {
    all_orders(|| check(3, &[&[0, 2, 0], &[1, 1]]));
}

#[test]
fn three_blocks_that_share_a_row_lose_no_term() {
    const PREEMPTIONS: usize = 2;
    some_orders(PREEMPTIONS, || check(2, &[&[0, 1], &[1, 0], &[0]]));
}
