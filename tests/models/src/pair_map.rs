//! Concurrent inserts into the pair map: no pair is lost or stored twice, one thread alone is told that it was first, and
//! a full map says so.

use crate::pair_insert::{ABSENT, HashPlacement, Inserted, PROBES, PairMapView};
use crate::space::atomic::AtomicU64;
use crate::{all_orders, some_orders};
use loom::sync::Arc;
use loom::thread;
use std::sync::atomic::Ordering::Relaxed;

/// With one slot per row, every pair of a row begins at the row's slot.
const SLOTS_PER_ROW: f64 = 1.0;
/// A pair of nodes, the smaller one first.
type Pair = (u32, u32);

fn stored(pair: Pair) -> u64 {
    (u64::from(pair.0) << 32 | u64::from(pair.1)) + 1
}

fn insert(slots: &[AtomicU64], pair: Pair) -> Inserted {
    PairMapView::new(slots, SLOTS_PER_ROW, HashPlacement::ByRow).insert(pair.0, pair.1)
}

/// Runs one thread per list of pairs on a map of `free` free slots, and returns the outcomes and what the map then holds.
fn run(lists: &[Vec<Pair>], free: usize) -> (Vec<Vec<Inserted>>, Vec<u64>) {
    // The slots that are not free hold pairs that no thread inserts.
    let taken = |slot: usize| if slot < PROBES - free { stored((1 << 20, slot as u32)) } else { ABSENT };
    let slots: Arc<Vec<AtomicU64>> = Arc::new((0..PROBES).map(|slot| AtomicU64::new(taken(slot))).collect());
    let start = |list: &Vec<Pair>| {
        let (slots, list) = (slots.clone(), list.clone());
        thread::spawn(move || list.into_iter().map(|pair| insert(&slots, pair)).collect::<Vec<_>>())
    };
    let (last, others) = lists.split_last().unwrap();
    let threads: Vec<_> = others.iter().map(start).collect();
    // The calling thread takes part, because loom has few threads.
    let own: Vec<Inserted> = last.iter().map(|&pair| insert(&slots, pair)).collect();
    let mut outcomes: Vec<Vec<Inserted>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    outcomes.push(own);
    let held = slots.iter().map(|slot| slot.load(Relaxed)).filter(|&key| key != ABSENT && key >> 32 < 1 << 20);
    (outcomes, held.collect())
}

/// Every pair is held once, and exactly one insert of it was the first.
fn check(lists: &[Vec<Pair>]) {
    let (outcomes, mut held) = run(lists, PROBES);
    let mut pairs: Vec<Pair> = lists.concat();
    pairs.sort_unstable();
    pairs.dedup();
    held.sort_unstable();
    assert_eq!(held, pairs.iter().map(|&pair| stored(pair)).collect::<Vec<_>>());
    for pair in pairs {
        let of = |outcome: Inserted| {
            let all = lists.concat().into_iter().zip(outcomes.concat());
            all.filter(|&(inserted, found)| inserted == pair && found == outcome).count()
        };
        let inserts = lists.concat().into_iter().filter(|&inserted| inserted == pair).count();
        assert_eq!((of(Inserted::First), of(Inserted::Existing)), (1, inserts - 1), "{pair:?}");
    }
}

#[test]
fn one_pair_from_two_threads_is_stored_once() {
    all_orders(|| check(&[vec![(0, 7)], vec![(0, 7)]]));
}

#[test]
fn two_pairs_that_meet_in_a_slot_are_both_stored() {
    all_orders(|| check(&[vec![(0, 7)], vec![(0, 8)]]));
    // The second begins where the first goes on.
    all_orders(|| check(&[vec![(0, 7), (0, 9)], vec![(1, 8)]]));
}

#[test]
fn two_threads_with_the_same_pairs_in_opposite_order_store_each_once() {
    all_orders(|| check(&[vec![(0, 7), (0, 8)], vec![(0, 8), (0, 7)]]));
    all_orders(|| check(&[vec![(0, 7), (1, 8), (0, 9)], vec![(0, 9), (1, 8), (0, 7)]]));
}

#[test]
fn three_threads_store_each_pair_once() {
    const PREEMPTIONS: usize = 3;
    some_orders(PREEMPTIONS, || check(&[vec![(0, 7), (0, 8)], vec![(0, 8), (0, 7)], vec![(0, 8), (0, 7)]]));
}

#[test]
fn the_last_free_slot_goes_to_one_thread_and_the_other_is_told() {
    const PREEMPTIONS: usize = 2;
    some_orders(PREEMPTIONS, || {
        let (outcomes, held) = run(&[vec![(0, 7)], vec![(0, 8)]], 1);
        match (outcomes[0][0], outcomes[1][0]) {
            (Inserted::First, Inserted::Failed) => assert_eq!(held, [stored((0, 7))]),
            (Inserted::Failed, Inserted::First) => assert_eq!(held, [stored((0, 8))]),
            other => panic!("one slot for two pairs: {other:?}"),
        }
    });
    some_orders(PREEMPTIONS, || {
        let (outcomes, held) = run(&[vec![(0, 7)], vec![(0, 7)]], 1);
        assert_eq!(held, [stored((0, 7))]);
        assert!(!outcomes.concat().contains(&Inserted::Failed), "{outcomes:?}");
    });
}

#[test]
fn a_full_map_refuses_every_thread() {
    const PREEMPTIONS: usize = 1;
    some_orders(PREEMPTIONS, || {
        let (outcomes, held) = run(&[vec![(0, 7)], vec![(0, 7)]], 0);
        assert_eq!((outcomes.concat(), held), (vec![Inserted::Failed; 2], vec![]));
    });
}
