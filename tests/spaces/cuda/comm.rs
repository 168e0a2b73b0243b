//! Staging of ghosts and scalars through the host, against the same on `Serial`.

use super::{gpu, wave};
use minifenl::Result;
use minifenl::blas::{Collective, Reductions};
use minifenl::comm::{Communicator, Exchange, Map, Staging};
use minifenl::space::{ExecutionSpace, Serial};

/// Rank 0 of 2; the other rank has the same values.
#[derive(Debug)]
struct Twice;

impl Communicator for Twice {
    support::rank!(0 of 2);
    fn ranks_on_node(&self) -> usize {
        2
    }
    fn all_sum(&self, values: &mut [f64]) {
        values.iter_mut().for_each(|value| *value *= 2.0);
    }
    fn all_sum_u64(&self, _: &mut [u64]) {}
    fn node_sum(&self, value: u64) -> u64 {
        2 * value
    }
    fn all_gather(&self, mine: &[f64]) -> Result<Vec<f64>> {
        Ok(mine.repeat(2))
    }
    fn exchange(&self, _: &Map) -> Result<Box<dyn Exchange>> {
        Err(minifenl::Error::Mpi("no messages".into()))
    }
}

/// Messages of no value, of one, and of more than one block of threads, from scattered places of the vector.
#[test]
fn ghosts_are_packed_by_the_list_and_unpacked_at_the_tail() {
    let Some(space) = gpu("ghosts_are_packed_by_the_list_and_unpacked_at_the_tail") else { return };
    for (owned, count) in [(5, 0), (5, 1), (10_000, 3001)] {
        let list: Vec<u32> = (0..count).map(|k| (k * 7919 + 3) % owned).collect();
        let mut x = wave((owned + count) as usize, 0.37);
        let mut there = space.upload(&x).unwrap();
        let (mut message, mut expected) = (vec![f64::NAN; count as usize], vec![0.0; count as usize]);
        let (mut on_gpu, mut on_host) = (space.send_list(list.clone()).unwrap(), Serial.send_list(list).unwrap());
        for _ in 0..2 {
            space.pack(&mut on_gpu, &there, &mut message).unwrap();
            Serial.pack(&mut on_host, &x, &mut expected).unwrap();
            assert_eq!(message, expected);
            message.iter_mut().for_each(|value| *value = -*value);
            space.unpack(&message, owned as usize, &mut there).unwrap();
            Serial.unpack(&message, owned as usize, &mut x).unwrap();
            // The message may be overwritten at once.
            message.fill(f64::NAN);
            assert_eq!(space.download(&there).unwrap(), x);
        }
    }
}

#[test]
fn a_scalar_is_added_unless_the_reductions_are_stopped() {
    let Some(space) = gpu("a_scalar_is_added_unless_the_reductions_are_stopped") else { return };
    let (mut sums, comm) = (Reductions::new(&space, 100, 10).unwrap(), &Twice as &dyn Communicator);
    sums.scalars = space.upload(&[0.0, 1.5, 2.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.5]).unwrap();
    for (stop, expected) in [(None, 3.0), (Some(0), 6.0), (Some(1), 6.0)] {
        sums.stop = stop;
        comm.all_reduce(&space, &mut sums, 1..2).unwrap();
        let scalars = space.download(&sums.scalars).unwrap();
        assert_eq!((scalars[1], scalars[2], scalars[9]), (expected, 2.5, 9.5), "{stop:?}");
    }
}
