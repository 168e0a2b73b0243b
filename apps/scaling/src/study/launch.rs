//! Starts the runs of a study that are not on disk yet.

use super::cores::Cores;
use super::guarded::output;
use super::others;
use super::plan::{Kind, Point, Study, file};
use super::record::Record;
use minifenl::error::printable;
use minifenl::run::program::{Others, StatusLine};
use minifenl::space::allowed_cores;
use minifenl::{Error, Result, files};
use std::io::{IsTerminal, Write, stderr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Open MPI where each thread has a core of its own: ranks are bound to that many cores, one after the other.
const BOUND: &str = "mpirun -n {ranks} --map-by slot:PE={threads} --bind-to core";
/// The same with as many ranks on each NUMA domain, which then share the memory bandwidth of all domains evenly.
const SPREAD: &str = "mpirun -n {ranks} --map-by numa:PE={threads} --bind-to core";
/// More threads than cores, but not than hardware threads.
const HARDWARE_THREADS: &str = "mpirun -n {ranks} --use-hwthread-cpus --map-by slot:PE={threads} --bind-to hwthread";
/// Open MPI with more threads than hardware threads.
const OVERSUBSCRIBED: &str = "mpirun -n {ranks} --oversubscribe --bind-to none";
/// Characters of a program's message that are kept.
const LONGEST: usize = 300;

/// How ranks are started.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Words with `{ranks}` and `{threads}`; Open MPI's mpirun if `None`.
    pub template: Option<String>,
    /// The program minifenl.
    pub program: PathBuf,
    /// What this machine has.
    pub cores: Cores,
}

/// A run without a report that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which run.
    pub point: Point,
    /// Its number at this point.
    pub repeat: usize,
    /// What it said.
    pub reason: String,
}

impl Launcher {
    /// Creates the launcher of this machine.
    pub fn new(template: Option<String>, program: PathBuf) -> Self {
        Launcher { template, program, cores: Cores::read(Path::new("/"), allowed_cores()) }
    }

    /// The words that start `point`, without the flags of minifenl.
    pub fn words(&self, point: Point) -> Vec<String> {
        let usual = match point.workers() {
            workers if workers > self.cores.threads => OVERSUBSCRIBED,
            workers if workers > self.cores.cores => HARDWARE_THREADS,
            _ if self.cores.spreads(point.ranks, point.threads) => SPREAD,
            _ => BOUND,
        };
        let template = self.template.as_deref().unwrap_or(usual);
        let [ranks, threads] = [point.ranks, point.threads].map(|count| count.to_string());
        let words = template.split_whitespace();
        let mut words: Vec<String> =
            words.map(|word| word.replace("{ranks}", &ranks).replace("{threads}", &threads)).collect();
        words.push(self.program.to_string_lossy().into_owned());
        words
    }

    /// The command that starts `point`, without the flags of the program.
    pub fn command(&self, point: Point) -> Command {
        let words = self.words(point);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        if self.template.is_none() && is_root() {
            // Open MPI asks root, the usual user of a container, to say twice that it is meant.
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        }
        command
    }
}

/// The flags of minifenl for one run. The triad is measured: without it no time has a bound.
pub fn flags(study: &Study, point: Point, report: &Path) -> Result<Vec<String>> {
    let [x, y, z] = study.nodes_of(point.ranks)?;
    let fixed = ["--nodes".into(), format!("{x}x{y}x{z}"), "--device".into(), study.device.clone()];
    let size = size(study, [x, y, z]).map(|size| ["--size".into(), size]);
    let threads = ["--threads".into(), point.threads.to_string(), "--triad".into()];
    let uneven = point.is_uneven().then(|| ["--imbalance".into(), point.imbalance.to_string()]);
    let report = ["--report".into(), report.to_string_lossy().into_owned()];
    let fixed = fixed.into_iter().chain(size.into_iter().flatten()).chain(threads).chain(uneven.into_iter().flatten());
    Ok(fixed.chain(study.flags.clone()).chain(report).collect())
}

/// The edges of a box that grows with the ranks, so that its elements keep the shape that they have on one rank; `None` for a box that
/// does not grow, or whose size the flags give.
fn size(study: &Study, nodes: [u64; 3]) -> Option<String> {
    (study.kind == Kind::Weak && nodes != study.nodes && study.given("--size").is_none()).then(|| {
        let edge = |axis: usize| (nodes[axis] - 1) as f64 / (study.nodes[axis] - 1) as f64;
        format!("{},{},{}", edge(0), edge(1), edge(2))
    })
}

/// Runs what is missing in `folder`. Shows the time left in one line of a terminal; a log gets a line per run. A failed run does not
/// end the study, unless the first two fail alike.
///
/// # Errors
/// [`Error::File`] if the folder cannot be written, [`Error::Invalid`] if the launcher cannot be started.
pub fn run(study: &Study, launcher: &Launcher, folder: &Path) -> Result<Vec<Failure>> {
    let runs = folder.join("runs");
    std::fs::create_dir_all(&runs)
        .map_err(|error| Error::File { path: runs.display().to_string(), reason: error.to_string() })?;
    let missing = missing(study, folder);
    let (mut line, start, mut failures) = (StatusLine::on_stderr(true), Instant::now(), Vec::new());
    for (done, &(point, repeat)) in missing.iter().enumerate() {
        let left = time_left(&missing, done, start.elapsed().as_secs_f64());
        line.put(&format!("{}/{} left {left}  {point}, run {repeat}", done + 1, missing.len()), "");
        let ended = run_one(study, launcher, folder, point, repeat)?;
        if !stderr().is_terminal() {
            // A log, which is followed while the study runs.
            let how = if ended.is_ok() { "done" } else { "failed" };
            let _ = writeln!(stderr(), "{}/{} {how}  {point}, run {repeat}", done + 1, missing.len());
        }
        if let Err(reason) = ended {
            failures.push(Failure { point, repeat, reason });
        }
        if is_hopeless(done + 1, &failures) {
            break;
        }
    }
    line.clear();
    Ok(failures)
}

/// The runs of a study without a report that counts.
fn missing(study: &Study, folder: &Path) -> Vec<(Point, usize)> {
    let is_missing = |&(point, repeat): &(Point, usize)| {
        !Record::read(&folder.join(file(point, repeat))).is_ok_and(|record| record.mistake(study, point).is_none())
    };
    study.runs().into_iter().filter(is_missing).collect()
}

/// Whether the first runs all failed for one reason, which the others would meet, too.
fn is_hopeless(done: usize, failures: &[Failure]) -> bool {
    done == 2 && failures.len() == 2 && failures[0].reason == failures[1].reason
}

/// Time left, if a run takes as long as the mean of those before it.
fn time_left(missing: &[(Point, usize)], done: usize, elapsed: f64) -> String {
    if done == 0 {
        return "-".into();
    }
    let seconds = (elapsed / done as f64 * (missing.len() - done) as f64).round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Runs once; the inner error says why the run does not count.
fn run_one(
    study: &Study,
    launcher: &Launcher,
    folder: &Path,
    point: Point,
    repeat: usize,
) -> Result<std::result::Result<(), String>> {
    let report = folder.join(file(point, repeat));
    // A report of a run that did not count must not be taken for the new one.
    let _ = std::fs::remove_file(&report);
    let mut command = launcher.command(point);
    command.args(flags(study, point, &report)?);
    let others = Others::start();
    let output = output(&mut command)?;
    if let Some(used) = others.and_then(|others| others.used()) {
        files::write(&others::file(&report), format!("{used:.2}\n").as_bytes())?;
    }
    let said = message(&output.stderr);
    Ok(match Record::read(&report) {
        Ok(record) => record.mistake(study, point).map_or(Ok(()), Err),
        Err(_) => Err(match output.status.code() {
            Some(code) => format!("no report, exit code {code}: {said}"),
            None => format!("no report, ended by a signal: {said}"),
        }),
    })
}

/// Whether this process is root's.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// The line of a program's messages that says what was wrong: an error, else the first with words (mpirun draws rules around its own).
pub fn message(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let mut lines = said.lines().map(str::trim);
    let line = lines.clone().find(|line| line.starts_with("error"));
    let line = line.or_else(|| lines.find(|line| line.contains(char::is_alphanumeric)));
    printable(line.unwrap_or("no message")).chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Kind;
    use crate::testing;

    #[test]
    fn ranks_are_bound_where_cores_suffice() {
        let cores = Cores { cores: 4, threads: 4, domains: 1, per_domain: 4 };
        let mut launcher = Launcher { template: None, program: "minifenl".into(), cores };
        let words = |launcher: &Launcher, ranks, threads| launcher.words(Point::even(ranks, threads)).join(" ");
        assert_eq!(words(&launcher, 2, 2), "mpirun -n 2 --map-by slot:PE=2 --bind-to core minifenl");
        assert_eq!(words(&launcher, 3, 2), "mpirun -n 3 --oversubscribe --bind-to none minifenl");
        // Two domains of 2 cores with 2 hardware threads each.
        launcher.cores = Cores { cores: 4, threads: 8, domains: 2, per_domain: 2 };
        assert_eq!(words(&launcher, 2, 2), "mpirun -n 2 --map-by numa:PE=2 --bind-to core minifenl");
        assert_eq!(words(&launcher, 3, 1), "mpirun -n 3 --map-by slot:PE=1 --bind-to core minifenl");
        let threads = "mpirun -n 8 --use-hwthread-cpus --map-by slot:PE=1 --bind-to hwthread minifenl";
        assert_eq!(words(&launcher, 8, 1), threads);
        assert_eq!(words(&launcher, 9, 1), "mpirun -n 9 --oversubscribe --bind-to none minifenl");
        launcher.template = Some("srun -n {ranks} -c {threads}".into());
        assert_eq!(words(&launcher, 3, 2), "srun -n 3 -c 2 minifenl");
    }

    #[test]
    fn flags_give_the_box_of_all_ranks() {
        let study = Study {
            kind: Kind::Weak,
            nodes: [8; 3],
            device: "cpu".into(),
            flags: vec!["--map".into(), "twist".into()],
            ranks: vec![2],
            threads: vec![3],
            workers: None,
            imbalance: vec![0, 50],
            repeats: 1,
        };
        let words = |imbalance| flags(&study, Point { ranks: 2, threads: 3, imbalance }, Path::new("r.json")).unwrap();
        let edge = 15.0 / 7.0;
        let expected =
            format!("--nodes 8x16x8 --device cpu --size 1,{edge},1 --threads 3 --triad --map twist --report r.json");
        assert_eq!(words(0).join(" "), expected);
        assert_eq!(words(50).join(" "), expected.replace("--map", "--imbalance 50 --map"));
        let flags_of = |study: &Study| flags(study, Point::even(2, 3), Path::new("r.json")).unwrap().join(" ");
        let strong = Study { kind: Kind::Strong, nodes: [8, 16, 8], ..study.clone() };
        assert!(!flags_of(&strong).contains("--size"), "a box that does not grow");
        let sized = Study { flags: vec!["--size=2,2,2".into()], ..study.clone() };
        assert!(!flags_of(&sized).contains("--size 1"), "{}", flags_of(&sized));
    }

    #[test]
    fn reports_that_do_not_count_are_run_again() {
        let (study, folder) = (testing::study(Kind::Weak, vec![1], vec![0], 4), tempfile::tempdir().unwrap());
        std::fs::create_dir(folder.path().join("runs")).unwrap();
        let point = Point::even(1, 1);
        let put = |repeat, text: &str| std::fs::write(folder.path().join(file(point, repeat)), text).unwrap();
        let mut report = testing::sample(1, [8; 3], 1e-3).json();
        put(1, &report.to_string());
        put(3, &report.to_string()[..200]);
        report["verified"] = false.into();
        put(4, &report.to_string());
        assert_eq!(missing(&study, folder.path()), [2, 3, 4].map(|repeat| (point, repeat)));
    }

    #[test]
    fn a_study_ends_when_the_first_two_runs_fail_alike() {
        let failed = |reason: &str| Failure { point: Point::even(1, 1), repeat: 1, reason: reason.into() };
        let alike = [failed("no MPI"), failed("no MPI")];
        assert!(is_hopeless(2, &alike));
        assert!(!is_hopeless(1, &alike[..1]) && !is_hopeless(3, &alike), "a run between them counted");
        assert!(!is_hopeless(2, &[failed("no MPI"), failed("killed")]));
    }

    #[test]
    fn messages_are_errors_or_the_first_words() {
        assert_eq!(message(b"-----\n\nmpirun has detected root.\n"), "mpirun has detected root.");
        assert_eq!(message(b"note\nerror: too many ranks\n"), "error: too many ranks");
        assert_eq!(message(b"--\n"), "no message");
        assert_eq!(message(b"error: \x1b[2J\n"), "error: \\u{1b}[2J");
    }

    #[test]
    fn the_time_left_is_that_of_the_mean() {
        let runs = vec![(Point::even(1, 1), 1); 10];
        assert_eq!(time_left(&runs, 0, 5.0), "-");
        assert_eq!(time_left(&runs, 4, 60.0), "1:30");
    }
}
