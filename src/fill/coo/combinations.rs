//! Degrees of freedom that are linear combinations of others: periodic boundaries, hanging nodes.
//!
//! ```text
//! u[d] = sum of w[d, k] u[k]  for each constrained dof d, over free dofs k     u = C u_free     C [dofs, free dofs]
//! ```
//! Free dofs keep their order and are numbered without gaps. A dof that is a combination of nothing is 0 (Dirichlet).

use super::index::IGNORED;
use super::sums::Summand;
use crate::error::check_length;
use crate::space::{try_collect, try_push, try_reserve, try_zeroed};
use crate::{Error, LocalOrdinal, Result};
use std::ops::Mul;

/// A set of constrained dofs, with weights of type `W`.
#[derive(Clone, Debug)]
pub struct Combinations<W = f64> {
    /// Number of each dof among the free ones, or [`IGNORED`] for a constrained dof.
    numbers: Vec<LocalOrdinal>,
    free: usize,
    /// The constrained dofs, ascending.
    constrained: Vec<LocalOrdinal>,
    /// Dof `constrained[c]` has the terms `terms[starts[c]..starts[c + 1]]`: free numbers and weights.
    starts: Vec<u32>,
    terms: Vec<(LocalOrdinal, W)>,
}

impl<W: Copy> Combinations<W> {
    /// Numbers the free dofs of `dofs` dofs; `constrained` lists each constrained dof with its free dofs and their weights.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a dof outside `0..dofs`, one that is constrained twice, and one that is a combination of a
    /// constrained dof; [`Error::TooLarge`] for more dofs or terms than 32 bits number; [`Error::OutOfMemory`].
    pub fn new(dofs: usize, constrained: &[(LocalOrdinal, Vec<(LocalOrdinal, W)>)]) -> Result<Self> {
        super::index::check_sizes(dofs, dofs, 0)?;
        let inside = |dof: LocalOrdinal| {
            let outside = || Error::Invalid(format!("combination: dof {dof} is outside 0..{dofs}"));
            if (dof as usize) < dofs { Ok(dof as usize) } else { Err(outside()) }
        };
        let mut numbers = try_zeroed::<LocalOrdinal>("numbers of dofs", dofs)?;
        for (dof, _) in constrained {
            if std::mem::replace(&mut numbers[inside(*dof)?], IGNORED) == IGNORED {
                return Err(Error::Invalid(format!("combination: dof {dof} is constrained twice")));
            }
        }
        let mut free = 0;
        for number in numbers.iter_mut().filter(|number| **number != IGNORED) {
            (*number, free) = (free, free + 1);
        }
        let mut order = try_collect("constrained dofs", constrained.iter())?;
        order.sort_unstable_by_key(|(dof, _)| *dof);
        let (mut starts, mut terms) = (Vec::new(), Vec::new());
        try_reserve("offsets of combinations", &mut starts, order.len() + 1)?;
        starts.push(0);
        for (dof, of) in &order {
            for &(other, weight) in of {
                let number = numbers[inside(other)?];
                if number == IGNORED {
                    return Err(Error::Invalid(format!(
                        "combination of dof {dof}: dof {other} is constrained, too, expected free dofs"
                    )));
                }
                try_push("terms of combinations", &mut terms, (number, weight))?;
            }
            starts.push(offset(terms.len())?);
        }
        let constrained = try_collect("constrained dofs", order.iter().map(|(dof, _)| *dof))?;
        Ok(Combinations { numbers, free: free as usize, constrained, starts, terms })
    }

    /// Returns the number of dofs, free and constrained.
    pub fn dof_count(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the number of free dofs, which are the rows and columns of the reduced matrix.
    pub fn free_count(&self) -> usize {
        self.free
    }

    /// Returns the number of a dof among the free ones, or `None` for a constrained dof.
    pub fn number(&self, dof: LocalOrdinal) -> Option<LocalOrdinal> {
        self.numbers.get(dof as usize).copied().filter(|&number| number != IGNORED)
    }

    /// Number of a dof, or [`IGNORED`].
    #[inline(always)]
    pub(super) fn raw(&self, dof: LocalOrdinal) -> LocalOrdinal {
        if dof == IGNORED { IGNORED } else { self.numbers[dof as usize] }
    }

    /// The terms of a constrained dof; `None` for a free one.
    pub(super) fn terms(&self, dof: LocalOrdinal) -> Option<&[(LocalOrdinal, W)]> {
        let at = self.constrained.binary_search(&dof).ok()?;
        Some(&self.terms[self.starts[at] as usize..self.starts[at + 1] as usize])
    }

    fn all(&self) -> impl Iterator<Item = (usize, &[(LocalOrdinal, W)])> {
        let terms = self.starts.windows(2).map(|pair| &self.terms[pair[0] as usize..pair[1] as usize]);
        self.constrained.iter().map(|&dof| dof as usize).zip(terms)
    }

    /// Computes `reduced = C^T full`: the right-hand side of the reduced system. Constrained dofs are added in ascending order.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one item per dof and one per free dof.
    pub fn restrict<V: Summand + Mul<W, Output = V>>(&self, full: &[V], reduced: &mut [V]) -> Result<()> {
        self.check("Combinations::restrict", full, reduced)?;
        for (&number, &value) in self.numbers.iter().zip(full).filter(|(number, _)| **number != IGNORED) {
            reduced[number as usize] = value;
        }
        for (dof, terms) in self.all() {
            for &(number, weight) in terms {
                reduced[number as usize] = reduced[number as usize] + full[dof] * weight;
            }
        }
        Ok(())
    }

    /// Computes `full = C reduced`: all dofs from the free ones.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one item per dof and one per free dof.
    pub fn expand<V: Summand + Mul<W, Output = V>>(&self, reduced: &[V], full: &mut [V]) -> Result<()> {
        self.check("Combinations::expand", full, reduced)?;
        for (&number, value) in self.numbers.iter().zip(&mut *full).filter(|(number, _)| **number != IGNORED) {
            *value = reduced[number as usize];
        }
        for (dof, terms) in self.all() {
            full[dof] = terms.iter().fold(V::zero(), |sum, &(number, weight)| sum + reduced[number as usize] * weight);
        }
        Ok(())
    }

    fn check<V>(&self, operation: &'static str, full: &[V], reduced: &[V]) -> Result<()> {
        check_length(operation, "full", full.len(), self.dof_count())?;
        check_length(operation, "reduced", reduced.len(), self.free)
    }
}

/// The offset behind the first `terms` terms.
fn offset(terms: usize) -> Result<u32> {
    u32::try_from(terms).map_err(|_| Error::TooLarge {
        what: "Combinations".into(),
        needed: format!("{terms} terms"),
        limit: format!("{} (32 bits)", u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_terms_than_32_bits_number_are_refused() {
        assert_eq!(offset(u32::MAX as usize).unwrap(), u32::MAX);
        let error = offset(u32::MAX as usize + 1).unwrap_err();
        assert_eq!(error.to_string(), "Combinations needs 4294967296 terms, the limit is 4294967295 (32 bits)");
    }

    #[test]
    fn free_dofs_are_numbered_without_gaps() {
        // Dof 4 hangs between 0 and 2; dof 1 is 0.
        let combinations = Combinations::new(5, &[(4, vec![(0, 0.5), (2, 0.25)]), (1, vec![])]).unwrap();
        assert_eq!((combinations.dof_count(), combinations.free_count()), (5, 3));
        assert_eq!([0, 1, 2, 3, 4].map(|dof| combinations.number(dof)), [Some(0), None, Some(1), Some(2), None]);
        assert_eq!(combinations.number(5), None);
        let mut full = [f64::NAN; 5];
        combinations.expand(&[1.0, 2.0, 3.0], &mut full).unwrap();
        assert_eq!(full, [1.0, 0.0, 2.0, 3.0, 1.0]);
        let mut reduced = [f64::NAN; 3];
        combinations.restrict(&[1.0, 50.0, 2.0, 3.0, 8.0], &mut reduced).unwrap();
        assert_eq!(reduced, [5.0, 4.0, 3.0]);
        assert!(combinations.restrict(&[0.0; 4], &mut reduced).unwrap_err().to_string().contains("`full`"));
        assert!(combinations.expand(&[0.0; 4], &mut full).unwrap_err().to_string().contains("`reduced`"));
    }

    #[test]
    fn contradictions_are_named() {
        let refused =
            |constrained: &[(u32, Vec<(u32, f64)>)]| Combinations::new(3, constrained).unwrap_err().to_string();
        assert!(refused(&[(3, vec![])]).contains("dof 3 is outside 0..3"));
        assert!(refused(&[(0, vec![(7, 1.0)])]).contains("dof 7 is outside 0..3"));
        assert!(refused(&[(1, vec![]), (1, vec![])]).contains("dof 1 is constrained twice"));
        assert!(refused(&[(2, vec![(1, 1.0)]), (1, vec![(0, 1.0)])]).contains("dof 2: dof 1 is constrained, too"));
        assert!(refused(&[(2, vec![(2, 1.0)])]).contains("dof 2: dof 2 is constrained, too"));
    }
}
