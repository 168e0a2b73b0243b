//! What the programs of this project share: exit codes, one-line messages, completions, a status line on a terminal.
//!
//! Functions that produce output write it to the stream that the program hands them; nothing here exits.

use crate::Error;
use crate::comm::launched_rank;
use crate::error::printable;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Result, Stderr, Write, stderr};
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
            Some(
                Error::Invalid(_)
                | Error::TooLarge { .. }
                | Error::OutOfMemory { .. }
                | Error::Folded { .. }
                | Error::File { .. },
            ) => Exit::BadInput,
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
    launched_rank().is_none_or(|rank| rank == 0)
}

/// Writes `text` on the first rank only, and flushes it. A reader that has closed the pipe is no failure.
///
/// # Errors
/// Any other failure of `out`, which is called the output.
pub fn show(out: &mut dyn Write, text: &str) -> Result<()> {
    if !is_first() {
        return Ok(());
    }
    // `minifenl | head` closes the pipe early.
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(std::io::Error::new(error.kind(), format!("the output cannot be written: {error}")))
        }
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
    match said(error) {
        Ok(text) => match show(out, &text) {
            Ok(()) => Exit::Done,
            Err(error) => {
                let _ = show(err, &format!("error: {error}\n"));
                Exit::Failed
            }
        },
        Err(mistake) => failure(&mistake, err),
    }
}

/// Returns what clap has to say: help or version as text, a mistake as an error of one line.
///
/// # Errors
/// [`Error::Invalid`] for a mistake in the command line.
pub fn said(error: &clap::Error) -> crate::Result<String> {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return Ok(text);
    }
    let line = in_one_line(&text);
    Err(Error::Invalid(line.strip_prefix("error: ").unwrap_or(&line).into()))
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

/// What a [`StatusLine`] may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing: the output is no terminal, or that of another rank.
    Hidden,
    /// Kept lines only: a terminal that knows no escape sequences (`TERM=dumb`).
    Plain,
    /// One line that is rewritten in place.
    Rewritten,
}

/// A line on a terminal that is rewritten in place. It is cut to the columns of the terminal, because a line that wraps cannot be
/// rewritten: each rewrite would leave a row behind.
#[derive(Debug)]
pub struct StatusLine<W> {
    out: W,
    look: Look,
    columns: fn() -> usize,
    last: Option<Instant>,
}

impl StatusLine<Stderr> {
    /// Creates an empty line on stderr, hidden where that is no terminal or this process is not the one that writes.
    pub fn on_stderr(is_writer: bool) -> Self {
        let look = match std::env::var("TERM") {
            _ if !is_writer || !stderr().is_terminal() => Look::Hidden,
            Ok(terminal) if !terminal.is_empty() && terminal != "dumb" => Look::Rewritten,
            _ => Look::Plain,
        };
        StatusLine::new(stderr(), look, columns_of_stderr)
    }
}

/// Returns the width of the terminal, or that of the variable `COLUMNS`, or 80.
fn columns_of_stderr() -> usize {
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    match terminal_size::terminal_size_of(stderr()) {
        Some((terminal_size::Width(columns), _)) => columns.into(),
        None => variable().unwrap_or(80),
    }
}

impl<W: Write> StatusLine<W> {
    /// Least time between two rewrites by [`step`](Self::step).
    const INTERVAL: Duration = Duration::from_millis(100);

    /// Creates an empty line on `out`, a terminal as wide as `columns` returns at the time of each rewrite.
    pub fn new(out: W, look: Look, columns: fn() -> usize) -> Self {
        StatusLine { out, look, columns, last: None }
    }

    /// Columns that a line may have: the last one stays empty, since some terminals wrap after it.
    pub fn columns(&self) -> usize {
        (self.columns)().saturating_sub(1)
    }

    /// Replaces the line by as much of `line` as fits. An `end` with a newline keeps the line, and all of it. A terminal that
    /// is gone is no failure.
    pub fn put(&mut self, line: &str, end: &str) {
        let columns = if end.is_empty() { self.columns() } else { usize::MAX };
        let line: String = line.chars().filter(|c| !c.is_control()).take(columns).collect();
        let _ = match self.look {
            Look::Rewritten => write!(self.out, "\r\x1b[K{line}{end}"),
            Look::Plain if !end.is_empty() => write!(self.out, "{line}{end}"),
            _ => return,
        };
    }

    /// Replaces the line by what `line` returns for a number of columns, ten times per second at most.
    pub fn step(&mut self, line: impl FnOnce(usize) -> String) {
        if self.look == Look::Rewritten && self.last.is_none_or(|last| last.elapsed() > Self::INTERVAL) {
            self.last = Some(Instant::now());
            let line = line(self.columns());
            self.put(&line, "");
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

/// What a status line writes: a step, another at once, a kept line.
#[cfg(test)]
fn status(look: Look, columns: fn() -> usize) -> String {
    let mut line = StatusLine::new(Vec::new(), look, columns);
    line.step(|columns| format!("first of {columns}"));
    line.step(|_| "too soon".into());
    line.put("kept", "\n");
    String::from_utf8(line.out).unwrap()
}

#[test]
fn a_status_line_is_rewritten_on_a_terminal_and_silent_elsewhere() {
    assert_eq!(status(Look::Rewritten, || 80), "\r\x1b[Kfirst of 79\r\x1b[Kkept\n");
    assert_eq!(status(Look::Plain, || 80), "kept\n");
    assert_eq!(status(Look::Hidden, || 80), "");
}

#[test]
fn a_status_line_fits_its_terminal() {
    // The last column stays empty; a kept line may wrap.
    assert_eq!(status(Look::Rewritten, || 6), "\r\x1b[Kfirst\r\x1b[Kkept\n");
    assert_eq!(status(Look::Rewritten, || 2), "\r\x1b[Kf\r\x1b[Kkept\n");
    assert_eq!(status(Look::Rewritten, || 0), "\r\x1b[K\r\x1b[Kkept\n");
    let mut line = StatusLine::new(Vec::new(), Look::Rewritten, || 80);
    line.put("a\nb\x1b[2Jc", "");
    assert_eq!(line.out, b"\r\x1b[Kab[2Jc");
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
