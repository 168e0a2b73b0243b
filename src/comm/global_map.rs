//! Makes a [`Map`] from any partition given as global ids, such as one by METIS.
//!
//! ```text
//! rank 0 owns 70, 10, 40  uses 10, 50, 20, 10  local 0, 1, 2 = ids 70, 10, 40     ghosts 3, 4 = ids 20, 50
//! rank 1 owns 20, 50      uses 50, 70          local 0, 1    = ids 20, 50         ghost  2    = id  70
//! ```
//! Ids are any 64-bit numbers: they may have gaps and any order. A distributed directory finds the owners of the ghosts; then
//! each rank tells the owners which ids it reads. Collective. Cost: three rounds of [`Communicator::send_all`] with 8 bytes sent
//! per owned id and 24 per ghost; O(n log n) time for n = owned + used, and O(owned + ghosts) memory on each rank.

use super::map::local;
use super::map_of_ghosts::map_of_ghosts;
use super::rendezvous;
use super::{Communicator, Map, agree};
use crate::space::{admit, try_collect, try_push, try_with_capacity};
use crate::{Error, GlobalOrdinal, LocalOrdinal, Result};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Owned and ghost ids of one rank with their local numbers.
///
/// Owned ids have the numbers `0..owned` in the order in which they were given. Ghosts follow, grouped by owner, lowest rank
/// first, and ascending for one owner.
#[derive(Clone, Debug)]
pub struct GlobalMap {
    map: Map,
    /// Global id of each local index.
    ids: Vec<GlobalOrdinal>,
    numbers: Numbers,
}

/// The local number of each id.
type Numbers = HashMap<GlobalOrdinal, LocalOrdinal, FixedState>;

impl GlobalMap {
    /// Numbers the ids that this rank owns and those that it uses. `used` may repeat ids and name owned ones: a whole
    /// element-node table is a list of used ids. Collective.
    ///
    /// # Errors
    /// On one rank, with [`Error::Elsewhere`] on all others: [`Error::Invalid`] for an id that a rank lists twice as its own,
    /// that two ranks own, or that is used and has no owner, with the id and the ranks; [`Error::TooLarge`] for more local
    /// indices than 32 bits number; [`Error::OutOfMemory`]. On each rank that meets it, a failure of
    /// [`Communicator::send_all`].
    pub fn new(comm: &dyn Communicator, owned: &[GlobalOrdinal], used: &[GlobalOrdinal]) -> Result<Self> {
        let (mut numbers, asked) = agree(comm, number(comm.rank(), owned, used))?;
        let mut total = [owned.len() as u64];
        comm.all_sum_u64(&mut total);
        let ghosts = rendezvous::owners(comm, total[0], owned, &asked)?;
        drop(asked);
        let of_owned = |id| numbers.get(&id).copied().filter(|&index| (index as usize) < owned.len());
        let map = map_of_ghosts(comm, total[0], owned.len(), &ghosts, &of_owned)?;
        let ids = agree(comm, ids(owned, &ghosts))?;
        for (at, &(_, id)) in (owned.len()..).zip(&ghosts) {
            numbers.insert(id, at as LocalOrdinal);
        }
        Ok(GlobalMap { map, ids, numbers })
    }

    /// Returns the owned and ghost indices with their neighbours. [`Map::global_count`] is the number of owned ids over all
    /// ranks.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Returns the global id of each local index, owned ones first: `[owned + ghost]`.
    pub fn ids(&self) -> &[GlobalOrdinal] {
        &self.ids
    }

    /// Returns the local index of a global id, if this rank owns or uses it.
    pub fn local(&self, id: GlobalOrdinal) -> Option<LocalOrdinal> {
        self.numbers.get(&id).copied()
    }

    /// Replaces global ids by local indices, as for an element-node table.
    ///
    /// # Errors
    /// [`Error::Invalid`], with place and id, for one that this rank neither owns nor uses; [`Error::OutOfMemory`].
    pub fn renumber(&self, table: &[GlobalOrdinal]) -> Result<Vec<LocalOrdinal>> {
        let mut local = try_with_capacity("local indices", table.len())?;
        for (at, &id) in table.iter().enumerate() {
            let unknown =
                || Error::Invalid(format!("item {at} is global id {id}, which this rank neither owns nor uses"));
            local.push(self.local(id).ok_or_else(unknown)?);
        }
        Ok(local)
    }

    /// Renumbers the owned ids: number `i` becomes `new_of_old[i]`, a permutation of `0..owned`.
    pub(crate) fn reorder_owned(&mut self, new_of_old: &[LocalOrdinal]) -> Result<()> {
        let old = try_collect("ids", self.ids[..new_of_old.len()].iter().copied())?;
        for (id, &new) in old.into_iter().zip(new_of_old) {
            self.ids[new as usize] = id;
            self.numbers.insert(id, new);
        }
        self.map.reorder_owned(new_of_old);
        Ok(())
    }
}

/// The numbers of owned ids, and the other ids used, each once. Ghosts have no number yet.
fn number(rank: usize, owned: &[GlobalOrdinal], used: &[GlobalOrdinal]) -> Result<(Numbers, Vec<GlobalOrdinal>)> {
    local(owned.len())?;
    let mut numbers = Numbers::default();
    grow(&mut numbers, owned.len())?;
    for (at, &id) in owned.iter().enumerate() {
        if let Some(first) = numbers.insert(id, at as LocalOrdinal) {
            return Err(Error::Invalid(format!(
                "rank {rank} owns global id {id} twice, as items {first} and {at}; expected each id once"
            )));
        }
    }
    let mut asked = Vec::new();
    for &id in used {
        if numbers.len() == numbers.capacity() {
            grow(&mut numbers, owned.len().max(64))?;
        }
        if let Entry::Vacant(new) = numbers.entry(id) {
            new.insert(LocalOrdinal::MAX);
            try_push("ghost ids", &mut asked, id)?;
        }
    }
    local(numbers.len())?;
    Ok((numbers, asked))
}

/// Makes room in a table that holds at most 7 items in 8 slots of a power of two, with a byte more per slot.
fn grow(numbers: &mut Numbers, additional: usize) -> Result<()> {
    let slots = (numbers.len() + additional).saturating_mul(8).div_ceil(7).next_power_of_two();
    admit("numbers of global ids", slots.saturating_mul(size_of::<(GlobalOrdinal, LocalOrdinal)>() + 1))?;
    numbers.reserve(additional);
    Ok(())
}

/// Global id of each local index.
fn ids(owned: &[GlobalOrdinal], ghosts: &[(usize, GlobalOrdinal)]) -> Result<Vec<GlobalOrdinal>> {
    let mut ids = try_with_capacity("global ids", owned.len() + ghosts.len())?;
    ids.extend(owned);
    ids.extend(ghosts.iter().map(|&(_, id)| id));
    Ok(ids)
}
