//! PLACEHOLDER of the driver: it has the shape that the program calls, and solves nothing.

use super::{Deck, Progress, Report};
use crate::{Error, Result};

/// Solves the problem that the deck describes.
///
/// # Errors
/// Always, until the driver replaces this file.
pub fn solve(deck: &Deck, progress: &mut dyn Progress) -> Result<Report> {
    progress.phase("graph");
    let nodes = deck.nodes(1)?;
    Err(Error::Mpi(format!("the driver is not part of this build ({nodes} nodes asked for)")))
}
