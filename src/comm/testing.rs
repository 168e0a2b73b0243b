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
    support::rank!(2 of 6, alone);
    fn exchange(&self, map: &Map) -> Result<Box<dyn Exchange>> {
        let count = map.neighbours().iter().map(|neighbour| neighbour.send.len()).sum();
        *self.sent.borrow_mut() = vec![0.0; count];
        let received = (0..map.ghost_count()).map(|ghost| 100.0 + ghost as f64).collect();
        Ok(Box::new(Postbox { sent: self.sent.clone(), delay: self.delay, received }))
    }
}
