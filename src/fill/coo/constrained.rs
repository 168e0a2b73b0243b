//! [`ConstrainedCoo`]: a plan that applies [`Combinations`] of dofs while it sums.
//!
//! ```text
//! C^T A C:   value v at (i, j) adds w[i, p] w[j, q] v at (p, q), for each term p of dof i and q of dof j
//! ```
//! Pairs of two free dofs are summed first, in the order of the input; then the products of all other pairs, in the order of the
//! input. The second kind takes 8 bytes and a weight more per product.

use super::combinations::Combinations;
use super::index::{CooIndex, IGNORED, check, check_sizes};
use super::plan::{Coo, ElementIndices, elements};
use super::slots::Slots;
use super::sums::Summand;
use crate::contraction::Sum;
use crate::error::check_length;
use crate::space::{HostSpace, Item, try_push};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{LocalOrdinal, Result};
use std::ops::Mul;
use std::sync::Arc;

/// A plan for sums into the reduced matrix `C^T A C`, whose rows and columns are the free dofs.
#[derive(Debug)]
pub struct ConstrainedCoo<W = f64> {
    plan: Coo,
    pairs: usize,
    /// Products behind the pairs: which value, times which weight.
    products: Vec<(LocalOrdinal, W)>,
}

impl<W: Copy + Send + Sync + Mul<Output = W>> ConstrainedCoo<W> {
    /// Plans sums of values at `(i[k], j[k])`, which are dofs, free or constrained. Pairs with a negative index are ignored.
    ///
    /// # Errors
    /// As [`Coo::new`].
    pub fn new<S: HostSpace, I: CooIndex>(space: &S, combinations: &Combinations<W>, i: &[I], j: &[I]) -> Result<Self> {
        check_length("ConstrainedCoo::new", "j", j.len(), i.len())?;
        let dofs = combinations.dof_count();
        check(space, i, dofs, "dof", |k| format!("i[{k}]"))?;
        check(space, j, dofs, "dof", |k| format!("j[{k}]"))?;
        Self::of(space, combinations, i.len(), |k| (i[k].local(), j[k].local()))
    }

    /// Plans sums of element matrices `[elem, a, b]` as [`Coo::from_elements`].
    ///
    /// # Errors
    /// As [`Coo::from_elements`].
    pub fn from_elements<S: HostSpace, I: CooIndex>(
        space: &S,
        combinations: &Combinations<W>,
        rows_of: ElementIndices<'_, I>,
        columns_of: ElementIndices<'_, I>,
    ) -> Result<Self> {
        let input = elements("ConstrainedCoo::from_elements", rows_of, columns_of)?;
        let place = |name: &'static str, per_elem: usize| {
            move |at: usize| format!("{name}[{}, {}]", at / per_elem, at % per_elem)
        };
        let dofs = combinations.dof_count();
        check(space, rows_of.indices, dofs, "dof", place("rows_of", rows_of.per_elem))?;
        check(space, columns_of.indices, dofs, "dof", place("columns_of", columns_of.per_elem))?;
        let width = columns_of.per_elem;
        let pair = |k: usize| {
            let (slot, b) = (k / width, k % width);
            let column = columns_of.indices[slot / rows_of.per_elem * width + b];
            (rows_of.indices[slot].local(), column.local())
        };
        Self::of(space, combinations, input.count() * width, pair)
    }

    fn of<S: HostSpace>(
        space: &S,
        combinations: &Combinations<W>,
        pairs: usize,
        pair: impl Fn(usize) -> (LocalOrdinal, LocalOrdinal) + Sync,
    ) -> Result<Self> {
        check_sizes(0, 0, pairs)?;
        let (mut places, mut products) = (Vec::new(), Vec::new());
        for k in 0..pairs {
            let (i, j) = pair(k);
            let are_free = combinations.raw(i) != IGNORED && combinations.raw(j) != IGNORED;
            if are_free || i == IGNORED || j == IGNORED {
                continue;
            }
            let mut add = |p, q, weight| -> Result<()> {
                try_push("places of products", &mut places, (p, q))?;
                try_push("products of weights", &mut products, (k as LocalOrdinal, weight))
            };
            match (combinations.terms(i), combinations.terms(j)) {
                (Some(rows), Some(columns)) => {
                    for &(p, w) in rows {
                        columns.iter().try_for_each(|&(q, v)| add(p, q, w * v))?;
                    }
                }
                (Some(rows), None) => rows.iter().try_for_each(|&(p, w)| add(p, combinations.raw(j), w))?,
                (None, Some(columns)) => columns.iter().try_for_each(|&(q, v)| add(combinations.raw(i), q, v))?,
                (None, None) => {}
            }
        }
        let free = combinations.free_count();
        check_sizes(free, free, pairs + products.len())?;
        let plan = {
            let input = Products { combinations, pairs, pair, places: &places };
            Coo::of(space, free, free, &input, pairs, false)?
        };
        Ok(ConstrainedCoo { plan, pairs, products })
    }

    /// Returns the sparsity pattern of the reduced matrix.
    pub fn graph(&self) -> &Arc<CrsGraph> {
        self.plan.graph()
    }

    /// Returns the number of values that one sum takes, ignored ones included.
    pub fn value_count(&self) -> usize {
        self.pairs
    }

    /// Returns the zero matrix on the plan's graph.
    ///
    /// # Errors
    /// As [`Coo::matrix`].
    pub fn matrix<V: Item>(&self) -> Result<CrsMatrix<V>> {
        self.plan.matrix()
    }

    /// Sums `values`, one per pair of the plan, into a matrix on the plan's graph, as [`Coo::set_values`].
    ///
    /// # Errors
    /// As [`Coo::set_values`].
    pub fn set_values<S: HostSpace, V: Item + Summand + Mul<W, Output = V>>(
        &self,
        space: &S,
        values: &[V],
        sum: Sum,
        matrix: &mut CrsMatrix<V>,
    ) -> Result<()> {
        self.plan.check_matrix("ConstrainedCoo::set_values", matrix)?;
        self.sum_entries(space, values, sum, matrix.parts_mut().1)
    }

    /// As [`set_values`](Self::set_values) for numbers of any type: `entries` has one item per entry of the graph, in its order.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for arrays of other lengths.
    pub fn sum_entries<S: HostSpace, V: Summand + Mul<W, Output = V>>(
        &self,
        space: &S,
        values: &[V],
        sum: Sum,
        entries: &mut [V],
    ) -> Result<()> {
        check_length("ConstrainedCoo::sum_entries", "values", values.len(), self.pairs)?;
        check_length("ConstrainedCoo::sum_entries", "entries", entries.len(), self.graph().nnz())?;
        let value = |slot: usize| match slot.checked_sub(self.pairs) {
            None => values[slot],
            Some(product) => {
                let (k, weight) = self.products[product];
                values[k as usize] * weight
            }
        };
        self.plan.entries().sum_each(space, value, sum, entries);
        Ok(())
    }
}

/// Pairs of free dofs, then the products of all others.
struct Products<'a, W, F> {
    combinations: &'a Combinations<W>,
    pairs: usize,
    pair: F,
    places: &'a [(LocalOrdinal, LocalOrdinal)],
}

impl<W, F> Products<'_, W, F>
where
    W: Copy + Send + Sync,
    F: Fn(usize) -> (LocalOrdinal, LocalOrdinal) + Sync,
{
    #[inline(always)]
    fn place(&self, slot: usize) -> (LocalOrdinal, LocalOrdinal) {
        if slot >= self.pairs {
            return self.places[slot - self.pairs];
        }
        let (i, j) = (self.pair)(slot);
        (self.combinations.raw(i), self.combinations.raw(j))
    }
}

impl<W, F> Slots for Products<'_, W, F>
where
    W: Copy + Send + Sync,
    F: Fn(usize) -> (LocalOrdinal, LocalOrdinal) + Sync,
{
    fn count(&self) -> usize {
        self.pairs + self.places.len()
    }

    fn width(&self) -> usize {
        1
    }

    fn row(&self, slot: usize) -> LocalOrdinal {
        let (row, column) = self.place(slot);
        if column == IGNORED { IGNORED } else { row }
    }

    fn columns(&self, slot: usize, mut visit: impl FnMut(LocalOrdinal)) {
        visit(self.place(slot).1);
    }
}
