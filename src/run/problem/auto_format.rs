//! The storage format of a run: the one that was asked for, or the choice of `auto`.
//!
//! ```text
//! halves, on a space that takes them symmetric before assembly: a symmetric equation, and many short rows on every rank
//! no choice on this space            its own format
//! a rank with few rows               the same: the values stay in cache
//! otherwise, in the first solve      the first of the space's choices that suits the matrix of every rank; if none does, the space's own
//! ```
//! Choices are in the order of the bytes that they move, fewest first. Nothing is timed: products in CRS round otherwise than those of
//! slices, so the bits of a run, which do not depend on its threads, would depend on a clock.

use crate::comm::{Communicator, agree};
use crate::run::deck::Choice;
use crate::run::{Deck, Job};
use crate::sparse::{Format, Formats, MatrixStorage};
use crate::{Error, Result};

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

/// Chooses the format in which the matrix is assembled, for a rank with so many rows and entries, and says whether this is final:
/// if not, [`choose`] follows. All ranks call it together.
///
/// # Errors
/// [`Error::Invalid`] for halves of a matrix that is not symmetric.
pub(super) fn before<S: Formats>(
    deck: &Deck,
    is_symmetric: bool,
    [rows, entries]: [usize; 2],
    comm: &dyn Communicator,
) -> Result<(ChosenFormat, bool)> {
    let default = deck.storage::<S>().format;
    let chosen = |format, reason: &str| Ok((ChosenFormat { format, reason: reason.into(), bytes: 0 }, true));
    if let Choice::Given(format) = deck.matrix.format {
        if format == Format::Symmetric && !is_symmetric {
            let this = deck.described();
            let why = format!(
                "matrix.format (--format): symmetric: the matrix of problem {this} is not; choose another format"
            );
            return Err(Error::Invalid(why));
        }
        return chosen(format, "asked for");
    }
    if !S::CHOICES.is_empty() {
        let mut fewest = [-(rows as f64)];
        comm.all_max(&mut fewest);
        if -fewest[0] <= SMALL as f64 {
            return chosen(default, &format!("a rank has at most {SMALL} rows"));
        }
        return chosen(default, "not chosen yet").map(|(chosen, _)| (chosen, false));
    }
    let Some(suits) = S::HALVES.filter(|_| is_symmetric) else { return chosen(default, "default of the device") };
    let mut refused = [f64::from(u8::from(!suits(rows, entries)))];
    comm.all_max(&mut refused);
    if refused[0] == 0.0 {
        return chosen(Format::Symmetric, "symmetric equation, many short rows");
    }
    chosen(default, "a rank has few rows, or long ones")
}

/// The storage that a run of a symmetric equation is expected to use, for forecasts of memory.
pub(in crate::run) fn expected<S: Formats>(deck: &Deck, [rows, entries]: [u64; 2]) -> MatrixStorage {
    let storage = deck.storage::<S>();
    let in_halves = |suits: fn(usize, usize) -> bool| suits(rows as usize, entries as usize);
    match (deck.matrix.format, S::CHOICES.first()) {
        (Choice::Auto, _) if S::HALVES.is_some_and(in_halves) => MatrixStorage { format: Format::Symmetric, ..storage },
        (Choice::Auto, Some(&format)) if rows > SMALL => MatrixStorage { format, ..storage },
        _ => storage,
    }
}

/// Chooses a format for an assembled matrix and stores it so. All ranks call it together.
pub(super) fn choose<S: Job>(
    space: &S,
    matrix: &mut S::Matrix,
    deck: &Deck,
    comm: &dyn Communicator,
) -> Result<ChosenFormat> {
    let chosen = |format, reason: &str| Ok(ChosenFormat { format, reason: reason.into(), bytes: 0 });
    let storage = |format| MatrixStorage { format, values: deck.matrix.values };
    for &format in S::CHOICES {
        let stored = agree(comm, space.store(matrix, storage(format)))?;
        let mut refused = [f64::from(u8::from(!stored))];
        comm.all_max(&mut refused);
        if refused[0] == 0.0 {
            return chosen(format, "fewest bytes of those that suit");
        }
    }
    agree(comm, space.store(matrix, storage(S::FORMAT)))?;
    chosen(S::FORMAT, "irregular or not symmetric")
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::comm::ranks::on_ranks;
    use crate::space::{Cuda, Serial};

    fn chosen(deck: &Deck, is_symmetric: bool, sizes: [usize; 2]) -> ChosenFormat {
        before::<Cuda>(deck, is_symmetric, sizes, &Solo).unwrap().0
    }

    #[test]
    fn a_gpu_takes_halves_of_large_symmetric_matrices_with_short_rows() {
        let (mut deck, many) = (Deck::default(), (1 << 17) + 1);
        for (is_symmetric, sizes, format) in [
            (true, [many, 27 * many], Format::Symmetric),
            (true, [many, 40 * many + 1], Format::Pattern),
            (true, [many - 1, 27 * many], Format::Pattern),
            (false, [many, 27 * many], Format::Pattern),
        ] {
            assert_eq!(chosen(&deck, is_symmetric, sizes).format, format, "{is_symmetric}, {sizes:?}");
            let forecast = expected::<Cuda>(&deck, sizes.map(|size| size as u64)).format;
            assert!(forecast == format || !is_symmetric);
        }
        assert_eq!(before::<Serial>(&deck, true, [many, 27 * many], &Solo).unwrap().0.format, Format::Crs);
        deck.matrix.format = Choice::Given(Format::Sell);
        assert_eq!(chosen(&deck, true, [many, 27 * many]).format, Format::Sell);
        deck.matrix.format = Choice::Given(Format::Symmetric);
        assert_eq!(chosen(&deck, true, [1, 1]).format, Format::Symmetric);
        let refused = before::<Cuda>(&deck, false, [1, 1], &Solo).unwrap_err().to_string();
        assert!(refused.contains("--format): symmetric: the matrix of problem heat on hex8 is not"), "{refused}");
    }

    #[test]
    fn one_rank_with_few_rows_decides_for_all() {
        let of_rank = |few: usize| {
            on_ranks(3, |comm| {
                let rows = if comm.rank() == few { 1000 } else { 1 << 18 };
                before::<Cuda>(&Deck::default(), true, [rows, 27 * rows], comm).unwrap().0.format
            })
        };
        assert_eq!(of_rank(3), [Format::Symmetric; 3]);
        assert_eq!(of_rank(1), [Format::Pattern; 3]);
    }
}
