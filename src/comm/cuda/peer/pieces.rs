//! Messages cut into pieces, and the places to which the items of a vector go; the tables of the kernels.

use crate::LocalOrdinal;

/// Values of a piece: 4 per thread, as in the kernel.
const PIECE: usize = 1024;
/// Words of a piece in the kernels' tables, `Piece` in `kernels/ranks.cuh`.
pub(super) const WORDS: usize = 7;

/// Bytes of flags before the values of a window, for that many pieces in either parity.
pub(super) fn flag_bytes(pieces: usize) -> usize {
    (2 * pieces * size_of::<u32>()).next_multiple_of(256)
}

/// Number of pieces of a message. A message without values has one, whose flag tells that the neighbour has read its ghosts.
pub(super) fn pieces(values: usize) -> usize {
    values.div_ceil(PIECE).max(1)
}

/// A message between two ranks as its receiver describes it.
#[derive(Clone, Copy)]
pub(super) struct Message {
    /// The address of the receiver's window in this process.
    pub window: u64,
    /// Ghosts and pieces of the receiver, over all of its messages.
    pub ghosts: u64,
    pub pieces: u64,
    /// The first ghost and the first piece of this message.
    pub first_ghost: u64,
    pub first_piece: u64,
    /// Number of values.
    pub count: usize,
    /// The other rank.
    pub rank: usize,
}

impl Message {
    /// Appends the pieces to a table; `place` is where the values begin in the send list, or among the ghosts.
    pub fn cut(self, place: usize, table: &mut Vec<u64>) {
        let Message { window, ghosts, pieces: all, first_ghost, first_piece, count, rank } = self;
        let values = window + flag_bytes(all as usize) as u64;
        for at in 0..pieces(count) {
            let first = at * PIECE;
            table.extend_from_slice(&[
                (place + first) as u64,
                PIECE.min(count - first) as u64,
                values + 8 * (first_ghost + first as u64),
                8 * ghosts,
                window + 4 * (first_piece + at as u64),
                4 * all,
                rank as u64,
            ]);
        }
    }
}

/// The places to which each item of a vector goes: targets `offsets[i - first]` to `offsets[i - first + 1]` of item i, each an
/// address for even epochs and the bytes from there to that for odd ones.
pub(super) struct Targets {
    pub first: u64,
    pub offsets: Vec<u32>,
    pub addresses: Vec<u64>,
}

impl Targets {
    /// From the list of items that are sent, and the pieces in which they travel.
    pub fn new(send: &[LocalOrdinal], pieces: &[u64]) -> Self {
        let mut targets: Vec<(LocalOrdinal, [u64; 2])> = Vec::with_capacity(send.len());
        for piece in pieces.chunks_exact(WORDS) {
            let (first, count, values, stride) = (piece[0] as usize, piece[1] as usize, piece[2], piece[3]);
            let place = |k: usize| [values + (size_of::<f64>() * k) as u64, stride];
            targets.extend(send[first..first + count].iter().enumerate().map(|(k, &item)| (item, place(k))));
        }
        targets.sort_unstable();
        let first = targets.first().map_or(0, |&(item, _)| item);
        let items = targets.last().map_or(0, |&(item, _)| (item - first) as usize + 1);
        let mut offsets = vec![0; items + 1];
        targets.iter().for_each(|(item, _)| offsets[(item - first) as usize + 1] += 1);
        (0..items).for_each(|item| offsets[item + 1] += offsets[item]);
        let addresses = targets.iter().flat_map(|(_, target)| *target).collect();
        Targets { first: first.into(), offsets, addresses }
    }
}
