//! Sets of algorithms by name: those of the papers from which this program comes, and the fastest. A preset chooses what the deck leaves
//! to the program as `auto`.

use crate::space::named_choice;

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
