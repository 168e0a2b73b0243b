//! Ranks that are threads of this process, with all operations of a communicator, and sums in an order that a seed draws: tests
//! without MPI. The unit tests of the library include this file.
//!
//! A rank that panics wakes the others, which panic too, so that a failed test ends. So does a rank that returns while another one waits
//! for it: a rank that leaves alone is a failure here, and not a hang. So are ranks whose nth collectives differ in kind or length.

use minifenl::comm::{Communicator, Exchange, Map, Message};
use minifenl::{Error, Result};
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What `work` returns on each of `size` ranks.
pub fn on_ranks<T: Send>(size: usize, work: impl Fn(&Ranks) -> T + Sync) -> Vec<T> {
    on_ranks_that_add(0, size, work)
}

/// [`on_ranks`] with sums in the orders that `seed` draws.
pub fn on_ranks_that_add<T: Send>(seed: u64, size: usize, work: impl Fn(&Ranks) -> T + Sync) -> Vec<T> {
    on_hosts(seed, [1, size], work)
}

/// [`on_ranks_that_add`] on `hosts` hosts of `per_host` ranks each.
pub fn on_hosts<T: Send>(seed: u64, [hosts, per_host]: [usize; 2], work: impl Fn(&Ranks) -> T + Sync) -> Vec<T> {
    let size = hosts * per_host;
    let shared = Arc::new(Shared::default());
    std::thread::scope(|scope| {
        let start = |rank| {
            let (shared, work) = (shared.clone(), &work);
            scope.spawn(move || {
                let _guard = Guard { shared: shared.clone(), rank };
                work(&Ranks {
                    rank,
                    size,
                    per_host,
                    shared,
                    seed,
                    rounds: Cell::new(0),
                    in_rank_order: Cell::new(false),
                    exchanges: Cell::new(0),
                    sent: Cell::default(),
                    messages: Rc::default(),
                })
            })
        };
        let ranks: Vec<_> = (0..size).map(start).collect();
        ranks.into_iter().map(|rank| rank.join().expect("no rank panics")).collect()
    })
}

/// What each rank brought to a collective, and to which.
type Round = Vec<Option<(&'static str, Arc<Vec<Message>>)>>;

#[derive(Debug, Default)]
struct State {
    /// By number: a collective that not all ranks have seen yet, and how many have.
    rounds: HashMap<usize, (Round, usize)>,
    /// Values under way, by sender, receiver and number of the exchange.
    values: HashMap<(usize, usize, usize), VecDeque<Vec<f64>>>,
    has_failed: bool,
    /// Ranks that have returned.
    left: BTreeSet<usize>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until `ready` returns something; `missing` says whether a rank that has left would have to bring it.
    fn wait<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>, missing: impl Fn(&State, usize) -> bool) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            assert!(!state.has_failed, "another rank panicked");
            if let Some(value) = ready(&mut state) {
                return value;
            }
            let left = state.left.iter().copied().find(|&rank| missing(&state, rank));
            assert!(left.is_none(), "rank {left:?} has left alone");
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Tells the other ranks of a panic, or that this one has returned.
struct Guard {
    shared: Arc<Shared>,
    rank: usize,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.change(|state| {
            state.has_failed |= std::thread::panicking();
            state.left.insert(self.rank);
        });
    }
}

/// One of the ranks.
#[derive(Debug)]
pub struct Ranks {
    rank: usize,
    size: usize,
    per_host: usize,
    shared: Arc<Shared>,
    seed: u64,
    rounds: Cell<usize>,
    in_rank_order: Cell<bool>,
    exchanges: Cell<usize>,
    /// Messages to other ranks by `send_all`, and the numbers in them.
    pub sent: Cell<[usize; 2]>,
    /// Messages to other ranks by exchanges.
    pub messages: Rc<Cell<usize>>,
}

impl Ranks {
    /// What all ranks brought to this operation, rank 0 first.
    fn share(&self, operation: &'static str, mine: Vec<Message>) -> Vec<Arc<Vec<Message>>> {
        let number = self.rounds.replace(self.rounds.get() + 1);
        self.shared.change(|state| {
            let (round, _) = state.rounds.entry(number).or_insert_with(|| (vec![None; self.size], 0));
            round[self.rank] = Some((operation, Arc::new(mine)));
        });
        let ready = |state: &mut State| {
            let (round, seen) = state.rounds.get_mut(&number)?;
            let all: Vec<_> = round.iter().cloned().collect::<Option<_>>()?;
            *seen += 1;
            if *seen == self.size {
                state.rounds.remove(&number);
            }
            Some(all)
        };
        let all = self.shared.wait(ready, |state, rank| state.rounds[&number].0[rank].is_none());
        let other = all.iter().map(|(other, _)| *other).find(|other| *other != operation);
        assert!(other.is_none(), "rank {} calls {operation} where another one calls {other:?}", self.rank);
        all.into_iter().map(|(_, messages)| messages).collect()
    }

    /// [`Ranks::share`] of arrays whose lengths must be equal.
    fn arrays(&self, operation: &'static str, mine: Vec<u64>) -> Vec<Arc<Vec<Message>>> {
        let length = mine.len();
        let all = self.share(operation, vec![(0, mine)]);
        assert!(all.iter().all(|all| all[0].1.len() == length), "{operation}: ranks bring arrays of other lengths");
        all
    }

    fn gather(&self, operation: &'static str, mine: &[f64]) -> Vec<Vec<f64>> {
        let all = self.arrays(operation, mine.iter().map(|value| value.to_bits()).collect());
        all.iter().map(|all| all[0].1.iter().map(|&bits| f64::from_bits(bits)).collect()).collect()
    }

    /// The order in which a sum is added: the same on all ranks, another one at the next sum and for another seed.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.size).collect();
        if !self.in_rank_order.get() {
            let mut bits = support::random_bits(self.seed << 32 | self.rounds.get() as u64);
            (1..self.size).rev().for_each(|last| order.swap(last, bits() as usize % (last + 1)));
        }
        order
    }

    /// `values[i] = operation over the ranks`, in this order of the ranks.
    fn reduce(&self, name: &'static str, values: &mut [f64], order: &[usize], operation: fn(f64, f64) -> f64) {
        let all = self.gather(name, values);
        for (i, value) in values.iter_mut().enumerate() {
            *value = order[1..].iter().fold(all[order[0]][i], |result, &other| operation(result, all[other][i]));
        }
    }
}

impl Communicator for Ranks {
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        self.size
    }
    fn rank_on_node(&self) -> usize {
        self.rank % self.per_host
    }
    fn ranks_on_node(&self) -> usize {
        self.per_host
    }
    fn all_sum(&self, values: &mut [f64]) {
        self.reduce("all_sum", values, &self.order(), |a, b| a + b);
    }
    fn all_max(&self, values: &mut [f64]) {
        self.reduce("all_max", values, &self.order(), f64::max);
    }
    fn all_sum_u64(&self, values: &mut [u64]) {
        let all = self.arrays("all_sum_u64", values.to_vec());
        values.iter_mut().enumerate().for_each(|(i, value)| *value = all.iter().map(|all| all[0].1[i]).sum());
    }
    fn node_sum(&self, value: u64) -> u64 {
        // Hosts have equally many ranks, which call it equally often: one round serves all hosts.
        let all = self.arrays("node_sum", vec![value]);
        all.chunks(self.per_host).nth(self.rank / self.per_host).into_iter().flatten().map(|all| all[0].1[0]).sum()
    }
    fn all_gather(&self, mine: &[f64]) -> Result<Vec<f64>> {
        Ok(self.gather("all_gather", mine).concat())
    }
    fn send_all(&self, messages: Vec<Message>) -> Result<Vec<Message>> {
        let others = messages.iter().filter(|(to, _)| *to != self.rank);
        self.sent.set(others.fold(self.sent.get(), |[count, numbers], (_, list)| [count + 1, numbers + list.len()]));
        let all = self.share("send_all", messages);
        let to_me = |from: usize| {
            all[from].iter().filter(|(to, _)| *to == self.rank).map(move |(_, list)| (from, list.clone()))
        };
        Ok((0..self.size).flat_map(to_me).collect())
    }
    fn barrier(&self) {
        self.share("barrier", Vec::new());
    }
    fn exchange(&self, map: &Map) -> Result<Box<dyn Exchange>> {
        let number = self.exchanges.replace(self.exchanges.get() + 1);
        let count = map.neighbours().iter().map(|neighbour| neighbour.send.len()).sum();
        Ok(Box::new(Values {
            rank: self.rank,
            number,
            map: map.clone(),
            shared: self.shared.clone(),
            send: vec![0.0; count],
            receive: vec![0.0; map.ghost_count()],
            in_flight: false,
            messages: self.messages.clone(),
        }))
    }
    fn fix_order_of_sums(&self) {
        self.in_rank_order.set(true);
    }
    fn sums_in_rank_order(&self) -> bool {
        self.in_rank_order.get()
    }
    fn abort(&self, code: i32) -> ! {
        panic!("rank {} aborts with {code}", self.rank)
    }
}

#[derive(Debug)]
struct Values {
    rank: usize,
    number: usize,
    map: Map,
    shared: Arc<Shared>,
    send: Vec<f64>,
    receive: Vec<f64>,
    in_flight: bool,
    messages: Rc<Cell<usize>>,
}

impl Exchange for Values {
    fn begin(&mut self, pack: &mut dyn FnMut(&mut [f64]) -> Result<()>) -> Result<()> {
        self.end()?;
        pack(&mut self.send)?;
        let mut rest = &self.send[..];
        for neighbour in self.map.neighbours().iter().filter(|neighbour| !neighbour.send.is_empty()) {
            let (values, others) = rest.split_at(neighbour.send.len());
            let to = (self.rank, neighbour.rank, self.number);
            self.shared.change(|state| state.values.entry(to).or_default().push_back(values.to_vec()));
            self.messages.set(self.messages.get() + 1);
            rest = others;
        }
        self.in_flight = true;
        Ok(())
    }

    fn end(&mut self) -> Result<&[f64]> {
        if std::mem::take(&mut self.in_flight) {
            for neighbour in self.map.neighbours().iter().filter(|neighbour| !neighbour.receive.is_empty()) {
                let from = (neighbour.rank, self.rank, self.number);
                let ready = |state: &mut State| state.values.get_mut(&from)?.pop_front();
                let values = self.shared.wait(ready, |_, rank| rank == neighbour.rank);
                let range = neighbour.receive.start as usize..neighbour.receive.end as usize;
                let owned = self.map.owned_count();
                if values.len() != range.len() {
                    return Err(Error::Mpi(format!("rank {} sent {} values", neighbour.rank, values.len())));
                }
                self.receive[range.start - owned..range.end - owned].copy_from_slice(&values);
            }
        }
        Ok(&self.receive)
    }
}
