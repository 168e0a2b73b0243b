//! Names that expressions may have.

use super::lexer::{Word, words};
use super::program::Function;
use minifenl::{Error, Result};

/// Most unknowns per node, and most coefficients, counted by components.
const UNKNOWNS: usize = 3;
const FIELDS: usize = 10;

/// Functions of one number.
pub const FUNCTIONS: [(&str, Function); 7] = [
    ("sin", Function::Sin),
    ("cos", Function::Cos),
    ("exp", Function::Exp),
    ("log", Function::Log),
    ("sqrt", Function::Sqrt),
    ("tanh", Function::Tanh),
    ("abs", Function::Abs),
];
/// Further names with a meaning.
pub const RESERVED: [&str; 5] = ["x", "pi", "min", "max", "dot"];

/// What expressions may name.
#[derive(Debug)]
pub struct Names {
    /// Components of the unknown.
    pub unknowns: Vec<String>,
    /// Coefficients with their components, 1 or 3.
    pub coefficients: Vec<(String, usize)>,
}

impl Names {
    /// Refuses names that are not unique, reserved or no names, and more than element kernels are compiled for.
    pub fn check(&self) -> Result<()> {
        let (unknowns, fields) = (self.unknowns.len(), self.coefficients.iter().map(|(_, count)| count).sum::<usize>());
        if !(1..=UNKNOWNS).contains(&unknowns) {
            return Err(Error::Invalid(format!("{unknowns} unknowns per node: expected 1 to {UNKNOWNS}")));
        }
        if fields > FIELDS {
            return Err(Error::Invalid(format!("coefficients: have {fields} components, expected at most {FIELDS}")));
        }
        let mut seen: Vec<&str> = vec![];
        for name in self.unknowns.iter().chain(self.coefficients.iter().map(|(name, _)| name)) {
            let is_word = matches!(&words(name)[..], [(Word::Name(word), _), _] if word == name);
            if !is_word || name.starts_with("grad_") || RESERVED.contains(&&**name) || function(name).is_some() {
                return Err(Error::Invalid(format!(
                    "{name}: expected a name that has no other meaning in expressions"
                )));
            }
            if seen.contains(&&**name) {
                return Err(Error::Invalid(format!("{name}: names two things")));
            }
            seen.push(name);
        }
        Ok(())
    }

    /// First field of a coefficient and its components.
    pub fn coefficient(&self, name: &str) -> Option<(u8, usize)> {
        let at = self.coefficients.iter().position(|(of, _)| of == name)?;
        let first = self.coefficients[..at].iter().map(|(_, components)| components).sum::<usize>();
        Some((first as u8, self.coefficients[at].1))
    }

    pub fn unknown(&self, name: &str) -> Option<u8> {
        self.unknowns.iter().position(|of| of == name).map(|c| c as u8)
    }
}

/// Returns the function of one number with a name.
pub fn function(name: &str) -> Option<Function> {
    FUNCTIONS.into_iter().find(|(of, _)| *of == name).map(|(_, function)| function)
}
