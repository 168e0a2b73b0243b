//! What ranks send each other when they sum: the values of slots whose rows other ranks own.
//!
//! ```text
//! received = [ slots of lower ranks | this rank's slots behind the caller's | slots of higher ranks ]   width values each
//! ```
//! With the caller's values between the first two parts, this is the order in which rows are summed.

use super::index::check_sizes;
use super::sums::Summand;
use crate::comm::{Communicator, Exchange, Map, Neighbour, agree};
use crate::space::{try_collect, try_reserve};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};
use std::collections::BTreeMap;

/// A number that travels between ranks as one or more `f64`.
pub trait Packed: Summand {
    /// Number of `f64` in a message.
    const WORDS: usize;

    /// Writes the number to `words`, which has [`WORDS`](Self::WORDS) items.
    fn pack(self, words: &mut [f64]);

    /// Reads what [`pack`](Self::pack) wrote.
    fn unpack(words: &[f64]) -> Self;
}

macro_rules! packed {
    ($($number:ty),*) => {$(
        impl Packed for $number {
            const WORDS: usize = 1;
            fn pack(self, words: &mut [f64]) {
                words[0] = self.into();
            }
            fn unpack(words: &[f64]) -> Self {
                words[0] as $number
            }
        }
    )*};
}
packed!(f32, f64);

/// Messages of the values of type `V` that a [`DistributedCoo`](super::DistributedCoo) sends and receives; made once, used any number
/// of times.
#[derive(Debug)]
pub struct CooMessages<V> {
    exchange: Box<dyn Exchange>,
    received: Vec<V>,
    /// Number of the graph of the plan.
    graph: u64,
    /// Values per slot.
    width: usize,
}

/// The slots that ranks exchange.
pub(super) struct Traffic<'a> {
    /// Number of the graph of the plan.
    pub graph: u64,
    /// Slots of the caller.
    pub slots: usize,
    /// Slots of this rank: the caller's, and those whose values are computed.
    pub own: usize,
    /// Slots that come from lower ranks.
    pub first: usize,
    /// Slots of this rank, by the rank that owns their rows.
    pub sent: &'a [(usize, Vec<LocalOrdinal>)],
    /// Number of slots by the rank from which they come.
    pub received: &'a [(usize, usize)],
    /// Values per slot.
    pub width: usize,
}

impl Traffic<'_> {
    /// Makes the messages. Collective.
    pub(super) fn messages<V: Packed>(&self, comm: &dyn Communicator) -> Result<CooMessages<V>> {
        let made = self.map(V::WORDS).and_then(|map| {
            let count = map.ghost_count() / V::WORDS + (self.own - self.slots) * self.width;
            Ok((map, try_collect("received values", (0..count).map(|_| V::zero()))?))
        });
        let (map, received) = agree(comm, made)?;
        Ok(CooMessages { exchange: agree(comm, comm.exchange(&map))?, received, graph: self.graph, width: self.width })
    }

    /// The values of this rank's slots as owned indices, those that it receives as ghosts, in `words` items each.
    fn map(&self, words: usize) -> Result<Map> {
        let width = self.width * words;
        let mut ranks: BTreeMap<usize, (&[LocalOrdinal], usize)> = BTreeMap::new();
        self.sent.iter().for_each(|(to, slots)| ranks.entry(*to).or_default().0 = slots);
        self.received.iter().for_each(|&(from, count)| ranks.entry(from).or_default().1 = count);
        let owned = self.own * width;
        check_sizes(0, 0, owned)?;
        let (mut end, mut neighbours) = (owned, Vec::with_capacity(ranks.len()));
        for (rank, (slots, count)) in ranks {
            let mut send = Vec::new();
            try_reserve("values to send", &mut send, slots.len() * width)?;
            send.extend(slots.iter().flat_map(|&slot| slot * width as u32..(slot + 1) * width as u32));
            check_sizes(0, 0, end + count * width)?;
            let receive = end as LocalOrdinal..(end + count * width) as LocalOrdinal;
            end += count * width;
            neighbours.push(Neighbour { rank, send, receive });
        }
        Map::new(GlobalOrdinal::MAX, owned, neighbours)
    }

    /// Sends and receives values; `value` returns those of this rank's slots, `[slot, b]`. Returns all values but the caller's.
    pub(super) fn exchange<'m, V: Packed>(
        &self,
        operation: &'static str,
        messages: &'m mut CooMessages<V>,
        value: impl Fn(usize) -> V,
    ) -> Result<&'m [V]> {
        let width = self.width;
        if (messages.graph, messages.width) != (self.graph, width) {
            let expected = "expected those that this plan made for this sum (`messages` or `row_messages`)";
            return Err(Error::Invalid(format!("{operation}: messages of another plan or sum: {expected}")));
        }
        let CooMessages { exchange, received, .. } = messages;
        exchange.begin(&mut |message| {
            let slots = self.sent.iter().flat_map(|(_, slots)| slots);
            let sent = slots.flat_map(|&slot| slot as usize * width..(slot as usize + 1) * width);
            message.chunks_exact_mut(V::WORDS).zip(sent).for_each(|(words, at)| value(at).pack(words));
            Ok(())
        })?;
        let came = exchange.end()?.chunks_exact(V::WORDS).map(V::unpack);
        let (lower, rest) = received.split_at_mut(self.first * width);
        let (computed, higher) = rest.split_at_mut((self.own - self.slots) * width);
        lower.iter_mut().chain(higher).zip(came).for_each(|(value, came)| *value = came);
        computed.iter_mut().zip(self.slots * width..).for_each(|(computed, at)| *computed = value(at));
        Ok(received)
    }
}
