//! Halos, sums and products of every transport, with values by hand and those of the CPU.

use super::{TRANSPORTS, connect};
use minifenl::Result;
use minifenl::blas::{Blas, Collective, Reductions};
use minifenl::comm::{Communicator, Halo, Map, Neighbour, Transport};
use minifenl::graph;
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Mesh};
use minifenl::solve::DistributedOperator;
use minifenl::space::{Cuda, ExecutionSpace, Serial};
use minifenl::sparse::{CrsMatrix, DeviceCrs, Format, Operator, SlicedEll};
use std::time::Duration;

/// A number of 64 bits that depends on all bits of two others.
fn mixed(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    x = (x ^ (x >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 29)
}

pub(super) const OWNED: usize = 70_000;

/// The indices that rank `from` sends to rank `to` in map `which`.
fn sent(which: u64, from: usize, to: usize) -> Vec<u32> {
    let pair = mixed(which, (from * 100 + to) as u64);
    let count = match which {
        // Every length from none to more than one piece per block of threads.
        0 => [0, 1, 31, 1024, 1025, 5000][(pair % 6) as usize],
        // One way only.
        1 if from < to => 3000,
        // Many pieces.
        2 => 66_000,
        _ => 0,
    };
    (0..count).map(|k| (mixed(pair, k) % OWNED as u64) as u32).collect()
}

pub(super) fn ragged(comm: &dyn Communicator, which: u64) -> Map {
    let (rank, mut end) = (comm.rank(), OWNED as u32);
    let others = (0..comm.size()).filter(|&other| other != rank);
    let neighbours = others.map(|other| {
        let receive = sent(which, other, rank).len() as u32;
        end += receive;
        Neighbour { rank: other, send: sent(which, rank, other), receive: end - receive..end }
    });
    Map::new(1 << 40, OWNED, neighbours.collect()).expect("a valid map")
}

/// Owned value `i` of a rank in a round.
fn value(rank: usize, i: u32, round: u64) -> f64 {
    (mixed(round, rank as u64 * 1_000_000 + u64::from(i)) >> 12) as f64 - 1e15
}

pub(super) fn exchanges(comm: &dyn Communicator, space: &Cuda) -> Result<()> {
    let rank = comm.rank();
    for transport in TRANSPORTS {
        let links = connect(space, comm, transport)?;
        for which in 0..4 {
            let map = ragged(comm, which);
            // Two halos whose messages travel together.
            let mut halos = [links.halo(space, &map)?, links.halo(space, &map)?];
            let ghosts = map.ghost_count();
            for round in 0..25 {
                let vector = |round| {
                    let owned = (0..OWNED as u32).map(|i| value(rank, i, round));
                    owned.chain(std::iter::repeat_n(f64::NAN, ghosts)).collect::<Vec<_>>()
                };
                let (mut x, mut y) = (space.upload(&vector(round))?, space.upload(&vector(round + 1000))?);
                let [first, second] = &mut halos;
                let (a, b) = (first.begin(space, &mut x)?, second.begin(space, &mut y)?);
                // A rank that is late, and messages that nobody reads.
                if (round as usize + rank).is_multiple_of(7) {
                    std::thread::sleep(Duration::from_millis(2));
                }
                if round % 5 == 3 {
                    drop((a, b));
                    continue;
                }
                b.finish(space, &mut y)?;
                a.finish(space, &mut x)?;
                for (array, round) in [(&x, round), (&y, round + 1000)] {
                    let others = (0..comm.size()).filter(|&other| other != rank);
                    let expected: Vec<f64> = others
                        .flat_map(|other| sent(which, other, rank).into_iter().map(move |i| value(other, i, round)))
                        .collect();
                    let found = space.download(array)?;
                    assert!(found[OWNED..] == expected, "{transport}, map {which}, round {round}");
                    assert!(found[..OWNED] == vector(round)[..OWNED], "{transport}, map {which}: owned values changed");
                }
            }
        }
    }
    Ok(())
}

pub(super) fn sums(comm: &dyn Communicator, space: &Cuda) -> Result<()> {
    let term =
        |rank: usize, slot: u64, round: u64| 1.0 / (1.0 + (mixed(round, 100 * rank as u64 + slot) % 1000) as f64);
    for transport in TRANSPORTS {
        let links = connect(space, comm, transport)?;
        let mut sums = Reductions::new(space, OWNED, 12)?;
        for round in 0..40 {
            let mine: Vec<f64> = (0..12).map(|slot| term(comm.rank(), slot, round)).collect();
            sums.scalars = space.upload(&mine)?;
            let slots = (round as usize % 5)..(5 + round as usize % 7);
            // A stop scalar that is not 0 stops the sum, on all ranks.
            sums.stop = (round % 4 == 1).then_some(11);
            links.all_reduce(space, &mut sums, slots.clone())?;
            let found = space.download(&sums.scalars)?;
            for slot in 0..12 {
                let terms = (0..comm.size()).map(|rank| term(rank, slot as u64, round));
                let in_order = terms.reduce(|sum, term| sum + term).expect("a rank");
                let expected = if slots.contains(&slot) && sums.stop.is_none() { in_order } else { mine[slot] };
                // MPI adds in an order of its own.
                let error = if transport == Transport::Staged { 1e-15 } else { 0.0 };
                assert!((found[slot] - expected).abs() <= error, "{transport}, round {round}, slot {slot}");
            }
        }
        // Kernels that add over the ranks themselves, or the all-reduce after them.
        let x: Vec<f64> = (0..OWNED as u32).map(|i| value(comm.rank(), i, 5) * 1e-15).collect();
        let ones = space.upload(&vec![1.0; OWNED])?;
        let x = space.upload(&x)?;
        sums.stop = None;
        space.dot(OWNED, &x, &ones, &mut sums, 0)?;
        let mut local = [0.0];
        space.read(&sums.scalars, &mut local)?;
        let all = comm.all_gather(&local)?;
        links.attach(&mut sums);
        assert_eq!(sums.collective.is_some(), transport == Transport::Peer);
        for _ in 0..10 {
            space.dot(OWNED, &x, &ones, &mut sums, 3)?;
            sums.complete(space, &links, 3..4)?;
        }
        let total = space.download(&sums.scalars)?[3];
        let expected = all.iter().copied().reduce(|sum, term| sum + term).expect("a rank");
        assert!((total - expected).abs() <= 1e-13 * all.iter().map(|x| x.abs()).sum::<f64>(), "{transport}");
        links.check()?;
    }
    Ok(())
}

/// Products whose ghosts come by each transport, against the CPU with MPI; the undivided ones have the same bits everywhere.
pub(super) fn products(comm: &dyn Communicator, space: &Cuda) -> Result<()> {
    let spec = BoxSpec::new([40, 37, 61], [1.0; 3], CoordinateMap::None)?;
    let mesh = Mesh::new(&Serial, BoxPart::new(&spec, comm.rank(), comm.size())?)?;
    let rows = mesh.map.owned_count();
    let crs = graph::build(&Serial, &mesh.elem_node, rows, graph::Strategy::Sort)?.crs;
    let entry = |row: usize, column: u32| {
        let (a, b) = (mesh.global_node(row as u32), mesh.global_node(column));
        // Symmetric, for the format that stores halves.
        let pair = mixed(a.min(b), a.max(b));
        (pair % 2000) as f64 * 1e-3 - 1.0
    };
    let values: Vec<f64> =
        (0..rows).flat_map(|row| crs.row(row).iter().map(move |&column| entry(row, column))).collect();
    let x = |node: usize| value(7, mesh.global_node(node as u32) as u32, 3) * 1e-15;
    let start: Vec<f64> = (0..rows).map(x).chain(std::iter::repeat_n(0.0, mesh.map.ghost_count())).collect();

    let on_cpu = CrsMatrix::new(crs.clone(), values)?;
    let mut halo = Halo::new(&Serial, comm, &mesh.map)?;
    let operator = DistributedOperator::new(&on_cpu, &mut halo, mesh.interior_count())?;
    let (mut p, mut expected) = (start.clone(), vec![0.0; rows]);
    let mut sums = Reductions::new(&Serial, rows, 2)?;
    operator.apply_dot(&Serial, &mut p, &mut expected, &mut sums, 1)?;
    let dot = sums.scalars[1];

    let a = on_cpu.upload(space)?;
    for (format, _) in Format::ALL {
        let mut slices = None;
        if format != Format::Crs {
            let mut made = SlicedEll::<f64>::new(space, format == Format::Symmetric, a.graph())?;
            made.update(space, &a)?;
            slices = Some(made);
        }
        let crs = DeviceCrs::from(on_cpu.upload(space)?);
        let stored: &dyn Operator<Cuda> = slices.as_ref().map_or(&crs, |slices| slices);
        let mut undivided: Option<(Vec<f64>, f64)> = None;
        for transport in TRANSPORTS {
            let links = connect(space, comm, transport)?;
            let mut halo = links.halo(space, &mesh.map)?;
            for interior in [mesh.interior_count(), 0] {
                let operator = DistributedOperator::new(stored, &mut halo, interior)?;
                for _ in 0..3 {
                    let (mut p, mut q) = (space.upload(&start)?, space.upload(&vec![f64::NAN; rows])?);
                    let mut sums = Reductions::new(space, rows, 2)?;
                    operator.apply_dot(space, &mut p, &mut q, &mut sums, 1)?;
                    let (q, found) = (space.download(&q)?, space.download(&sums.scalars)?[1]);
                    let worst = q.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(worst < 1e-12, "{transport}, {format}, interior {interior}: {worst:e}");
                    assert!((found - dot).abs() < 1e-10 * rows as f64, "{transport}, {format}: {found} and {dot}");
                    if interior == 0 || transport == Transport::Peer {
                        let (product, sum) = undivided.get_or_insert((q.clone(), found));
                        assert!(
                            *product == q && *sum == found,
                            "{transport}, {format}, interior {interior}: other bits"
                        );
                    }
                    operator.apply(space, &mut p, &mut space.zeros(rows)?)?;
                    let ghosts = &space.download(&p)?[rows..];
                    assert!(ghosts.iter().enumerate().all(|(k, &ghost)| ghost == x(rows + k)), "{transport}: ghosts");
                }
            }
        }
    }
    Ok(())
}
