//! Decks by name: the fastest algorithms, and those of the papers from which this program comes.

use super::Deck;
use crate::Result;
use crate::space::named_choice;

named_choice! { "preset";
    /// A deck that the program brings along.
    #[derive(Default)]
    pub enum Preset {
        /// The algorithms that are fastest here: the default deck.
        #[default]
        Fast = "fast",
        /// `inputs/seeds.toml`: node pairs in a concurrent map, atomic scatter-add, contraction kernels, CRS.
        Seeds = "seeds",
    }
}

impl Preset {
    /// The deck of the preset.
    ///
    /// # Errors
    /// None for the decks that this file names, which a test reads.
    pub fn deck(self) -> Result<Deck> {
        match self {
            Preset::Fast => Ok(Deck::default()),
            Preset::Seeds => Deck::parse("inputs/seeds.toml", include_str!("../../../inputs/seeds.toml")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::deck::{Choice, RowLanes};
    use crate::solve::CgVariant;
    use crate::sparse::Format;
    use crate::{fill, graph};

    #[test]
    fn presets_have_their_algorithms_and_no_mesh_of_their_own() {
        let (fast, seeds) = (Preset::Fast.deck().unwrap(), Preset::Seeds.deck().unwrap());
        assert_eq!(fast, Deck::default());
        assert_eq!(seeds.graph.strategy, graph::Strategy::Map);
        assert_eq!(seeds.fill.strategy, Choice::Given(fill::Strategy::Scatter));
        assert_eq!(seeds.fill.kernel, Choice::Given(fill::Kernel::Table));
        assert_eq!((seeds.matrix.format, seeds.matrix.lanes), (Choice::Given(Format::Crs), RowLanes::Warp));
        assert_eq!(seeds.cg.variant, Choice::Given(CgVariant::Classic));
        let algorithms = Deck {
            graph: seeds.graph.clone(),
            fill: seeds.fill.clone(),
            matrix: seeds.matrix.clone(),
            cg: seeds.cg.clone(),
            ..Deck::default()
        };
        assert_eq!(algorithms, seeds, "the problem and its tolerances are those of the default deck");
        assert_eq!((seeds.cg_tolerance(), seeds.cg.max_iterations), (fast.cg_tolerance(), fast.cg.max_iterations));
    }
}
