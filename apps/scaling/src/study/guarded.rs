//! Runs a command that does not outlive this program, whatever signal ends it.
//!
//! A shell holds one end of a pipe, this program the other. The shell learns the number of the command; if the pipe then closes without
//! another word, this program has ended, and the shell ends the command.

use minifenl::{Error, Result};
use std::io::Write;
use std::process::{Child, Command, Output, Stdio};

/// Waits for a number and a word; without the word, ends the process of that number. Signals to the whole group do not end the shell.
const WATCH: &str = "trap '' HUP INT TERM; read -r run || exit 0; read -r word || kill -TERM \"$run\"";

/// Runs to the end.
///
/// # Errors
/// [`Error::Invalid`] if the command cannot be started.
pub fn output(command: &mut Command) -> Result<Output> {
    let mut watch = Command::new("sh");
    watch.args(["-c", WATCH]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut watch = start(&mut watch)?;
    let run = start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let mut pipe = watch.stdin.take();
    let mut tell = |word: String| pipe.as_mut().map(|pipe| writeln!(pipe, "{word}"));
    tell(run.id().to_string());
    let output = run.wait_with_output();
    tell("done".into());
    drop(pipe);
    let _ = watch.wait();
    output.map_err(|error| failed(command, &error))
}

fn start(command: &mut Command) -> Result<Child> {
    command.spawn().map_err(|error| failed(command, &error))
}

fn failed(command: &Command, error: &std::io::Error) -> Error {
    let launcher = command.get_program().to_string_lossy();
    Error::Invalid(format!("{launcher}: cannot be started: {error}; expected a launcher (--launcher)"))
}
