//! Degrees of freedom that are linear combinations of others: periodic boundaries, hanging nodes.
//!
//! ```text
//! u[d] = sum of w[d, k] u[k]  for each constrained dof d, over free dofs k     u = C u_free     C [dofs, free dofs]
//! ```
//! Free dofs keep their order and are numbered without gaps. A dof that is a combination of nothing is 0 (Dirichlet).
//!
//! The reduced matrix is C^T A C: value v at (i, j) adds w[i, p] w[j, q] v at (p, q), for each term p of dof i and q of dof j.
//! [`ReducedPairs`] are these pairs (p, q).

use super::indices::check;
use crate::error::check_length;
use crate::graph::{CooIndex, IGNORED};
use crate::space::{Item, Serial, try_collect, try_push, try_with_capacity, try_zeroed};
use crate::{Error, LocalOrdinal, Result};
use std::ops::Mul;

/// A set of constrained dofs.
#[derive(Clone, Debug)]
pub struct Combinations {
    /// Number of each dof among the free ones, or [`IGNORED`] for a constrained dof.
    numbers: Vec<LocalOrdinal>,
    free: usize,
    /// The constrained dofs, ascending, with their terms: free numbers and weights.
    constrained: Vec<(LocalOrdinal, Vec<(LocalOrdinal, f64)>)>,
}

impl Combinations {
    /// Numbers the free dofs of `dofs` dofs; `constrained` lists each constrained dof with its free dofs and their weights.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a dof outside `0..dofs`, one that is constrained twice, and one that is a combination of a
    /// constrained dof, and for a weight that is not finite; [`Error::TooLarge`] for more dofs than 32 bits number; [`Error::OutOfMemory`].
    pub fn new(dofs: usize, constrained: &[(LocalOrdinal, Vec<(LocalOrdinal, f64)>)]) -> Result<Self> {
        super::indices::check_sizes(dofs, dofs, 0)?;
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
        let mut own = try_with_capacity("constrained dofs", constrained.len())?;
        for (dof, of) in constrained {
            let mut terms = try_collect("terms of combinations", of.iter().copied())?;
            for (other, weight) in &mut terms {
                if !weight.is_finite() {
                    let weight = format!("the weight of dof {other} is {weight}, expected a finite number");
                    return Err(Error::Invalid(format!("combination of dof {dof}: {weight}")));
                }
                let number = numbers[inside(*other)?];
                if number == IGNORED {
                    return Err(Error::Invalid(format!(
                        "combination of dof {dof}: dof {other} is constrained, too, expected free dofs"
                    )));
                }
                *other = number;
            }
            own.push((*dof, terms));
        }
        own.sort_unstable_by_key(|(dof, _)| *dof);
        Ok(Combinations { numbers, free: free as usize, constrained: own })
    }

    /// Returns the number of dofs, free and constrained.
    pub fn dof_count(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the number of free dofs: rows and columns of the reduced matrix.
    pub fn free_count(&self) -> usize {
        self.free
    }

    /// Returns the number of a dof among the free ones, or `None` if constrained.
    pub fn number(&self, dof: LocalOrdinal) -> Option<LocalOrdinal> {
        self.numbers.get(dof as usize).copied().filter(|&number| number != IGNORED)
    }

    /// The terms of a constrained dof; `None` for a free one.
    fn terms(&self, dof: LocalOrdinal) -> Option<&[(LocalOrdinal, f64)]> {
        let at = self.constrained.binary_search_by_key(&dof, |(dof, _)| *dof).ok()?;
        Some(&self.constrained[at].1)
    }

    /// Computes `reduced = C^T full`: the right-hand side of the reduced system. Constrained dofs are added in ascending order.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one item per dof and one per free dof.
    pub fn restrict(&self, full: &[f64], reduced: &mut [f64]) -> Result<()> {
        self.check("Combinations::restrict", full, reduced)?;
        for (&number, &value) in self.numbers.iter().zip(full).filter(|(number, _)| **number != IGNORED) {
            reduced[number as usize] = value;
        }
        for (dof, terms) in &self.constrained {
            for &(number, weight) in terms {
                reduced[number as usize] += full[*dof as usize] * weight;
            }
        }
        Ok(())
    }

    /// Computes `full = C reduced`: all dofs from the free ones.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one item per dof and one per free dof.
    pub fn expand(&self, reduced: &[f64], full: &mut [f64]) -> Result<()> {
        self.check("Combinations::expand", full, reduced)?;
        for (&number, value) in self.numbers.iter().zip(&mut *full).filter(|(number, _)| **number != IGNORED) {
            *value = reduced[number as usize];
        }
        for (dof, terms) in &self.constrained {
            full[*dof as usize] =
                terms.iter().fold(0.0, |sum, &(number, weight)| sum + reduced[number as usize] * weight);
        }
        Ok(())
    }

    /// Makes the pairs of the reduced matrix from those of dofs, `(i[k], j[k])`, free or constrained. Pairs with a negative index are
    /// ignored.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `i` and `j` have the same length, [`Error::Invalid`] for the first index that is no dof,
    /// [`Error::TooLarge`] for more pairs than 32 bits number, [`Error::OutOfMemory`].
    pub fn pairs<I: CooIndex>(&self, i: &[I], j: &[I]) -> Result<ReducedPairs> {
        check_length("Combinations::pairs", "j", j.len(), i.len())?;
        super::indices::check_sizes(0, 0, i.len())?;
        for (name, indices) in [("i", i), ("j", j)] {
            check(&Serial, indices, self.dof_count(), "dof", |k| format!("{name}[{k}]"))?;
        }
        let mut reduced = ReducedPairs { given: i.len(), ..ReducedPairs::default() };
        let given = || (0..).zip(i.iter().zip(j)).map(|(k, (i, j))| (k, i.local(), j.local()));
        for (k, i, j) in given() {
            if let (Some(p), Some(q)) = (self.number(i), self.number(j)) {
                reduced.push(p, q)?;
                try_push("values of free dofs", &mut reduced.free, k)?;
            }
        }
        for (k, i, j) in given().filter(|&(_, i, j)| i != IGNORED && j != IGNORED) {
            let (row, column) =
                ([(self.number(i).unwrap_or(IGNORED), 1.0)], [(self.number(j).unwrap_or(IGNORED), 1.0)]);
            let (rows, columns) = match (self.terms(i), self.terms(j)) {
                (None, None) => continue,
                (rows, columns) => (rows.unwrap_or(&row), columns.unwrap_or(&column)),
            };
            for &(p, w) in rows {
                for &(q, v) in columns {
                    reduced.push(p, q)?;
                    try_push("products of weights", &mut reduced.products, (k, w * v))?;
                }
            }
        }
        Ok(reduced)
    }

    fn check(&self, operation: &'static str, full: &[f64], reduced: &[f64]) -> Result<()> {
        check_length(operation, "full", full.len(), self.dof_count())?;
        check_length(operation, "reduced", reduced.len(), self.free)
    }
}

/// The pairs of a reduced matrix: those of two free dofs, then the products of all others, each in the order of the input.
///
/// ```
/// use minifenl::contraction::Sum;
/// use minifenl::fill::{Combinations, Coo};
/// use minifenl::space::Serial;
///
/// // Two springs in a row; the last node hangs between the others.
/// let hanging = Combinations::new(3, &[(2, vec![(0, 0.5), (1, 0.5)])])?;
/// let pairs = hanging.pairs(&[0, 0, 1, 1, 1, 1, 2, 2], &[0, 1, 0, 1, 1, 2, 1, 2])?;
/// let plan = Coo::new(&Serial, 2, 2, pairs.rows(), pairs.columns())?;
/// let mut matrix = plan.matrix()?;
/// let values = pairs.values(&[1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0])?;
/// plan.set_values(&Serial, &values, Sum::Overwrite, &mut matrix)?;
/// assert_eq!(matrix.values(), &[1.25, -1.25, -1.25, 1.25]);
/// # Ok::<(), minifenl::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReducedPairs {
    rows: Vec<LocalOrdinal>,
    columns: Vec<LocalOrdinal>,
    /// Number of the value of each pair of free dofs.
    free: Vec<LocalOrdinal>,
    /// Number of the value of each product, and its weight.
    products: Vec<(LocalOrdinal, f64)>,
    /// Number of pairs of the input.
    given: usize,
}

impl ReducedPairs {
    /// Returns the row of each pair.
    pub fn rows(&self) -> &[LocalOrdinal] {
        &self.rows
    }

    /// Returns the column of each pair.
    pub fn columns(&self) -> &[LocalOrdinal] {
        &self.columns
    }

    /// Returns the number of pairs of the input.
    pub fn given_count(&self) -> usize {
        self.given
    }

    /// Returns the bytes of the pairs: 12 per pair of free dofs and 24 per product.
    pub fn bytes(&self) -> u64 {
        (8 * self.rows.len() + 4 * self.free.len() + 16 * self.products.len()) as u64
    }

    /// Returns the value of each pair from `values`, one per pair of the input. Writes 8 bytes per pair and reads 12 or 24.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one value per pair of the input, [`Error::OutOfMemory`].
    pub fn values<V: Item + Mul<f64, Output = V>>(&self, values: &[V]) -> Result<Vec<V>> {
        self.values_by(values, |value, weight| value * weight)
    }

    /// As [`values`](Self::values), for values that `scale` multiplies by a weight.
    ///
    /// # Errors
    /// Those of [`values`](Self::values).
    pub fn values_by<V: Item>(&self, values: &[V], scale: impl Fn(V, f64) -> V) -> Result<Vec<V>> {
        check_length("ReducedPairs::values", "values", values.len(), self.given)?;
        let mut reduced = try_with_capacity("values of pairs", self.rows.len())?;
        reduced.extend(self.free.iter().map(|&k| values[k as usize]));
        reduced.extend(self.products.iter().map(|&(k, weight)| scale(values[k as usize], weight)));
        Ok(reduced)
    }

    fn push(&mut self, row: LocalOrdinal, column: LocalOrdinal) -> Result<()> {
        try_push("rows of pairs", &mut self.rows, row)?;
        try_push("columns of pairs", &mut self.columns, column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
