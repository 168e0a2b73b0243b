//! Width of the screen, and lines broken to fit it.

use std::os::fd::AsFd;

/// Returns the width of a terminal, or that of the variable `COLUMNS`, or 80.
pub fn columns_of(stream: impl AsFd) -> usize {
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    match terminal_size::terminal_size_of(stream) {
        Some((terminal_size::Width(columns), _)) => columns.into(),
        None => variable().unwrap_or(80),
    }
}

/// Breaks a line between words where it is longer than `columns`; all lines but the first are indented. A longer word stays whole.
pub fn wrapped(line: &str, columns: usize, indent: usize) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for (at, word) in line.split(' ').enumerate() {
        let length = word.chars().count();
        if at > 0 && width + 1 + length > columns {
            text += &format!("\n{:indent$}{word}", "");
            width = indent + length;
        } else {
            let gap = if at > 0 { " " } else { "" };
            text += &format!("{gap}{word}");
            width += gap.len() + length;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        let line = "  FAIL: one two, three\u{e9} four";
        for (columns, expected) in [
            (80, line),
            (28, line),
            (27, "  FAIL: one two, three\u{e9}\n      four"),
            (11, "  FAIL: one\n      two,\n      three\u{e9}\n      four"),
        ] {
            assert_eq!(wrapped(line, columns, 6), expected);
        }
        assert_eq!([wrapped("", 3, 2), wrapped("long\n", 3, 2)], ["", "long\n"]);
    }
}
