//! The program in too little address space: one line and code 2, or the run, and nothing in between.
#![cfg(target_os = "linux")]

use super::alone;
use std::process::{Command, Output};

/// Runs the program with at most `kib` KiB of address space.
fn limited(kib: usize, arguments: &str) -> Output {
    let program = assert_cmd::cargo::cargo_bin("minifenl");
    let command = format!("ulimit -v {kib}; exec \"$0\" {arguments} --device cpu");
    Command::new("bash").args(["-c", &command]).arg(program).output().unwrap()
}

/// The code, and the one line on stderr.
fn one_line(output: &Output, what: &str) -> (i32, String) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code().unwrap_or_else(|| panic!("{what}: {:?}: {text}", output.status));
    assert_eq!(text.lines().count(), usize::from(code != 0), "{what}: {text}");
    (code, text)
}

#[test]
fn less_address_space_than_the_forecast_is_one_line_and_code_2() {
    let _alone = alone();
    for (arguments, kib) in [("--nodes 80 --threads 2", 150_000), ("--nodes 400 --threads 1", 1 << 20)] {
        let output = limited(kib, arguments);
        let (code, text) = one_line(&output, arguments);
        assert_eq!(code, 2, "{text}");
        for part in ["error: stage `", "this number of nodes (--nodes or --nodes-per-rank; about ", "bytes) are free"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_dry_run_of_what_does_not_fit_says_so_and_ends_with_code_2() {
    let _alone = alone();
    for (arguments, kib) in [("--nodes 80 --threads 2", 150_000), ("--nodes 400 --threads 1", 1 << 20)] {
        let output = limited(kib, &format!("--dry-run {arguments}"));
        let (code, error) = one_line(&output, arguments);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains("error: stage `") && error.contains("bytes) are free"), "{error}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.lines().last().unwrap().starts_with("TOO LARGE: peak "), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
    // The forecast itself needs little: that of a box for which no machine has the memory.
    let (code, error) = one_line(&limited(150_000, "--dry-run --nodes 800 --threads 1"), "800");
    assert!(code == 2 && error.contains("error: stage `mesh`"), "{error}");
}

/// Memory is free beside the threads: with every limit, a run is refused by its forecast if and only if `--dry-run` refuses it.
#[test]
fn a_dry_run_refuses_what_the_run_refuses() {
    let _alone = alone();
    let least = (4..).map(|step| step << 12).find(|&kib| limited(kib, "--version").status.success()).unwrap();
    let mut refused = 0;
    for kib in (0..36).map(|step| least + 4096 * (step + 1)) {
        let flags = "--nodes 40 --threads 2 --cg-iterations 1 --newton-max 1";
        let is_refused = |output: &Output| String::from_utf8_lossy(&output.stderr).contains("this number of nodes");
        let both = || ["", "--dry-run "].map(|flag| limited(kib, &format!("{flag}{flags}")));
        // The allocator may reserve 64 MiB for a thread just before or just after free memory is read: at most limits that cannot matter.
        let (mut tries, mut found) = (1, both());
        while is_refused(&found[0]) != is_refused(&found[1]) && tries < 8 {
            (tries, found) = (tries + 1, both());
        }
        let [run, dry] = found;
        assert_eq!(is_refused(&run), is_refused(&dry), "{kib} KiB: {run:?}, {dry:?}");
        refused += usize::from(is_refused(&run));
    }
    assert!((1..36).contains(&refused), "{refused} limits are too small");
}

/// Every limit from too little for the forecast to enough ends the run in order: refused by the forecast, refused at one
/// array, refused because threads cannot start, or done. Before allocations could fail, limits in between aborted the run.
#[test]
fn no_limit_of_address_space_aborts_a_run() {
    let _alone = alone();
    // Less than this, and the system cannot load the program.
    let least = (4..).map(|step| step << 12).find(|&kib| limited(kib, "--version").status.success()).unwrap();
    let mut ends = [0; 2];
    for kib in (0..40).map(|step| least + 2048 * (step + 1)) {
        let output = limited(kib, "--nodes 32 --threads 2 --graph map --cg-tolerance 1e-6");
        let (code, text) = one_line(&output, "limited");
        let is_known = ["stage `", "array `", "threads: cannot start"].iter().any(|word| text.contains(word));
        assert!(code == 0 || code == 2 && is_known, "{kib} KiB: code {code}: {text}");
        ends[usize::from(code == 0)] += 1;
        if ends[1] == 3 {
            break;
        }
    }
    println!("limits of address space: {} refused, {} verified", ends[0], ends[1]);
    assert!(ends[0] > 3 && ends[1] == 3, "{ends:?}");
}

/// Memory that runs out is no failed check, and no mistake of the user.
#[test]
fn a_check_that_lacks_memory_ends_verify_with_code_1() {
    let _alone = alone();
    let least = (4..).map(|step| step << 12).find(|&kib| limited(kib, "--version").status.success()).unwrap();
    let output = limited(least + (24 << 10), "verify --threads 1");
    let (code, text) = one_line(&output, "verify");
    assert!(code == 1 && text.starts_with("error: the check `") && text.contains(" needs "), "{code}: {text}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("FAIL"), "{output:?}");
}

/// What does not fit is refused before any strategy is measured, which a study that ends at an array was not.
#[test]
fn a_study_of_strategies_is_refused_before_it_begins() {
    let _alone = alone();
    let least = (4..).map(|step| step << 12).find(|&kib| limited(kib, "--version").status.success()).unwrap();
    let mut ends = [0; 2];
    for kib in (0..6).map(|step| least + 4096 * (step + 4)) {
        let (code, text) = one_line(&limited(kib, "strategies --nodes 24 --threads 1 --rounds 1"), "strategies");
        assert!(code == 0 || code == 2 && text.contains("this number of nodes"), "{kib} KiB: code {code}: {text}");
        ends[usize::from(code == 0)] += 1;
    }
    assert!(ends.iter().all(|&count| count > 0), "{ends:?}");
}

#[test]
fn threads_that_cannot_start_are_one_line_and_code_2() {
    let _alone = alone();
    // Each of 64 threads reserves 2 MiB for its stack.
    let (code, text) = one_line(&limited(100_000, "--nodes 8 --threads 64"), "64 threads");
    assert!(code == 2 && text.contains("threads: cannot start a pool of 64"), "{code}: {text}");
}
