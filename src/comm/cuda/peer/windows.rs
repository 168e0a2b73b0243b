//! Windows of all ranks: memory of this rank that others write, and theirs at addresses of this process.

use crate::Result;
use crate::comm::{Communicator, agree};
use crate::space::cuda::{Cuda, HANDLE, Mapped, Window};

/// This rank's window and those of other ranks, `None` for ranks that are not needed.
#[derive(Debug)]
pub(super) struct Windows {
    own: Window,
    others: Vec<Option<Mapped>>,
}

impl Windows {
    /// Allocates a window on each rank and maps those of the ranks that `needed` says. All ranks call it together. `record` are
    /// numbers that each rank tells all others, equally many, below 2^53; returns all ranks' numbers, rank 0 first.
    pub fn new(
        space: &Cuda,
        comm: &dyn Communicator,
        bytes: usize,
        needed: impl Fn(usize) -> bool,
        record: &[u64],
    ) -> Result<(Self, Vec<Vec<u64>>)> {
        let own = Window::new(space, bytes).and_then(|own| own.handle().map(|handle| (own, handle)));
        let (own, handle) = agree(comm, own)?;
        // Numbers of 32 bits and below are exact in f64.
        let halves =
            handle.chunks_exact(4).map(|four| f64::from(u32::from_le_bytes([four[0], four[1], four[2], four[3]])));
        let mine: Vec<f64> = halves.chain(record.iter().map(|&number| number as f64)).collect();
        let all = comm.all_gather(&mine)?;
        let (mut others, mut records) = (Vec::new(), Vec::new());
        for (rank, of_rank) in all.chunks_exact(mine.len()).enumerate() {
            let mut handle = [0; HANDLE];
            let (words, numbers) = of_rank.split_at(HANDLE / 4);
            handle
                .chunks_exact_mut(4)
                .zip(words)
                .for_each(|(four, &word)| four.copy_from_slice(&(word as u32).to_le_bytes()));
            let is_other = rank != comm.rank() && needed(rank);
            others.push(is_other.then(|| Mapped::new(space, handle)).transpose());
            records.push(numbers.iter().map(|&number| number as u64).collect());
        }
        let others = agree(comm, others.into_iter().collect::<Result<Vec<_>>>())?;
        Ok((Windows { own, others }, records))
    }

    /// The address of a rank's window in this process.
    pub fn address(&self, rank: usize) -> u64 {
        self.others[rank].as_ref().map_or(self.own.address(), Mapped::address)
    }
}
