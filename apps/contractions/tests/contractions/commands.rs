//! The sweep of the contractions as a user meets it: decks, tables, figures, claims, mistakes and exit codes.

use std::path::Path;
use support::root;

fn run(args: &[&str]) -> (i32, String, String) {
    support::run("minifenl-contractions", args)
}

fn decks() -> Vec<String> {
    let folder = root().join("inputs/contractions");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut decks: Vec<_> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    decks.sort();
    decks.push(folder.join("check/sanitizer.toml"));
    decks.iter().map(|path| path.to_str().unwrap().into()).collect()
}

#[test]
fn every_deck_runs_on_the_cpu_and_answers_claims() {
    let (dir, decks) = (tempfile::tempdir().unwrap(), decks());
    assert!(decks.len() >= 13);
    let out = dir.path().to_str().unwrap();
    let mut args: Vec<&str> = decks.iter().map(String::as_str).collect();
    args.extend(["--device", "cpu", "--quick", "--threads", "2", "--out", out]);
    let (code, text, err) = run(&args);
    assert_eq!((code, err.as_str()), (0, ""), "{text}");
    for deck in &decks {
        let name = Path::new(deck).file_stem().unwrap().to_str().unwrap();
        assert!(text.contains(&format!("{name}: ")), "{text}");
        let table = std::fs::read_to_string(dir.path().join(format!("{name}.csv"))).unwrap();
        let comments = table.lines().take_while(|line| line.starts_with('#')).count();
        let header = "kernel,variant,layout,precision,L,R,P,D,cells,bytes,flops,median_ms,";
        assert!(comments > 2 && table.lines().nth(comments).unwrap().starts_with(header), "{table}");
        // A deck of the GPU alone says so.
        let host = !std::fs::read_to_string(deck).unwrap().contains("host_layouts = []");
        assert_eq!((host, false), (table.contains(",threads,"), table.contains("wrong")), "{name}");
        assert_eq!(cfg!(feature = "cuda"), table.contains("not on this device"), "{name}");
        let json = std::fs::read_to_string(dir.path().join(format!("{name}.json"))).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(json["rows"].as_array().unwrap().len() + comments + 1 == table.lines().count());
        assert!(json["ceilings"][0]["copy_gb_per_s"].as_f64().unwrap() > 0.0);
    }
    let figure = dir.path().join("figure-3.1-speedup-f32.svg");
    assert_eq!(figure.exists(), cfg!(feature = "plot"));
    if cfg!(feature = "plot") {
        let drawn = std::fs::read(&figure).unwrap();
        assert!(String::from_utf8(drawn.clone()).unwrap().contains("contraction length K = P D1 D2"));
        assert!(std::fs::read(figure.with_extension("png")).unwrap().starts_with(b"\x89PNG"));
        std::fs::remove_file(&figure).unwrap();
        let deck = decks.iter().find(|deck| deck.ends_with("figure-3.1.toml")).unwrap();
        assert_eq!(run(&[deck, "--redraw", "--quick", "--out", out]).0, 0);
        assert!(std::fs::read(&figure).unwrap() == drawn, "{deck}");
    }
    let (code, claims, err) = run(&["--claims", dir.path().join("figure-3.1.csv").to_str().unwrap()]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(claims.contains("| source | the report says |") && claims.contains("not measured"), "{claims}");
}

#[test]
fn the_kept_claims_are_those_of_the_kept_tables() {
    let folder = root().join("docs/contractions");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let tables: Vec<_> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "csv")).collect();
    let mut args = vec!["--claims"];
    args.extend(tables.iter().map(|path| path.to_str().unwrap()));
    let (code, claims, err) = run(&args);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(claims == std::fs::read_to_string(folder.join("claims.md")).unwrap(), "make contractions; now:\n{claims}");
    // What does not hold is explained, in the first of its lines that does not.
    let mut explained = false;
    for line in claims.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| source")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        explained &= cells[1].is_empty();
        explained |= !cells[12].is_empty();
        assert!(cells[11] == "yes" || (explained && cells[11] != "not measured"), "{line}");
    }
}

#[test]
fn times_of_a_gpu_are_not_written_over_without_one() {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("figure-3.1.csv");
    let kept = root().join("docs/contractions/figure-3.1.csv");
    std::fs::copy(kept, &table).unwrap();
    let deck = decks().into_iter().find(|deck| deck.ends_with("figure-3.1.toml")).unwrap();
    let args = [&*deck, "--device", "cpu", "--quick", "--out", dir.path().to_str().unwrap(), "--force"];
    let (code, out, err) = run(&args[..6]);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    assert!(err.contains("figure-3.1.csv has times of a GPU") && err.contains("--out"), "{err}");
    assert!(std::fs::read_to_string(&table).unwrap().contains("H200"));
    assert_eq!(run(&args).0, 0);
    assert!(!std::fs::read_to_string(&table).unwrap().contains("H200"));
}

#[test]
fn mistakes_are_one_line_and_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let deck = dir.path().join("deck.toml");
    std::fs::write(&deck, "name = \"x\"\ntitle = \"\"\nsweeps = []\n").unwrap();
    // A folder inside a file cannot be.
    let inside = deck.join("x").to_str().unwrap().to_string();
    let (deck, good) = (deck.to_str().unwrap(), &decks()[0]);
    let cases: &[(&[&str], &str)] = &[
        (&[], "not provided: <DECK>..."),
        (&["no-such.toml"], "no-such.toml"),
        (&[deck], "deck.toml: line 3: unknown field `sweeps`"),
        (&[good, "--device", "gpu"], "auto, cpu, cuda, cuda:K"),
        (&[good, "--device", "cuda:4096"], "cuda:4096"),
        (&[good, "--threads", "0"], "--threads"),
        (&[good, "--out", &inside], "deck.toml"),
        (&["--claims", deck], "not the header"),
    ];
    for (args, part) in cases {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{args:?}: {err}");
        assert!(err.starts_with("error: ") && err.contains(part), "{args:?}: {err}");
    }
}

/// A deck of its own name that runs in no time, with these lines of its sweep and of its plot changed.
fn own(folder: &Path, file: &str, name: &str, changes: &[(&str, &str)]) -> String {
    let mut text = format!(
        "name = \"{name}\"\ntitle = \"\"\n[[sweep]]\nkernels = [\"data_data_scalar\"]\nvariants = [\"flat\"]\n\
         precisions = [\"f64\"]\nlayouts = [\"left\"]\npoints = [8, 16]\nmemory_mib = [1, 2]\n\
         [[plot]]\nname = \"time\"\ntitle = \"\"\nkind = \"lines\"\nvariants = [\"serial\", \"threads\"]\n"
    );
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let path = folder.join(file);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

#[cfg(feature = "cuda")]
#[test]
fn names_that_nobody_has_are_refused_before_any_work() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let good = own(dir.path(), "good.toml", "good", &[]);
    for (file, change, parts) in [
        ("a.toml", ("\"flat\"", "\"magic\""), ["a.toml: sweep 1: variants: \"magic\"", "auto, "]),
        ("b.toml", ("\"flat\"", "\"tyle*\""), ["b.toml: sweep 1: variants: \"tyle*\"", "cublas-gemm"]),
        ("c.toml", ("\"threads\"", "\"treads\""), ["c.toml: plot \"time\": variants: \"treads\"", "flat, "]),
        ("d.toml", ("kind", "over = \"lops\"\nkind"), ["d.toml: plot \"time\": over: \"lops\"", "loops, serial"]),
    ] {
        let deck = own(dir.path(), file, "x", &[change]);
        for more in [&["--quick"][..], &["--redraw"]] {
            let mut args = vec![&*good, &*deck, "--device", "cpu", "--out", out.to_str().unwrap()];
            args.extend(more);
            let (code, text, err) = run(&args);
            assert_eq!((code, text.as_str(), err.lines().count()), (2, "", 1), "{err}");
            assert!(parts.iter().all(|part| err.contains(part)), "{err}");
        }
    }
    assert!(!out.exists());
}

#[cfg(not(feature = "cuda"))]
#[test]
fn names_of_a_gpu_are_rows_where_none_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let deck = own(dir.path(), "a.toml", "x", &[("\"flat\"", "\"magic\"")]);
    let args = [&*deck, "--quick", "--out", dir.path().to_str().unwrap()];
    let (code, _, err) = run(&args);
    assert_eq!((code, err.as_str()), (0, ""));
    let table = std::fs::read_to_string(dir.path().join("x.csv")).unwrap();
    assert!(table.lines().any(|line| line.contains(",magic,left,") && line.ends_with("not in this build")), "{table}");
}

#[test]
fn two_decks_of_one_name_and_lists_without_items_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let rest = ["--device", "cpu", "--quick", "--out", out.to_str().unwrap()];
    let [a, b] = ["a.toml", "b.toml"].map(|file| own(dir.path(), file, "x", &[]));
    let (code, text, err) = run(&[&[&*a, &*b], &rest[..]].concat());
    assert_eq!((code, text.as_str(), err.lines().count()), (2, "", 1), "{err}");
    assert_eq!(err, format!("error: x.csv of {b}: this is x.csv of {a}; give another file\n"));
    let figures = own(dir.path(), "d.toml", "x-time", &[("name = \"time\"", "name = \"late\"")]);
    let figure = own(dir.path(), "e.toml", "x", &[("name = \"time\"", "name = \"time-late\"")]);
    let (code, _, err) = run(&[&[&*figures, &*figure], &rest[..]].concat());
    let is_named = err.contains("x-time-late-f32.svg of ") && err.contains("e.toml: this is ");
    assert!(code == 2 && is_named || cfg!(not(feature = "plot")), "{err}");
    let empty = own(dir.path(), "c.toml", "x", &[("points = [8, 16]", "points = []")]);
    let (code, _, err) = run(&[&[&*empty], &rest[..]].concat());
    assert!(code == 2 && err.contains("c.toml: sweep 1: points is empty"), "{err}");
    assert!(!out.exists());
}

#[test]
fn no_input_is_written_over() {
    let dir = tempfile::tempdir().unwrap();
    // A deck under the name of its own table, and a table that the answer would replace.
    let deck = own(dir.path(), "x.csv", "x", &[]);
    let text = std::fs::read_to_string(&deck).unwrap();
    for args in [
        &[&*deck, "--quick", "--force", "--out", dir.path().to_str().unwrap()][..],
        &["--claims", &deck, "--to", &deck],
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
        assert!(err.contains(&format!(": this is {deck}; give another file")), "{err}");
    }
    assert_eq!(std::fs::read_to_string(&deck).unwrap(), text);
}

#[test]
fn a_quick_run_does_not_write_over_a_full_one() {
    let dir = tempfile::tempdir().unwrap();
    let changes = [("[1, 2]", "[0.25]"), ("\"left\"", "")];
    let deck = own(dir.path(), "deck.toml", "x", &changes);
    let full = [&*deck, "--device", "cpu", "--threads", "1", "--out", dir.path().to_str().unwrap()];
    let quick = [&full[..], &["--quick"]].concat();
    // Quick over quick, and full over quick.
    assert_eq!([run(&quick).0, run(&quick).0, run(&full).0], [0; 3]);
    let table = || std::fs::read_to_string(dir.path().join("x.csv")).unwrap();
    let kept = table();
    let (code, text, err) = run(&quick);
    assert_eq!((code, text.as_str(), err.lines().count()), (2, "", 1), "{err}");
    assert!(
        err.contains("x.csv has times of a full run and this run is a quick one") && err.contains("--force"),
        "{err}"
    );
    assert!(table() == kept);
    assert_eq!(run(&[&quick[..], &["--force"]].concat()).0, 0);
    assert!(table() != kept);
}

#[test]
fn what_is_written_is_said_and_cases_have_lines_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let deck = own(dir.path(), "deck.toml", "x", &[]);
    let out = dir.path().to_str().unwrap();
    let (code, text, _) = run(&[&deck, "--device", "cpu", "--quick", "--out", out]);
    let figures = if cfg!(feature = "plot") { "1 figure (SVG and PNG)" } else { "no figures in this build" };
    let last = text.trim_end().lines().last().unwrap();
    assert_eq!((code, last), (0, &*format!("wrote {out}/x.csv, {out}/x.json and {figures}")));
    assert_eq!(run(&[&deck, "--redraw", "--out", out]), (0, format!("{out}/x.csv: {figures}\n"), String::new()));
    if cfg!(feature = "plot") {
        let drawn = std::fs::read_to_string(dir.path().join("x-time-f64.svg")).unwrap();
        for name in ["serial, 0.0625 MiB", "serial, 0.125 MiB", "threads, 0.0625 MiB", "threads, 0.125 MiB"] {
            assert!(drawn.contains(&format!(">{name}</text>")), "{name}");
        }
    }
}

#[test]
fn redraw_makes_no_folder_and_says_which_table_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let deck = own(dir.path(), "deck.toml", "x", &[]);
    let out = dir.path().join("typo");
    let (code, text, err) = run(&[&deck, "--redraw", "--out", out.to_str().unwrap()]);
    assert_eq!((code, text.as_str(), err.lines().count()), (2, "", 1), "{err}");
    let command = format!("minifenl-contractions {deck} --out {}", out.display());
    assert!(err.contains("typo/x.csv: there is no table of ") && err.contains(&command), "{err}");
    assert!(!out.exists());
}

/// The deck that the documentation shows is one.
#[test]
fn the_example_in_the_documentation_runs() {
    let text = std::fs::read_to_string(root().join("docs/contractions/README.md")).unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with("    name = "));
    let block = lines.take_while(|line| line.is_empty() || line.starts_with("    "));
    let dir = tempfile::tempdir().unwrap();
    let deck = dir.path().join("deck.toml");
    std::fs::write(&deck, block.map(|line| line.trim_start().to_string() + "\n").collect::<String>()).unwrap();
    let args = [deck.to_str().unwrap(), "--device", "cpu", "--quick", "--out", dir.path().to_str().unwrap()];
    let (code, text, err) = run(&args);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(text.contains("my-sizes.csv") && text.contains("of 8 measured"), "{text}");
    let nothing = text.contains("no figures; of \"speedup\", \"time\" no times");
    assert_eq!(nothing, cfg!(feature = "plot"), "{text}");
}

#[test]
fn help_and_completions_are_printed() {
    let (code, help, _) = run(&["--help"]);
    assert!(code == 0 && help.contains("Examples:") && help.contains("--claims"), "{help}");
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["docs/contractions/README.md, \"A deck of your own\"", "Draw the figures of the decks again"] {
        assert!(words.contains(part), "{help}");
    }
    let (code, script, _) = run(&["--completions", "bash"]);
    assert!(code == 0 && script.contains("--redraw"));
}
