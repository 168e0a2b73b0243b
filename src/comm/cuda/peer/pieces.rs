//! Messages cut into pieces: the tables of the kernels.

/// Values of a piece: 4 per thread, as in the kernel.
const PIECE: usize = 1024;
/// Words of a piece in the kernels' tables, `Piece` in `kernels/ranks.cuh`.
pub(super) const WORDS: usize = 7;

/// Returns the bytes of flags before a window's values, for both parities.
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
