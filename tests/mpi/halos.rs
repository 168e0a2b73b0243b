//! Halo exchanges between real ranks.

use minifenl::Result;
use minifenl::comm::{Communicator, Halo, Map, MessageMemory, Neighbour};
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
use minifenl::space::Serial;
use std::cell::RefCell;
use std::rc::Rc;

/// Two values to the next rank and one to the previous; the map wants neighbours by rank, so lists are sorted.
pub(super) fn ring_map(comm: &dyn Communicator) -> Map {
    let (rank, size) = (comm.rank(), comm.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    // From the next rank comes its value 0, from the previous its values 1 and 2.
    let mut links = vec![(next, vec![1, 2], 1), (previous, vec![0], 2)];
    if next == previous {
        links = vec![(next, vec![0, 1, 2], 3)];
    }
    links.sort();
    let mut end = 3;
    let neighbours = links.into_iter().map(|(rank, send, receive)| {
        end += receive;
        Neighbour { rank, send, receive: end - receive..end }
    });
    Map::new(3 * size as u64, 3, neighbours.collect()).expect("a valid map")
}

/// Owned value i of a rank in a round.
pub(super) fn value(rank: usize, i: usize, round: usize) -> f64 {
    (1000 * round + 10 * rank + i) as f64
}

pub(super) fn check_ring(comm: &dyn Communicator, x: &[f64], round: usize) {
    let (rank, size) = (comm.rank(), comm.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let from_next: &[usize] = if size == 2 { &[0, 1, 2] } else { &[0] };
    let mut expected = vec![(next, from_next)];
    if size > 2 {
        expected.push((previous, &[1, 2]));
    }
    expected.sort();
    let ghosts: Vec<f64> = expected.iter().flat_map(|(r, list)| list.iter().map(|&i| value(*r, i, round))).collect();
    assert_eq!(x[3..], ghosts, "round {round}");
}

pub(super) fn ring(comm: &dyn Communicator) -> Result<()> {
    let map = ring_map(comm);
    let mut halo = Halo::new(&Serial, comm, &map)?;
    let mut x = vec![f64::NAN; map.local_count()];
    for round in 0..200 {
        (0..3).for_each(|i| x[i] = value(comm.rank(), i, round));
        let in_flight = halo.begin(&Serial, &mut x)?;
        x[..3].fill(f64::NAN);
        if round % 50 == 7 {
            drop(in_flight);
            continue;
        }
        in_flight.finish(&Serial, &mut x)?;
        check_ring(comm, &x, round);
    }
    assert_eq!((halo.messages(), halo.bytes_sent()), (map.neighbours().len(), 24));
    Ok(())
}

/// Messages in memory of the caller, as a GPU's are; here it is the host's.
pub(super) fn messages_elsewhere(comm: &dyn Communicator) -> Result<()> {
    #[derive(Debug)]
    struct Memory {
        send: RefCell<Vec<f64>>,
        receive: RefCell<Vec<f64>>,
    }
    let map = ring_map(comm);
    let list: Vec<u32> = map.neighbours().iter().flat_map(|neighbour| neighbour.send.clone()).collect();
    let memory = Memory { send: vec![0.0; list.len()].into(), receive: vec![f64::NAN; map.ghost_count()].into() };
    let memory = Rc::new(memory);
    let [send, receive] = [&memory.send, &memory.receive].map(|values| values.borrow().as_ptr() as u64);
    let mut exchange = comm.exchange_in(&map, MessageMemory { send, receive, owner: memory.clone() })?;
    let mut x = vec![f64::NAN; map.local_count()];
    for round in 0..100 {
        (0..3).for_each(|i| x[i] = value(comm.rank(), i, round));
        // In some rounds an exchange is begun again before its end: the first one is waited for.
        for _ in 0..1 + usize::from(round % 5 == 3) {
            exchange.begin(&mut |message| {
                assert!(message.is_empty());
                let mut send = memory.send.borrow_mut();
                list.iter().enumerate().for_each(|(k, &index)| send[k] = x[index as usize]);
                Ok(())
            })?;
        }
        assert!(exchange.end()?.is_empty());
        x[3..].copy_from_slice(&memory.receive.borrow());
        check_ring(comm, &x, round);
    }
    Ok(())
}

/// Two halos under way at once, finished in different orders on different ranks.
pub(super) fn halos_together(comm: &dyn Communicator) -> Result<()> {
    let map = ring_map(comm);
    let (mut first, mut second) = (Halo::new(&Serial, comm, &map)?, Halo::new(&Serial, comm, &map)?);
    let vector = |round| (0..map.local_count()).map(|i| value(comm.rank(), i, round)).collect::<Vec<f64>>();
    let (mut x, mut y) = (vector(1), vector(2));
    if comm.rank().is_multiple_of(2) {
        let (a, b) = (first.begin(&Serial, &mut x)?, second.begin(&Serial, &mut y)?);
        a.finish(&Serial, &mut x)?;
        b.finish(&Serial, &mut y)?;
    } else {
        let (b, a) = (second.begin(&Serial, &mut y)?, first.begin(&Serial, &mut x)?);
        b.finish(&Serial, &mut y)?;
        a.finish(&Serial, &mut x)?;
    }
    check_ring(comm, &x, 1);
    check_ring(comm, &y, 2);
    Ok(())
}

/// Each ghost of a mesh gets its global id from its owner.
pub(super) fn mesh_halo(comm: &dyn Communicator) -> Result<()> {
    let spec = BoxSpec::unit([9, 7, 8], CoordinateMap::TWIST)?;
    let mesh = Mesh::new(&Serial, BoxPart::new(&spec, comm.rank(), comm.size())?)?;
    let mut x = vec![-1.0; mesh.map.local_count()];
    (0..mesh.map.owned_count()).for_each(|node| x[node] = mesh.global_node(node as u32) as f64);
    Halo::new(&Serial, comm, &mesh.map)?.update(&Serial, &mut x)?;
    assert!(x.iter().enumerate().all(|(node, &id)| id == mesh.global_node(node as u32) as f64));
    let mut owned = [mesh.map.owned_count() as u64];
    comm.all_sum_u64(&mut owned);
    assert_eq!(owned, [9 * 7 * 8]);
    Ok(())
}
