use super::*;
use crate::mesh::CoordinateMap;
use crate::{fill, graph};
use proptest::prelude::*;

fn message(text: &str) -> String {
    let deck = Deck::parse("deck.toml", text).and_then(|deck| deck.nodes(1));
    let message = deck.unwrap_err().to_string();
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn an_empty_deck_is_the_default() {
    let deck = Deck::parse("deck", "").unwrap();
    assert_eq!(deck, Deck::default());
    assert_eq!((deck.newton.tolerance, deck.cg.max_iterations), (1e-7, 2000));
    assert_eq!(deck.nodes(1).unwrap().edges(), [64; 3]);
}

#[test]
fn nodes_are_read_in_three_spellings() {
    for text in ["[64, 48, 32]", "\"64x48x32\""] {
        let deck = Deck::parse("deck", &format!("[mesh]\nnodes = {text}")).unwrap();
        assert_eq!(deck.mesh.nodes.unwrap().edges(), [64, 48, 32]);
    }
}

#[test]
fn refusals_name_key_and_line() {
    let cases = [
        ("[mesh]\nnodez = 3", "line 2", "nodez"),
        ("[mesh]\n\nnodes = 0", "line 3", "nodes = 0"),
        ("[mesh]\nnodes = -3", "line 2", "negative"),
        ("[mesh]\nnodes = \"8x8\"", "line 2", "one or three"),
        ("[mesh]\nnodes = 3000000000", "line 2", "64 bits"),
        ("[mesh]\nmap = \"fold\"", "line 2", "coordinate map `fold`"),
        ("[graph]\nstrategy = \"magic\"", "line 2", "magic"),
        ("[mesh", "line 1", "[mesh"),
        ("[mesh]\nnodes = 3\nnodes_per_rank = 3", "mesh.nodes", "one of them"),
        ("[mesh]\nsize = [1, 0, 1]", "mesh.size", "positive"),
        ("[problem]\nt_min = nan", "problem.t_min", "NaN"),
        ("[problem]\nt_max = -1", "problem.t_max", "-1"),
        ("[problem]\nt_max = 1", "problem.t_max", "equal"),
        ("[cg]\ntolerance = 1", "cg.tolerance", "between 0 and 1"),
        ("[newton]\nmax_iterations = 0", "newton.max_iterations", "1 or more"),
        ("[run]\nthreads = 0", "run.threads", "--threads"),
        ("[matrix]\nformat = \"csr\"", "line 2", "auto, crs, sell, pattern"),
        ("[run]\ndevice = \"gpu\"", "line 2", "auto, cpu, cuda, cuda:K"),
    ];
    for (text, first, second) in cases {
        let message = message(text);
        assert!(message.contains(first) && message.contains(second), "{text:?}: {message}");
    }
}

#[test]
fn the_box_grows_with_the_ranks() {
    let share = Nodes::new([8; 3]).unwrap();
    let grown = |ranks| share.grown(ranks).unwrap().edges();
    assert_eq!((grown(1), grown(2), grown(8)), ([8; 3], [16, 8, 8], [16; 3]));
    assert_eq!((grown(7), grown(12)), ([56, 8, 8], [24, 16, 16]));
}

#[test]
fn the_decks_of_inputs_are_valid() {
    // Set by cargo, and where the tests run without it.
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(format!("{root}/inputs")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        Deck::read(&path).unwrap().nodes(1).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("# "), "{path:?} says nothing");
        count += 1;
    }
    assert!(count >= 4);
}

prop_compose! {
    fn any_deck()(
        edges in prop::array::uniform3(2u64..1 << 20), per_rank: bool, size in prop::array::uniform3(1e-3..1e3f64),
        map in 0usize..3, amplitude in -2.0..2.0f64, t in (0.1..10.0f64, 11.0..20.0f64), graph in 0usize..4, fill in 0usize..3,
        kernel in 0usize..2, tolerance in 1e-15..0.9f64, limit in 1usize..100_000, threads in prop::option::of(1usize..64),
        triad: bool, device in 0usize..5, format in 0usize..4,
    ) -> Deck {
        let mut deck = Deck::default();
        let nodes = Nodes::new(edges).ok();
        (deck.mesh.nodes, deck.mesh.nodes_per_rank) = if per_rank { (None, nodes) } else { (nodes, None) };
        deck.mesh.size = size;
        deck.mesh.map = [CoordinateMap::None, CoordinateMap::Bubble(amplitude), CoordinateMap::Twist(amplitude)][map];
        (deck.problem.t_min, deck.problem.t_max) = t;
        deck.graph.strategy = graph::Strategy::ALL[graph].0;
        deck.fill.strategy = Choice::Given(fill::Strategy::ALL[fill].0);
        deck.fill.kernel = fill::Kernel::ALL[kernel].0;
        (deck.cg.tolerance, deck.newton.max_iterations) = (tolerance, limit);
        (deck.run.threads, deck.run.triad) = (threads, triad);
        deck.run.device = [Device::Auto, Device::Cpu, Device::Cuda(None), Device::Cuda(Some(1)), Device::Cuda(Some(77))][device];
        deck.matrix.format = ["auto", "crs", "sell", "pattern"][format].parse().unwrap();
        deck
    }
}

proptest! {
    #[test]
    fn a_dumped_deck_parses_to_itself(deck in any_deck()) {
        prop_assert_eq!(Deck::parse("dump", &deck.to_toml().unwrap()).unwrap(), deck.clone());
        prop_assert!(deck.check().is_ok());
    }

    #[test]
    fn random_text_is_refused_in_one_line_or_taken(text in "(\\[(mesh|cg|run)\\]|nodes|map|size|=|[0-9x.\"-]{1,4}|\\n|\\PC| ){0,30}") {
        if let Err(error) = Deck::parse("deck", &text).and_then(|deck| deck.nodes(3)) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }

    #[test]
    fn random_sizes_never_panic(text in "\\PC{0,12}", ranks: u64) {
        let _ = text.parse::<Nodes>().and_then(|nodes| nodes.grown(ranks % 100_000));
    }
}
