//! Ranks that are threads of one process, for tests: all collectives and exchanges, with sums in an order that a seed draws.

use super::{Communicator, Exchange, Map, Message};
use crate::Result;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Barrier, Condvar, Mutex};

/// What the ranks share.
#[derive(Debug)]
struct Shared {
    barrier: Barrier,
    /// What each rank brings to a collective.
    brought: Mutex<Vec<Vec<f64>>>,
    /// Messages under way, `[receiver * size + sender]`.
    messages: Mutex<Vec<VecDeque<Vec<f64>>>>,
    arrived: Condvar,
    seed: u64,
}

/// A rank.
#[derive(Debug)]
struct Rank {
    rank: usize,
    size: usize,
    shared: Arc<Shared>,
    sums: Cell<u64>,
    in_rank_order: Cell<bool>,
}

impl Rank {
    /// The values of all ranks.
    fn gather(&self, mine: &[f64]) -> Vec<Vec<f64>> {
        let shared = &self.shared;
        shared.brought.lock().unwrap()[self.rank] = mine.to_vec();
        shared.barrier.wait();
        let all = shared.brought.lock().unwrap().clone();
        shared.barrier.wait();
        all
    }

    /// The order in which this sum is added: the same on all ranks, another one at the next sum and for another seed.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.size).collect();
        if !self.in_rank_order.get() {
            let mut state = (self.shared.seed << 32 | self.sums.replace(self.sums.get() + 1)) + 1;
            for last in (1..self.size).rev() {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                order.swap(last, (state >> 33) as usize % (last + 1));
            }
        }
        order
    }
}

impl Communicator for Rank {
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        self.size
    }
    fn rank_on_node(&self) -> usize {
        self.rank
    }
    fn ranks_on_node(&self) -> usize {
        self.size
    }
    fn all_sum(&self, values: &mut [f64]) {
        let (all, order) = (self.gather(values), self.order());
        for (i, value) in values.iter_mut().enumerate() {
            let others = order[1..].iter().map(|&rank| all[rank][i]);
            *value = others.fold(all[order[0]][i], |sum, other| sum + other);
        }
    }
    fn all_max(&self, values: &mut [f64]) {
        for other in self.gather(values) {
            assert_eq!(other.len(), values.len(), "ranks reduce arrays of different lengths");
            values.iter_mut().zip(other).for_each(|(max, value)| *max = max.max(value));
        }
    }
    fn all_sum_u64(&self, values: &mut [u64]) {
        let mine: Vec<f64> = values.iter().map(|&value| f64::from_bits(value)).collect();
        let all = self.gather(&mine);
        values.iter_mut().enumerate().for_each(|(i, value)| *value = all.iter().map(|other| other[i].to_bits()).sum());
    }
    fn node_sum(&self, value: u64) -> u64 {
        let mut sum = [value];
        self.all_sum_u64(&mut sum);
        sum[0]
    }
    fn all_gather(&self, mine: &[f64]) -> Result<Vec<f64>> {
        Ok(self.gather(mine).concat())
    }
    fn send_all(&self, messages: Vec<Message>) -> Result<Vec<Message>> {
        // Every rank brings all its messages, as receiver, length and numbers, and takes its own.
        let flat = |(to, numbers): &Message| [*to as u64, numbers.len() as u64].into_iter().chain(numbers.clone());
        let mine: Vec<f64> =
            messages.iter().flat_map(|message| flat(message).map(f64::from_bits).collect::<Vec<_>>()).collect();
        let mut received = Vec::new();
        for (from, brought) in self.gather(&mine).into_iter().enumerate() {
            let mut numbers = brought.into_iter().map(f64::to_bits);
            while let (Some(to), Some(len)) = (numbers.next(), numbers.next()) {
                let message: Vec<u64> = numbers.by_ref().take(len as usize).collect();
                if to as usize == self.rank {
                    received.push((from, message));
                }
            }
        }
        Ok(received)
    }
    fn barrier(&self) {
        self.shared.barrier.wait();
    }
    fn exchange(&self, map: &Map) -> Result<Box<dyn Exchange>> {
        let neighbours = map.neighbours();
        Ok(Box::new(Messages {
            rank: self.rank,
            size: self.size,
            shared: self.shared.clone(),
            sent: neighbours.iter().map(|n| (n.rank, n.send.len())).filter(|(_, len)| *len > 0).collect(),
            expected: neighbours.iter().map(|n| (n.rank, n.receive.len())).filter(|(_, len)| *len > 0).collect(),
            received: Vec::new(),
            in_flight: false,
        }))
    }
    fn fix_order_of_sums(&self) {
        self.in_rank_order.set(true);
    }
    fn sums_in_rank_order(&self) -> bool {
        self.in_rank_order.get()
    }
    fn abort(&self, code: i32) -> ! {
        std::process::exit(code)
    }
}

#[derive(Debug)]
struct Messages {
    rank: usize,
    size: usize,
    shared: Arc<Shared>,
    /// Neighbour and number of values.
    sent: Vec<(usize, usize)>,
    expected: Vec<(usize, usize)>,
    received: Vec<f64>,
    in_flight: bool,
}

impl Exchange for Messages {
    fn begin(&mut self, pack: &mut dyn FnMut(&mut [f64]) -> Result<()>) -> Result<()> {
        self.end()?;
        let mut message = vec![f64::NAN; self.sent.iter().map(|(_, len)| len).sum()];
        pack(&mut message)?;
        let mut values = &message[..];
        for &(neighbour, len) in &self.sent {
            let part = values.split_off(..len).unwrap_or_default();
            self.shared.messages.lock().unwrap()[neighbour * self.size + self.rank].push_back(part.to_vec());
        }
        self.shared.arrived.notify_all();
        self.in_flight = true;
        Ok(())
    }
    fn end(&mut self) -> Result<&[f64]> {
        if std::mem::take(&mut self.in_flight) {
            self.received.clear();
            for &(neighbour, len) in &self.expected {
                let mut messages = self.shared.messages.lock().unwrap();
                let part = loop {
                    match messages[self.rank * self.size + neighbour].pop_front() {
                        Some(part) => break part,
                        None => messages = self.shared.arrived.wait(messages).unwrap(),
                    }
                };
                assert_eq!(part.len(), len, "from rank {neighbour}");
                self.received.extend(part);
            }
        }
        Ok(&self.received)
    }
}

/// What `work` returns on each of `size` ranks.
pub(crate) fn on_ranks<T: Send>(size: usize, work: impl Fn(&dyn Communicator) -> T + Sync) -> Vec<T> {
    on_ranks_that_add(0, size, work)
}

/// [`on_ranks`] with sums in the orders that `seed` draws.
pub(crate) fn on_ranks_that_add<T: Send>(
    seed: u64,
    size: usize,
    work: impl Fn(&dyn Communicator) -> T + Sync,
) -> Vec<T> {
    let shared = Arc::new(Shared {
        barrier: Barrier::new(size),
        brought: Mutex::new(vec![Vec::new(); size]),
        messages: Mutex::new(vec![VecDeque::new(); size * size]),
        arrived: Condvar::new(),
        seed,
    });
    std::thread::scope(|scope| {
        let start = |rank| {
            let (shared, work) = (shared.clone(), &work);
            scope.spawn(move || work(&Rank { rank, size, shared, sums: Cell::new(0), in_rank_order: Cell::new(false) }))
        };
        let ranks: Vec<_> = (0..size).map(start).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}
