//! [`DistributedConstrainedCoo`]: a plan over ranks that applies linear combinations of dofs while it sums.
//!
//! ```text
//! C^T A C:     value v at (i, j) adds w[i, p] w[j, q] v at (p, q), for each term p of dof i and q of dof j
//! plan         owners of constrained dofs send the terms to the ranks that use the dofs
//! set_values   the rank with a value computes its products; owners of other rows receive them like any value
//! ```
//! Each entry adds, rank after rank, the pairs of two free dofs in the order of the rank's input, then the rank's products in the
//! order of the input. Collective. Cost of the plan besides that of [`DistributedCoo`]: 16 bytes per pair while it is made, also for
//! element tables. Each product takes 4 bytes, a weight, and a value in the messages.

use super::distributed::DistributedCoo;
use super::gathered::{NO_ID, check_pairs, check_tables, id};
use super::index::{CooIndex, check_sizes};
use super::messages::{CooMessages, Packed};
use super::plan::{ElementIndices, elements};
use super::shared_terms::{Constrained, SharedTerms, ids_used};
use super::slots::{Elements, Slots};
use crate::comm::{Communicator, GlobalMap, agree};
use crate::contraction::Sum;
use crate::error::check_length;
use crate::space::{HostSpace, Item, try_collect, try_push, try_reserve};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{GlobalOrdinal, LocalOrdinal, Result};
use std::ops::Mul;
use std::sync::Arc;

/// A plan for sums into the distributed reduced matrix `C^T A C`. Rows are the free dofs that a rank owns, in their order; columns
/// are these and the free dofs of other ranks that the rows refer to, as [`columns`](Self::columns) numbers them.
#[derive(Debug)]
pub struct DistributedConstrainedCoo<W = f64> {
    plan: DistributedCoo,
    /// Products behind the pairs: which value, times which weight.
    products: Vec<(LocalOrdinal, W)>,
}

impl<W: Packed + Mul<Output = W>> DistributedConstrainedCoo<W> {
    /// Plans sums of values at the global ids `(i[k], j[k])`, which are dofs, free or constrained. This rank owns the dofs `owned`;
    /// `constrained` lists those of them that are constrained, each with free dofs of any rank and their weights; one without is 0. Pairs with a
    /// negative id are ignored. Collective.
    ///
    /// # Errors
    /// As [`DistributedCoo::new`], and [`Error::Invalid`](crate::Error::Invalid) for a constrained dof that this rank does not own,
    /// one that is constrained twice, and one that is a combination of a constrained dof.
    pub fn new<S: HostSpace, I: CooIndex>(
        space: &S,
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        constrained: &[(GlobalOrdinal, Vec<(GlobalOrdinal, W)>)],
        i: &[I],
        j: &[I],
    ) -> Result<Self> {
        let pairs = Elements::pairs(i, j);
        let input = check_pairs("DistributedConstrainedCoo::new", owned, &pairs).map(|()| pairs);
        Self::of(space, comm, owned, constrained, input)
    }

    /// Plans sums of element matrices `[elem, a, b]` as [`DistributedCoo::from_elements`], with the constrained dofs of
    /// [`new`](Self::new). Collective.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_elements<S: HostSpace, I: CooIndex>(
        space: &S,
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        constrained: &[(GlobalOrdinal, Vec<(GlobalOrdinal, W)>)],
        rows_of: ElementIndices<'_, I>,
        columns_of: ElementIndices<'_, I>,
    ) -> Result<Self> {
        let input = elements("DistributedConstrainedCoo::from_elements", rows_of, columns_of);
        let input = input.and_then(|input| check_tables(owned, &input).map(|()| input));
        Self::of(space, comm, owned, constrained, input)
    }

    fn of<S: HostSpace, I: CooIndex>(
        space: &S,
        comm: &dyn Communicator,
        owned: &[GlobalOrdinal],
        constrained: &Constrained<W>,
        input: Result<Elements<'_, I>>,
    ) -> Result<Self> {
        let used = input.and_then(|input| Ok((ids_used(&input, constrained)?, input)));
        let (used, input) = agree(comm, used)?;
        let dofs = GlobalMap::new(comm, owned, &used)?;
        drop(used);
        let own = agree(comm, SharedTerms::new(comm.rank(), &dofs, constrained))?;
        let sent = agree(comm, own.messages(&dofs))?;
        let came = comm.send_all(sent)?;
        let expanded = own.with(&dofs, &came).and_then(|terms| Ok((expand(&input, &dofs, &terms)?, terms)));
        let (expanded, terms) = agree(comm, expanded)?;
        let free = (0..).zip(owned).filter(|(local, _)| terms.of(*local).is_none()).map(|(_, &id)| id);
        let free = agree(comm, {
            let mut ids = Vec::new();
            try_reserve("ids of free dofs", &mut ids, owned.len()).map(|()| ids.extend(free)).map(|()| ids)
        })?;
        let Expanded { rows, columns, products } = expanded;
        let pairs = rows.len() - products.len();
        let places = Elements::pairs(&rows, &columns);
        let plan = DistributedCoo::of(space, comm, &free, Ok((places, pairs)))?;
        Ok(DistributedConstrainedCoo { plan, products })
    }

    /// Returns the sparsity pattern of the owned free dofs, with local columns.
    pub fn graph(&self) -> &Arc<CrsGraph> {
        self.plan.graph()
    }

    /// Returns the global ids of the columns, owned free dofs first, and the map that a [`Halo`](crate::comm::Halo) needs.
    pub fn columns(&self) -> &GlobalMap {
        self.plan.columns()
    }

    /// Returns the number of values of this rank that one sum takes, ignored ones included.
    pub fn value_count(&self) -> usize {
        self.plan.value_count()
    }

    /// Returns the zero matrix on the plan's graph.
    ///
    /// # Errors
    /// As [`Coo::matrix`](super::Coo::matrix).
    pub fn matrix<V: Item>(&self) -> Result<CrsMatrix<V>> {
        self.plan.matrix()
    }

    /// Makes the messages for values of type `V`. Collective.
    ///
    /// # Errors
    /// As [`DistributedCoo::messages`].
    pub fn messages<V: Packed>(&self, comm: &dyn Communicator) -> Result<CooMessages<V>> {
        self.plan.messages(comm)
    }

    /// Sums `values`, one per pair of this rank's plan, into the rows of all ranks, as [`DistributedCoo::set_values`]. Collective.
    ///
    /// # Errors
    /// As [`DistributedCoo::set_values`].
    pub fn set_values<S: HostSpace, V: Item + Packed + Mul<W, Output = V>>(
        &self,
        space: &S,
        messages: &mut CooMessages<V>,
        values: &[V],
        sum: Sum,
        matrix: &mut CrsMatrix<V>,
    ) -> Result<()> {
        self.plan.check_matrix("DistributedConstrainedCoo::set_values", matrix)?;
        self.sum_entries(space, messages, values, sum, matrix.parts_mut().1)
    }

    /// As [`set_values`](Self::set_values) for numbers of any type: `entries` has one item per entry of the graph, in its order.
    ///
    /// # Errors
    /// As [`set_values`](Self::set_values).
    pub fn sum_entries<S: HostSpace, V: Packed + Mul<W, Output = V>>(
        &self,
        space: &S,
        messages: &mut CooMessages<V>,
        values: &[V],
        sum: Sum,
        entries: &mut [V],
    ) -> Result<()> {
        let operation = "DistributedConstrainedCoo::sum_entries";
        check_length(operation, "values", values.len(), self.value_count())?;
        check_length(operation, "entries", entries.len(), self.graph().nnz())?;
        let value = |at: usize| match at.checked_sub(values.len()) {
            None => values[at],
            Some(product) => {
                let (k, weight) = self.products[product];
                values[k as usize] * weight
            }
        };
        self.plan.sum_products(operation, space, messages, values, value, sum, entries)
    }
}

/// Pairs of free dofs, or ignored ones in their place; behind them the places of products.
struct Expanded<W> {
    rows: Vec<Id>,
    columns: Vec<Id>,
    products: Vec<(LocalOrdinal, W)>,
}

fn expand<I: CooIndex, W: Packed + Mul<Output = W>>(
    input: &Elements<'_, I>,
    dofs: &GlobalMap,
    terms: &SharedTerms<W>,
) -> Result<Expanded<W>> {
    let width = input.columns_per_elem;
    let pairs = input.count().saturating_mul(width);
    check_sizes(0, 0, pairs)?;
    // Whether an index of a table is constrained: its terms.
    let terms_of = |index: &I| dofs.local(id(*index)).and_then(|local| terms.number(local));
    let of_rows = try_collect("constraints of rows", input.rows.iter().map(terms_of))?;
    let of_columns = try_collect("constraints of columns", input.columns.iter().map(terms_of))?;
    let (mut rows, mut columns, mut products) = (Vec::new(), Vec::new(), Vec::new());
    try_reserve("rows of pairs", &mut rows, pairs)?;
    try_reserve("columns of pairs", &mut columns, pairs)?;
    let place = |k: usize| (k / width, k / width / input.rows_per_elem * width + k % width);
    for k in 0..pairs {
        let (row, column) = place(k);
        let are_free = of_rows[row].is_none() && of_columns[column].is_none();
        let ids = if are_free { (id(input.rows[row]), id(input.columns[column])) } else { (NO_ID, NO_ID) };
        rows.push(Id(ids.0));
        columns.push(Id(ids.1));
    }
    for k in 0..pairs {
        let (row, column) = place(k);
        let (i, j) = (id(input.rows[row]), id(input.columns[column]));
        if of_rows[row].is_none() && of_columns[column].is_none() || i == NO_ID || j == NO_ID {
            continue;
        }
        let mut add = |p, q, weight| -> Result<()> {
            try_push("rows of products", &mut rows, Id(p))?;
            try_push("columns of products", &mut columns, Id(q))?;
            try_push("products of weights", &mut products, (k as LocalOrdinal, weight))
        };
        match (of_rows[row].map(|c| terms.list(c)), of_columns[column].map(|c| terms.list(c))) {
            (Some(rows), Some(columns)) => {
                for &(p, w) in rows {
                    columns.iter().try_for_each(|&(q, v)| add(p, q, w * v))?;
                }
            }
            (Some(rows), None) => rows.iter().try_for_each(|&(p, w)| add(p, j, w))?,
            (None, Some(columns)) => columns.iter().try_for_each(|&(q, v)| add(i, q, v))?,
            (None, None) => {}
        }
    }
    check_sizes(0, 0, rows.len())?;
    Ok(Expanded { rows, columns, products })
}

/// A global id, or the mark of an ignored one.
#[derive(Clone, Copy, PartialEq)]
struct Id(GlobalOrdinal);

impl std::fmt::Display for Id {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(out)
    }
}

impl CooIndex for Id {
    fn get(self) -> Option<u64> {
        (self.0 != NO_ID).then_some(self.0)
    }
    fn local(self) -> LocalOrdinal {
        LocalOrdinal::try_from(self.0).unwrap_or(LocalOrdinal::MAX)
    }
    fn extremes(indices: &[Self], last: u64) -> (bool, bool) {
        let is_id = |id: &&Id| id.0 != NO_ID;
        (indices.iter().filter(is_id).any(|id| id.0 > last), indices.iter().any(|id| id.0 == NO_ID))
    }
}
