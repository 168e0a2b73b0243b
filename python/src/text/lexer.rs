//! Words of an expression with their columns.

use minifenl::Error;

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    Number(f64),
    Name(String),
    /// `+ - * / ** ( ) [ ] ,`
    Sign(&'static str),
    /// What is no word, and why. The parser reports it unless an earlier word is wrong.
    Wrong(String),
    End,
}

impl Word {
    /// The word as errors name it.
    pub fn quoted(&self) -> String {
        match self {
            Word::Number(number) => format!("`{number}`"),
            Word::Name(name) => format!("`{name}`"),
            Word::Sign(sign) => format!("`{sign}`"),
            Word::Wrong(why) => why.clone(),
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

/// Returns the words of an expression with their columns, [`Word::End`] last.
pub fn words(text: &str) -> Vec<(Word, usize)> {
    let (mut words, mut rest, mut column) = (vec![], text, 1);
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if let Some((name, length)) = prefixed(rest) {
            let why = format!("`{}` has a prefix, expected `{name}`", &rest[..length]);
            words.push((Word::Wrong(why), column));
            length
        } else if first.is_ascii_digit() || first == '.' {
            let length = number_length(rest);
            let number = rest[..length].parse::<f64>().ok().filter(|number| number.is_finite());
            let word = number.map_or_else(|| Word::Wrong(format!("`{}` is no number", &rest[..length])), Word::Number);
            words.push((word, column));
            length
        } else if is_part(first) {
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            words.push((Word::Name(rest[..length].into()), column));
            length
        } else {
            let sign = SIGNS.into_iter().find(|&sign| rest.starts_with(sign));
            let other = || Word::Wrong(format!("unexpected character `{}`", first.escape_debug()));
            words.push((sign.map_or_else(other, Word::Sign), column));
            sign.map_or(first.len_utf8(), str::len)
        };
        column += rest[..length].chars().count();
        rest = &rest[length..];
    }
    words.push((Word::End, column));
    words
}

/// Name behind a prefix at the start of a text, and the length of both: `sin` in `np.sin(u)`.
fn prefixed(text: &str) -> Option<(&str, usize)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let length = text.find(|c| !is_part(c) && c != '.').unwrap_or(text.len());
    let (_, name) = text[..length].rsplit_once('.').filter(|_| begins(text))?;
    begins(name).then_some((name, length))
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
