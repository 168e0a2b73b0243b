//! Working memory that is allocated once per thread and lent from call to call.

use crate::Result;
use crate::space::try_collect;
use std::sync::{Mutex, PoisonError};

/// What no thread uses at the moment.
#[derive(Debug)]
pub(super) struct Pool<T> {
    free: Mutex<Vec<T>>,
}

impl<T> Pool<T> {
    /// Makes `count` items.
    pub(super) fn new(count: usize, new: impl Fn() -> Result<T>) -> Result<Self> {
        let items = try_collect("working memory of threads", (0..count).map(|_| new()))?;
        Ok(Pool { free: Mutex::new(items.into_iter().collect::<Result<_>>()?) })
    }

    /// Calls `work` with an item, whose contents are those of its last use. A space with more threads than the pool has items adds
    /// items, made by `new`.
    pub(super) fn lend<R>(&self, new: impl Fn() -> Result<T>, work: impl FnOnce(&mut T) -> R) -> Result<R> {
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // A statement of its own, which ends the lock.
        let taken = free().pop();
        let mut item = taken.map_or_else(new, Ok)?;
        let result = work(&mut item);
        free().push(item);
        Ok(result)
    }
}
