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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_into_pieces_that_cover_them() {
        assert_eq!([0, 1, PIECE, PIECE + 1, 3 * PIECE].map(pieces), [1, 1, 1, 2, 3]);
        // Two words of 4 bytes per piece, in whole blocks.
        assert_eq!([1, 32, 33].map(flag_bytes), [256, 256, 512]);
        let message = Message {
            window: 1 << 20,
            ghosts: 5000,
            pieces: 7,
            first_ghost: 10,
            first_piece: 3,
            count: PIECE + 5,
            rank: 2,
        };
        let mut table = Vec::new();
        message.cut(100, &mut table);
        let values = (1 << 20) + 256;
        let first = [100, 1024, values + 80, 40_000, (1 << 20) + 12, 28, 2];
        let second = [1124, 5, values + 80 + 8192, 40_000, (1 << 20) + 16, 28, 2];
        assert_eq!(table, [first, second].concat());
        assert_eq!(table.len(), 2 * WORDS);
    }
}
