//! Concurrent inserts into the pair map: no pair is lost or stored twice, one thread alone is told that it was first, and
//! a full map says so.

use crate::pair_insert::{ABSENT, Inserted, PairMapView};
use crate::space::atomic::{AtomicU32, AtomicU64};
use crate::{all_orders, some_orders};
use loom::sync::Arc;
use loom::thread;
use std::sync::atomic::Ordering::Relaxed;

/// Slots of the row, into which all pairs go.
const SLOTS: usize = 3;
/// Row of the pairs: the second, so that its slots do not begin at 0.
const ROW: u32 = 1;
const STARTS: [u64; 3] = [0, 1, 1 + SLOTS as u64];

/// Runs one thread per list of columns on a row of `free` free slots. Returns the outcomes, the columns that the row then holds,
/// and the number of failures.
fn run(lists: &[Vec<u32>], free: usize) -> (Vec<Vec<Inserted>>, Vec<u32>, u64) {
    // The slots that are not free hold columns that no thread inserts.
    let taken = |slot: usize| if slot > 0 && slot <= SLOTS - free { 1001 + slot as u32 } else { ABSENT };
    let slots: Vec<AtomicU32> = (0..=SLOTS).map(|slot| AtomicU32::new(taken(slot))).collect();
    let map = Arc::new((slots, AtomicU64::new(0)));
    let insert = |map: &(Vec<AtomicU32>, AtomicU64), column| PairMapView::new(&map.0, &STARTS, &map.1).insert(ROW, column);
    let start = |list: &Vec<u32>| {
        let (map, list) = (map.clone(), list.clone());
        thread::spawn(move || list.into_iter().map(|column| insert(&map, column)).collect::<Vec<_>>())
    };
    let (last, others) = lists.split_last().unwrap();
    let threads: Vec<_> = others.iter().map(start).collect();
    // The calling thread takes part, because loom has few threads.
    let own: Vec<Inserted> = last.iter().map(|&column| insert(&map, column)).collect();
    let mut outcomes: Vec<Vec<Inserted>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    outcomes.push(own);
    assert_eq!(map.0[0].load(Relaxed), ABSENT, "a slot of another row");
    let held = map.0.iter().map(|slot| slot.load(Relaxed)).filter(|&key| key != ABSENT && key < 1000);
    (outcomes, held.map(|key| key - 1).collect(), map.1.load(Relaxed))
}

/// Every column is held once, and exactly one insert of it was the first.
fn check(lists: &[Vec<u32>]) {
    let (outcomes, mut held, failed) = run(lists, SLOTS);
    let mut columns: Vec<u32> = lists.concat();
    columns.sort_unstable();
    columns.dedup();
    held.sort_unstable();
    assert_eq!((&held, failed), (&columns, 0));
    for column in columns {
        let of = |outcome: Inserted| {
            let all = lists.concat().into_iter().zip(outcomes.concat());
            all.filter(|&(inserted, found)| inserted == column && found == outcome).count()
        };
        let inserts = lists.concat().into_iter().filter(|&inserted| inserted == column).count();
        assert_eq!((of(Inserted::First), of(Inserted::Existing)), (1, inserts - 1), "{column}");
    }
}

#[test]
fn one_pair_from_two_threads_is_stored_once() {
    all_orders(|| check(&[vec![7], vec![7]]));
}

#[test]
fn pairs_that_meet_in_a_slot_are_all_stored() {
    // As many columns as slots, so that searches meet and wrap around.
    all_orders(|| check(&[vec![7], vec![8]]));
    all_orders(|| check(&[vec![7, 9], vec![8]]));
}

#[test]
fn two_threads_with_the_same_pairs_in_opposite_order_store_each_once() {
    all_orders(|| check(&[vec![7, 8], vec![8, 7]]));
    all_orders(|| check(&[vec![7, 8, 9], vec![9, 8, 7]]));
}

#[test]
fn three_threads_store_each_pair_once() {
    const PREEMPTIONS: usize = 3;
    some_orders(PREEMPTIONS, || check(&[vec![7, 8], vec![8, 7], vec![8, 7]]));
}

#[test]
fn the_last_free_slot_goes_to_one_thread_and_the_other_is_told() {
    const PREEMPTIONS: usize = 2;
    some_orders(PREEMPTIONS, || {
        let (outcomes, held, failed) = run(&[vec![7], vec![8]], 1);
        assert_eq!(failed, 1);
        match (outcomes[0][0], outcomes[1][0]) {
            (Inserted::First, Inserted::Failed) => assert_eq!(held, [7]),
            (Inserted::Failed, Inserted::First) => assert_eq!(held, [8]),
            other => panic!("one slot for two pairs: {other:?}"),
        }
    });
    some_orders(PREEMPTIONS, || {
        let (outcomes, held, failed) = run(&[vec![7], vec![7]], 1);
        assert_eq!((held, failed), (vec![7], 0));
        assert!(!outcomes.concat().contains(&Inserted::Failed), "{outcomes:?}");
    });
}

#[test]
fn a_full_row_refuses_every_thread() {
    const PREEMPTIONS: usize = 1;
    some_orders(PREEMPTIONS, || {
        let (outcomes, held, failed) = run(&[vec![7], vec![7]], 0);
        assert_eq!((outcomes.concat(), held, failed), (vec![Inserted::Failed; 2], vec![], 2));
    });
}
