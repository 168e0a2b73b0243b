//! Faults on purpose: each allocation, file operation, MPI call and driver call of a run fails once.
//!
//! A walk starts the program with `MINIFENL_FAULT=KIND:N` for N = 1, 2, ... until a run has no Nth call of that kind. Asked of
//! each run: an error that says what failed, in one line; the code of its kind; no panic and no signal; all ranks gone in time;
//! the report whole or absent, and nothing else left behind. Driver calls are walked inside this process too, where the
//! memory of the GPU shows leaks. Needs the feature `faults`; with `mpi` also on 2 ranks.

#![allow(missing_docs)]

mod collectives;
#[cfg(feature = "cuda")]
mod driver;
mod partition;
#[allow(dead_code)]
#[path = "../library/thread_ranks.rs"]
mod thread_ranks;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Plans of faults are those of the process, so tests that use the library take turns.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run and its limit. One takes a second; a hang is a failure.
const LIMIT: Duration = Duration::from_secs(60);

/// The program with the feature `faults`: a folder made by `make dist` names it.
fn program() -> PathBuf {
    let named = std::env::var_os("MINIFENL_FAULTS_PROGRAM").map(PathBuf::from);
    named.unwrap_or_else(|| env!("CARGO_BIN_EXE_minifenl").into())
}

/// How a run ended.
struct End {
    code: i32,
    errors: Vec<String>,
    /// What failed, from the log; `None` if no call did.
    fault: Option<String>,
    report: Option<String>,
    stderr: String,
}

/// Runs a small job with a report in a folder of its own. mpirun of Open MPI 4.1 may crash in its own `PMIx_server_finalize` after it
/// has ended all ranks; such a run says nothing about the program and is repeated.
fn run(ranks: usize, fault: &str, device: &str) -> End {
    (0..3).find_map(|_| try_run(ranks, fault, device)).expect("mpirun crashes each time")
}

/// [`run`] once; `None` if mpirun crashed.
fn try_run(ranks: usize, fault: &str, device: &str) -> Option<End> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (deck, log, out, copies) = (path("deck.toml"), path("log"), path("out"), path("copies"));
    std::fs::write(&deck, "[mesh]\nnodes = 7\n[fill]\nstrategy = \"gather\"\n[graph]\nstrategy = \"map\"\n").unwrap();
    std::fs::create_dir(&out).unwrap();
    std::fs::create_dir(&copies).unwrap();
    let mut command = match ranks {
        1 => Command::new(program()),
        _ => {
            let mut command = Command::new("mpirun");
            command.args(["--oversubscribe", "-n", &ranks.to_string()]).arg(program());
            command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
            command
        }
    };
    let report = out.join("report.json");
    command.arg("--input").arg(&deck).args(["--threads", "2", "--device", device, "--report"]).arg(&report);
    if device == "cuda" && ranks > 1 {
        command.arg("--share-gpu");
    }
    // A report that cannot be written where it belongs may leave a copy there.
    command
        .env("TMPDIR", &copies)
        .envs([("MINIFENL_FAULT", fault), ("RUST_BACKTRACE", "0")])
        .env("MINIFENL_FAULT_LOG", &log);
    let errors = std::fs::File::create(path("stderr")).unwrap();
    let mut child = command.stdout(Stdio::null()).stderr(errors).spawn().unwrap();
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > LIMIT {
            child.kill().unwrap();
            let text = std::fs::read_to_string(path("stderr")).unwrap();
            panic!("{fault} on {ranks} ranks, {device}: still running after {LIMIT:?}: {text}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let stderr = std::fs::read_to_string(path("stderr")).unwrap();
    if ranks > 1 && status.code().is_none() && stderr.contains("PMIx_server_finalize") {
        return None;
    }
    let code = status.code().unwrap_or_else(|| panic!("{fault} on {ranks} ranks, {device}: {status:?}: {stderr}"));
    let dies = fault.contains('!');
    assert!(!stderr.contains("panicked") && (dies || !stderr.contains("signal")), "{fault} on {ranks} ranks: {stderr}");
    wait_for_all(folder.path(), fault);
    let left: Vec<_> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "report.json"), "{fault} on {ranks} ranks left {left:?}");
    Some(End {
        code,
        // A launcher adds lines of its own; those of the program begin with this word.
        errors: stderr
            .lines()
            .filter(|line| ranks == 1 && !line.starts_with('{') || line.contains("error:"))
            .map(String::from)
            .collect(),
        fault: std::fs::read_to_string(&log).ok(),
        report: std::fs::read_to_string(&report).ok(),
        stderr,
    })
}

/// Waits until no process has the folder in its arguments: all ranks are gone.
fn wait_for_all(folder: &Path, fault: &str) {
    let is_ours = |entry: std::io::Result<std::fs::DirEntry>| {
        let arguments = entry.and_then(|entry| std::fs::read(entry.path().join("cmdline")));
        arguments.is_ok_and(|text| String::from_utf8_lossy(&text).contains(folder.to_str().unwrap()))
    };
    let begin = Instant::now();
    while std::fs::read_dir("/proc").is_ok_and(|mut all| all.any(is_ours)) {
        assert!(begin.elapsed() < Duration::from_secs(10), "{fault}: a rank is left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Checks a run whose fault fired and returns whether the run ended with an error.
fn check(end: &End, what: &str, codes: &[i32]) -> bool {
    let fault = end.fault.as_deref().unwrap_or("none").trim();
    let what = format!("{what}, which is {fault}: code {}, {:?}", end.code, end.errors);
    if end.code == 0 {
        // A failure that costs nothing, such as a cache that cannot be written.
        assert!(end.errors.is_empty() && end.report.is_some(), "{what}: the fault was lost");
    } else {
        assert!(codes.contains(&end.code), "{what}: expected a code of {codes:?}");
        assert_eq!(end.errors.len(), 1, "{what}: expected one line");
        let line = &end.errors[0];
        assert!(line.contains("error: ") && line.len() < 500 && !line.ends_with("error: "), "{what}");
    }
    if let Some(report) = &end.report {
        assert!(serde_json::from_str::<serde_json::Value>(report).is_ok(), "{what}: half a report");
    }
    end.code != 0
}

/// Walks one kind on one rank and returns the numbers of faults and of runs that ended with an error.
fn walk(kind: &str, device: &str, codes: &[i32], calls: impl Iterator<Item = u64>) -> [usize; 2] {
    let mut counts = [0; 2];
    for call in calls {
        let end = run(1, &format!("{kind}:{call}"), device);
        if end.fault.is_none() {
            assert_eq!((end.code, end.errors.len()), (0, 0), "{kind}:{call} has no fault: {:?}", end.errors);
            assert!(end.report.is_some(), "{kind}:{call}");
            return counts;
        }
        counts[0] += 1;
        counts[1] += usize::from(check(&end, &format!("{kind}:{call} on {device}"), codes));
    }
    counts
}

#[test]
fn each_allocation_that_fails_is_named_with_its_bytes() {
    let [faults, errors] = walk("alloc", "cpu", &[2], 1..);
    println!("faults: {faults} allocations on 1 rank, {errors} errors");
    assert!(faults > 25 && errors == faults, "{faults} faults, {errors} errors");
    let line = run(1, "alloc:5", "cpu").errors.remove(0);
    assert!(line.contains("stage `") && line.contains("array `") && line.contains("bytes) are free"), "{line}");
}

#[test]
fn each_file_operation_that_fails_is_an_error_and_leaves_nothing() {
    // Bad input before the work, a failure once the work is done.
    let [faults, errors] = walk("file", "cpu", &[1, 2], 1..);
    println!("faults: {faults} file operations on 1 rank, {errors} errors");
    assert!(faults >= 5 && errors >= 4, "{faults} faults, {errors} errors");
}

#[test]
fn without_a_fault_the_switch_changes_nothing() {
    for fault in ["alloc:1000000", "file:1000000", "nothing", "alloc:3@1"] {
        let end = run(1, fault, "cpu");
        assert!(end.fault.is_none() && end.code == 0 && end.report.is_some(), "{fault}: {:?}", end.errors);
    }
}

/// Walks one kind on 2 ranks: each call fails on one of them, in turn; with `MINIFENL_ALL_FAULTS` on each of them. Jobs wait for
/// mpirun most of their time, so several run side by side.
#[cfg(feature = "mpi")]
fn walk_ranks(kind: &str, codes: &[i32]) -> [usize; 2] {
    const SIDE_BY_SIDE: u64 = 4;
    let on_both = std::env::var_os("MINIFENL_ALL_FAULTS").is_some();
    let mut counts = [0; 2];
    for first in (1..).step_by(SIDE_BY_SIDE as usize) {
        let calls = first..first + SIDE_BY_SIDE;
        let of_call = |call: u64| (0..2).filter(move |rank| on_both || call % 2 == *rank).map(move |rank| (call, rank));
        let faults: Vec<String> = calls.flat_map(of_call).map(|(call, rank)| format!("{kind}:{call}@{rank}")).collect();
        let ends: Vec<End> = std::thread::scope(|scope| {
            let jobs: Vec<_> = faults.iter().map(|fault| scope.spawn(|| run(2, fault, "cpu"))).collect();
            jobs.into_iter().map(|job| job.join().unwrap()).collect()
        });
        let before = counts[0];
        for (fault, end) in faults.iter().zip(&ends) {
            if end.fault.is_none() {
                assert_eq!((end.code, end.errors.len()), (0, 0), "{fault} has no fault: {:?}", end.errors);
                continue;
            }
            counts[0] += 1;
            counts[1] += usize::from(check(end, &format!("{fault} on 2 ranks"), codes));
        }
        if counts[0] == before {
            break;
        }
    }
    counts
}

#[cfg(feature = "mpi")]
#[test]
fn on_two_ranks_each_allocation_ends_both() {
    // Code 1 where the other rank is in a collective operation and has to be aborted.
    let [faults, errors] = walk_ranks("alloc", &[1, 2]);
    println!("faults: {faults} allocations on 2 ranks, {errors} errors");
    assert!(faults > 25 && errors == faults, "{faults} faults, {errors} errors");
}

#[cfg(feature = "mpi")]
#[test]
fn on_two_ranks_each_file_operation_ends_both() {
    let [faults, errors] = walk_ranks("file", &[1, 2]);
    println!("faults: {faults} file operations on 2 ranks, {errors} errors");
    assert!(faults >= 3 && errors >= 2, "{faults} faults, {errors} errors");
}

/// A rank that is short of memory alone, on more ranks: every stage, in growing steps. It speaks, and the others end with it.
#[cfg(feature = "mpi")]
#[test]
fn one_of_several_ranks_that_lacks_memory_ends_all() {
    let (mut counts, mut call) = ([0; 2], 1u64);
    loop {
        let ranks = 3 + (counts[0] % 2) as u64;
        let rank = call % ranks;
        let fault = format!("alloc:{call}@{rank}");
        let begin = Instant::now();
        let end = run(ranks as usize, &fault, "cpu");
        if end.fault.is_none() {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{fault} took {:?}", begin.elapsed());
        counts[0] += 1;
        counts[1] += usize::from(check(&end, &format!("{fault} on {ranks} ranks"), &[1, 2]));
        // The rank that says so is the one that failed.
        assert!(
            end.errors[0].contains(&format!("rank {rank}")) && end.errors[0].contains("bytes) are free"),
            "{:?}",
            end.errors
        );
        call += 1 + call / 3;
    }
    println!("faults: {} allocations on 3 and 4 ranks, {} errors", counts[0], counts[1]);
    assert!(counts[0] > 8 && counts[1] == counts[0], "{counts:?}");
}

/// A rank that is killed at an allocation or at a call of MPI, in growing steps from the start of MPI to the report: the launcher
/// names it and its signal, the others are ended in time and say nothing of their own.
#[cfg(feature = "mpi")]
#[test]
fn a_rank_that_is_killed_in_any_phase_ends_all() {
    let mut seen = std::collections::BTreeSet::new();
    for kind in ["alloc", "mpi"] {
        let (mut kills, mut call) = (0, 1u64);
        loop {
            let ranks = 2 + call % 3;
            let rank = (call / 2) % ranks;
            let fault = format!("{kind}:{call}!@{rank}");
            let begin = Instant::now();
            let end = run(ranks as usize, &fault, "cpu");
            let Some(log) = &end.fault else { break };
            let what = format!("{fault} on {ranks} ranks, which is {}: code {}, {}", log.trim(), end.code, end.stderr);
            assert!(begin.elapsed() < Duration::from_secs(10), "{what}: took {:?}", begin.elapsed());
            assert!(end.code != 0 && end.report.is_none() && end.errors.is_empty(), "{what}");
            // The launcher does not know the rank of a process that has not started MPI.
            let names = |text: &str| text.contains(&format!("process rank {rank} ")) && text.contains("signal 9");
            assert!(log.contains("MPI_Init") || names(&end.stderr), "{what}");
            seen.insert(log.split_whitespace().skip(2).collect::<Vec<_>>().join(" "));
            kills += 1;
            call += 1 + call / if kind == "mpi" { 1 } else { 2 };
        }
        println!("faults: {kills} ranks killed at calls of kind {kind}");
        assert!(kills > 6, "{kind}: {kills}");
    }
    println!("killed at {seen:?}");
    // Tables of the set-up and messages of the solution.
    assert!(seen.len() > 6 && seen.contains("MPI_Allreduce"), "{seen:?}");
}

/// A run has more than 1000 calls of MPI. The first 24 are walked one by one, the others in growing steps.
#[cfg(feature = "mpi")]
#[test]
fn on_two_ranks_each_call_of_mpi_ends_both() {
    let mut counts = [0; 2];
    let mut call = 1u64;
    loop {
        let fault = format!("mpi:{call}@{}", call % 2);
        let end = run(2, &fault, "cpu");
        if end.fault.is_none() {
            assert_eq!((end.code, end.errors.len()), (0, 0), "{fault} has no fault: {:?}", end.errors);
            break;
        }
        counts[0] += 1;
        counts[1] += usize::from(check(&end, &format!("{fault} on 2 ranks"), &[1, 2]));
        call += if call < 24 { 1 } else { call / 5 };
    }
    println!("faults: {} calls of MPI on 2 ranks, {} errors", counts[0], counts[1]);
    assert!(counts[0] > 30 && counts[1] == counts[0], "{counts:?}");
}
