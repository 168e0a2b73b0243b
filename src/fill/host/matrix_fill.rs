//! [`MatrixFill`]: sums of stored element matrices, whose size is known at run time only.

use super::blocks::Method;
use super::sums::Adds;
use crate::Result;
use crate::error::{check_at_least, check_length};
use crate::fill::Strategy;
use crate::fill::same_graph::check_elements;
use crate::graph::{ElemGraph, Graph, NodeElem, Position, with_positions};
use crate::space::atomic::{Atomic, atomic_view};
use crate::space::{Item, PREFETCH_DISTANCE, Threads, prefetch};
use crate::sparse::CrsGraph;
use num_traits::Zero;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// A strategy that sums matrices `[elem, i, j]` in memory into the values of a graph. [`Fill`](super::Fill) computes element matrices of
/// a size that is a constant; a [`Coo`](crate::fill::Coo) finds its own pattern, which need not be square.
///
/// Cost per number of an element matrix: reads the number and its position, 1 byte; 2 if a row of the graph has more than 255 entries, 4
/// beyond 65 535. [`Strategy::Gather`] writes each value once and reads 4 bytes per row of an element matrix; the others zero all values,
/// then read and write one per addition.
///
/// ```
/// use minifenl::fill::{MatrixFill, Strategy};
/// use minifenl::{graph, mesh::ElemNode, space::Threads};
///
/// let (space, elem_node) = (Threads::new(2)?, ElemNode::new(vec![0, 1, 1, 2], 2, 3)?);
/// let graph = graph::build(&space, &elem_node, 3, graph::Strategy::default())?;
/// let fill = MatrixFill::new(&space, Strategy::Gather, &graph)?;
/// let mut values = [[f64::NAN]; 7];
/// fill.sum(&space, &[1.0, -1.0, -1.0, 1.0, 2.0, -2.0, -2.0, 2.0].map(|number| [number]), &mut values)?;
/// assert_eq!(values.as_flattened(), [1.0, -1.0, -1.0, 3.0, -2.0, -2.0, 2.0]);
/// # Ok::<(), minifenl::Error>(())
/// ```
#[derive(Debug)]
pub struct MatrixFill {
    method: Method<NodeElem>,
    crs: Arc<CrsGraph>,
    elem: ElemGraph,
}

impl MatrixFill {
    /// Prepares a strategy for a graph; with several dofs per node that of [`Graph::with_dofs`].
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) when pattern and elements are of two graphs, [`Error::Shape`](crate::Error::Shape)
    /// unless the pattern has a column per node, [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new(space: &Threads, strategy: Strategy, graph: &Graph) -> Result<Self> {
        const NAME: &str = "MatrixFill::new";
        let (elem_node, rows) = (graph.elem.elem_node(), graph.crs.rows());
        check_elements(NAME, &graph.elem, &graph.crs)?;
        check_length(NAME, "graph (columns)", graph.crs.columns(), elem_node.node_count())?;
        check_at_least(NAME, "elem_node (its nodes)", elem_node.node_count(), rows)?;
        let method = Method::of(space, Some(strategy), elem_node, || NodeElem::new(space, elem_node, rows))?;
        Ok(MatrixFill { method, crs: graph.crs.clone(), elem: graph.elem.clone() })
    }

    /// Overwrites `values`, one per entry of the graph, with the sums over all elements. A number has `C` components, 1 or, if complex, 2.
    /// With [`Strategy::Gather`] and [`Strategy::Colour`] the result has the same bits on any number of threads.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for arrays of other lengths.
    pub fn sum<T: Atomic + Zero, const C: usize>(
        &self,
        space: &Threads,
        matrices: &[[T; C]],
        values: &mut [[T; C]],
    ) -> Result<()> {
        let (n, elems) = (self.elem.nodes_per_elem(), self.elem.elem_node().elem_count());
        check_length("MatrixFill::sum", "matrices", matrices.len(), elems * n * n)?;
        check_length("MatrixFill::sum", "values", values.len(), self.crs.nnz())?;
        with_positions!(self.elem.positions(), positions => match &self.method {
            Method::Gather(lists) => {
                self.gather(space, lists, positions, matrices, values);
                Ok(())
            }
            Method::Blocks(blocks) => {
                space.for_each(values.par_chunks_mut(8 * Threads::CHUNK), |values| values.fill([T::zero(); C]));
                let cells = atomic_view(values.as_flattened_mut());
                let add = |elems| self.add_elems(elems, blocks.adds, positions, matrices, cells);
                blocks.for_each(space, &add)
            }
        })
    }

    /// Lets each row sum its rows of element matrices, elements ascending.
    fn gather<T: Item + Zero, P: Position, const C: usize>(
        &self,
        space: &Threads,
        lists: &NodeElem,
        positions: &[P],
        matrices: &[[T; C]],
        values: &mut [[T; C]],
    ) {
        let (n, rows) = (self.elem.nodes_per_elem(), self.crs.rows());
        let tasks = rows.div_ceil(Threads::CHUNK);
        let distance = PREFETCH_DISTANCE.div_ceil(n);
        space.for_rows(tasks, self.crs.row_map(), values, |row, values| {
            values.fill([T::zero(); C]);
            let ahead = lists.slots_from(row);
            for (at, &slot) in lists.slots(row).iter().enumerate() {
                if let Some(&next) = ahead.get(at + distance) {
                    prefetch(matrices, next as usize * n);
                    prefetch(positions, next as usize * n);
                }
                let of_row = slot as usize * n..(slot as usize + 1) * n;
                for (position, number) in positions[of_row.clone()].iter().zip(&matrices[of_row]) {
                    let value = &mut values[position.get()];
                    *value = std::array::from_fn(|c| value[c] + number[c]);
                }
            }
        });
    }

    /// Adds the matrices of a block of elements to cells `[entry, component]`. Rows of ghosts are left out.
    fn add_elems<T: Atomic, P: Position, const C: usize>(
        &self,
        elems: Range<usize>,
        adds: Adds,
        positions: &[P],
        matrices: &[[T; C]],
        cells: &[T::Cell],
    ) -> Result<()> {
        let (n, table, rows) = (self.elem.nodes_per_elem(), self.elem.elem_node(), self.crs.rows());
        let cells = cells.as_chunks::<C>().0;
        for slot in elems.start * n..elems.end * n {
            let row = table.as_slice()[slot];
            if row as usize >= rows {
                continue;
            }
            let (cells, of_row) = (&cells[self.crs.row_range(row as usize)], slot * n..(slot + 1) * n);
            let numbers = positions[of_row.clone()].iter().zip(&matrices[of_row]);
            let terms = numbers.flat_map(|(position, number)| cells[position.get()].iter().zip(number));
            match adds {
                Adds::Atomic => terms.for_each(|(cell, &term)| term.add_to(cell)),
                Adds::Plain => terms.for_each(|(cell, &term)| term.add_to_unshared(cell)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph;
    use crate::mesh::ElemNode;

    /// Whole numbers, whose sums are exact in any order.
    fn numbers<const C: usize>(count: usize) -> Vec<[f32; C]> {
        (0..count).map(|k| std::array::from_fn(|c| ((7 * k + 3 * c) % 11) as f32 - 5.0)).collect()
    }

    /// Every strategy and number of threads against a loop over all entries of the elements; the last rows are ghosts.
    fn check<const C: usize>(dofs: usize) {
        const ELEMS: usize = 2000;
        let table = (0..ELEMS as u32).flat_map(|e| [e, e + 1, e * 31 % 1900]).collect();
        let table = ElemNode::with_repeats(table, 3, ELEMS + 1).unwrap();
        let nodes = graph::build(&Threads::new(1).unwrap(), &table, 1700, graph::Strategy::default()).unwrap();
        let graph = nodes.with_dofs(&Threads::new(1).unwrap(), dofs).unwrap();
        let n = 3 * dofs;
        let matrices = numbers::<C>(ELEMS * n * n);
        let mut expected = vec![[0.0; C]; graph.crs.nnz()];
        for (k, number) in matrices.iter().enumerate() {
            if let Some(entry) = graph.elem.entry(&graph.crs, k / (n * n), k / n % n, k % n) {
                (0..C).for_each(|c| expected[entry][c] += number[c]);
            }
        }
        for (strategy, name) in Strategy::ALL {
            for threads in [1, 3] {
                let space = Threads::new(threads).unwrap();
                let fill = MatrixFill::new(&space, strategy, &graph).unwrap();
                let mut values = vec![[f32::NAN; C]; graph.crs.nnz()];
                fill.sum(&space, &matrices, &mut values).unwrap();
                assert!(values == expected, "{name}, {threads} threads, {dofs} dofs");
                let wide = |numbers: &[[f32; C]]| -> Vec<_> { numbers.iter().map(|x| x.map(f64::from)).collect() };
                let mut values = vec![[f64::NAN; C]; graph.crs.nnz()];
                fill.sum(&space, &wide(&matrices), &mut values).unwrap();
                assert!(values == wide(&expected), "{name}, {threads} threads, {dofs} dofs, f64");
            }
        }
    }

    #[test]
    fn all_strategies_sum_each_number_at_its_entry() {
        check::<1>(1);
        check::<2>(1);
        check::<1>(2);
    }

    /// All elements add to one row at the same time.
    #[test]
    fn threads_that_add_to_one_row_lose_no_term() {
        const ELEMS: u32 = 100_000;
        let table = ElemNode::new((1..=ELEMS).flat_map(|ray| [ray, 0]).collect(), 2, ELEMS as usize + 1).unwrap();
        let space = Threads::new(4).unwrap();
        let graph = graph::build(&space, &table, 1, graph::Strategy::default()).unwrap();
        let (matrices, mut values) = (vec![[1.0]; 4 * ELEMS as usize], vec![[f64::NAN]; graph.crs.nnz()]);
        for (strategy, name) in Strategy::ALL {
            let fill = MatrixFill::new(&space, strategy, &graph).unwrap();
            for _ in 0..3 {
                fill.sum(&space, &matrices, &mut values).unwrap();
                assert_eq!(values[0], [f64::from(ELEMS)], "{name}");
            }
        }
    }

    #[test]
    fn other_lengths_and_graphs_are_refused() {
        let (space, table) = (Threads::new(1).unwrap(), ElemNode::new(vec![0, 1, 1, 2], 2, 3).unwrap());
        let build = || graph::build(&space, &table, 3, graph::Strategy::default()).unwrap();
        let fill = MatrixFill::new(&space, Strategy::Colour, &build()).unwrap();
        let refused = |matrices: &[[f64; 1]], values: &mut [[f64; 1]]| {
            fill.sum(&space, matrices, values).unwrap_err().to_string()
        };
        assert!(refused(&[[0.0]; 7], &mut [[0.0]; 7]).contains("`matrices`"));
        assert!(refused(&[[0.0]; 8], &mut [[0.0]; 6]).contains("`values`"));
        let mut mixed = build();
        mixed.elem = build().elem;
        assert!(MatrixFill::new(&space, Strategy::Gather, &mixed).unwrap_err().to_string().contains("another pattern"));
    }
}
