//! Ranks that disagree, stop or die: every job ends in time, with one line that names rank and reason, the right code, and
//! no process left.

use crate::job::{Ended, Job, signal};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use support::mpirun;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_minifenl");
const BASE: [&str; 6] = [PROGRAM, "--device", "cpu", "--threads", "1", "--nodes=5x6x7"];
/// A job that computes for some seconds on 3 ranks; tests stop one of them long before its end.
const LONG: [&str; 7] = [PROGRAM, "--device", "cpu", "--threads", "1", "--nodes", "64"];

/// The arguments of a rank: `base` and more.
fn rank<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [base, more].concat()
}

/// Starts one rank per list of arguments; the first of each is the program. `mpirun` kills the ranks of a failed job at once.
pub fn start(ranks: &[Vec<&str>]) -> Job {
    start_with(ranks, &[("OMPI_MCA_odls_base_sigkill_timeout", "0")])
}

/// [`start`] with other variables: by default, `mpirun` continues stopped ranks, asks all to end, and kills them a second later.
fn start_with(ranks: &[Vec<&str>], variables: &[(&str, &str)]) -> Job {
    let mut command = mpirun(1);
    for (rank, arguments) in ranks.iter().enumerate() {
        command.args(if rank == 0 { &[][..] } else { &[":", "-n", "1"] }).args(arguments);
    }
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").envs(variables.iter().copied());
    Job::launch(command)
}

/// Runs a rank per list of arguments behind [`BASE`].
fn run(ranks: &[&[&str]]) -> Ended {
    start(&ranks.iter().map(|more| rank(&BASE, more)).collect::<Vec<_>>()).end()
}

/// Asserts that the job was refused before it began, in one line that holds all these words.
pub fn assert_refused(ended: &Ended, words: &[&str]) {
    assert_eq!((ended.code, ended.errors.len()), (Some(2), 1), "{words:?}: {ended:?}");
    assert!(words.iter().all(|word| ended.errors[0].contains(word)), "{words:?}: {ended:?}");
    assert!(ended.stdout.is_empty(), "{words:?}: {ended:?}");
}

#[test]
fn a_setting_of_one_rank_is_named_with_rank_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("r.json");
    let report = report.to_str().unwrap();
    let other = folder.path().join("first.json");
    let other = other.to_str().unwrap();
    // Flags, key, value of the rank, value of rank 0.
    let cases: &[(&[&str], &str, &str, &str)] = &[
        (&["--cg-tolerance", "1e-6"], "cg.tolerance (--cg-tolerance)", "1e-6", "not given"),
        (&["--cg-max", "7"], "cg.max_iterations (--cg-max)", "7", "10000"),
        (&["--newton-max", "1"], "newton.max_iterations (--newton-max)", "1", "10"),
        (&["--t-max", "3"], "problem.t_max (--t-max)", "3.0", "2.0"),
        (&["--kernel", "table"], "fill.kernel (--kernel)", "table", "auto"),
        (&["--graph", "sort"], "graph.strategy (--graph)", "sort", "auto"),
        (&["--report", report], "run.report (--report)", report, other),
        (&["--timeout", "20"], "run.timeout (--timeout)", "20.0", "not given"),
        (&["--dump-deck"], "what to do", "text", "a solution"),
        (&["--dry-run"], "what to do", "--dry-run", "a solution"),
    ];
    for (index, (flags, key, value, first)) in cases.iter().enumerate() {
        let mine: &[&str] = if flags[0] == "--report" { &["--report", other] } else { &[] };
        let (ended, named) = match index % 2 {
            0 => (run(&[mine, flags]), "rank 1 differs from rank 0 in "),
            _ => (run(&[mine, mine, flags]), "rank 2 differs from rank 0 in "),
        };
        assert_refused(&ended, &[named, key, &format!(": {value}, and {first} on rank 0")]);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no report, and nothing temporary");
}

#[test]
fn nodes_threads_and_device_of_one_rank_are_named() {
    let base = [PROGRAM, "--nodes", "6"];
    for (first, other, words) in [
        (&[][..], &["--device", "cuda"][..], ["rank 1 differs", "run.device (--device): cuda, and auto"]),
        (&["--device", "cuda"], &["--device", "cpu"], ["rank 1 differs", "run.device (--device): cpu, and cuda"]),
        (&[], &["--threads", "2"], ["rank 1 differs", "run.threads (--threads): 2, and not given on rank 0"]),
        (&["--threads", "1"], &["--threads", "2"], ["rank 1 differs", "run.threads (--threads): 2, and 1 on rank 0"]),
    ] {
        assert_refused(&start(&[rank(&base, first), rank(&base, other)]).end(), &words);
    }
    for (first, other, words) in [
        (["--nodes", "6"], ["--nodes", "7"], "mesh.nodes (--nodes): 7, and 6 on rank 0"),
        (["--nodes", "6"], ["--nodes-per-rank", "6"], "mesh.nodes_per_rank (--nodes-per-rank): 6, and not given"),
    ] {
        let ended = start(&[rank(&[PROGRAM], &first), rank(&[PROGRAM], &other)]).end();
        assert_refused(&ended, &["rank 1 differs", words]);
    }
    // A pool that one rank cannot start: no address space has stacks of 2^47 bytes.
    let two = [PROGRAM, "--nodes", "6", "--device", "cpu", "--threads", "2"];
    let ended = start(&[two.to_vec(), rank(&["env", "RUST_MIN_STACK=140737488355328"], &two)]).end();
    assert_refused(&ended, &["threads: cannot start a pool of 2"]);
}

#[test]
fn another_build_on_one_rank_is_named() {
    // The first 4 KiB hold the linker's build id: type 3, owner GNU, 20 bytes.
    let mut bytes = std::fs::read(PROGRAM).unwrap();
    let note = [&[4u8, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0][..], b"GNU\0"].concat();
    let at = bytes.windows(note.len()).position(|window| window == note).expect("the linker writes a build id");
    assert!(at + note.len() + 20 < 4096);
    bytes[at + note.len()] ^= 1;
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("minifenl");
    std::fs::copy(PROGRAM, &other).unwrap();
    std::fs::write(&other, bytes).unwrap();
    let other = [&[other.to_str().unwrap()], &BASE[1..]].concat();
    // The rank with the other build, and the lowest that differs from rank 0.
    for (ranks, odd, named) in [(2, 1, 1), (3, 2, 2), (3, 0, 1)] {
        let arguments = |rank| if rank == odd { other.clone() } else { BASE.to_vec() };
        let ended = start(&(0..ranks).map(arguments).collect::<Vec<_>>()).end();
        assert_refused(&ended, &[&format!("rank {named} differs from rank 0 in build: ")]);
    }
}

#[test]
fn a_mistake_of_one_rank_ends_all_with_its_line() {
    let cases: &[(&[&[&str]], &str)] = &[
        (&[&[], &["--input", "no-such.toml"]], "error: rank 1: --input: no-such.toml: No such file"),
        (&[&["--input", "no-such.toml"], &[]], "error: rank 0: --input: no-such.toml: No such file"),
        (&[&[], &[], &["--nodez", "3"]], "error: rank 2: unexpected argument '--nodez' found"),
        (&[&[], &["--cg-tolerance", "7"]], "error: rank 1: cg.tolerance (--cg-tolerance): 7: "),
        (&[&[], &["--nodez"], &["--input", "no-such.toml"]], "error: rank 1: unexpected argument '--nodez'"),
        // All ranks alike: nobody is to blame.
        (&[&["--input", "no-such.toml"], &["--input", "no-such.toml"]], "error: --input: no-such.toml: No such file"),
        (&[&["--nodez"], &["--nodez"], &["--nodez"]], "error: unexpected argument '--nodez' found"),
    ];
    for (ranks, start) in cases {
        let ended = run(ranks);
        assert_refused(&ended, &[]);
        assert!(ended.errors[0].starts_with(start), "{ended:?}");
    }
}

#[test]
fn an_error_that_one_rank_meets_alone_names_it() {
    let ended = run(&[&["--report", "/nowhere/r.json"], &["--report", "/nowhere/r.json"]]);
    assert_refused(&ended, &["error: rank 0: run.report (--report): /nowhere/r.json"]);
}

#[test]
fn what_needs_no_run_is_printed_once() {
    for (flag, words) in [
        ("--help", "Exit codes:"),
        ("--version", concat!("minifenl ", env!("CARGO_PKG_VERSION"))),
        ("--completions=bash", "_minifenl() {"),
        ("--dump-deck", "[newton]"),
        ("--dry-run", "of 3, the one that needs the most memory"),
    ] {
        let ended = run(&[&[flag], &[flag], &[flag]]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{flag}");
        assert_eq!(ended.stdout.matches(words).count(), 1, "{flag}: {}", ended.stdout);
    }
}

/// The program without a launcher, in an environment that a launcher may have left.
fn alone(variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn variables_of_a_launcher_do_not_silence_a_program_that_runs_alone() {
    for variables in [
        &[("SLURM_PROCID", "3")][..],
        &[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")],
        &[("OMPI_COMM_WORLD_RANK", "x")],
        &[("OMPI_COMM_WORLD_RANK", "1")],
        &[("PMIX_RANK", "2")],
    ] {
        let output = alone(variables, &BASE[1..]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("\nPASS: "), "{variables:?}: {text}");
        let output = alone(variables, &["--nodez"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && text.contains("--nodez"), "{variables:?}: {text}");
    }
}

#[test]
fn a_limit_changes_no_result() {
    let verdict = |ended: &Ended| {
        let is_noted =
            ended.stderr.starts_with("note: no effect: run.timeout (--timeout): one rank waits for no other");
        assert!(ended.code == Some(0) && (ended.stderr.is_empty() || is_noted), "{ended:?}");
        ended.stdout.lines().last().unwrap().to_string()
    };
    for ranks in [1, 2, 3] {
        let [without, with] = [&[][..], &["--timeout", "60"]].map(|more| verdict(&run(&vec![more; ranks])));
        assert!(with.starts_with("PASS: "), "{with}");
        assert_eq!(with, without, "{ranks} ranks");
    }
}

/// Asserts that the job ended by its limit, in one line with these words.
fn assert_timed_out(ended: &Ended, words: &[&str]) {
    assert_eq!((ended.code, ended.errors.len()), (Some(1), 1), "{words:?}: {ended:?}");
    assert!(words.iter().all(|word| ended.errors[0].contains(word)), "{words:?}: {ended:?}");
}

#[test]
fn a_stopped_rank_is_missed_and_the_job_ends() {
    for (ranks, stopped, speaker) in [(3, 1, 0), (2, 0, 1)] {
        let job = start_with(&vec![rank(&LONG, &["--timeout", "2"]); ranks], &[]);
        signal(job.busy(stopped, 40), "STOP");
        let missing = format!("rank {stopped} missing; rank {speaker} waits at ");
        assert_timed_out(&job.end(), &["longer than 2 s", "--timeout", &missing, ", phase "]);
    }
}

#[test]
fn two_stopped_ranks_are_both_missed() {
    let job = start(&vec![rank(&LONG, &["--timeout", "2"]); 4]);
    let ids = [2, 3].map(|rank| job.busy(rank, 20));
    ids.iter().for_each(|&id| signal(id, "STOP"));
    assert_timed_out(&job.end(), &["ranks 2-3 missing; rank 0 waits at "]);
}

#[test]
fn a_rank_that_never_starts_mpi_ends_the_job() {
    let ended = start(&[rank(&BASE, &["--timeout", "2"]), vec!["sleep", "300"]]).end();
    assert_timed_out(&ended, &["rank 0 waited for 2 s", "--timeout", "have not started MPI"]);
    let ended = start(&[vec!["sleep", "300"], rank(&BASE, &["--timeout", "2"])]).end();
    assert_timed_out(&ended, &["rank 1 waited for 2 s"]);
    let sweep = [&[PROGRAM, "sweep"], &BASE[1..], &["--timeout", "2"]].concat();
    assert_timed_out(&start(&[sweep, vec!["sleep", "300"]]).end(), &["rank 0 waited for 2 s"]);
    // Several ranks wait, and the launcher takes its usual time to end them.
    let waiting = rank(&BASE, &["--timeout", "2"]);
    let ended = start_with(&[waiting.clone(), waiting.clone(), waiting, vec!["sleep", "300"]], &[]).end();
    assert_timed_out(&ended, &["rank 0 waited for 2 s"]);
}

#[test]
fn a_killed_rank_ends_the_job() {
    for (ranks, killed) in [(2, 1), (3, 0), (4, 2)] {
        let job = start(&vec![LONG.to_vec(); ranks]);
        let id = job.busy(killed, 30);
        let begin = Instant::now();
        signal(id, "KILL");
        let ended = job.end();
        assert!(begin.elapsed() < Duration::from_secs(10), "took {:?}: {ended:?}", begin.elapsed());
        assert!(ended.code != Some(0) && ended.stdout.is_empty(), "{ended:?}");
        // The launcher names the rank and the signal; no other rank has an error of its own.
        assert!(
            ended.stderr.contains(&format!("process rank {killed} ")) && ended.stderr.contains("signal 9"),
            "{ended:?}"
        );
        assert!(ended.errors.is_empty(), "{ended:?}");
    }
}
