//! The storage format of a run: the one that was asked for, or the choice of `auto`.
//!
//! ```text
//! no choice on this space            its own format
//! a rank with few rows               the same: the values stay in cache
//! otherwise, in the first solve      the first of the space's choices that suits the matrix of every rank; if none does, the space's own
//! ```
//! Choices are in the order of the bytes that they move, fewest first. Nothing is timed: a product of some rows finds them in a cache,
//! and that of all rows costs more than it tells.

use crate::Result;
use crate::comm::{Communicator, agree};
use crate::run::deck::Choice;
use crate::run::{Deck, Job};
use crate::sparse::{Format, Formats, MatrixStorage};

/// Most rows of a rank for which `auto` tries nothing: there the set-up costs what the products save.
const SMALL: u64 = 1 << 15;

/// A format and why it was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenFormat {
    /// The format.
    pub format: Format,
    /// The reason.
    pub reason: String,
    /// Bytes that a product moves on this rank, vectors included.
    pub bytes: u64,
}

impl ChosenFormat {
    /// What is known before the matrix is assembled.
    pub(super) fn before<S: Formats>(deck: &Deck) -> Self {
        let reason = match deck.matrix.format {
            Choice::Given(_) => "asked for",
            Choice::Auto => "default of the device",
        };
        ChosenFormat { format: deck.storage::<S>().format, reason: reason.into(), bytes: 0 }
    }
}

/// The storage that a run is expected to use, for forecasts of memory.
pub(in crate::run) fn expected<S: Formats>(deck: &Deck, rows: u64) -> MatrixStorage {
    let storage = deck.storage::<S>();
    match (deck.matrix.format, S::CHOICES.first()) {
        (Choice::Auto, Some(&format)) if rows > SMALL => MatrixStorage { format, ..storage },
        _ => storage,
    }
}

/// Chooses a format for an assembled matrix and stores it so; `None` where nothing is to be chosen. All ranks call it together.
pub(super) fn choose<S: Job>(
    space: &S,
    matrix: &mut S::Matrix,
    rows: usize,
    deck: &Deck,
    comm: &dyn Communicator,
) -> Result<Option<ChosenFormat>> {
    if deck.matrix.format != Choice::Auto || S::CHOICES.is_empty() {
        return Ok(None);
    }
    let chosen = |format, reason| Ok(Some(ChosenFormat { format, reason, bytes: 0 }));
    let mut fewest = [-(rows as f64)];
    comm.all_max(&mut fewest);
    if -fewest[0] <= SMALL as f64 {
        return chosen(S::FORMAT, format!("a rank has at most {SMALL} rows"));
    }
    let storage = |format| MatrixStorage { format, values: deck.matrix.values };
    for &format in S::CHOICES {
        let stored = agree(comm, space.store(matrix, storage(format)))?;
        let mut refused = [f64::from(u8::from(!stored))];
        comm.all_max(&mut refused);
        if refused[0] == 0.0 {
            return chosen(format, "fewest bytes of those that suit".into());
        }
    }
    agree(comm, space.store(matrix, storage(S::FORMAT)))?;
    chosen(S::FORMAT, "irregular or not symmetric".into())
}
