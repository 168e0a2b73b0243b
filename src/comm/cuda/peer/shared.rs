//! Shared by all-reduces and halos: the limit of waits, and the rank that did not answer.

use crate::space::cuda::{Cuda, HostWord};
use crate::{Error, Result};
use std::time::Duration;

/// The limit of device waits, and the word that receives the lost rank.
#[derive(Debug)]
pub(super) struct Shared {
    lost: HostWord,
    limit: Duration,
    rank: usize,
}

impl Shared {
    pub fn new(space: &Cuda, limit: Duration, rank: usize) -> Result<Self> {
        Ok(Shared { lost: HostWord::new(space)?, limit, rank })
    }

    /// The address of the word.
    pub fn lost(&self) -> u64 {
        self.lost.address()
    }

    /// The limit of a wait in nanoseconds.
    pub fn nanoseconds(&self) -> u64 {
        u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX)
    }

    /// The error for a rank that did not answer.
    pub fn check(&self) -> Result<()> {
        match self.lost.get() {
            0 => Ok(()),
            rank => Err(Error::Device(format!(
                "transport peer: rank {} did not answer rank {} within {} s",
                rank - 1,
                self.rank,
                self.limit.as_secs_f64()
            ))),
        }
    }
}
