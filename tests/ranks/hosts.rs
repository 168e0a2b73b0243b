//! Ranks on two hosts: what they know of their host, the same bits as on one host, and jobs whose ranks, daemons or network fail.
//!
//! The hosts are network namespaces of this machine, so ranks of different hosts exchange over TCP. Skipped, with the reason,
//! where namespaces cannot be had; with `MINIFENL_NEEDS_HOSTS` set they fail then.

#![cfg(target_os = "linux")]

use crate::job::{Ended, Job, signal};
use crate::namespaces::Hosts;
use minifenl::comm::{Communicator, started_by_mpirun, world};
use std::process::Command;
use std::time::{Duration, Instant};
use support::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_minifenl");
/// A job that computes for some seconds on 4 ranks.
const LONG: [&str; 6] = ["--device", "cpu", "--threads", "1", "--nodes", "64"];
/// Set in ranks that this program starts of itself.
const RANK: &str = "MINIFENL_TEST_RANK";

fn hosts(test: &str) -> Option<Hosts> {
    Hosts::new().map_err(|why| support::skip(test, &why, "MINIFENL_NEEDS_HOSTS")).ok()
}

fn start(hosts: &Hosts, ranks: [usize; 2], arguments: &[&str]) -> Job {
    let mut command = hosts.mpirun(ranks);
    command.arg(PROGRAM).args(arguments);
    Job::launch(command)
}

/// The end of a job that is over at most 10 s after `begin`.
fn ended(job: Job, begin: Instant) -> Ended {
    let ended = job.end();
    assert!(begin.elapsed() < Duration::from_secs(10), "took {:?}: {ended:?}", begin.elapsed());
    ended
}

/// What a rank finds: the first ranks are on the first host.
fn place(comm: &dyn Communicator) {
    let ranks = std::env::var(RANK).unwrap();
    let [a, b] = ranks.split('+').map(|count| count.parse().unwrap()).collect::<Vec<usize>>()[..] else {
        panic!("{ranks}: not two hosts")
    };
    assert_eq!(comm.size(), a + b);
    let (first, on_host) = if comm.rank() < a { (0, a) } else { (a, b) };
    assert_eq!((comm.rank_on_node(), comm.ranks_on_node()), (comm.rank() - first, on_host));
    // A digit per rank, so that a sum says which ranks it holds.
    let digit = |rank: usize| 10u64.pow(rank as u32);
    assert_eq!(comm.node_sum(digit(comm.rank())), (first..first + on_host).map(digit).sum::<u64>());
    let mut all = [digit(comm.rank())];
    comm.all_sum_u64(&mut all);
    assert_eq!(all, [(0..a + b).map(digit).sum::<u64>()]);
}

#[test]
fn ranks_know_which_of_them_share_their_host() {
    const NAME: &str = "ranks_know_which_of_them_share_their_host";
    if std::env::var_os(RANK).is_some() && started_by_mpirun().is_some() {
        let comm = world().unwrap();
        comm.abort_on_panic();
        return place(&*comm);
    }
    let Some(hosts) = hosts(NAME) else { return };
    for [a, b] in [[1, 1], [2, 2], [3, 1]] {
        let mut command = hosts.mpirun([a, b]);
        command.arg(std::env::current_exe().unwrap()).args([
            "--exact",
            &format!("hosts::{NAME}"),
            "--test-threads",
            "1",
        ]);
        command.env(RANK, format!("{a}+{b}"));
        let ended = Job::launch(command).end();
        let passed = ended.stdout.matches("1 passed").count();
        assert_eq!((ended.code, passed), (Some(0), a + b), "{a} + {b} ranks: {ended:?}");
    }
}

/// Residuals and errors of the report that a job writes.
fn numbers(mut command: Command, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    command.args([PROGRAM, "--device", "cpu", "--threads", "1", "--nodes", "10x11x12", "--map", "twist"]);
    command.args(more).arg("--report").arg(&report);
    let ended = Job::launch(command).end();
    assert_eq!((ended.code, ended.errors.len()), (Some(0), 0), "{ended:?}");
    let report = json(&report);
    ["history", "error_max", "error_l2", "algebraic_error", "symmetry"]
        .map(|key| format!("{key}: {}", report[key]))
        .join("\n")
}

#[test]
fn a_deterministic_run_has_the_same_bits_on_one_host_and_on_two() {
    let Some(hosts) = hosts("a_deterministic_run_has_the_same_bits_on_one_host_and_on_two") else { return };
    let first = numbers(support::mpirun(4), &["--deterministic"]);
    for (ranks, more) in [
        ([2, 2], &["--deterministic"][..]),
        ([3, 1], &["--deterministic"]),
        ([2, 2], &["--deterministic", "--timeout", "30"]),
    ] {
        assert_eq!(numbers(hosts.mpirun(ranks), more), first, "{ranks:?} {more:?}");
    }
}

#[test]
fn a_rank_or_a_daemon_that_is_killed_ends_both_hosts() {
    let Some(hosts) = hosts("a_rank_or_a_daemon_that_is_killed_ends_both_hosts") else { return };
    // On the host of mpirun, and on the other one.
    for rank in [1, 3] {
        let job = start(&hosts, [2, 2], &LONG);
        let id = job.busy(rank, 40);
        let begin = Instant::now();
        signal(id, "KILL");
        let ended = ended(job, begin);
        assert!(ended.code != Some(0) && ended.stdout.is_empty(), "{ended:?}");
        let remark = format!("process rank {rank} ");
        assert!(ended.stderr.contains(&remark) && ended.stderr.contains("signal 9"), "{ended:?}");
    }
    // The daemon is the parent of its ranks.
    let job = start(&hosts, [2, 2], &LONG);
    let status = std::fs::read_to_string(format!("/proc/{}/status", job.busy(3, 40))).unwrap();
    let daemon = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
    let begin = Instant::now();
    signal(daemon, "KILL");
    let ended = ended(job, begin);
    assert!(ended.code != Some(0) && ended.stdout.is_empty(), "{ended:?}");
    assert!(ended.stderr.contains("lost communication with a remote daemon"), "{ended:?}");
}

/// Each host misses the ranks of the other one. `mpirun` itself waits until it reaches its daemon again.
#[test]
fn ranks_that_a_broken_network_cuts_off_are_missed() {
    let Some(hosts) = hosts("ranks_that_a_broken_network_cuts_off_are_missed") else { return };
    let job = start(&hosts, [2, 2], &[&LONG[..], &["--timeout", "2"]].concat());
    job.busy(0, 40);
    job.busy(3, 40);
    hosts.connect(false);
    // The limit, the second in which ranks call each other, and the end of the ranks.
    std::thread::sleep(Duration::from_secs(6));
    let begin = Instant::now();
    hosts.connect(true);
    let ended = ended(job, begin);
    assert!(ended.code != Some(0) && ended.stdout.is_empty(), "{ended:?}");
    let (by_first, others): (Vec<&String>, Vec<&String>) =
        ended.errors.iter().partition(|line| line.contains(": ranks 2-3 missing; rank 0 waits at "));
    assert_eq!(by_first.len(), 1, "{ended:?}");
    // The lines of the host that was cut off arrive later, and its daemon cannot end rank 3 before that speaks, too.
    assert!(others.len() <= 2 && others.iter().all(|line| line.contains(": ranks 0-1 missing; rank ")), "{ended:?}");
}
