//! What the programs of this project share: exit codes, one-line messages, completions, a status line on a terminal.
//!
//! Functions that produce output write it to the stream that the program hands them; nothing here exits.

use crate::Error;
use crate::error::printable;
use std::ffi::OsString;
use std::io::{ErrorKind, Result, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The work is done and its result verified.
    Done = 0,
    /// Any failure that has no code of its own.
    Failed = 1,
    /// Bad usage or input, which includes a device that this machine lacks.
    BadInput = 2,
    /// An iteration did not converge, or a result is wrong.
    NotVerified = 3,
}

impl Exit {
    /// Returns the end of a run that produced a report.
    pub fn verdict(is_verified: bool) -> Self {
        if is_verified { Exit::Done } else { Exit::NotVerified }
    }

    /// Classifies an error before the work starts: a missing device is bad input for this machine.
    pub fn before_work(error: &(dyn std::error::Error + 'static)) -> Self {
        match error.downcast_ref() {
            Some(Error::Device(_)) => Exit::BadInput,
            _ => Exit::during_work(error),
        }
    }

    /// Classifies an error during the work: a device that fails then is a failure.
    pub fn during_work(error: &(dyn std::error::Error + 'static)) -> Self {
        match error.downcast_ref() {
            Some(Error::Invalid(_) | Error::TooLarge { .. } | Error::Folded { .. } | Error::File { .. }) => {
                Exit::BadInput
            }
            Some(error) if error.is_collective() => Exit::NotVerified,
            _ => Exit::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Returns whether this process is the first rank of its launcher, or the only process. Works before MPI starts.
pub fn is_first() -> bool {
    let ranks = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    ranks.iter().find_map(|name| std::env::var(name).ok()).is_none_or(|rank| rank == "0")
}

/// Writes `text` on the first rank only. A reader that has closed the pipe is no failure.
///
/// # Errors
/// Any other failure of `out`.
pub fn show(out: &mut dyn Write, text: &str) -> Result<()> {
    if !is_first() {
        return Ok(());
    }
    // `minifenl | head` closes the pipe early.
    match out.write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Longest word of the command line that a message shows, in characters.
const LONGEST_WORD: usize = 120;

/// Parses the command line of this process.
///
/// # Errors
/// What clap has to say, for [`usage`].
pub fn parse<P: clap::Parser>() -> std::result::Result<P, clap::Error> {
    parse_from(std::env::args_os().collect())
}

/// Parses a command line, the program's name first. The error shows control characters by their escapes and long words by
/// their first characters, and names the flag of a value that is not UTF-8.
///
/// # Errors
/// As [`parse`].
pub fn parse_from<P: clap::Parser>(words: Vec<OsString>) -> std::result::Result<P, clap::Error> {
    let shown = |word: &OsString| {
        let word = word.to_string_lossy();
        let word = printable(&word);
        match word.char_indices().nth(LONGEST_WORD) {
            Some((end, _)) => format!("{}...", &word[..end]),
            None => word.into_owned(),
        }
    };
    P::try_parse_from(&words).map_err(|error| {
        // clap removes escape sequences from what it echoes, and names no flag of a word that is not UTF-8.
        let again = if error.use_stderr() { P::try_parse_from(words.iter().map(shown)).err() } else { None };
        again.filter(clap::Error::use_stderr).unwrap_or(error)
    })
}

/// Writes what clap has to say: help and version to `out`, a mistake as one line to `err`; both on the first rank only.
pub fn usage(error: &clap::Error, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return show(out, &text).map_or(Exit::Failed, |()| Exit::Done);
    }
    let _ = show(err, &(in_one_line(&text) + "\n"));
    Exit::BadInput
}

/// Writes an error that every rank found before the work started, once, and returns the exit code of all ranks.
pub fn failure(error: &(dyn std::error::Error + 'static), err: &mut dyn Write) -> Exit {
    let _ = show(err, &format!("error: {}\n", printable(&error.to_string())));
    Exit::before_work(error)
}

/// Returns the script that completes the flags of `P` in a shell.
pub fn completions<P: clap::CommandFactory>(shell: clap_complete::Shell) -> String {
    let (mut script, mut command) = (Vec::new(), P::command());
    let name = command.get_name().to_string();
    clap_complete::generate(shell, &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// A line on a terminal that is rewritten in place; nothing is written where `out` is no terminal.
#[derive(Debug)]
pub struct StatusLine<W> {
    out: W,
    is_shown: bool,
    last: Option<Instant>,
}

impl<W: Write> StatusLine<W> {
    /// Least time between two rewrites by [`step`](Self::step).
    const INTERVAL: Duration = Duration::from_millis(100);

    /// Creates an empty line on `out`; `is_shown` says whether `out` is a terminal that this process may write to.
    pub fn new(out: W, is_shown: bool) -> Self {
        StatusLine { out, is_shown, last: None }
    }

    /// Replaces the line; an `end` with a newline keeps it. A terminal that is gone is no failure.
    pub fn put(&mut self, line: &str, end: &str) {
        if self.is_shown {
            let _ = write!(self.out, "\r\x1b[K{line}{end}");
        }
    }

    /// Replaces the line by what `line` returns, ten times per second at most.
    pub fn step(&mut self, line: impl FnOnce() -> String) {
        if self.is_shown && self.last.is_none_or(|last| last.elapsed() > Self::INTERVAL) {
            self.last = Some(Instant::now());
            self.put(&line(), "");
        }
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        self.put("", "");
    }
}

/// Joins the lines before the usage. The items of a list, whose first line ends with a colon, are separated by commas.
fn in_one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let (mut joined, mut is_list) = (String::new(), false);
    for line in lines.filter(|line| !line.starts_with("For more")) {
        if !joined.is_empty() && !line.is_empty() {
            joined += match () {
                () if joined.ends_with(':') => " ",
                () if is_list => ", ",
                // Possible values, which clap prints in brackets on a line of their own.
                () if line.starts_with('[') => " ",
                () => "; ",
            };
        }
        joined += line;
        // An empty line ends the list.
        is_list = !line.is_empty() && (is_list || line.ends_with(':'));
    }
    joined
}

#[test]
fn an_error_has_the_code_of_its_kind() {
    assert_eq!(Exit::during_work(&Error::Invalid("x".into())), Exit::BadInput);
    let breakdown = Error::Breakdown { iteration: 0, curvature: -1.0, residual: 1.0 };
    assert_eq!(Exit::during_work(&breakdown), Exit::NotVerified);
    assert_eq!(Exit::during_work(&Error::Mpi("x".into())), Exit::Failed);
    let device = Error::Device("x".into());
    assert_eq!([Exit::during_work(&device), Exit::before_work(&device)], [Exit::Failed, Exit::BadInput]);
}

#[test]
fn a_status_line_is_rewritten_on_a_terminal_and_silent_elsewhere() {
    let written = |is_shown| {
        let mut line = StatusLine::new(Vec::new(), is_shown);
        line.step(|| "first".into());
        line.step(|| "too soon".into());
        line.put("kept", "\n");
        String::from_utf8(line.out).unwrap()
    };
    assert_eq!((&*written(true), &*written(false)), ("\r\x1b[Kfirst\r\x1b[Kkept\n", ""));
}

#[test]
fn a_mistake_reads_as_one_line() {
    for (text, line) in [
        (
            "error: the following required arguments were not provided:\n  <DECK>...\n  --out <DIR>\n\nUsage: x <DECK>...",
            "error: the following required arguments were not provided: <DECK>..., --out <DIR>",
        ),
        (
            "error: unexpected argument '--redrw' found\n\n  tip: a similar argument exists: '--redraw'\n\nUsage: x",
            "error: unexpected argument '--redrw' found; tip: a similar argument exists: '--redraw'",
        ),
        (
            "error: the argument '--claims <CSV>...' cannot be used with:\n  [DECK]...\n  --redraw\n\nUsage: x",
            "error: the argument '--claims <CSV>...' cannot be used with: [DECK]..., --redraw",
        ),
        (
            "error: invalid value 'a' for '--x <X>'\n  [possible values: b, c]\n\nFor more information, try '--help'.",
            "error: invalid value 'a' for '--x <X>' [possible values: b, c]",
        ),
    ] {
        assert_eq!(in_one_line(text), line);
    }
}
