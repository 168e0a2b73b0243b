use super::*;
use crate::element::ElementType;
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
    assert_eq!((deck.newton_tolerance([64; 3]), deck.cg.max_iterations), (1e-8, 10_000));
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
        ("[mesh]\nnodes = \"8x8\"", "line 2", "mesh.nodes: invalid size `8x8`: expected N or NxNxN"),
        ("[mesh]\nnodes = 3000000000", "line 2", "64 bits"),
        ("[mesh]\nmap = \"fold\"", "line 2", "coordinate map `fold`"),
        ("[graph]\nstrategy = \"magic\"", "line 2", "magic"),
        ("[mesh", "line 1", "[mesh"),
        ("[mesh]\nnodes = 3\nnodes_per_rank = 3", "mesh.nodes", "one of them"),
        ("[mesh]\nsize = [1, 0, 1]", "mesh.size", "positive"),
        ("[mesh]\nimbalance = -1", "mesh.imbalance", "give per cent from 0 to 1e6"),
        ("[mesh]\nimbalance = nan", "mesh.imbalance", "give per cent from 0 to 1e6"),
        ("[problem]\nt_min = nan", "problem.t_min", "NaN"),
        ("[problem]\nt_max = -1", "problem.t_max", "-1"),
        ("[problem]\nt_max = 1", "problem.t_max", "equal"),
        ("[cg]\ntolerance = 1", "cg.tolerance", "between 0 and 1"),
        ("[newton]\nmax_iterations = 0", "newton.max_iterations", "1 or more"),
        ("[run]\nthreads = 0", "run.threads", "--threads"),
        ("[run]\ntimeout = 0", "run.timeout", "above 0"),
        ("[run]\ntimeout = inf", "run.timeout", "--timeout"),
        ("[matrix]\nformat = \"csr\"", "line 2", "auto, crs, pattern"),
        ("[run]\ndevice = \"gpu\"", "line 2", "auto, cpu, cuda, cuda:K"),
        // Neither sections nor numbers by position, and no surplus items.
        ("problem = [3.0, 4.0, 5.0]", "line 1", "problem: invalid type: sequence, expected a section"),
        ("\nmesh = [8]", "line 2", "mesh: invalid type: sequence, expected a section"),
        ("[[mesh]]\nnodes = 8", "line 1", "expected a section"),
        ("mesh = 2020-01-01", "line 1", "a date"),
        ("[mesh]\nsize = [1, 1, 1, \"x\"]", "line 2", "mesh.size: invalid type: string \"x\", expected a number"),
        ("[mesh]\nsize = [\n1,\n1,\n\"x\"]", "line 5", "mesh.size"),
        ("[mesh]\nsize = [1, 1, 1, 1]", "line 2", "mesh.size: 4 numbers, expected three"),
        ("[mesh]\nsize = [1, 1]", "line 2", "mesh.size: 2 numbers, expected three"),
        ("[mesh]\nnodes = [8, 8]", "line 2", "mesh.nodes"),
        ("[mesh]\nnodes = [8, 8, 8, 8]", "line 2", "mesh.nodes"),
        (
            "[cg]\nmax_iterations = -1",
            "line 2",
            "cg.max_iterations: invalid value: integer `-1`, expected a whole number",
        ),
        ("[run]\nthreads = \"x\"", "line 2", "run.threads: invalid type: string \"x\", expected a whole number"),
        ("[run]\ntriad = 1", "line 2", "run.triad: invalid type: integer `1`, expected true or false"),
        ("[run]\nthreads = 100000", "run.threads (--threads): 100000: ", "or fewer"),
        ("[run]\nreport = \"\"", "run.report (--report)", "file name"),
        ("[mesh]\nnodes = 3\nnodes = 4", "line 3", "duplicate key"),
    ];
    for (text, first, second) in cases {
        let message = message(text);
        assert!(message.contains(first) && message.contains(second), "{text:?}: {message}");
    }
}

/// Thirty numbers, depth and dots without limit: refused with the line, and without a stack overflow.
#[test]
fn long_and_deep_decks_are_refused_with_their_line() {
    let many = "1, ".repeat(30);
    assert!(message(&format!("[mesh]\nsize = [{many}]")).contains("line 2: `size = ["));
    for deep in ["[".repeat(100_000), "{a=".repeat(100_000), "[".repeat(200) + &"]".repeat(200)] {
        let message = message(&format!("[mesh]\n\nnodes = {deep}"));
        assert!(message.contains("line 3: `nodes = ") && message.contains("recurse"), "{message}");
        assert!(message.len() < 250, "{message}");
    }
    let dots = format!("[mesh]\nnodes = 8\na{} = 1\n[run]\n", ".a".repeat(100_000));
    assert!(message(&dots).contains("line 3: `a.a.a.a"));
    let name = "x".repeat(100_000);
    for text in [format!("[mesh]\n{name} = 1"), format!("[mesh]\nmap = \"{name}\"")] {
        let message = message(&text);
        assert!(message.contains(", line 2: ") && message.len() < 450, "{message}");
    }
}

#[test]
fn escape_sequences_of_a_deck_stay_out_of_its_messages() {
    for (text, part) in [
        ("[mesh]\n\"\\u001b[31mx\" = 3", "unknown field `\\u{1b}[31mx`"),
        ("[mesh]\nmap = \"a\\u001b[31m\\nb\"", "`a\\u{1b}[31m\\nb`"),
        ("[mesh]\nmap = \"\u{1b}[2J\"", "`map = \"\\u{1b}[2J\"`"),
        ("\0\0", "`\\u{0}\\u{0}`"),
        ("[mesh]\nmap = \"\u{202e}\u{9b}\"", "\\u{202e}"),
    ] {
        let message = message(text);
        assert!(message.contains(part) && !message.contains(char::is_control), "{text:?}: {message}");
    }
    let message = Deck::parse("a\u{1b}]0;b\n", "x").unwrap_err().to_string();
    assert!(message.starts_with("a\\u{1b}]0;b\\n, line 1"), "{message}");
}

#[test]
fn a_deck_is_a_regular_file_of_a_megabyte_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deck.toml");
    let message = |path: &std::path::Path| Deck::read(path).unwrap_err().to_string();
    let spaces = |length: usize| std::fs::write(&path, " ".repeat(length)).unwrap();
    spaces(1 << 20);
    assert_eq!(Deck::read(&path).unwrap(), Deck::default());
    spaces((1 << 20) + 1);
    assert!(message(&path).contains("deck.toml: larger than 1 MiB"));
    std::fs::write(&path, b"[mesh]\nnodes = 8\nmap = \"\xff\"\n").unwrap();
    assert!(message(&path).contains("deck.toml: line 3: byte 0xff is not UTF-8"));
    assert!(message(folder.path()).contains("a folder, expected a regular file"));
    #[cfg(unix)]
    assert!(message(std::path::Path::new("/dev/zero")).contains("/dev/zero: a device"));
}

/// The factors of the number of ranks, largest first, multiply the shortest axis; the edges grow with the elements.
#[test]
fn a_deterministic_run_refuses_what_adds_in_any_order() {
    let text = |fill| format!("[run]\ndeterministic = true\n[fill]\nstrategy = \"{fill}\"\n");
    for fill in ["auto", "gather", "colour"] {
        assert!(Deck::parse("deck", &text(fill)).unwrap().check().is_ok());
    }
    let refused = message(&text("scatter"));
    for part in ["run.deterministic (--deterministic)", "fill.strategy (--fill) is scatter", "gather or colour"] {
        assert!(refused.contains(part), "{refused}");
    }
    // What the study of strategies measures is no choice of a deck.
    assert!(message(&text("unsafe")).contains("choose one of auto, scatter, gather, colour"));
}

#[test]
fn a_share_of_three_different_edges_grows_as_by_hand() {
    let deck = Deck::parse("deck", "[mesh]\nnodes_per_rank = \"5x7x11\"\nsize = [1, 2, 3]").unwrap();
    for (ranks, edges, size) in [
        (1, [5, 7, 11], [1.0, 2.0, 3.0]),
        (2, [10, 7, 11], [9.0 / 4.0, 2.0, 3.0]),
        (4, [10, 14, 11], [9.0 / 4.0, 2.0 * (13.0 / 6.0), 3.0]),
        (6, [15, 14, 11], [14.0 / 4.0, 2.0 * (13.0 / 6.0), 3.0]),
    ] {
        let nodes = deck.nodes(ranks).unwrap();
        assert_eq!((nodes.edges(), deck.size(nodes)), (edges, size), "{ranks} ranks");
    }
    // Without a share, the box is what the deck says on any number of ranks.
    let deck = Deck::parse("deck", "[mesh]\nnodes = \"5x7x11\"\nsize = [1, 2, 3]").unwrap();
    let nodes = deck.nodes(6).unwrap();
    assert_eq!((nodes.edges(), deck.size(nodes)), ([5, 7, 11], [1.0, 2.0, 3.0]));
}

#[test]
fn the_box_grows_with_the_ranks() {
    let share = Nodes::new([8; 3]).unwrap();
    let grown = |ranks| share.grown(ranks).unwrap().edges();
    assert_eq!((grown(1), grown(2), grown(8)), ([8; 3], [8, 16, 8], [16; 3]));
    assert_eq!((grown(7), grown(12)), ([8, 56, 8], [16, 24, 16]));
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

/// `.cargo/config.toml` and `run-tests.sh` fix the seed.
#[test]
fn property_tests_draw_the_same_cases_in_every_run() {
    let seed = ProptestConfig::default().rng_seed;
    assert!(matches!(seed, proptest::test_runner::RngSeed::Fixed(_)), "set PROPTEST_RNG_SEED to a number: {seed:?}");
}

prop_compose! {
    fn any_deck()(
        edges in prop::array::uniform3(2u64..1 << 20), per_rank: bool, size in prop::array::uniform3(1e-3..1e3f64),
        map in 0usize..3, amplitude in -2.0..2.0f64, t in (0.1..10.0f64, 11.0..20.0f64), graph in 0usize..4, fill in 0usize..3,
        kernel in 0usize..2, tolerance in 1e-15..0.9f64, limit in 1usize..100_000, threads in prop::option::of(1usize..64),
        triad in prop::option::of(any::<bool>()), device in 0usize..5, format in 0usize..4,
    ) -> Deck {
        let mut deck = Deck::default();
        let nodes = Nodes::new(edges).ok();
        (deck.mesh.nodes, deck.mesh.nodes_per_rank) = if per_rank { (None, nodes) } else { (nodes, None) };
        deck.mesh.size = size;
        deck.mesh.imbalance = 10.0 * t.0;
        deck.mesh.map = [CoordinateMap::None, CoordinateMap::Bubble(amplitude), CoordinateMap::Twist(amplitude)][map];
        (deck.problem.t_min, deck.problem.t_max) = t;
        deck.graph.strategy = Choice::Given(graph::Strategy::ALL[graph].0);
        deck.run.preset = Preset::ALL[fill].0;
        deck.fill.strategy = Choice::Given(fill::Strategy::ALL[fill].0);
        deck.fill.kernel = Choice::Given(fill::Kernel::ALL[kernel].0);
        (deck.cg.tolerance, deck.newton.max_iterations) = (Some(tolerance), limit);
        (deck.run.threads, deck.run.triad) = (threads, triad);
        deck.run.device = [Device::Auto, Device::Cpu, Device::Cuda(None), Device::Cuda(Some(1)), Device::Cuda(Some(77))][device];
        deck.matrix.format = ["auto", "crs", "pattern", "symmetric"][format].parse().unwrap();
        deck
    }
}

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

#[test]
fn problems_and_elements_go_together_with_what_has_a_meaning() {
    let refused = |text: &str| {
        let deck = Deck::parse("deck", text).unwrap();
        deck.nodes(2).unwrap_err().to_string()
    };
    for (text, start, part) in [
        ("[mesh]\nelement = \"quad4\"", "mesh.element (--element): quad4: ", "wedge6"),
        ("[mesh]\nelement = \"hex27\"\nnodes = 8", "mesh.nodes (--nodes): 8 nodes", "such as 9"),
        ("[mesh]\nelement = \"tet10\"\nnodes_per_rank = 9", "mesh.nodes (--nodes): 18 nodes", "odd numbers"),
        ("[problem]\nkind = \"poisson\"\nt_min = 0.5", "problem.t_min (--t-min): 0.5: ", "is poisson"),
        (
            "[problem]\nkind = \"minife\"\n[mesh]\nsize = [1.0, 1.0, 2.0]",
            "problem.kind (--problem): minife: ",
            "unit cube",
        ),
    ] {
        let message = refused(text);
        assert!(message.starts_with(start) && message.contains(part), "{message}");
    }
    let message = Deck::parse("deck", "[problem]\nkind = \"stokes\"").unwrap_err().to_string();
    assert!(message.contains("heat, poisson, diffusion, elasticity, minife"), "{message}");
    let nodes = |text: &str| Deck::parse("deck", text).unwrap().nodes(1).unwrap().edges()[0];
    assert_eq!((nodes(""), nodes("[mesh]\nelement = \"tet4\""), nodes("[mesh]\nelement = \"hex20\"")), (64, 64, 65));
}

#[test]
fn the_brick_of_minife_takes_200_iterations_unless_told_otherwise() {
    let iterations = |more: &str| {
        let deck = Deck::parse("deck", &format!("[problem]\nkind = \"minife\"\n{more}")).unwrap();
        deck.cg_iterations()
    };
    assert_eq!(iterations(""), Some(200));
    assert_eq!((iterations("[cg]\niterations = 7"), iterations("[cg]\ntolerance = 1e-6")), (Some(7), None));
    // A tolerance that is given counts, also that of other problems.
    assert_eq!(iterations("[cg]\ntolerance = 1e-8"), None);
    assert_eq!((Deck::default().cg_iterations(), Deck::default().cg_tolerance()), (None, 1e-8));
    let mut fine = Deck::default();
    for (element, tolerance) in [(ElementType::Tet10, 1e-11), (ElementType::Hex27, 1e-11), (ElementType::Wedge6, 1e-8)]
    {
        fine.mesh.element = element;
        assert_eq!(fine.cg_tolerance(), tolerance, "{element}");
    }
    // 4^-3.5 is 2^-7.
    for (nodes, tolerance) in [([2, 384, 3], 1e-8), ([2, 1536, 3], 1e-8 / 128.0)] {
        assert_eq!(fine.newton_tolerance(nodes), tolerance, "{nodes:?}");
    }
    fine.newton.tolerance = Some(1e-8);
    assert_eq!(fine.newton_tolerance([2048; 3]), 1e-8);
    fine.cg.tolerance = Some(0.1);
    assert_eq!(fine.cg_tolerance(), 0.1);
}
