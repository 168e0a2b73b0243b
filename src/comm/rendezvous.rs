//! Finds the owners of global ids by a distributed directory: each id has one directory rank, known to all from the id alone.
//!
//! ```text
//! round 1   all ranks to directory   "I own these ids; who owns those?"      8 bytes per owned id and question
//! directory                          sorts what it was told, looks the questions up
//! round 2   directory to askers      the owners, in the order of the questions   8 bytes per question
//! ```
//! Memory and messages are O(own ids) and time O(own ids log own ids) on every rank if ids are spread; no rank holds a table of all ranks. Consecutive
//! ids share a directory rank in blocks, so that a rank with consecutive ids talks to few; blocks are hashed to ranks, so that
//! ids with gaps load the directory evenly. Source: Pinar and Hendrickson, "Communication support for adaptive computation",
//! SIAM PP 2001; the directories of Zoltan and of Epetra are of this kind.

use super::{Communicator, Message, agree};
use crate::space::{try_push, try_reserve, try_with_capacity};
use crate::{Error, GlobalOrdinal, Result};
use std::collections::BTreeMap;

/// Largest block of consecutive ids on one directory rank, as a power of two.
const MAX_BLOCK_BITS: u32 = 12;
/// Blocks per rank, if ids are consecutive and fewer than a largest block each.
const BLOCKS_PER_RANK: u64 = 16;

/// Numbers to send, by rank.
type Outbox = BTreeMap<usize, Vec<u64>>;

/// Returns the owner of each id in `asked`, as (owner, id), sorted. Each rank passes the ids that it owns; all ids differ.
/// `total` is the number of owned ids over all ranks. Collective.
///
/// # Errors
/// [`Error::Invalid`] on the directory's lowest rank that finds an id with two owners, or an asked one with none;
/// [`Error::OutOfMemory`] where memory is short; [`Error::Elsewhere`] on all other ranks. Failures of
/// [`Communicator::send_all`].
pub(super) fn owners(
    comm: &dyn Communicator,
    total: u64,
    owned: &[GlobalOrdinal],
    asked: &[GlobalOrdinal],
) -> Result<Vec<(usize, GlobalOrdinal)>> {
    let home = Home::new(total, comm.size());
    let (claims, questions) = agree(comm, home.sort(owned).and_then(|claims| Ok((claims, home.sort(asked)?))))?;
    let messages = agree(comm, join(claims, &questions))?;
    let letters = comm.send_all(messages)?;
    let answers = agree(comm, Directory::new(&letters).and_then(|directory| directory.answers(&letters)))?;
    drop(letters);
    let answers = comm.send_all(answers)?;
    agree(comm, pairs(&questions, &answers, asked.len()))
}

/// Appends a number to the message to a rank.
fn post(outbox: &mut Outbox, to: usize, number: u64) -> Result<()> {
    try_push("message to a rank", outbox.entry(to).or_default(), number)
}

/// Where the directory keeps an id.
struct Home {
    shift: u32,
    ranks: u64,
}

impl Home {
    fn new(total: u64, ranks: usize) -> Self {
        let block = total / (BLOCKS_PER_RANK * ranks as u64);
        Home { shift: block.checked_ilog2().unwrap_or(0).min(MAX_BLOCK_BITS), ranks: ranks as u64 }
    }

    fn of(&self, id: GlobalOrdinal) -> usize {
        // The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of the block changes the rank.
        let block = id >> self.shift;
        let block = (block ^ (block >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let block = (block ^ (block >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((block ^ (block >> 31)) % self.ranks) as usize
    }

    /// Ids by directory rank, in their order.
    fn sort(&self, ids: &[GlobalOrdinal]) -> Result<Outbox> {
        let mut outbox = Outbox::new();
        ids.iter().try_for_each(|&id| post(&mut outbox, self.of(id), id))?;
        Ok(outbox)
    }
}

/// Messages of round 1: number of owned ids, these ids, then the questions.
fn join(mut claims: Outbox, questions: &Outbox) -> Result<Vec<Message>> {
    for &to in questions.keys() {
        claims.entry(to).or_default();
    }
    let mut messages = Vec::with_capacity(claims.len());
    while let Some((to, ids)) = claims.pop_first() {
        let questions = questions.get(&to).map_or(&[][..], |ids| ids);
        let mut letter = try_with_capacity("message to the directory", 1 + ids.len() + questions.len())?;
        letter.push(ids.len() as u64);
        letter.extend(ids);
        letter.extend(questions);
        messages.push((to, letter));
    }
    Ok(messages)
}

/// Owned ids and questions of a letter.
fn parts(letter: &Message) -> Result<(&[u64], &[u64])> {
    let split = letter.1.split_first().and_then(|(&owned, ids)| ids.split_at_checked(owned as usize));
    split.ok_or_else(|| Error::Mpi(format!("rank {} sent the directory a malformed message", letter.0)))
}

/// The ids whose directory is this rank, with their owners; sorted.
struct Directory(Vec<(GlobalOrdinal, usize)>);

impl Directory {
    fn new(letters: &[Message]) -> Result<Self> {
        let mut entries = Vec::new();
        for letter in letters {
            let (owned, _) = parts(letter)?;
            try_reserve("directory of ids", &mut entries, owned.len())?;
            entries.extend(owned.iter().map(|&id| (id, letter.0)));
        }
        entries.sort_unstable();
        match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(Directory(entries)),
            Some(pair) => Err(Error::Invalid(format!(
                "global id {} is owned by ranks {} and {}, expected one owner",
                pair[0].0, pair[0].1, pair[1].1
            ))),
        }
    }

    /// Messages of round 2: the owners of the ids asked.
    fn answers(&self, letters: &[Message]) -> Result<Vec<Message>> {
        let mut answers = Vec::with_capacity(letters.len());
        // The lowest id without an owner, and who asked.
        let mut missing: Option<(GlobalOrdinal, usize)> = None;
        for letter in letters {
            let (_, asked) = parts(letter)?;
            let mut owners = try_with_capacity("answers of the directory", asked.len())?;
            for &id in asked {
                match self.0.binary_search_by_key(&id, |&(id, _)| id) {
                    Ok(at) => owners.push(self.0[at].1 as u64),
                    Err(_) => missing = Some(missing.map_or((id, letter.0), |lowest| lowest.min((id, letter.0)))),
                }
            }
            if !owners.is_empty() {
                answers.push((letter.0, owners));
            }
        }
        match missing {
            None => Ok(answers),
            Some((id, rank)) => Err(Error::Invalid(format!(
                "global id {id} is used by rank {rank} and owned by no rank, expected one owner"
            ))),
        }
    }
}

/// Questions with their answers.
fn pairs(questions: &Outbox, answers: &[Message], count: usize) -> Result<Vec<(usize, GlobalOrdinal)>> {
    let mut pairs = try_with_capacity("owners of ghosts", count)?;
    for (from, owners) in answers {
        let asked = questions.get(from).filter(|asked| asked.len() == owners.len());
        let asked = asked.ok_or_else(|| Error::Mpi(format!("rank {from} answered another number of questions")))?;
        pairs.extend(owners.iter().map(|&owner| owner as usize).zip(asked.iter().copied()));
    }
    if pairs.len() != count {
        return Err(Error::Mpi(format!("the directory answered {} of {count} questions", pairs.len())));
    }
    pairs.sort_unstable();
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Consecutive ids go to few ranks, scattered ones to all, and no rank gets much more than its share.
    #[test]
    fn the_directory_is_spread_over_the_ranks() {
        const PER_RANK: u64 = 1 << 16;
        for ranks in [1, 2, 7, 64, 500] {
            let total = PER_RANK * ranks as u64;
            let home = Home::new(total, ranks);
            assert_eq!(1 << home.shift, 4096);
            for stride in [1, 4096, 1 << 20, 0x9e37_79b9] {
                let mut load = vec![0; ranks];
                (0..total).for_each(|i| load[home.of(i.wrapping_mul(stride))] += 1);
                assert!(load.iter().all(|&ids| ids <= 3 * PER_RANK), "{ranks} ranks, stride {stride}: {load:?}");
            }
            let own = home.sort(&(PER_RANK..2 * PER_RANK).collect::<Vec<_>>()).unwrap();
            assert!(own.len() <= 16, "{}", own.len());
        }
        // Few ids are spread, too.
        assert_eq!(Home::new(100, 8).shift, 0);
        assert_eq!(Home::new(0, 8).shift, 0);
        assert!(Home::new(100, 8).sort(&(0..100).collect::<Vec<_>>()).unwrap().len() == 8);
    }
}
