//! Runs a job of `mpirun` with a time limit, finds its ranks, and makes sure that none is left afterwards.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A job that takes longer than this hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Marks the processes of a job by their environment.
const MARK: &str = "MINIFENL_TEST_JOB";

/// How a job ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    /// What the ranks wrote to stderr, without `mpirun`'s own remarks.
    pub errors: Vec<String>,
    pub stderr: String,
}

/// A job that runs.
pub struct Job {
    child: Child,
    mark: String,
}

impl Job {
    /// Starts a job by its launcher.
    pub fn launch(mut command: Command) -> Job {
        static JOBS: AtomicUsize = AtomicUsize::new(0);
        let mark = format!("{}-{}", std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed));
        command.env(MARK, &mark).env_remove("RUST_BACKTRACE");
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Job { child: child.expect("mpirun starts"), mark }
    }

    /// The process of a rank, once it has used the processor for `ticks` hundredths of a second.
    pub fn busy(&self, rank: usize, ticks: u64) -> u32 {
        let variable = format!("OMPI_COMM_WORLD_RANK={rank}");
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < PATIENCE, "rank {rank} does not start");
            let busy = self.processes().into_iter().find(|(id, environment)| {
                environment.split('\0').any(|line| line == variable) && ticks_of(*id) >= ticks
            });
            if let Some((id, _)) = busy {
                return id;
            }
            sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the end of the job and of all its processes.
    pub fn end(mut self) -> Ended {
        let start = Instant::now();
        let mut hangs = false;
        while self.child.try_wait().unwrap().is_none() {
            if start.elapsed() > PATIENCE {
                hangs = true;
                break;
            }
            sleep(Duration::from_millis(5));
        }
        // `mpirun` waits for its ranks, but a process needs a moment to go.
        while !hangs && !self.processes().is_empty() && start.elapsed() < PATIENCE {
            sleep(Duration::from_millis(5));
        }
        let left = self.processes();
        left.iter().for_each(|(id, _)| signal(*id, "KILL"));
        let output = self.child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        assert!(!hangs, "not over after {PATIENCE:?}: {stderr}");
        assert!(left.is_empty(), "processes are left: {left:?}: {stderr}");
        let errors = stderr.lines().filter(|line| line.starts_with("error:")).map(String::from).collect();
        Ended { code: output.status.code(), stdout, errors, stderr }
    }

    /// The processes of the job that are alive, and their environments.
    fn processes(&self) -> Vec<(u32, String)> {
        let mark = format!("{MARK}={}", self.mark);
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // A process that has ended and waits for its parent has an empty environment.
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let environment = String::from_utf8_lossy(&environment).into_owned();
            if id != self.child.id() && environment.split('\0').any(|line| line == mark) {
                found.push((id, environment));
            }
        }
        found
    }
}

/// Time that a process has computed, in hundredths of a second.
fn ticks_of(id: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The name in parentheses may hold spaces; utime is the 12th field after it.
    let mut fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
    fields.nth(11).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

/// Sends a signal to a process.
pub fn signal(id: u32, name: &str) {
    let _ = Command::new("kill").args(["-s", name, &id.to_string()]).status();
}
