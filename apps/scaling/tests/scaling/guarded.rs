//! What a study does not do: run what is injected, never end, outlive its end, share its folder.

use crate::made_up::{executable, program, scaling};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn line_breaks_reach_no_job_script() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("study");
    let (out, broken) = (out.to_str().unwrap().to_string(), root.path().join("a\ntouch b").display().to_string());
    let emit = ["strong", "--nodes", "8", "--emit", "slurm"];
    for words in [
        &["--device", "cpu\ntouch b", "--out", &out][..],
        &["--out", &broken],
        &["--program", "x\n", "--out", &out],
        &["--out", &out, "--", "--map", "twist\ntouch b"],
        &["--out", &out, "--", "--map\r"],
    ] {
        let refused = scaling(&[&emit[..], words].concat());
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("expected text without control characters") && said.lines().count() == 1, "{said}");
        assert_eq!(refused.status.code(), Some(2), "{words:?}");
    }
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0, "nothing was written");
}

#[test]
fn numbers_without_end_are_refused_at_once() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("study").display().to_string();
    let machine = ["model", "--bandwidth", "10", "--latency", "2", "--link", "5", "--flops", "30"];
    let study = ["strong", "--nodes", "800", "--out", &out];
    let start = Instant::now();
    for words in [
        [&machine[..], &["--nodes", "8000", "--ranks", "100000000"]].concat(),
        [&study[..], &["--ranks", "100000000"]].concat(),
        [&study[..], &["--repeats", "1000000000"]].concat(),
        [&study[..], &["--threads", "1000000000000"]].concat(),
        [&study[..], &["--workers", "18446744073709551615"]].concat(),
    ] {
        let refused = scaling(&words);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("expected") && said.lines().count() == 1, "{words:?}: {said}");
        assert_eq!(refused.status.code(), Some(2), "{words:?}");
    }
    assert!(start.elapsed() < Duration::from_secs(20) && !Path::new(&out).exists());
}

/// Whether a process runs: it is there, and not only its exit code.
fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Polls, for at most 20 s.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_run_ends_with_its_study_and_a_folder_has_one_study() {
    for signal in ["-TERM", "-INT", "-KILL"] {
        let root = tempfile::tempdir().unwrap();
        let (minifenl, out, number) =
            (root.path().join("minifenl"), root.path().join("weak"), root.path().join("number"));
        executable(
            &minifenl,
            &format!("#!/bin/bash\necho $$ > {0}.new; mv {0}.new {0}; exec sleep 100\n", number.display()),
        );
        let words = ["weak", "--nodes-per-rank", "8", "--ranks", "1", "--launcher", "env", "--program"];
        let words = [&words[..], &[minifenl.to_str().unwrap(), "--out", out.to_str().unwrap()]].concat();
        // A shell lets its background jobs ignore Ctrl-C.
        let mut study = Command::new("env");
        study.arg("--default-signal=INT").arg(program()).args(&words);
        let mut study = study.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("the run starts", || number.exists());
        let run = std::fs::read_to_string(&number).unwrap().trim().to_string();
        let second = scaling(&words);
        let said = String::from_utf8_lossy(&second.stderr);
        assert_eq!(second.status.code(), Some(2), "{said}");
        assert!(said.contains("another study is running in this folder") && said.lines().count() == 1, "{said}");
        assert!(runs(&run));
        let status = Command::new("kill").args([signal, &study.id().to_string()]).status().unwrap();
        assert!(status.success() && !study.wait().unwrap().success());
        wait_until("the run ends with its study", || !runs(&run));
    }
}
