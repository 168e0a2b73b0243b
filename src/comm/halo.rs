//! The halo exchange: fresh values for the ghosts of a vector.
//!
//! ```text
//! message[k] = x[send[k]]           begin: pack, start all messages
//! ... rows without ghosts ...       the caller's work overlaps the messages
//! x[owned + k] = received[k]        finish: wait, copy to the tail
//! ```
//! Ghosts are grouped by neighbour at the tail, so unpacking is one copy. Per exchange: 8 bytes per value sent and received on
//! the wire, about three times that in memory. No allocation. The result does not depend on message order.

use super::staged::Staged;
use super::{Communicator, HaloExchange, Link, Map, Staging};
use crate::space::{Array, MemorySpace, Slice};
use crate::{Result, error::check_length};

/// A persistent exchange for vectors `[owned + ghost]` in the memory of a space.
#[derive(Debug)]
pub struct Halo<S: Staging> {
    exchange: Box<dyn HaloExchange<S>>,
    sent: usize,
    owned: usize,
    ghosts: usize,
    messages: usize,
    is_recordable: bool,
}

impl<S: Staging> Halo<S> {
    /// Sets up the exchange of `map`'s ghosts through host memory; [`Links::halo`](super::Links::halo) uses the transport of a
    /// run. Ranks create their halos in the same order.
    ///
    /// # Errors
    /// As [`Communicator::exchange`]; [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had.
    pub fn new(space: &S, comm: &dyn Communicator, map: &Map) -> Result<Self> {
        Self::by(&Staged, space, comm, map)
    }

    /// The exchange by a transport.
    pub(super) fn by(link: &dyn Link<S>, space: &S, comm: &dyn Communicator, map: &Map) -> Result<Self> {
        let neighbours = map.neighbours();
        Ok(Halo {
            exchange: link.halo(space, comm, map)?,
            is_recordable: link.is_recordable(),
            sent: neighbours.iter().map(|neighbour| neighbour.send.len()).sum(),
            owned: map.owned_count(),
            ghosts: map.ghost_count(),
            messages: neighbours.iter().filter(|neighbour| !neighbour.send.is_empty()).count(),
        })
    }

    /// Starts to send the values of `x[..owned]` that other ranks read. The owned values may change as soon as this returns, for
    /// work enqueued later; the ghosts may be written from now on.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless `x` is `[owned + ghost]`; a failure of the transport or of the device.
    pub fn begin(&mut self, space: &S, x: &mut Slice<S, f64>) -> Result<InFlight<'_, S>> {
        check_length("Halo::begin", "x", S::Memory::len(&*x), self.owned + self.ghosts)?;
        if !self.is_empty() {
            self.exchange.begin(space, x)?;
        }
        Ok(InFlight { halo: self, done: false })
    }

    /// Returns the exchange as kernels see it that send items and await ghosts themselves, if any; it replaces
    /// [`begin`](Self::begin) and [`finish`](InFlight::finish).
    pub fn peer(&self) -> Option<&Array<S, u64>> {
        if self.is_empty() { None } else { self.exchange.peer() }
    }

    /// [`begin`](Self::begin) and [`finish`](InFlight::finish) with nothing between.
    ///
    /// # Errors
    /// As both.
    pub fn update(&mut self, space: &S, x: &mut Slice<S, f64>) -> Result<()> {
        self.begin(space, x)?.finish(space, x)
    }

    /// Whether nothing is sent and nothing received. An exchange then does nothing.
    pub fn is_empty(&self) -> bool {
        self.sent == 0 && self.ghosts == 0
    }

    /// Returns whether an exchange only enqueues work, so that a CUDA graph may record it.
    pub fn is_recordable(&self) -> bool {
        self.is_empty() || self.is_recordable
    }

    /// Number of messages that this rank sends per exchange.
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// Bytes that this rank sends per exchange.
    pub fn bytes_sent(&self) -> usize {
        size_of::<f64>() * self.sent
    }
}

/// Messages in flight; holds the halo until they have arrived. Dropped unfinished, it waits for them.
#[derive(Debug)]
#[must_use = "the ghosts are stale until `finish`"]
pub struct InFlight<'a, S: Staging> {
    halo: &'a mut Halo<S>,
    done: bool,
}

impl<S: Staging> InFlight<'_, S> {
    /// Completes the exchange: writes `x[owned..]`, or orders later device work after it. `x` is the vector of
    /// [`Halo::begin`].
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless `x` is `[owned + ghost]`; a failure of the transport or of the device.
    pub fn finish(mut self, space: &S, x: &mut Slice<S, f64>) -> Result<()> {
        check_length("InFlight::finish", "x", S::Memory::len(&*x), self.halo.owned + self.halo.ghosts)?;
        // Set before the wait: a failed wait must not be repeated when `self` is dropped.
        self.done = true;
        if self.halo.is_empty() {
            return Ok(());
        }
        self.halo.exchange.end(space, x)
    }
}

impl<S: Staging> Drop for InFlight<'_, S> {
    fn drop(&mut self) {
        if !self.done && !self.halo.is_empty() {
            self.halo.exchange.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::staged::StagedHalo;
    use crate::comm::testing::Postbox;
    use crate::comm::{Exchange, Neighbour, Solo};
    use crate::space::{Serial, Threads};
    use std::{cell::Cell, rc::Rc};

    /// Gives back what is sent, negated, and counts the exchanges ended.
    #[derive(Debug)]
    struct Mirror {
        values: Vec<f64>,
        ended: Rc<Cell<usize>>,
    }

    impl Exchange for Mirror {
        fn begin(&mut self, pack: &mut dyn FnMut(&mut [f64]) -> Result<()>) -> Result<()> {
            pack(&mut self.values)?;
            self.values.iter_mut().for_each(|x| *x = -*x);
            Ok(())
        }
        fn end(&mut self) -> Result<&[f64]> {
            self.ended.set(self.ended.get() + 1);
            Ok(&self.values)
        }
    }

    /// Owns 0..3, sends 2 and 0 and gets two ghosts.
    fn mirrored() -> (Halo<Threads>, Rc<Cell<usize>>) {
        let ended = Rc::new(Cell::new(0));
        let exchange = Box::new(Mirror { values: vec![0.0; 2], ended: ended.clone() });
        let exchange = Box::new(StagedHalo::<Threads> { exchange, list: vec![2, 0], owned: 3 });
        (Halo { exchange, sent: 2, owned: 3, ghosts: 2, messages: 1, is_recordable: true }, ended)
    }

    #[test]
    fn values_go_out_by_the_list_and_come_in_at_the_tail() {
        let (mut halo, ended) = mirrored();
        let mut x = vec![1.0, 2.0, 3.0, 0.0, 0.0];
        halo.update(&Serial, &mut x).unwrap();
        assert_eq!(x, [1.0, 2.0, 3.0, -3.0, -1.0]);
        assert_eq!((ended.get(), halo.bytes_sent()), (1, 16));
    }

    #[test]
    fn work_between_begin_and_finish_may_change_the_vector() {
        let (mut halo, _) = mirrored();
        let mut x = vec![1.0, 2.0, 3.0, 0.0, 0.0];
        let in_flight = halo.begin(&Serial, &mut x).unwrap();
        x[2] = 9.0;
        in_flight.finish(&Serial, &mut x).unwrap();
        assert_eq!(x, [1.0, 2.0, 9.0, -3.0, -1.0]);
    }

    #[test]
    fn dropped_or_refused_exchanges_are_waited_for() {
        let (mut halo, ended) = mirrored();
        drop(halo.begin(&Serial, &mut [1.0; 5]).unwrap());
        assert_eq!(ended.get(), 1);
        let error = halo.begin(&Serial, &mut [1.0; 5]).unwrap().finish(&Serial, &mut [0.0; 4]).unwrap_err().to_string();
        assert_eq!(ended.get(), 2);
        assert!(error.contains("[4], expected [5]"), "{error}");
        assert!(halo.begin(&Serial, &mut [0.0; 2]).unwrap_err().to_string().contains("Halo::begin: `x`"));
    }

    #[test]
    fn the_communicator_decides_who_may_be_a_neighbour() {
        let map = Map::new(2, 1, vec![Neighbour { rank: 1, send: vec![], receive: 1..2 }]).unwrap();
        assert!(Halo::new(&Serial, &Solo, &map).is_err());
    }

    /// Neighbours that send only, receive only, and both, with lists of different lengths in no order.
    #[test]
    fn ragged_neighbours_get_their_values_as_by_hand() {
        let neighbour = |rank, send: &[u32], receive| Neighbour { rank, send: send.to_vec(), receive };
        let neighbours = vec![
            neighbour(0, &[3, 0, 4], 5..5),
            neighbour(1, &[], 5..7),
            neighbour(3, &[4], 7..10),
            neighbour(5, &[], 10..10),
        ];
        let comm = Postbox::default();
        let mut halo = Halo::new(&Serial, &comm, &Map::new(100, 5, neighbours).unwrap()).unwrap();
        assert_eq!((halo.messages(), halo.bytes_sent(), halo.is_empty()), (2, 32, false));
        let mut x = vec![10.0, 11.0, 12.0, 13.0, 14.0, -1.0, -2.0, -3.0, -4.0, -5.0];
        halo.update(&Serial, &mut x).unwrap();
        assert_eq!(*comm.sent.borrow(), [13.0, 10.0, 14.0, 14.0]);
        assert_eq!(x, [10.0, 11.0, 12.0, 13.0, 14.0, 100.0, 101.0, 102.0, 103.0, 104.0]);

        let receives_only = Map::new(100, 5, vec![neighbour(1, &[], 5..6)]).unwrap();
        let mut halo = Halo::new(&Serial, &comm, &receives_only).unwrap();
        assert_eq!((halo.messages(), halo.bytes_sent(), halo.is_empty()), (0, 0, false));
        let mut x = vec![0.0; 6];
        halo.update(&Serial, &mut x).unwrap();
        assert_eq!(x, [0.0, 0.0, 0.0, 0.0, 0.0, 100.0]);

        let sends_only = Map::new(100, 5, vec![neighbour(1, &[2, 1], 5..5)]).unwrap();
        let mut halo = Halo::new(&Serial, &comm, &sends_only).unwrap();
        assert_eq!((halo.messages(), halo.bytes_sent(), halo.is_empty()), (1, 16, false));
        halo.update(&Serial, &mut [0.0, 1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(*comm.sent.borrow(), [2.0, 1.0]);
    }
}
