//! Programs of this workspace, started as a user would, and the files that they read and write.

use assert_cmd::Command;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs a program and returns its exit code, stdout and stderr.
///
/// # Panics
/// If the program does not start, is killed, or prints no UTF-8.
pub fn run(program: &str, args: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin(program).unwrap().args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Returns the verdict at the end of a table, which a program breaks to the width of the screen.
pub fn verdict(out: &str) -> String {
    let lines: Vec<&str> = out.lines().collect();
    let start = lines.iter().rposition(|line| !line.starts_with("      ")).unwrap_or(0);
    lines[start..].iter().map(|line| line.trim_start()).collect::<Vec<_>>().join(" ")
}

/// Returns `mpirun` with a number of ranks, to which the program is added. Runs also as root and on fewer cores than ranks.
pub fn mpirun(ranks: usize) -> std::process::Command {
    let mut command = std::process::Command::new("mpirun");
    command.args(["--oversubscribe", "-n", &ranks.to_string()]);
    own_session(&mut command);
    command
}

/// Lets an `mpirun` run as root, and gives it a session folder that no other `mpirun` uses: two of Open MPI 4.1 that create or remove
/// the same one at the same time fail with "mkdir ... File exists".
pub fn own_session(command: &mut std::process::Command) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    command.env("OMPI_MCA_orte_tmpdir_base", std::env::temp_dir().join("minifenl-mpirun").join(name));
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
}

/// Reads a JSON file.
///
/// # Panics
/// If there is no such file, or it is not JSON.
pub fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the folder that holds `inputs/` and `docs/`: the repository, or a folder made by `make dist`.
///
/// # Panics
/// If a test runs neither under cargo nor in such a folder.
pub fn root() -> PathBuf {
    let package = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap());
    package.ancestors().find(|folder| folder.join("inputs/contractions").is_dir()).unwrap().into()
}
