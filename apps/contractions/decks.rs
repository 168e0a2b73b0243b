//! The decks of a run, all read and looked at before any work is done.

use crate::args::Args;
use crate::peers::Libraries;
use minifenl::run::sweep::SweepDeck;
use minifenl::{Error, Result};

/// In the order of the command line; two that would write over each other's table or figures are refused.
pub fn read(args: &Args, peers: &Libraries) -> Result<Vec<SweepDeck>> {
    let decks = args.decks.iter().map(|path| SweepDeck::read(path, peers)).collect::<Result<Vec<_>>>()?;
    for (i, deck) in decks.iter().enumerate() {
        for (other, path) in decks[..i].iter().zip(&args.decks) {
            let shared = files(deck).into_iter().find(|file| files(other).contains(file));
            if let Some(file) = shared {
                let [first, second] = [path, &args.decks[i]].map(|path| path.display());
                return Err(Error::Invalid(format!(
                    "{first} and {second} would both write {file}: name one otherwise"
                )));
            }
        }
    }
    Ok(if args.quick { decks.into_iter().map(SweepDeck::quick).collect() } else { decks })
}

/// Of a deck, the table first; as patterns: a figure has a file for each precision.
fn files(deck: &SweepDeck) -> Vec<String> {
    let figures = deck.plot.iter().map(|plot| format!("{}-{}-*.svg", deck.name, plot.name));
    std::iter::once(format!("{}.csv", deck.name)).chain(figures).collect()
}
