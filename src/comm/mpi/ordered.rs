//! Sums over ranks in rank order.
//!
//! ```text
//! gather:  all[rank, i] = v_rank[i]                    each rank gets the values of all ranks
//! add:     v[i] = ((all[0, i] + all[1, i]) + all[2, i]) + ...
//! ```
//! Each rank receives 8 bytes per value and rank and adds them itself, so that the bits depend on the values only, whatever
//! algorithm MPI chooses for its messages. A reduction of MPI receives 8 log2(ranks) bytes per value. The buffer of 64 bytes
//! per rank is allocated once.

use std::cell::RefCell;

/// Values that one all-gather carries per rank; longer arrays go in pieces, so that the buffer stays small.
const PIECE: usize = 8;

/// The values of all ranks, `[rank, i]`.
pub(super) struct Gathered {
    ranks: usize,
    all: RefCell<Vec<f64>>,
}

impl Gathered {
    pub(super) fn new(ranks: usize) -> Self {
        Gathered { ranks, all: RefCell::new(vec![0.0; ranks * PIECE]) }
    }

    /// Replaces each value by its sum over the ranks; `gather` gets a piece, its length, and room for that of each rank.
    pub(super) fn sum(&self, values: &mut [f64], gather: impl Fn(&[f64], i32, &mut [f64])) {
        let mut all = self.all.borrow_mut();
        for piece in values.chunks_mut(PIECE) {
            let len = piece.len();
            let all = &mut all[..self.ranks * len];
            gather(piece, len as i32, all);
            let (first, others) = all.split_at(len);
            piece.copy_from_slice(first);
            for other in others.chunks_exact(len) {
                piece.iter_mut().zip(other).for_each(|(sum, value)| *sum += value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value `i` of a rank: sums of three or more depend on their order.
    fn value(rank: usize, i: usize) -> f64 {
        [1.0, 2f64.powi(-53), 2f64.powi(-53), -1.0, 1e16][(rank + i) % 5] * (1.0 + i as f64)
    }

    #[test]
    fn pieces_are_added_in_rank_order() {
        for ranks in [1, 2, 3, 5, 9] {
            let gathered = Gathered::new(ranks);
            for len in [0, 1, 7, 8, 9, 24, 25] {
                let mut values: Vec<f64> = (0..len).map(|i| value(0, i)).collect();
                let done = std::cell::Cell::new(0);
                gathered.sum(&mut values, |piece, len, all| {
                    let len = len as usize;
                    assert!(piece.len() == len && all.len() == ranks * len && len <= PIECE);
                    for (at, slot) in all.iter_mut().enumerate() {
                        *slot = value(at / len, done.get() + at % len);
                    }
                    done.set(done.get() + len);
                });
                assert_eq!(done.get(), len);
                for (i, &sum) in values.iter().enumerate() {
                    let expected = (1..ranks).fold(value(0, i), |sum, rank| sum + value(rank, i));
                    assert_eq!(sum.to_bits(), expected.to_bits(), "value {i} of {len} on {ranks} ranks");
                }
            }
        }
        // The other end first gives other bits.
        assert_ne!((value(0, 0) + value(1, 0)) + value(2, 0), (value(2, 0) + value(1, 0)) + value(0, 0));
    }
}
