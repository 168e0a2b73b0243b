//! Colours of the output, and the conditions under which it has any.

use clap::ColorChoice as Colour;
use minifenl::run::program::wrapped;
use std::ffi::OsString;

/// Meaning of a text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A success: green.
    Good,
    /// A failure: red.
    Bad,
    /// Something to know: yellow.
    Note,
}

/// Variables that launchers of ranks set, also for one rank.
const LAUNCHERS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];

/// Returns whether a stream gets colours. `auto` needs a terminal that knows escape sequences (`TERM`) and heeds the variable
/// `NO_COLOR` (<https://no-color.org>: any value but an empty one). A rank has none: mpirun gives it a pseudo-terminal whose text may
/// end in a file.
pub fn has_colours(choice: Colour, is_terminal: bool) -> bool {
    decide(choice, is_terminal, |name| std::env::var_os(name))
}

/// [`has_colours`] with the variables that `variable` returns.
fn decide(choice: Colour, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let given = |name| variable(name).filter(|value| !value.is_empty());
    let is_launched = LAUNCHERS.iter().any(|name| given(name).is_some());
    match choice {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            is_terminal
                && !is_launched
                && given("NO_COLOR").is_none()
                && given("TERM").is_some_and(|term| term != "dumb")
        }
    }
}

/// Returns `text` in the colour of its tone, or as it is.
pub fn paint(text: &str, tone: Tone, has_colours: bool) -> String {
    let code = match tone {
        Tone::Good => "1;32",
        Tone::Bad => "1;31",
        Tone::Note => "1;33",
    };
    if has_colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
}

/// Breaks the last line of a table to `columns`, and colours its word PASS or FAIL; nothing else is changed.
pub fn paint_verdict(table: &str, has_colours: bool, columns: usize) -> String {
    let last = table.trim_end().rfind('\n').map_or(0, |end| end + 1);
    let (head, line) = table.split_at(last);
    let line = wrapped(line, columns, 6);
    for (word, tone) in [("PASS", Tone::Good), ("FAIL", Tone::Bad)] {
        if let Some(rest) = line.strip_prefix(word) {
            return format!("{head}{}{rest}", paint(word, tone, has_colours));
        }
    }
    format!("{head}{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_verdict_of_a_table_has_a_colour() {
        let table = "PASS in a first line\nphase\nPASS: 3 Newton steps\n";
        assert_eq!(paint_verdict(table, false, 80), table);
        assert_eq!(
            paint_verdict(table, true, 80),
            "PASS in a first line\nphase\n\x1b[1;32mPASS\x1b[0m: 3 Newton steps\n"
        );
        assert_eq!(paint_verdict("FAIL: no, no", true, 11), "\x1b[1;31mFAIL\x1b[0m: no,\n      no");
        assert_eq!(paint_verdict("phase\nfill\n", true, 80), "phase\nfill\n");
    }

    #[test]
    fn auto_needs_a_terminal_that_knows_colours_and_a_person_who_wants_them() {
        let cases = [
            (Colour::Auto, true, &[("TERM", "xterm")][..], true),
            (Colour::Auto, true, &[("TERM", "xterm"), ("NO_COLOR", "")], true),
            (Colour::Auto, true, &[("TERM", "xterm"), ("NO_COLOR", "1")], false),
            (Colour::Auto, true, &[("TERM", "dumb")], false),
            (Colour::Auto, true, &[("TERM", "xterm"), ("OMPI_COMM_WORLD_RANK", "0")], false),
            (Colour::Auto, true, &[], false),
            (Colour::Auto, false, &[("TERM", "xterm")], false),
            (Colour::Always, false, &[("NO_COLOR", "1")], true),
            (Colour::Never, true, &[("TERM", "xterm")], false),
        ];
        for (choice, is_terminal, variables, expected) in cases {
            let variable = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
            assert_eq!(decide(choice, is_terminal, variable), expected, "{choice} {is_terminal} {variables:?}");
        }
    }
}
