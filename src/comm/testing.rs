//! A communicator of several ranks in one process, for tests: it keeps what is sent and delivers known values.

use super::{Communicator, Exchange, Map};
use crate::Result;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Rank 2 of 6. Every exchange delivers 100, 101, ... to the ghosts.
#[derive(Debug, Default)]
pub(crate) struct Postbox {
    /// Values sent last.
    pub sent: Rc<RefCell<Vec<f64>>>,
    delay: Duration,
    received: Vec<f64>,
}

impl Postbox {
    /// What comes in is there after this time.
    pub fn late(delay: Duration) -> Self {
        Postbox { delay, ..Postbox::default() }
    }
}

impl Exchange for Postbox {
    fn begin(&mut self, pack: &mut dyn FnMut(&mut [f64]) -> Result<()>) -> Result<()> {
        let mut message = self.sent.borrow_mut();
        message.fill(f64::NAN);
        pack(&mut message)
    }
    fn end(&mut self) -> Result<&[f64]> {
        std::thread::sleep(self.delay);
        Ok(&self.received)
    }
}

impl Communicator for Postbox {
    fn rank(&self) -> usize {
        2
    }
    fn size(&self) -> usize {
        6
    }
    fn rank_on_node(&self) -> usize {
        2
    }
    fn ranks_on_node(&self) -> usize {
        6
    }
    fn all_sum(&self, _: &mut [f64]) {}
    fn all_max(&self, _: &mut [f64]) {}
    fn all_sum_u64(&self, _: &mut [u64]) {}
    fn node_sum(&self, value: u64) -> u64 {
        value
    }
    fn all_gather(&self, mine: &[f64]) -> Result<Vec<f64>> {
        Ok(mine.to_vec())
    }
    fn barrier(&self) {}
    fn exchange(&self, map: &Map) -> Result<Box<dyn Exchange>> {
        let count = map.neighbours().iter().map(|neighbour| neighbour.send.len()).sum();
        *self.sent.borrow_mut() = vec![0.0; count];
        let received = (0..map.ghost_count()).map(|ghost| 100.0 + ghost as f64).collect();
        Ok(Box::new(Postbox { sent: self.sent.clone(), delay: self.delay, received }))
    }
    fn abort(&self, code: i32) -> ! {
        std::process::exit(code)
    }
}
