//! The storage format of a run: the one that was asked for, or the choice of `auto`.
//!
//! ```text
//! before assembly    the format that suits the rows of every rank; where ranks differ, that of the space
//! ```
//! Nothing is timed: products in CRS round otherwise than those of slices, so the bits of a run, which do not depend on its threads, would
//! depend on a clock; and two runs on a busy machine could not be compared.

use crate::comm::{Communicator, agree, alike};
use crate::run::Deck;
use crate::run::deck::Choice;
use crate::sparse::{Format, Formats, MatrixStorage, RowShape};
use crate::{Error, Result};

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

/// Chooses the format of the matrix. `shape` returns the rows of this rank; it is called only if no format was given. All ranks call this
/// together.
///
/// # Errors
/// [`Error::Invalid`] for halves of a matrix that is not symmetric; an error of `shape`, on all ranks.
pub(super) fn choose<S: Formats>(
    deck: &Deck,
    is_symmetric: bool,
    shape: impl FnOnce() -> Result<RowShape>,
    comm: &dyn Communicator,
) -> Result<ChosenFormat> {
    let chosen = |format, reason: &str| Ok(ChosenFormat { format, reason: reason.into(), bytes: 0 });
    if let Choice::Given(format) = deck.matrix.format {
        if format == Format::Symmetric && !is_symmetric {
            let this = deck.described();
            let why = format!(
                "matrix.format (--format): symmetric: the matrix of problem {this} is not; choose another format"
            );
            return Err(Error::Invalid(why));
        }
        return chosen(format, "given");
    }
    let (format, reason) = S::BY_ROWS(agree(comm, shape())?, deck.storage::<S>().keeps_crs);
    let is_common = alike(comm, &format.to_string());
    if is_common { chosen(format, reason) } else { chosen(S::FORMAT, "rows differ between ranks") }
}

/// The storage that a run is expected to use, for forecasts of memory. Ranks that would choose differently are not foreseen, and padding is
/// that of whole lines of nodes: just above or below the limit of padding, the run may choose another format.
pub(in crate::run) fn expected<S: Formats>(deck: &Deck, shape: RowShape) -> MatrixStorage {
    let storage = deck.storage::<S>();
    match deck.matrix.format {
        Choice::Given(_) => storage,
        Choice::Auto => MatrixStorage { format: S::BY_ROWS(shape, storage.keeps_crs).0, ..storage },
    }
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
        RowShape { rows, entries, padded: entries + entries * more / 100, longest, irregular: 0, is_symmetric }
    }

    fn chosen(deck: &Deck, shape: RowShape) -> Format {
        choose::<Cuda>(deck, shape.is_symmetric, || Ok(shape), &Solo).unwrap().format
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
        assert_eq!(choose::<Threads>(&deck, true, || Ok(usual), &Solo).unwrap().format, Format::Symmetric);
        // A host's forecast, too: symmetric halves for many rows of a symmetric matrix only.
        let on_host = |is_symmetric| expected::<Threads>(&deck, shape(is_symmetric, many, [27, 27], 0)).format;
        assert_eq!([true, false].map(on_host), [Format::Symmetric, Format::Pattern]);
        deck.matrix.format = Choice::Given(Format::Pattern);
        assert_eq!(chosen(&deck, usual), Format::Pattern);
        deck.matrix.format = Choice::Given(Format::Symmetric);
        assert_eq!(chosen(&deck, shape(true, 1, [1, 1], 0)), Format::Symmetric);
        let refused = choose::<Cuda>(&deck, false, || unreachable!(), &Solo).unwrap_err().to_string();
        assert!(refused.contains("--format): symmetric: the matrix of problem heat on hex8 is not"), "{refused}");
    }

    #[test]
    fn one_rank_with_few_rows_decides_for_all() {
        let of_rank = |few: usize| {
            on_ranks(3, |comm| {
                let rows = if comm.rank() == few { 1000 } else { 1 << 18 };
                choose::<Cuda>(&Deck::default(), true, || Ok(shape(true, rows, [27, 27], 1)), comm).unwrap().format
            })
        };
        assert_eq!(of_rank(3), [Format::Symmetric; 3]);
        assert_eq!(of_rank(1), [Format::Pattern; 3]);
    }
}
