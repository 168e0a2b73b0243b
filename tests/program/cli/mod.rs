//! The program as a user meets it: help, decks, mistakes and exit codes.

mod commands;
mod reports;
mod sweep;
mod verify;

use std::collections::BTreeSet;

fn run(args: &[&str]) -> (i32, String, String) {
    support::run("minifenl", args)
}

#[test]
fn mistakes_are_one_line_and_code_2() {
    let cases: &[(&[&str], &str)] = &[
        (&["--nodes=-3"], "--nodes"),
        (&["--nodes", "-3"], "negative"),
        (&["--nodes", "0"], "--nodes"),
        (&["--nodes", "8x8"], "invalid size `8x8`: expected N or NxNxN"),
        (&["--nodes", "99999999999999999999999"], "64 bits"),
        (&["--nodes", "1000000", "--device", "cpu"], "32 bits"),
        (&["--nodes", "1000000", "--device", "cpu"], "error: mesh.nodes (--nodes): "),
        (&["--nodez", "3"], "--nodez"),
        (&["--nodes", "3", "--nodes-per-rank", "3"], "--nodes-per-rank"),
        (&["--t-min", "nan"], "problem.t_min"),
        (&["--t-max=-1"], "--t-max"),
        (&["--t-min", "2"], "equal"),
        (&["--size", "1,1"], "'--size <X,Y,Z>': expected three numbers X,Y,Z"),
        (&["--cg-tolerance", "0"], "cg.tolerance"),
        (&["--threads", "0"], "run.threads"),
        (&["--device", "gpu"], "auto, cpu, cuda, cuda:K"),
        (&["--device", "cuda:x"], "cuda:x"),
        (&["--device", "cuda:4096"], "cuda:4096"),
        (&["--kernel-info", "--device", "cuda:4096"], "cuda:4096"),
        (&["--kernel-info", "--device", "cpu"], "--device"),
        (&["--graph", "magic"], "map, dashmap, gather, sort"),
        (&["--input", "no-such.toml"], "no-such.toml"),
        (&["--report", "no/such/dir/report.json"], "no/such/dir/report.json"),
    ];
    for (args, part) in cases {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{args:?}: {err}");
        assert!(err.starts_with("error: ") && err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let deck = dir.path().join("deck.toml");
    std::fs::write(&deck, "[mesh]\nnodez = 3\n").unwrap();
    let (code, _, err) = run(&["--input", deck.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert!(err.contains("deck.toml, line 2: `nodez = 3`: unknown field `nodez`"), "{err}");
}

#[test]
fn a_dumped_deck_dumps_itself_and_flags_override_it() {
    let flags = [
        "--nodes",
        "8x9x10",
        "--map",
        "twist:0.25",
        "--fill",
        "colour",
        "--cg-max",
        "77",
        "--device",
        "cuda",
        "--format",
        "pattern",
        "--dump-deck",
    ];
    let (code, first, _) = run(&flags);
    assert_eq!(code, 0);
    let dir = tempfile::tempdir().unwrap();
    let deck = dir.path().join("deck.toml");
    std::fs::write(&deck, &first).unwrap();
    let deck = deck.to_str().unwrap();
    assert_eq!(run(&["--input", deck, "--dump-deck"]).1, first);
    let (_, other, _) = run(&["--input", deck, "--nodes-per-rank", "5", "--dump-deck"]);
    assert!(other.contains("nodes_per_rank = 5\n") && !other.contains("8x9x10"), "{other}");
}

#[test]
fn help_and_completions_are_printed() {
    let (code, help, _) = run(&["--help"]);
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    assert!(code == 0 && help.contains("Examples:") && help.contains("-K laplace(T) + T^2 ="), "{help}");
    let (code, script, _) = run(&["--completions", "bash"]);
    assert!(code == 0 && script.contains("--nodes-per-rank"));
}

/// What bash offers after `minifenl FLAG `, in a folder with a file.
fn offered(script: &str, flag: &str, folder: &std::path::Path) -> String {
    let code = "source ./completions; COMP_WORDS=(minifenl \"$1\" ''); COMP_CWORD=2; _minifenl minifenl '' \"$1\" 2>/dev/null; \
        echo ${COMPREPLY[@]}";
    std::fs::write(folder.join("completions"), script).unwrap();
    let bash =
        std::process::Command::new("bash").args(["-c", code, "bash", flag]).current_dir(folder).output().unwrap();
    String::from_utf8(bash.stdout).unwrap().trim().to_string()
}

#[test]
fn completions_offer_names_and_no_file_names_where_none_fit() {
    let ((_, script, _), folder) = (run(&["--completions", "bash"]), tempfile::tempdir().unwrap());
    for (flag, names) in [
        ("--map", "none bubble twist"),
        ("--graph", "auto map dashmap gather sort"),
        ("--scan", "auto serial parallel"),
        ("--fill", "auto scatter gather colour"),
        ("--kernel", "auto intrepid table fused"),
        ("--layout", "auto left right"),
        ("--solver", "auto cg gmres bicgstab"),
        ("--cg-variant", "auto classic single-reduction"),
        ("--operator", "assembled matrix-free"),
        ("--device", "auto cpu cuda"),
        ("--format", "auto crs pattern symmetric"),
        ("--color", "auto always never"),
        ("--preset", "papers fast seeds"),
        ("--lanes", "auto warp 1 2 4 8 16 32"),
        ("--completions", "bash elvish fish powershell zsh"),
    ] {
        assert_eq!(offered(&script, flag, folder.path()), names, "{flag}");
    }
    // Of the flags with a value, four take a file.
    let (_, help, _) = run(&["--help"]);
    let with_value = help.lines().filter_map(|line| line.trim().split_once(" <")).map(|(flag, _)| flag);
    let with_value = with_value.filter(|flag| flag.starts_with("--"));
    let mut files: Vec<_> =
        with_value.filter(|flag| offered(&script, flag, folder.path()).contains("completions")).collect();
    files.sort_unstable();
    assert_eq!(files, ["--append", "--input", "--report", "--vtk"]);
}

#[test]
fn a_flag_that_is_nearly_right_is_suggested() {
    for (wrong, right) in
        [("--nodez", "--nodes"), ("--newton-tolerances", "--newton-tolerance"), ("--colour", "--color")]
    {
        let (code, _, err) = run(&[wrong, "3"]);
        assert!(code == 2 && err.contains(&format!("a similar argument exists: '{right}'")), "{err}");
    }
}

#[test]
fn the_man_page_has_every_flag() {
    let (code, page, _) = run(&["--man"]);
    assert!(code == 0 && page.contains(".TH minifenl 1"), "{page}");
    let (_, help, _) = run(&["--help"]);
    for flag in help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2) {
        let flag = flag.trim_end_matches([',', ')']).replace('-', "\\-");
        assert!(page.contains(&flag), "{flag}");
    }
}

#[test]
fn a_run_is_quiet_or_verbose_and_coloured_when_asked() {
    let small = ["--nodes", "5", "--device", "cpu", "--threads", "1"];
    let with = |flags: &[&str]| run(&[&small, flags].concat());
    let (code, out, err) = with(&["--quiet"]);
    assert_eq!((code, out.lines().count(), err.as_str()), (0, 1, ""), "{out}");
    assert!(out.starts_with("PASS: 3 Newton steps"), "{out}");
    // The same flags of a sweep.
    let sweep = |flags: &[&str]| run(&[&["sweep"], &small[..], &["--trials", "1"], flags].concat());
    assert_eq!(sweep(&["--quiet"]), (0, "PASS: 1 run\n".into(), String::new()));
    assert!(sweep(&["--color", "always"]).1.ends_with("\n\x1b[1;32mPASS\x1b[0m: 1 run\n"));
    assert!(sweep(&["--verbose"]).2.contains(" s  Newton 3"));
    // A quiet run without a GPU has no note either; it is known to have looked for one.
    let (_, out, err) = run(&["--nodes", "5", "--quiet"]);
    assert_eq!((out.lines().count(), err.as_str()), (1, ""), "{out}");

    let (code, out, err) = with(&["--verbose"]);
    assert!(code == 0 && out.lines().count() > 20, "{out}");
    let told = ["mesh", "graph", "setup", "Newton 0: residual", "Newton 1", "Newton 2", "Newton 3", "verify", "done"];
    assert_eq!(err.lines().count(), told.len(), "{err}");
    let (_, _, nested) =
        run(&["--nodes", "9", "--device", "cpu", "--preset", "fast", "--preconditioner", "mg", "--verbose"]);
    assert!(nested.contains(" s  nested\n"), "{nested}");
    for (line, start) in err.lines().zip(told) {
        assert!(line.split_once(" s  ").unwrap().1.starts_with(start), "{start}: {err}");
    }
    assert!(err.lines().all(|line| line.split_once(" s  ").unwrap().0.trim().parse::<f64>().is_ok()), "{err}");

    let (code, _, err) = with(&["--kernel", "table", "--workset", "7", "--share-gpu"]);
    let note = "note: no effect: fill.workset (--workset): kernel table has no worksets; run.share_gpu (--share-gpu): the run is on the cpu\n";
    assert_eq!((code, err.as_str()), (0, note));

    let (_, out, _) = with(&["--color", "always"]);
    assert_eq!((out.matches('\x1b').count(), out.contains("\x1b[1;32mPASS\x1b[0m: ")), (2, true), "{out}");
    let (_, out, _) = with(&["--color", "never"]);
    assert!(!out.contains('\x1b'), "{out}");
    let (code, _, err) = run(&["--color=always", "--nodez"]);
    assert!(code == 2 && err.starts_with("\x1b[1;31merror:\x1b[0m unexpected argument '--nodez'"), "{err}");
    assert!(run(&["--color", "always", "--help"]).1.contains("\x1b["));
    assert!(!run(&["--help"]).1.contains('\x1b'));
    let (code, _, err) = with(&["--quiet", "--verbose"]);
    assert!(code == 2 && err.contains("--quiet") && err.contains("--verbose"), "{err}");
}

#[test]
fn a_device_that_nobody_asked_for_is_missed_in_one_line_at_most() {
    let (code, out, err) = run(&["--nodes", "9"]);
    assert!(code == 0 && out.contains("PASS: "), "{err}");
    assert!(err.is_empty() || (err.starts_with("note: on the cpu: ") && err.lines().count() == 1), "{err}");
}

#[cfg(feature = "cuda")]
#[test]
fn kernels_are_listed_or_what_is_missing_is_said() {
    let (code, out, err) = run(&["--kernel-info"]);
    match code {
        0 => assert!(out.lines().any(|line| line.starts_with("cg/cg_step ")), "{out}"),
        code => {
            assert!(code == 2 && err.starts_with("error: --kernel-info: ") && err.lines().count() == 1, "{code}: {err}")
        }
    }
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_build_without_mpi_does_not_run_copies_of_itself() {
    let mut command = assert_cmd::Command::cargo_bin("minifenl").unwrap();
    let output = command.args(["--nodes", "4"]).env("OMPI_COMM_WORLD_SIZE", "2").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
    assert!(text.contains("2 ranks were started, but this build has no MPI"), "{text}");
}

/// The page of the flags speaks of every flag that the program has, and of those of each command where it speaks of the command.
#[test]
fn every_flag_is_in_the_documentation() {
    let page = include_str!("../../../docs/flags.md");
    let mut program = <crate::args::Args as clap::CommandFactory>::command();
    program.build();
    let flags = |command: &clap::Command| -> BTreeSet<String> {
        let shown = command.get_arguments().filter(|flag| !flag.is_hide_set());
        let names = shown.filter_map(|flag| flag.get_long()).filter(|name| !["help", "version"].contains(name));
        names.map(|name| format!("--{name}")).collect()
    };
    let of_run = flags(&program);
    assert!(of_run.len() > 40 && of_run.iter().all(|flag| page.contains(flag)), "{of_run:?}");
    for command in program.get_subcommands() {
        let (_, rest) = page.split_once(&format!("`minifenl {}", command.get_name())).unwrap();
        let section = rest.split("\n\n`minifenl").next().unwrap().split("\n## ").next().unwrap();
        let named: BTreeSet<String> = section.split('`').filter(|code| code.starts_with("--")).map(flag_of).collect();
        match command.get_name() {
            // With those of a run.
            "sweep" => assert!(flags(command).difference(&of_run).all(|flag| named.contains(flag)), "{named:?}"),
            _ => assert_eq!(named, flags(command), "{}", command.get_name()),
        }
    }
}

/// The flag before its value.
fn flag_of(code: &str) -> String {
    code.split(' ').next().unwrap_or("").into()
}

/// Rows of a table of a page, as cells without white space around them.
fn rows(page: &str, header: &str) -> Vec<Vec<String>> {
    let (_, table) = page.split_once(header).unwrap_or_else(|| panic!("no table {header}"));
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()).collect()
}

/// The table of element types is that of the library.
#[test]
fn the_page_of_the_problems_lists_every_element_type() {
    use minifenl::element::ElementType;
    let per_cell = |name: &str| match name.trim_end_matches(char::is_numeric) {
        "hex" => "1",
        "tet" => "6",
        _ => "2",
    };
    let expected = ElementType::volumes().map(|(element, name)| {
        let [nodes, points, order] =
            [element.nodes(), element.points(), element.degree() + 1].map(|count| count.to_string());
        vec![format!("`{name}`"), nodes, points, per_cell(name).into(), order]
    });
    assert_eq!(rows(include_str!("../../../docs/problems.md"), "| `--element` "), expected.collect::<Vec<_>>());
}

/// The flags of README's table and the preset `papers` of the page of the flags are the algorithms of inputs/papers.toml.
#[test]
fn pages_name_the_algorithms_of_the_papers() {
    let deck = |words: &[&str]| {
        let args = <crate::args::Args as clap::Parser>::try_parse_from([&["minifenl"], words].concat()).unwrap();
        args.flags.deck().unwrap()
    };
    let papers = deck(&["--input", concat!(env!("CARGO_MANIFEST_DIR"), "/inputs/papers.toml")]);
    let readme = rows(include_str!("../../../README.md"), "| phrase |");
    let flags = readme.iter().flat_map(|row| row[2].trim_matches('`').split(' ')).collect::<Vec<_>>();
    assert_eq!(flags.len(), 2 * 9, "{flags:?}");
    assert_eq!(deck(&flags), papers);
    let sample =
        "strategies  graph map, scan parallel, fill scatter, kernel intrepid, CG classic,\n            format crs,";
    assert!(
        include_str!("../../../docs/report.md").contains(sample),
        "the sample of docs/report.md is of another preset"
    );
    let page = rows(include_str!("../../../docs/flags.md"), "| setting | `papers`");
    // The value before the cases in which the preset takes another.
    let flags = page.iter().flat_map(|row| [row[0].trim_matches('`'), row[1].split([';', ' ']).next().unwrap()]);
    let flags: Vec<&str> = flags.map(|word| if word == "a" { "warp" } else { word }).collect();
    assert_eq!(deck(&flags), papers);
}

#[test]
fn a_report_does_not_replace_its_deck() {
    let folder = tempfile::tempdir().unwrap();
    let deck = folder.path().join("deck.toml");
    std::fs::write(&deck, "[mesh]\nnodes = 4\n").unwrap();
    let report = folder.path().join("./deck.toml");
    let run = assert_cmd::Command::cargo_bin("minifenl")
        .unwrap()
        .arg("--input")
        .arg(&deck)
        .arg("--report")
        .arg(&report)
        .assert();
    let error = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    run.code(2);
    assert_eq!(error, "error: run.report (--report): this is the input deck; give another file\n");
    assert_eq!(std::fs::read_to_string(&deck).unwrap(), "[mesh]\nnodes = 4\n");
}
