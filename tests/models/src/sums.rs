//! Assembly by atomic additions, and by plain ones where blocks share no row: no term is lost.

use crate::space::atomic::{AtomicF64, add, add_unshared};
use crate::{all_orders, some_orders};
use loom::sync::Arc;
use loom::thread;
use std::sync::atomic::Ordering::Relaxed;

/// Blocks of elements add 1 to each of their rows by `add`, each block in a thread.
fn check(count: usize, blocks: &'static [&'static [usize]], add: fn(&AtomicF64, f64)) {
    let sums: Arc<Vec<_>> = Arc::new((0..count).map(|_| AtomicF64::new(0.0)).collect());
    let assemble = move |sums: &[AtomicF64], block: usize| blocks[block].iter().for_each(|&row| add(&sums[row], 1.0));
    let threads: Vec<_> = (1..blocks.len())
        .map(|block| {
            let sums = sums.clone();
            thread::spawn(move || assemble(&sums, block))
        })
        .collect();
    assemble(&sums, 0);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    for row in 0..count {
        let terms = blocks.concat().iter().filter(|&&own| own == row).count();
        assert_eq!(sums[row].load(Relaxed), terms as f64, "row {row}");
    }
}

#[test]
fn two_blocks_that_share_a_row_lose_no_term() {
    all_orders(|| check(1, &[&[0], &[0]], add));
    all_orders(|| check(3, &[&[0, 1], &[1, 2]], add));
    all_orders(|| check(2, &[&[0, 0, 1], &[1, 1]], add));
}

#[test]
fn three_blocks_that_share_a_row_lose_no_term() {
    const PREEMPTIONS: usize = 2;
    some_orders(PREEMPTIONS, || check(2, &[&[0, 1], &[1, 0], &[0]], add));
}

#[test]
fn blocks_without_common_rows_add_plainly() {
    all_orders(|| check(3, &[&[0, 2, 0], &[1, 1]], add_unshared));
}
