//! Maps and parts of meshes from global ids, on ranks that are threads. `tests/mpi` does the same on MPI ranks.

mod heat;
mod partitioned;

use crate::thread_ranks::on_ranks;
use minifenl::comm::{Communicator, GlobalMap, Neighbour, Solo};
use minifenl::mesh::MeshPart;
use minifenl::{Error, Result};
use partitioned::check_many;

/// Owned and used ids of each rank, and what comes of it.
fn maps(lists: &[(&[u64], &[u64])]) -> Vec<Result<GlobalMap>> {
    on_ranks(lists.len(), |comm| GlobalMap::new(comm, lists[comm.rank()].0, lists[comm.rank()].1))
}

#[test]
fn a_map_of_three_ranks_is_the_one_by_hand() {
    const LAST: u64 = u64::MAX;
    let maps = maps(&[
        (&[70, 10, LAST], &[10, 40, 20, 10, 50, 40]),
        (&[50, 20], &[LAST, 50, 70]),
        (&[40, 0], &[40, LAST, 20, 70]),
    ]);
    let maps: Vec<GlobalMap> = maps.into_iter().map(Result::unwrap).collect();
    let neighbour = |rank, send: &[u32], receive| Neighbour { rank, send: send.to_vec(), receive };
    let expected: [(&[u64], usize, Vec<Neighbour>); 3] = [
        (&[70, 10, LAST, 20, 50, 40], 3, vec![neighbour(1, &[0, 2], 3..5), neighbour(2, &[0, 2], 5..6)]),
        (&[50, 20, 70, LAST], 2, vec![neighbour(0, &[1, 0], 2..4), neighbour(2, &[1], 4..4)]),
        (&[40, 0, 70, LAST, 20], 2, vec![neighbour(0, &[0], 2..4), neighbour(1, &[], 4..5)]),
    ];
    for (map, (ids, owned, neighbours)) in maps.iter().zip(expected) {
        assert_eq!((map.ids(), map.map().owned_count(), map.map().global_count()), (ids, owned, 7));
        assert_eq!(map.map().neighbours(), neighbours);
    }
    assert_eq!((maps[1].local(LAST), maps[1].local(10)), (Some(3), None));
    assert_eq!(maps[2].renumber(&[20, 40, 70]).unwrap(), [4, 0, 2]);
    let refused = maps[2].renumber(&[40, 50]).unwrap_err().to_string();
    assert_eq!(refused, "item 1 is global id 50, which this rank neither owns nor uses");
}

#[test]
fn one_rank_owns_all_that_it_uses() {
    let map = GlobalMap::new(&Solo, &[5, 3, 9], &[3, 3, 9]).unwrap();
    assert_eq!((map.ids(), map.map().ghost_count(), map.map().neighbours().len()), (&[5, 3, 9][..], 0, 0));
    let empty = GlobalMap::new(&Solo, &[], &[]).unwrap();
    assert_eq!((empty.map().local_count(), empty.map().global_count()), (0, 0));
    let refused = GlobalMap::new(&Solo, &[5], &[8, 6, 7]).unwrap_err().to_string();
    assert_eq!(refused, "global id 6 is used by rank 0 and owned by no rank, expected one owner");
    assert!(Solo.send_all(vec![(1, vec![])]).unwrap_err().to_string().contains("rank 0 of 1 can send"));
}

/// One rank says what is wrong, all others that this one failed.
#[track_caller]
fn assert_refused<T: std::fmt::Debug>(results: Vec<Result<T>>, text: &str) {
    let errors: Vec<Error> = results.into_iter().map(Result::unwrap_err).collect();
    let is_elsewhere = |error: &Error| matches!(error, Error::Elsewhere { .. });
    let speaker = errors.iter().position(|error| !is_elsewhere(error)).expect("a rank that speaks");
    assert_eq!(errors[speaker].to_string(), text);
    for (rank, error) in errors.iter().enumerate().filter(|(rank, _)| *rank != speaker) {
        assert!(matches!(error, Error::Elsewhere { rank } if *rank == speaker), "rank {rank}: {error}");
    }
}

#[test]
fn wrong_lists_are_refused_on_all_ranks_with_id_and_ranks() {
    assert_refused(
        maps(&[(&[1, 2], &[]), (&[3], &[]), (&[4, 1, 6], &[])]),
        "global id 1 is owned by ranks 0 and 2, expected one owner",
    );
    assert_refused(
        maps(&[(&[1, 2], &[8]), (&[3], &[]), (&[4], &[1])]),
        "global id 8 is used by rank 0 and owned by no rank, expected one owner",
    );
    // Of two ranks that ask for it the lower.
    assert_refused(
        maps(&[(&[1, 2], &[8]), (&[3], &[]), (&[4], &[8])]),
        "global id 8 is used by rank 0 and owned by no rank, expected one owner",
    );
    assert_refused(
        maps(&[(&[1, 2], &[]), (&[3, 9, 3], &[]), (&[4], &[])]),
        "rank 1 owns global id 3 twice, as items 0 and 2; expected each id once",
    );
    let parts = |width: usize| on_ranks(2, |comm| MeshPart::new(comm, &[comm.rank() as u64], &[0, 1, 0], width));
    assert_refused(parts(2), "elem_node has 3 items, expected a multiple of 2 nodes per element");
    assert_refused(parts(3), "rank 0, element 0 has global node 0 twice, expected different nodes");
    // Tables of different elements cannot be exchanged.
    let mixed = on_ranks(2, |comm| {
        let width = 2 + comm.rank();
        MeshPart::from_elements(comm, &[comm.rank() as u64, 2 + comm.rank() as u64], &[0, 1, 2][..width], width)
    });
    assert_refused(mixed, "MPI: rank 1 has elements of another number of nodes than 2");
}

/// Nodes 0-4 in a row of bars, as METIS_PartMeshDual would cut it: bar 12 is on rank 1, which owns neither of its nodes.
#[test]
fn elements_travel_to_the_owners_of_their_nodes() {
    let given: [(&[u64], &[u64]); 3] = [(&[0, 1], &[0, 1]), (&[3], &[1, 2, 2, 3]), (&[2, 4], &[3, 4])];
    let parts = on_ranks(3, |comm| {
        let (owned, table) = given[comm.rank()];
        let part = MeshPart::from_elements(comm, owned, table, 2).unwrap();
        let ids = |&node: &u32| part.nodes.ids()[node as usize];
        let table: Vec<u64> = part.elem_node.as_slice().iter().map(ids).collect();
        (table, part.copies.clone(), part.nodes.ids().to_vec(), part.interior_count())
    });
    assert_eq!(parts[0], (vec![0, 1, 1, 2], vec![(1, 0)], vec![0, 1, 2], 1));
    assert_eq!(parts[1], (vec![1, 2, 2, 3, 3, 4], vec![(2, 0)], vec![3, 1, 2, 4], 0));
    assert_eq!(parts[2], (vec![3, 4, 1, 2, 2, 3], vec![(1, 0), (1, 1)], vec![2, 4, 1, 3], 0));
}

/// With consecutive ids, messages and numbers sent depend on the ids of a rank, not on the number of ranks.
#[test]
fn a_rank_sends_as_much_as_it_owns_and_uses() {
    const EACH: u64 = 1 << 15;
    for ranks in [2, 8, 40] {
        on_ranks(ranks, |comm| {
            let total = EACH * ranks as u64;
            let first = EACH * comm.rank() as u64;
            let owned: Vec<u64> = (first..first + EACH).collect();
            let next: Vec<u64> = (0..100).map(|i| (first + EACH + i) % total).collect();
            let map = GlobalMap::new(comm, &owned, &next).unwrap();
            assert_eq!((map.map().ghost_count(), map.map().neighbours().len()), (100, if ranks == 2 { 1 } else { 2 }));
            // Blocks of 2048 ids, 16 of them owned; answers to those that ask for a block of this directory.
            let [messages, numbers] = comm.sent.get();
            assert!(messages <= 17 + 10 + 1, "{ranks} ranks: {messages} messages");
            assert!(numbers <= 17 + EACH as usize + 10 * 100 + 100, "{ranks} ranks: {numbers} numbers");
        });
    }
}

#[test]
fn random_parts_of_random_meshes_assemble_and_solve_the_whole_problem() {
    for ranks in 1..=8 {
        on_ranks(ranks, |comm| check_many(comm, 100 * ranks as u64 + 1, 12).unwrap());
    }
}
