//! Sets of algorithms by name: those of the papers from which this program comes, and the fastest. A preset chooses what the deck leaves
//! to the program as `auto`.

use super::{Choice, Deck, RowLanes};
use crate::space::{Scan, named_choice};
use crate::{fill, graph, solve::CgVariant, sparse::Format};

named_choice! { "preset";
    /// Algorithms of the settings that a deck leaves at `auto`.
    #[derive(Default)]
    pub enum Preset {
        /// Those of `inputs/papers.toml`: node pairs in a concurrent map, a parallel scan, atomic scatter-add, Intrepid's contractions, CRS, a thread per row
        /// on a CPU and a warp per row on a GPU, classic CG.
        #[default]
        Papers = "papers",
        /// The fastest on the device.
        Fast = "fast",
        /// Earlier name of `papers`.
        Seeds = "seeds",
    }
}

impl Deck {
    /// Returns the deck with the algorithms of its preset in place of `auto`. Of the preset `papers` a deterministic run gathers instead
    /// of adding atomically.
    pub(in crate::run) fn resolved(&self) -> Deck {
        let mut deck = self.clone();
        if deck.run.preset == Preset::Fast || !deck.has_matrix() {
            return deck;
        }
        let strategy = if deck.run.deterministic { fill::Strategy::Gather } else { fill::Strategy::Scatter };
        deck.graph.strategy = Choice::Given(deck.graph.strategy.or(graph::Strategy::Map));
        if deck.graph.scan == Scan::Auto {
            deck.graph.scan = Scan::Parallel;
        }
        deck.fill.strategy = Choice::Given(deck.fill.strategy.or(strategy));
        deck.fill.kernel = Choice::Given(deck.fill.kernel.or(fill::Kernel::Intrepid));
        deck.matrix.format = Choice::Given(deck.matrix.format.or(Format::Crs));
        deck.cg.variant = Choice::Given(deck.cg.variant.or(CgVariant::Classic));
        if deck.matrix.lanes == RowLanes::Auto {
            deck.matrix.lanes = RowLanes::Warp;
        }
        deck
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_preset_is_the_deck_of_the_papers() {
        let written = Deck::parse("papers.toml", include_str!("../../../inputs/papers.toml")).unwrap();
        assert_eq!(Deck::default().resolved(), written);
        assert_eq!(written.resolved(), written, "every algorithm is written out");
        let mut fast = Deck::default();
        fast.run.preset = Preset::Fast;
        assert_eq!(fast.resolved(), fast);
    }

    #[test]
    fn given_settings_stay_and_what_papers_cannot_do_is_replaced() {
        let mut deck = Deck::default();
        deck.fill.strategy = Choice::Given(fill::Strategy::Colour);
        deck.matrix.lanes = "8".parse().unwrap();
        let resolved = deck.resolved();
        assert_eq!((resolved.fill.strategy, resolved.matrix.lanes), (deck.fill.strategy, deck.matrix.lanes));
        assert_eq!(resolved.graph.strategy, Choice::Given(graph::Strategy::Map));
        (deck.fill.strategy, deck.run.deterministic) = (Choice::Auto, true);
        assert_eq!(deck.resolved().fill.strategy, Choice::Given(fill::Strategy::Gather));
        deck.cg.operator = "matrix-free".parse().unwrap();
        assert_eq!(deck.resolved(), deck, "nothing is stored");
    }
}
