//! Decks with one fault each, and what is said about it.

use super::*;
use crate::sweep::NoPeers;

const GOOD: &str = "name = 'x'\ntitle = ''\n[[sweep]]\nkernels = ['data_data_scalar']\nvariants = ['*']\n\
    precisions = ['f64']\nlayouts = ['left']\nhost_layouts = ['right']\nfields = [[1, 1]]\npoints = [8]\n\
    dims = [[1, 1]]\nmemory_mib = [1]\n[[plot]]\nname = 'p'\ntitle = ''\nkind = 'lines'\nvariants = ['serial']\n\
    x = 'cells'\nmemory_mib = 1\n";

fn error(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    SweepDeck::parse(&GOOD.replacen(from, to, 1), &NoPeers).err().map_or(String::new(), |error| error.to_string())
}

#[test]
fn mistakes_are_named() {
    for (from, to, part) in [
        ("'x'", "'a/b'", "name: \"a/b\" is part of a file's name"),
        ("'x'", "''", "name: \"\""),
        ("'x'", "'.'", "name: \".\" is part of a file's name: a letter or digit, then"),
        ("'x'", "'..'", "name: \"..\" is"),
        ("'x'", "'.hidden'", "name: \".hidden\" is"),
        ("'x'", "'-force'", "name: \"-force\" is"),
        ("'x'", "\"a\\nb\"", "name: \"a\\nb\" is"),
        ("'x'", "\"a\\u001b[2J\"", "name: \"a\\u{1b}[2J\" is"),
        ("'p'", "'..'", "plot \"..\": name: \"..\" is"),
        ("'data_data_scalar'", "'dot'", "sweep 1: contraction \"dot\": choose one of field_field_scalar"),
        ("'left'", "'up'", "layout \"up\""),
        ("points = [8]", "points = [8, 0]", "sweep 1: points: 0 is not a whole number from 1 to 2^20"),
        (
            "points = [8]",
            "points = [-8]",
            "line 10: points: invalid value: integer `-8`, expected a whole number, 1 or more",
        ),
        ("dims = [[1, 1]]", "dims = [[1, 1.5]]", "line 11: dims: invalid type"),
        ("dims = [[1, 1]]", "dims = [[2, 3, 4]]", "line 11: dims: [2, 3, 4] is not two numbers"),
        ("fields = [[1, 1]]", "fields = [[4]]", "fields: [4] is not two numbers"),
        ("points = [8]", "points = 8", "points: invalid type: integer `8`, expected a list, in [ ]"),
        ("memory_mib = [1]", "memory_mib = ['1']", "expected a number"),
        ("[[plot]]", "[plot]", "a table that there may be several of is written [[...]]"),
        ("dims = [[1, 1]]", "dims = [[1, 9999999]]", "dims: 9999999 is not"),
        ("memory_mib = [1]", "memory_mib = [-1.5]", "memory_mib: -1.5 is not above 0"),
        ("kind = 'lines'", "kind = 'bars'", "plot \"p\": kind \"bars\": choose heat or lines"),
        ("kind = 'lines'", "kind = 'heat'", "plot \"p\": a heat map"),
        ("x = 'cells'", "x = 'cell'", "plot \"p\": x \"cell\": choose one of terms, memory, cells"),
        ("memory_mib = 1\n", "memory_mib = 2\n", "plot \"p\": memory_mib: 2 is in none"),
        (
            "[[plot]]",
            "[[plot]]\nname = 'p'\ntitle = ''\nkind = 'lines'\nvariants = ['loops']\n[[plot]]",
            "another plot",
        ),
    ] {
        let error = error(from, to);
        assert!(error.contains(part) && error.lines().count() == 1, "{to}: {error}");
    }
}

#[test]
fn a_name_has_80_letters_at_most() {
    assert_eq!(error("'x'", &format!("'{}'", "x".repeat(80))), "");
    let long = error("'x'", &format!("'{}'", "x".repeat(1000)));
    assert!(long.contains("80 at most") && long.len() < 300, "{long}");
}

#[test]
fn sizes_that_no_machine_holds_are_refused() {
    let most = "1048576";
    let all = format!(
        "name = 'x'\ntitle = ''\n[[sweep]]\nkernels = ['field_field_tensor']\nvariants = []\nprecisions = ['f32']\n\
         layouts = []\nfields = [[{most}, {most}]]\npoints = [{most}]\ndims = [[{most}, {most}]]\nmemory_mib = [1]\n"
    );
    let error = SweepDeck::parse(&all, &NoPeers).unwrap_err().to_string();
    let said = "sweep 1: one cell of field_field_tensor with fields [1048576, 1048576], 1048576 points and dims [1048576, 1048576] \
                has more than 2^60 bytes";
    assert_eq!(error, said);
    // A kernel without fields and dimensions has none of them.
    assert!(SweepDeck::parse(&all.replace("field_field_tensor", "data_data_scalar"), &NoPeers).is_ok());
    // Large, but possible; a quick run would not be quick.
    let large =
        all.replace("field_field_tensor", "data_data_vector").replace(&format!("points = [{most}]"), "points = [64]");
    let error = SweepDeck::parse(&large, &NoPeers).unwrap().quick().unwrap_err().to_string();
    assert!(
        error.starts_with("sweep 1: one cell of data_data_vector ") && error.contains("has 512 MiB: too large"),
        "{error}"
    );
}

#[test]
fn titles_of_a_quick_run_have_its_own_sizes() {
    let titled = |deck: &str, plot: &str, memory: &str| {
        let text = GOOD.replacen("title = ''", &format!("title = '{deck}'"), 1);
        let text = text.replacen("title = ''", &format!("title = '{plot}'"), 1).replacen("memory_mib = [1]", memory, 1);
        let text = text.replacen("memory_mib = 1\n", "memory_mib = 1024\n", 1);
        let deck = SweepDeck::parse(&text, &NoPeers).unwrap().quick().unwrap();
        [deck.title, deck.plot[0].title.clone()]
    };
    let titles = titled("All, 1 GiB, every one", "A 8 x 8, 1 GiB", "memory_mib = [1, 1024]");
    assert_eq!(titles, ["All, 0.0625 and 0.125 MiB, every one (quick run)", "A 8 x 8, 0.125 MiB (quick run)"]);
    // Neither 11 GiB nor 2.1 GiB is 1 GiB; 1024 MiB is.
    let titles = titled("11 GiB and 2.1 GiB", "1024 MiB", "memory_mib = [1024]");
    assert_eq!(titles, ["11 GiB and 2.1 GiB (quick run)", "0.125 MiB (quick run)"]);
}

#[test]
fn lists_without_items_are_refused_but_for_either_side() {
    for (field, full) in [
        ("kernels", "['data_data_scalar']"),
        ("precisions", "['f64']"),
        ("fields", "[[1, 1]]"),
        ("points", "[8]"),
        ("dims", "[[1, 1]]"),
        ("memory_mib", "[1]"),
    ] {
        let error = error(&format!("{field} = {full}"), &format!("{field} = []"));
        assert_eq!(error, format!("sweep 1: {field} is empty: there is nothing to measure"));
    }
    assert!(error("variants = ['serial']", "variants = []").starts_with("plot \"p\": variants is empty"));
    let none = SweepDeck::parse("name = 'x'\ntitle = ''\nsweep = []", &NoPeers).unwrap_err().to_string();
    assert!(none.starts_with("sweep is empty"), "{none}");
    for field in ["layouts = ['left']", "variants = ['*']"] {
        let name = field.split(' ').next().unwrap();
        assert_eq!(error(field, &format!("{name} = []")), "");
        let both = GOOD.replacen(field, &format!("{name} = []"), 1).replacen("['right']", "[]", 1);
        let error = SweepDeck::parse(&both, &NoPeers).unwrap_err().to_string();
        assert!(error.contains(&format!("{name} and host_layouts are empty")), "{error}");
    }
    let gpu = GOOD.replacen("['right']", "[]", 1).replacen("['serial']", "['flat']", 1);
    assert!(SweepDeck::parse(&gpu, &NoPeers).is_ok());
}

/// A sweep of `variants` with lines of `drawn`, over `over`.
fn parse(variants: &str, more: &str, drawn: &str, over: &str, peers: &impl Peers) -> Result<SweepDeck> {
    let text = format!(
        "name='x'\ntitle=''\n[[sweep]]\nkernels=['data_data_scalar']\nvariants=[{variants}]\nprecisions=['f64']\n\
         layouts=['left']\n{more}\npoints=[8]\nmemory_mib=[1]\n\
         [[plot]]\nname='p'\ntitle=''\nkind='lines'\nvariants=[{drawn}]\n{over}"
    );
    SweepDeck::parse(&text, peers)
}

#[cfg(feature = "cuda")]
#[test]
fn names_that_fit_nothing_are_refused() {
    for (variants, more, drawn, over, part) in [
        ("'magic'", "", "'serial'", "", "sweep 1: variants: \"magic\" fits none of auto, "),
        ("'flat', 'tyle-*'", "", "'flat'", "", "sweep 1: variants: \"tyle-*\" fits none of auto, "),
        (
            "'flat'",
            "",
            "'flat', 'magic'",
            "",
            "plot \"p\": variants: \"magic\" fits none of those that the deck's sweeps measure: flat, ",
        ),
        (
            "'flat'",
            "",
            "'tile16'",
            "",
            "\"tile16\" fits none of those that the deck's sweeps measure: flat, loops, serial, threads",
        ),
        ("'flat'", "host_layouts=[]", "'serial'", "", "measure: flat"),
        ("'flat'", "", "'flat'", "over='lops'", "plot \"p\": over: \"lops\" fits none of those"),
        ("'*'", "", "'flat'", "over='fl*'", "plot \"p\": over: \"fl*\""),
        ("'cublas-gemm'", "", "'serial'", "", "\"cublas-gemm\" fits none"),
    ] {
        let error = parse(variants, more, drawn, over, &NoPeers).unwrap_err().to_string();
        assert!(error.contains(part) && error.lines().count() == 1, "{error}");
    }
}

#[cfg(not(feature = "cuda"))]
#[test]
fn names_that_cannot_be_known_are_not_refused() {
    parse("'magic'", "", "'magic'", "over='lops'", &NoPeers).unwrap();
}

#[test]
fn variants_the_host_and_peers_are_known() {
    struct Some;
    impl Peers for Some {
        fn host_names(&self) -> &'static [&'static str] {
            &["product"]
        }
        fn gpu_names(&self) -> &'static [&'static str] {
            &["library-a", "library-b"]
        }
        fn absent_names(&self) -> &'static [&'static str] {
            &["elsewhere"]
        }
    }
    parse("'flat', 'tile*'", "", "'tile-*', 'loops', 'product', 'library-*', 'elsewhere'", "over='flat'", &Some)
        .unwrap();
    parse("'*', 'serial', 'library-b'", "host_layouts=[]", "'dmma*'", "over='library-a'", &Some).unwrap();
    assert!(parse("", "", "'threads'", "over='serial'", &NoPeers).is_ok());
}
