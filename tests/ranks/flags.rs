//! Ranks with different values of each flag: one line, the code of bad input, and no rank that waits for another.

use crate::ends::{PROGRAM, assert_refused, start};
use crate::settings::SETTINGS;

/// Flags that change no work: ranks may differ in them.
const HARMLESS: [&[&str]; 3] = [&["--quiet"], &["--verbose"], &["--color", "always"]];

/// A job of two ranks with these arguments.
fn job(first: &[&str], second: &[&str]) -> crate::job::Ended {
    start(&[first, second].map(|words| [&[PROGRAM], words].concat())).end()
}

/// `tests/program` makes sure that [`SETTINGS`] has every flag with a key.
#[test]
fn ranks_that_differ_in_any_flag_are_refused_in_one_line() {
    let mut jobs = 0;
    for (number, setting) in SETTINGS.iter().enumerate() {
        let words = |value: Option<&'static str>| [Some(setting.flag), value].into_iter().flatten().collect::<Vec<_>>();
        let [first, second] = [setting.first, setting.second].map(|(value, _)| words(value));
        // The rank that lacks the flag is the first one for every other flag.
        let mut pairs = vec![if number % 2 == 0 { (vec![], first.clone()) } else { (first.clone(), vec![]) }];
        if first != second {
            pairs.push((first, second));
        }
        for (one, other) in pairs {
            // The default of the one is missing where the other is given.
            let named = if setting.flag == "--nodes-per-rank" { "mesh.nodes" } else { setting.flag };
            assert_refused(&job(&one, &other), &[named]);
            jobs += 1;
        }
    }
    println!("{jobs} jobs of ranks with different flags");
}

#[test]
fn ranks_that_differ_in_what_to_do_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let [deck, csv] = ["deck.toml", "s.csv"].map(|name| folder.path().join(name).to_str().unwrap().to_string());
    std::fs::write(&deck, "[cg]\nmax_iterations = 7\n").unwrap();
    let run: &[&str] = &["--nodes", "5"];
    let sweep: &[&str] = &["sweep", "--nodes", "5,6", "--trials", "1"];
    let strategies: &[&str] = &["strategies", "--nodes", "5"];
    for (first, second, word) in [
        (run, &["--dry-run"][..], "what to do"),
        (run, &["--dump-deck"], "what to do"),
        (run, &["--kernel-info"], "what to do"),
        (run, &["verify"], "what to do"),
        (run, &["--completions", "bash"], "what to do"),
        (run, &["--man"], "what to do"),
        (run, &["--help"], "what to do"),
        (run, &["--version"], "what to do"),
        (run, &["compare", "a.json", "b.json"], "what to do"),
        (run, &["--no-triad"], "--triad"),
        (run, &["--input", &deck], "--cg-max"),
        (run, sweep, "what to do"),
        (run, strategies, "what to do"),
        (sweep, &["--fill", "colour"], "--fill"),
        (sweep, &["--csv", &csv], "what to do"),
        (sweep, &["--compare", "fill=colour,gather"], "what to do"),
        (strategies, &["--rounds", "2"], "what to do"),
        (strategies, &["--report", &csv], "--report"),
    ] {
        // Flags follow their command.
        let second = if second[0].starts_with("--") { [first, second].concat() } else { second.to_vec() };
        assert_refused(&job(first, &second), &[word]);
        assert_refused(&job(&second, first), &[word]);
    }
    // One process checks a device; ranks would repeat the checks and write one file.
    let checks = folder.path().join("checks.json");
    let verify: &[&str] = &["verify", "--report", checks.to_str().unwrap()];
    assert_refused(&job(verify, verify), &["start it without mpirun"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is written");
}

#[test]
fn ranks_may_differ_in_what_they_show() {
    let run: &[&str] = &["--nodes", "9", "--device", "cpu", "--threads", "1"];
    for flag in HARMLESS {
        let ended = job(run, &[run, flag].concat());
        assert_eq!((ended.code, ended.errors.len()), (Some(0), 0), "{flag:?}: {ended:?}");
    }
}

/// Each rank writes its piece: in different folders the index would name files that are not beside it.
#[test]
fn a_relative_file_for_vtk_from_ranks_in_different_folders_is_refused() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let shell = "cd \"$0\" && exec \"$@\"";
    let ranks = folders.each_ref().map(|folder| {
        let folder = folder.path().to_str().unwrap();
        vec!["sh", "-c", shell, folder, PROGRAM, "--nodes", "5", "--device", "cpu", "--vtk", "x.vtu"]
    });
    assert_refused(&start(&ranks).end(), &["run.vtk (--vtk)", "/x.vtu, and /", "rank 1 differs from rank 0"]);
    assert!(folders.iter().all(|folder| std::fs::read_dir(folder).unwrap().count() == 0));
}

/// `x.vtu` on 2 ranks is `x.0.vtu`, `x.1.vtu` and `x.pvtu`.
#[test]
fn no_file_of_a_run_is_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    std::fs::create_dir(at("taken.pvtu")).unwrap();
    let run: &[&str] = &["--nodes", "9", "--device", "cpu", "--threads", "1", "--vtk"];
    for (vtk, flag, other, words) in [
        ("x.vtu", "--report", "x.pvtu", "its file x.pvtu: this is run.report (--report)"),
        ("x.vtu", "--report", "./x.1.vtu", "its file x.1.vtu: this is run.report (--report)"),
        ("x.vtu", "--append", "x.0.vtu", "its file x.0.vtu: this is run.append (--append)"),
        ("taken.vtu", "--report", "r.json", "taken.pvtu: not a regular file"),
    ] {
        let (vtk, other) = (at(vtk), at(other));
        let arguments = [run, &[&vtk, flag, &other]].concat();
        assert_refused(&job(&arguments, &arguments), &[words]);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is written");
}
