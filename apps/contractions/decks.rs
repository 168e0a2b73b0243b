//! The decks of a run, all read and looked at before any work is done.

use crate::args::Args;
use crate::peers::Libraries;
use minifenl::run::sweep::SweepDeck;
use minifenl::{Error, Result};

/// In the order of the command line; two of one name, which would write over each other's table, are refused.
pub fn read(args: &Args, peers: &Libraries) -> Result<Vec<SweepDeck>> {
    let decks = args.decks.iter().map(|path| SweepDeck::read(path, peers)).collect::<Result<Vec<_>>>()?;
    for (i, deck) in decks.iter().enumerate() {
        if let Some(first) = decks[..i].iter().position(|other| other.name == deck.name) {
            let [first, second] = [first, i].map(|at| args.decks[at].display());
            return Err(Error::Invalid(format!(
                "{first} and {second} are both named {:?} and would write over each other's table",
                deck.name
            )));
        }
    }
    Ok(if args.quick { decks.into_iter().map(SweepDeck::quick).collect() } else { decks })
}
