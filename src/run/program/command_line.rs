//! The command line: parses it, says in one line what is wrong with it, and completes it in a shell.

use super::{Exit, failure, show};
use crate::Error;
use crate::error::{cut, printable};
use clap::ValueHint;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::io::Write;

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
    let shown = |word: &OsString| cut(&printable(&word.to_string_lossy()), LONGEST_WORD).into_owned();
    parsed::<P, _>(&words).map_err(|error| {
        // clap removes escape sequences from what it echoes, and names no flag of a word that is not UTF-8.
        if !error.use_stderr() {
            return error;
        }
        let again = parsed::<P, _>(words.iter().map(shown)).err().filter(clap::Error::use_stderr);
        let error = without_value::<P>(&words).or(again).unwrap_or(error);
        stray_word::<P>(&error).unwrap_or(error)
    })
}

/// The command line of `P` as all programs have it: help of 80 columns, and values that may begin with a hyphen, so that a message names
/// their flag. For names of files only negative numbers may.
fn command<P: clap::CommandFactory>() -> clap::Command {
    let signed = |arg: clap::Arg| {
        let is_flag = arg.get_long().is_some() && arg.get_action().takes_values() && arg.get_num_args().is_none();
        match arg.get_value_hint() {
            _ if !is_flag => arg,
            ValueHint::FilePath | ValueHint::DirPath | ValueHint::AnyPath => arg.allow_negative_numbers(true),
            _ => arg.allow_hyphen_values(true),
        }
    };
    P::command().max_term_width(80).mut_args(signed).mut_subcommands(|command| command.mut_args(signed))
}

fn parsed<P: clap::Parser, W: Into<OsString> + Clone>(
    words: impl IntoIterator<Item = W>,
) -> std::result::Result<P, clap::Error> {
    let mut matches = command::<P>().try_get_matches_from(words)?;
    P::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command::<P>()))
}

/// The error of a word that is no command, behind flags. clap takes it for a command that cannot be used with them.
fn stray_word<P: clap::CommandFactory>(error: &clap::Error) -> Option<clap::Error> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let mut command = command::<P>();
    let is_stray = error.kind() == ErrorKind::ArgumentConflict && command.find_subcommand(word).is_none();
    is_stray.then(|| command.error(ErrorKind::UnknownArgument, format!("unexpected argument '{word}' found")))
}

/// The error of a flag that is followed by another one instead of its value. A flag whose values may begin with a hyphen takes that
/// for its value, and the error of clap is about what follows.
fn without_value<P: clap::CommandFactory>(words: &[OsString]) -> Option<clap::Error> {
    let mut command = command::<P>();
    command.build();
    let flag = |word: &OsString| {
        let name = word.to_str()?.strip_prefix("--")?.split('=').next()?;
        let mut commands = std::iter::once(&command).chain(command.get_subcommands());
        commands.find_map(|command| command.get_arguments().find(|flag| flag.get_long() == Some(name)))
    };
    let is_whole = |word: &OsString| !word.to_string_lossy().contains('=');
    let lacking = words.windows(2).take_while(|pair| pair[0] != "--").find_map(|pair| {
        let lacks = |of: &&clap::Arg| of.get_action().takes_values() && is_whole(&pair[0]) && flag(&pair[1]).is_some();
        flag(&pair[0]).filter(lacks).map(ToString::to_string)
    })?;
    let said = format!("a value is required for '{lacking}' but none was supplied");
    Some(command.error(ErrorKind::InvalidValue, said))
}

/// Writes help and version to `out`, a mistake as one line to `err`. Both on the first rank only.
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

/// Returns help or version as text, a mistake as an error of one line.
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

/// Returns the script that completes the flags of `P` in a shell.
pub fn completions<P: clap::CommandFactory>(shell: clap_complete::Shell) -> String {
    let (mut script, mut command) = (Vec::new(), P::command());
    let name = command.get_name().to_string();
    clap_complete::generate(shell, &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Returns the man page of `P` (roff, section 1).
pub fn man_page<P: clap::CommandFactory>() -> String {
    let mut page = Vec::new();
    // Writing into memory does not fail.
    let _ = clap_mangen::Man::new(P::command()).render(&mut page);
    String::from_utf8_lossy(&page).into_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves a thing.
    #[derive(Debug, clap::Parser)]
    #[command(name = "mover")]
    struct Mover {
        /// How far, which this sentence explains at such a length that one line of eighty columns does not hold it
        #[arg(long, default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
        by: u16,
        #[arg(long)]
        to: Option<std::path::PathBuf>,
        #[command(subcommand)]
        how: Option<How>,
    }

    #[derive(Debug, clap::Subcommand)]
    enum How {
        /// In steps
        Steps {
            #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
            number: u16,
            #[arg(long, num_args = 1..)]
            names: Vec<String>,
            #[arg(long)]
            quickly: bool,
        },
    }

    #[test]
    fn a_negative_value_is_refused_by_the_name_of_its_flag() {
        let parse = |words: &str| parse_from::<Mover>(words.split(' ').map(OsString::from).collect());
        for (words, line) in [
            ("mover --by -3", "invalid value '-3' for '--by <BY>': -3 is not in 1..=65535"),
            ("mover steps --number -3", "invalid value '-3' for '--number <NUMBER>': -3 is not in 1..=65535"),
            ("mover --by", "a value is required for '--by <BY>' but none was supplied"),
            ("mover --to --by 2", "a value is required for '--to <TO>' but none was supplied"),
            ("mover steps --number --quickly", "a value is required for '--number <NUMBER>' but none was supplied"),
        ] {
            assert_eq!(said(&parse(words).unwrap_err()).unwrap_err(), Error::Invalid(line.into()), "{words}");
        }
        let Some(How::Steps { number, names, quickly }) =
            parse("mover steps --names a b --number 2 --quickly").unwrap().how
        else {
            panic!("no steps");
        };
        assert_eq!((number, names.join(" ").as_str(), quickly), (2, "a b", true));
        let help = said(&parse("mover --help").unwrap_err()).unwrap();
        assert!(help.contains("such a length") && help.lines().all(|line| line.len() <= 80), "{help}");
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
}
