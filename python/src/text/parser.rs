//! Expressions as Python writes them, by precedence climbing (Pratt 1973): + and -, then * and /, then a sign, then **, which is
//! right-associative.
//!
//! A value is a number or a vector of three: x, gradients, `[a, b, c]`. Numbers multiply and divide vectors, vectors add up, `dot(a, b)` and
//! `a[0]` make numbers of them.

use super::algebra::Value;
use super::derivatives::derivatives;
use super::lexer::{Word, words, wrong};
use super::names::{FUNCTIONS, Names, RESERVED, function};
use super::program::{At, Builder, Op, Program};
use minifenl::{Error, Result};
use std::fmt::Display;

/// Deepest nesting, far below what a thread's stack holds.
const DEPTH: usize = 100;

/// Returns the program of flux and source of each component; an empty text is zero.
///
/// # Errors
/// [`Error::Invalid`] with the column, and for a coefficient that no expression names.
pub fn program(names: &Names, flux: &[String], source: &[String]) -> Result<Program> {
    names.check()?;
    let mut builder = Builder::default();
    let (mut results, mut named) = (vec![], vec![]);
    for (c, (flux, source)) in flux.iter().zip(source).enumerate() {
        let of = if names.unknowns.len() > 1 { format!(" of {}", names.unknowns[c]) } else { String::new() };
        let zero = builder.constant(0.0);
        let mut parse = |text: &str, what: &str, is_vector: bool| {
            let what = format!("{what}{of}");
            if text.is_empty() {
                return Ok([zero; 3]);
            }
            let words = words(text);
            named.extend(words.iter().filter_map(|(word, _)| match word {
                Word::Name(name) => Some(name.trim_start_matches("grad_").to_string()),
                _ => None,
            }));
            let mut parser = Parser { what: &what, words, at: 0, depth: 0, names, builder: &mut builder };
            match (parser.whole()?, is_vector) {
                (Value::Vector(flux), true) => Ok(flux),
                (Value::Number(source), false) => Ok([source; 3]),
                (Value::Number(_), true) => Err(wrong(&what, 1, "is a number, expected a vector of three")),
                (Value::Vector(_), false) => Err(wrong(&what, 1, "is a vector, expected a number")),
            }
        };
        let ([x, y, z], [source, ..]) = (parse(flux, "flux", true)?, parse(source, "source", false)?);
        results.push([x, y, z, source]);
    }
    match names.coefficients.iter().find(|(name, _)| !named.contains(name)) {
        Some((name, _)) => Err(Error::Invalid(format!("{name}: is in no expression"))),
        None => Ok(derivatives(builder, results)),
    }
}

struct Parser<'a> {
    what: &'a str,
    words: Vec<(Word, usize)>,
    at: usize,
    depth: usize,
    names: &'a Names,
    builder: &'a mut Builder,
}

impl Parser<'_> {
    fn whole(&mut self) -> Result<Value> {
        let value = self.expression(0)?;
        match self.next() {
            (Word::End, _) => Ok(value),
            (found, column) => self.unexpected(column, "an operator or the end", &found),
        }
    }

    fn next(&mut self) -> (Word, usize) {
        let word = self.words[self.at].clone();
        // The end stays.
        self.at = (self.at + 1).min(self.words.len() - 1);
        word
    }

    fn is_next(&self, sign: &str) -> bool {
        matches!(self.words[self.at].0, Word::Sign(found) if found == sign)
    }

    fn wrong<T>(&self, column: usize, why: impl Display) -> Result<T> {
        Err(wrong(self.what, column, why))
    }

    fn expect(&mut self, word: &Word) -> Result<()> {
        let (found, column) = self.next();
        if found == *word {
            return Ok(());
        }
        self.unexpected(column, &word.quoted(), &found)
    }

    /// The error of a word in the place of another.
    fn unexpected<T>(&self, column: usize, expected: &str, found: &Word) -> Result<T> {
        match found {
            Word::Wrong(why) => self.wrong(column, why),
            _ => self.wrong(column, format!("expected {expected}, found {}", found.quoted())),
        }
    }

    /// Parses operators that bind at least as `least`: 0 for sums, 1 for products, 2 for signs, 3 for powers.
    fn expression(&mut self, least: u8) -> Result<Value> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.wrong(self.words[self.at].1, format!("nested deeper than {DEPTH}"));
        }
        let (word, column) = self.next();
        let mut value = match word {
            Word::Sign(sign @ ("-" | "+")) => {
                let value = self.expression(2)?;
                if sign == "-" { self.builder.each(value, Op::Negate) } else { value }
            }
            _ => self.operand(word, column)?,
        };
        while let (Word::Sign(sign), column) = self.words[self.at] {
            let (binds, right) = match sign {
                "+" | "-" => (0, 1),
                "*" | "/" => (1, 2),
                // Its right side may have a sign and further powers.
                "**" => (3, 2),
                _ => break,
            };
            if binds < least {
                break;
            }
            self.next();
            let other = self.expression(right)?;
            value = self.builder.join(sign, value, other).map_err(|why| wrong(self.what, column, why))?;
        }
        self.depth -= 1;
        Ok(value)
    }

    fn operand(&mut self, word: Word, column: usize) -> Result<Value> {
        let value = match word {
            Word::Number(number) => Value::Number(self.builder.constant(number)),
            Word::Name(name) if self.is_next("(") => self.call(&name, column)?,
            Word::Name(name) => self.name(&name, column)?,
            Word::Sign("(") => {
                let value = self.expression(0)?;
                self.expect(&Word::Sign(")"))?;
                value
            }
            Word::Sign("[") => Value::Vector(self.numbers::<3>("]", "a vector", column)?),
            other => {
                return self.unexpected(column, "a number, a name or a bracket", &other);
            }
        };
        self.index(value)
    }

    /// `[0]` to `[2]` behind a vector.
    fn index(&mut self, value: Value) -> Result<Value> {
        if !self.is_next("[") {
            return Ok(value);
        }
        let (_, bracket) = self.next();
        let (word, column) = self.next();
        let axis = [0.0, 1.0, 2.0].iter().position(|&axis| word == Word::Number(axis));
        let Some(axis) = axis else {
            return self.unexpected(column, "0, 1 or 2", &word);
        };
        self.expect(&Word::Sign("]"))?;
        match value {
            Value::Vector(items) => Ok(Value::Number(items[axis])),
            Value::Number(_) => self.wrong(bracket, "a number has no items"),
        }
    }

    fn name(&mut self, name: &str, column: usize) -> Result<Value> {
        if name == "pi" {
            return Ok(Value::Number(self.builder.constant(std::f64::consts::PI)));
        }
        if name == "x" {
            return Ok(self.builder.vector(Op::X));
        }
        if let Some(c) = self.names.unknown(name) {
            return Ok(Value::Number(self.builder.push(Op::Value(c))));
        }
        match self.names.coefficient(name) {
            Some((first, 1)) => return Ok(Value::Number(self.builder.push(Op::Given(first)))),
            Some((first, _)) => return Ok(self.builder.vector(|axis| Op::Given(first + axis))),
            None => {}
        }
        if let Some(of) = name.strip_prefix("grad_") {
            if let Some(c) = self.names.unknown(of) {
                return Ok(self.builder.vector(|axis| Op::Slope(c, axis)));
            }
            match self.names.coefficient(of) {
                Some((k, 1)) => return Ok(self.builder.vector(|axis| Op::GivenSlope(k, axis))),
                Some(_) => return self.wrong(column, format!("{of} is a vector, expected the gradient of a number")),
                None => {}
            }
        }
        if function(name).is_some() || RESERVED.contains(&name) {
            return self.wrong(column, format!("expected `(` after `{name}`"));
        }
        let known = self.names.unknowns.iter().map(|u| format!("{u}, grad_{u}"));
        let known = known.chain(self.names.coefficients.iter().map(|(name, _)| name.clone())).collect::<Vec<_>>();
        self.wrong(column, format!("unknown name `{name}`, expected {}, x, pi or a function", known.join(", ")))
    }

    fn call(&mut self, name: &str, column: usize) -> Result<Value> {
        self.next();
        if let Some(function) = function(name) {
            let [of] = self.numbers::<1>(")", name, column)?;
            return Ok(self.builder.each(Value::Number(of), |at| Op::Of(function, at)));
        }
        match name {
            "min" | "max" => {
                let [a, b] = self.numbers::<2>(")", name, column)?;
                Ok(Value::Number(self.builder.push(if name == "min" { Op::Min(a, b) } else { Op::Max(a, b) })))
            }
            "dot" => match self.list::<2>(")", name, column)? {
                [Value::Vector(a), Value::Vector(b)] => Ok(Value::Number(self.builder.dot(a, b))),
                _ => self.wrong(column, "dot: expected two vectors"),
            },
            _ => {
                let known = FUNCTIONS.map(|(name, _)| name).join(", ");
                self.wrong(column, format!("unknown function `{name}`, expected {known}, min, max or dot"))
            }
        }
    }

    /// `N` expressions and the closing bracket.
    fn list<const N: usize>(&mut self, close: &'static str, name: &str, column: usize) -> Result<[Value; N]> {
        let mut values = vec![self.expression(0)?];
        while self.is_next(",") {
            self.next();
            values.push(self.expression(0)?);
        }
        self.expect(&Word::Sign(close))?;
        let found = values.len();
        values.try_into().or_else(|_| self.wrong(column, format!("{name}: has {found} items, expected {N}")))
    }

    fn numbers<const N: usize>(&mut self, close: &'static str, name: &str, column: usize) -> Result<[At; N]> {
        let mut numbers = [0; N];
        for (number, value) in numbers.iter_mut().zip(self.list::<N>(close, name, column)?) {
            match value {
                Value::Number(at) => *number = at,
                Value::Vector(_) => return self.wrong(column, format!("{name}: expected numbers, found a vector")),
            }
        }
        Ok(numbers)
    }
}
