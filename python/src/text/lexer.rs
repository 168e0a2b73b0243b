//! Words of an expression with their columns.

use minifenl::{Error, Result};

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    Number(f64),
    Name(String),
    /// `+ - * / ** ( ) [ ] ,`
    Sign(&'static str),
    End,
}

impl Word {
    /// The word as errors name it.
    pub fn quoted(&self) -> String {
        match self {
            Word::Number(number) => format!("`{number}`"),
            Word::Name(name) => format!("`{name}`"),
            Word::Sign(sign) => format!("`{sign}`"),
            Word::End => "the end".into(),
        }
    }
}

/// `**` stands before `*`, with which it begins.
const SIGNS: [&str; 10] = ["**", "+", "-", "*", "/", "(", ")", "[", "]", ","];

/// Returns the error at a column, counted in characters from 1.
pub fn wrong(what: &str, column: usize, why: impl std::fmt::Display) -> Error {
    Error::Invalid(format!("{what}, column {column}: {why}"))
}

/// Returns the words of an expression with their columns, [`Word::End`] last. `what` names the expression in errors.
pub fn words(what: &str, text: &str) -> Result<Vec<(Word, usize)>> {
    let (mut words, mut rest, mut column) = (vec![], text, 1);
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if first.is_ascii_digit() || first == '.' {
            let length = number_length(rest);
            let number = rest[..length].parse::<f64>().ok().filter(|number| number.is_finite());
            let number = number.ok_or_else(|| wrong(what, column, format!("`{}` is no number", &rest[..length])))?;
            words.push((Word::Number(number), column));
            length
        } else if is_part(first) {
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            words.push((Word::Name(rest[..length].into()), column));
            length
        } else {
            let sign = SIGNS.into_iter().find(|&sign| rest.starts_with(sign));
            let sign =
                sign.ok_or_else(|| wrong(what, column, format!("unexpected character `{}`", first.escape_debug())))?;
            words.push((Word::Sign(sign), column));
            sign.len()
        };
        column += rest[..length].chars().count();
        rest = &rest[length..];
    }
    words.push((Word::End, column));
    Ok(words)
}

/// Length of a number: digits and points, and an exponent.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mantissa = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let Some(exponent) = text[mantissa..].strip_prefix(['e', 'E']) else { return mantissa };
    let sign = usize::from(exponent.starts_with(['+', '-']));
    match digits(&exponent[sign..]) {
        0 => mantissa,
        count => mantissa + 1 + sign + count,
    }
}
