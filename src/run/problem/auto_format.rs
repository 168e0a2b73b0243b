//! The storage format of a run: the one that was asked for, or the choice of `auto`.
//!
//! ```text
//! a space that decides by rows       before assembly: the format that suits the rows of every rank; where ranks differ, its own
//! no choice on this space            its own
//! a rank with few rows               its own: the values stay in cache
//! otherwise, in the first solve      the first of the space's choices that suits the matrix of every rank; if none does, the space's own
//! ```
//! A GPU decides by rows, and threads by values. Choices are in the order of the bytes that they move, fewest first. Nothing is timed:
//! products in CRS round otherwise than those of slices, so the bits of a run, which do not depend on its threads, would depend on a
//! clock; and two runs on a busy machine could not be compared.

use crate::comm::{Communicator, agree};
use crate::run::deck::Choice;
use crate::run::{Deck, Job};
use crate::sparse::{Format, Formats, MatrixStorage, RowShape};
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

/// Chooses the format in which the matrix is assembled, and says whether this is final: if not, [`choose`] follows. `shape` returns the rows of
/// this rank; it is called only if no format was given. All ranks call this together.
///
/// # Errors
/// [`Error::Invalid`] for halves of a matrix that is not symmetric; an error of `shape`, on all ranks.
pub(super) fn before<S: Formats>(
    deck: &Deck,
    is_symmetric: bool,
    shape: impl FnOnce() -> Result<RowShape>,
    comm: &dyn Communicator,
) -> Result<(ChosenFormat, bool)> {
    let default = deck.storage::<S>().format;
    let chosen = |format, reason: &str| Ok((ChosenFormat { format, reason: reason.into(), bytes: 0 }, true));
    if let Some((format, why)) = asked::<S>(deck) {
        if format == Format::Symmetric && !is_symmetric {
            let this = deck.described();
            let why = format!(
                "matrix.format (--format): symmetric: the matrix of problem {this} is not; choose another format"
            );
            return Err(Error::Invalid(why));
        }
        return chosen(format, why);
    }
    let shape = agree(comm, shape())?;
    if let Some(by_rows) = S::BY_ROWS {
        let (format, reason) = by_rows(shape);
        let code = f64::from(format as u8);
        let mut ends = [code, -code];
        comm.all_max(&mut ends);
        return if ends[0] == -ends[1] { chosen(format, reason) } else { chosen(default, "rows differ between ranks") };
    }
    if S::CHOICES.is_empty() {
        return chosen(default, "default of the device");
    }
    let mut fewest = [-(shape.rows as f64)];
    comm.all_max(&mut fewest);
    if -fewest[0] <= SMALL as f64 {
        return chosen(default, &format!("a rank has at most {SMALL} rows"));
    }
    chosen(default, "not chosen yet").map(|(chosen, _)| (chosen, false))
}

/// The format that the deck asks for, and why: by name, or by a preconditioner whose set-up reads CRS.
fn asked<S: Formats>(deck: &Deck) -> Option<(Format, &'static str)> {
    match deck.matrix.format {
        Choice::Given(format) => Some((format, "given")),
        Choice::Auto if S::BY_ROWS.is_some() && deck.preconditioning().reads_crs() => {
            Some((Format::Crs, "read by the set-up of the preconditioner"))
        }
        Choice::Auto => None,
    }
}

/// The storage that a run is expected to use, for forecasts of memory. Ranks that would choose differently are not foreseen, and padding is
/// that of whole lines of nodes: just above or below the limit of padding, the run may choose another format.
pub(in crate::run) fn expected<S: Formats>(deck: &Deck, shape: RowShape) -> MatrixStorage {
    let storage = deck.storage::<S>();
    let first = S::CHOICES.iter().find(|&&format| shape.is_symmetric || format != Format::Symmetric);
    match (asked::<S>(deck), S::BY_ROWS, first) {
        (Some((format, _)), ..) => MatrixStorage { format, ..storage },
        (None, Some(by_rows), _) => MatrixStorage { format: by_rows(shape).0, ..storage },
        (None, None, Some(&format)) if shape.rows as u64 > SMALL => MatrixStorage { format, ..storage },
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
    use crate::space::{Cuda, Threads};

    /// A matrix whose rows have `each` entries on average and at most `longest`; slices pad the entries by `more` percent.
    fn shape(is_symmetric: bool, rows: usize, [each, longest]: [usize; 2], more: usize) -> RowShape {
        let entries = rows * each;
        RowShape { rows, entries, padded: entries + entries * more / 100, longest, is_symmetric }
    }

    fn chosen(deck: &Deck, shape: RowShape) -> Format {
        before::<Cuda>(deck, shape.is_symmetric, || Ok(shape), &Solo).unwrap().0.format
    }

    #[test]
    fn a_gpu_takes_halves_of_many_short_rows_and_crs_of_long_uneven_ones() {
        let (mut deck, many) = (Deck::default(), (1 << 17) + 1);
        for (shape, format) in [
            (shape(true, many, [27, 27], 1), Format::Symmetric),
            (shape(true, many, [27, 40], 40), Format::Symmetric),
            (shape(true, many - 1, [27, 27], 1), Format::Pattern),
            (shape(false, many, [27, 40], 40), Format::Pattern),
            // Poisson on tet10; elasticity on hex8 and on hex20; diffusion on hex27.
            (shape(true, many, [27, 65], 30), Format::Crs),
            (shape(true, many, [81, 81], 2), Format::Pattern),
            (shape(true, many, [150, 243], 17), Format::Crs),
            (shape(false, 1000, [64, 125], 30), Format::Crs),
        ] {
            assert_eq!(chosen(&deck, shape), format, "{shape:?}");
            assert_eq!(expected::<Cuda>(&deck, shape).format, format, "{shape:?}");
        }
        let usual = shape(true, many, [27, 27], 0);
        assert_eq!(before::<Threads>(&deck, true, || Ok(usual), &Solo).unwrap().0.format, Format::Crs);
        // A host's forecast, too: symmetric halves for many rows of a symmetric matrix only.
        let on_host = |is_symmetric| expected::<Threads>(&deck, shape(is_symmetric, many, [27, 27], 0)).format;
        assert_eq!([true, false].map(on_host), [Format::Symmetric, Format::Pattern]);
        deck.matrix.format = Choice::Given(Format::Pattern);
        assert_eq!(chosen(&deck, usual), Format::Pattern);
        deck.matrix.format = Choice::Given(Format::Symmetric);
        assert_eq!(chosen(&deck, shape(true, 1, [1, 1], 0)), Format::Symmetric);
        let refused = before::<Cuda>(&deck, false, || unreachable!(), &Solo).unwrap_err().to_string();
        assert!(refused.contains("--format): symmetric: the matrix of problem heat on hex8 is not"), "{refused}");
    }

    #[test]
    fn one_rank_with_few_rows_decides_for_all() {
        let of_rank = |few: usize| {
            on_ranks(3, |comm| {
                let rows = if comm.rank() == few { 1000 } else { 1 << 18 };
                before::<Cuda>(&Deck::default(), true, || Ok(shape(true, rows, [27, 27], 1)), comm).unwrap().0.format
            })
        };
        assert_eq!(of_rank(3), [Format::Symmetric; 3]);
        assert_eq!(of_rank(1), [Format::Pattern; 3]);
    }
}
