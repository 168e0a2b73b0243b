//! Runs a program of this workspace as a user would.

use assert_cmd::Command;

/// Runs a program and returns its exit code, stdout and stderr.
pub fn run(program: &str, args: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin(program).unwrap().args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
