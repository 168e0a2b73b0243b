//! From element matrices to the values of a CRS matrix and a residual.
//!
//! An [`ElementKernel`] computes batches of element matrices; a [`Fill`] puts them in place, one of three ways:
//!
//! | strategy | how | same bits on any number of threads | memory, bytes an element of `NN` nodes |
//! |---|---|---|---|
//! | [`Scatter`](Strategy::Scatter) | each element adds to its rows; atomically where another block of elements may | no | 0 |
//! | [`Gather`](Strategy::Gather) | element matrices are stored, then each row adds its own up, elements ascending | yes | 4 NN, and a window or 8 NN (NN + 1) |
//! | [`Colour`](Strategy::Colour) | blocks of elements that share no node run at once, without atomics | yes | 0 |
//!
//! Sources: Kokkos MiniFENL (scatter, gather); Hoemmen and Edwards 2014, slides 12-14. Cost of all: read 4 NN + 32 NN
//! bytes of connectivity, coordinates and unknowns an element (less what neighbours share) and NN^2 bytes of positions;
//! scatter and colour zero and update each value (24 bytes an entry), gather writes it once.

mod colour;
#[cfg(feature = "cuda")]
mod cuda;
mod dirichlet;
mod element_fn;
mod gather;
mod kernel;
#[cfg(feature = "cuda")]
mod kernel_files;
mod place;
mod scatter;
mod window;

#[cfg(feature = "cuda")]
pub use cuda::{ContractionWorkset, CudaFill, ElementMatrices};
pub use dirichlet::Dirichlet;
pub use element_fn::{ElementFn, element_fn};
pub use kernel::{ContractionKernel, ElementBatch, ElementKernel, Elements, FusedKernel};
#[cfg(feature = "cuda")]
pub(crate) use kernel_files::KERNEL_FILES;

use crate::Result;
use crate::error::check_length;
use crate::graph::Graph;
use crate::mesh::ElemNode;
use crate::space::HostSpace;
use crate::sparse::CrsMatrix;

/// How element matrices reach their rows. The default is reproducible and needs no memory of its own; measured, it is
/// level with the others on few threads and ahead on many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Scatter-add, atomic where rows are shared.
    Scatter,
    /// Gather-sum in a fixed order.
    Gather,
    /// Colours of element blocks.
    #[default]
    Colour,
}

impl Strategy {
    /// Every strategy, with its name.
    pub const ALL: [(Strategy, &'static str); 3] =
        [(Strategy::Scatter, "scatter"), (Strategy::Gather, "gather"), (Strategy::Colour, "colour")];
}

crate::space::named_choice!(Strategy, "fill strategy");

/// How element matrices and residuals of the heat equation are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// Geometry, then Intrepid contractions over worksets of cells.
    Contraction,
    /// Sum-factorised moments in one pass.
    #[default]
    Fused,
}

impl Kernel {
    /// Every kernel, with its name.
    pub const ALL: [(Kernel, &'static str); 2] = [(Kernel::Contraction, "contraction"), (Kernel::Fused, "fused")];
}

crate::space::named_choice!(Kernel, "element kernel");

/// What a strategy works out once for a mesh, and its working memory.
#[derive(Debug)]
pub struct Fill<const NN: usize>(Plan<NN>);

#[derive(Debug)]
enum Plan<const NN: usize> {
    Scatter(scatter::Plan),
    Gather(gather::Plan<NN>),
    Colour(colour::Plan),
}

impl<const NN: usize> Fill<NN> {
    /// Prepares a strategy for elements of `NN` nodes.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the table has other elements, [`Error::TooLarge`](crate::Error::TooLarge)
    /// where the memory cannot be had.
    pub fn new<S: HostSpace>(space: &S, strategy: Strategy, elem_node: &ElemNode, graph: &Graph) -> Result<Self> {
        check_length("Fill::new", "elem_node (nodes an element)", elem_node.nodes_per_elem(), NN)?;
        let rows = graph.crs.rows();
        Ok(Fill(match strategy {
            Strategy::Scatter => Plan::Scatter(scatter::Plan::new(space, elem_node, rows)),
            Strategy::Gather => Plan::Gather(gather::Plan::new(space, elem_node, rows)?),
            Strategy::Colour => Plan::Colour(colour::Plan::new(elem_node)),
        }))
    }

    /// Overwrites the values of `matrix` and `residual[..rows]` with the sums over all elements.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when matrix or residual do not fit the graph.
    pub fn assemble<S: HostSpace>(
        &mut self,
        space: &S,
        kernel: &impl ElementKernel<NN>,
        elem_node: &ElemNode,
        graph: &Graph,
        matrix: &mut CrsMatrix,
        residual: &mut [f64],
    ) -> Result<()> {
        check_length("Fill::assemble", "matrix", matrix.graph().nnz(), graph.crs.nnz())?;
        check_length("Fill::assemble", "residual", residual.len(), graph.crs.rows())?;
        let values = matrix.parts_mut().1;
        match &mut self.0 {
            Plan::Scatter(plan) => plan.assemble(space, kernel, elem_node, graph, values, residual),
            Plan::Gather(plan) => plan.assemble(space, kernel, elem_node, graph, values, residual),
            Plan::Colour(plan) => plan.assemble(space, kernel, elem_node, graph, values, residual),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Strategy;
    use super::*;
    use crate::graph;
    use crate::space::{Serial, Threads};
    use proptest::prelude::{ProptestConfig, any, proptest};

    /// Whole numbers in floating point: every order of summation gives the same bits, so all strategies must agree.
    fn term(elem: usize, i: usize, j: usize) -> f64 {
        ((elem * 31 + i * 7 + j * 3) % 17) as f64 - 8.0
    }

    fn check<const NN: usize>(elem_node: &ElemNode, rows: usize) {
        let (mut dense, mut dense_residual) = (vec![vec![0.0; elem_node.node_count()]; rows], vec![0.0; rows]);
        for (elem, nodes) in elem_node.iter().enumerate() {
            for (i, &row) in nodes.iter().enumerate().filter(|(_, row)| (**row as usize) < rows) {
                dense_residual[row as usize] += term(elem, i, NN);
                nodes
                    .iter()
                    .enumerate()
                    .for_each(|(j, &column)| dense[row as usize][column as usize] += term(elem, i, j));
            }
        }
        let kernel = element_fn(|elem| {
            let matrix = std::array::from_fn(|i| std::array::from_fn(|j| term(elem, i, j)));
            (matrix, std::array::from_fn::<_, NN, _>(|i| term(elem, i, NN)))
        });
        let graph = graph::build(&Serial, elem_node, rows, graph::Strategy::default()).unwrap();
        for (strategy, name) in Strategy::ALL {
            for threads in [1, 3] {
                let space = Threads::new(threads).unwrap();
                let mut fill = Fill::new(&space, strategy, elem_node, &graph).unwrap();
                let poisoned = vec![f64::NAN; graph.crs.nnz()];
                let mut matrix = CrsMatrix::new(graph.crs.clone(), poisoned).unwrap();
                let mut residual = vec![f64::NAN; rows];
                for _ in 0..2 {
                    fill.assemble(&space, &kernel, elem_node, &graph, &mut matrix, &mut residual).unwrap();
                    assert_eq!(residual, dense_residual, "{name}, {threads} threads");
                    for (row, dense) in dense.iter().enumerate() {
                        for &column in graph.crs.row(row) {
                            let value = matrix.get(row, column);
                            assert_eq!(
                                value,
                                Some(dense[column as usize]),
                                "{name}, {threads} threads, ({row}, {column})"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn strips_fans_and_nothing() {
        check::<2>(&ElemNode::new((0..3000u32).flat_map(|e| [e, e + 1]).collect(), 2, 3001).unwrap(), 2500);
        check::<3>(&ElemNode::new((0..300u32).flat_map(|e| [0, 2 * e + 1, 2 * e + 2]).collect(), 3, 601).unwrap(), 601);
        check::<4>(&ElemNode::new(vec![], 4, 3).unwrap(), 3);
    }

    #[test]
    fn other_shapes_are_refused() {
        let elem_node = ElemNode::new(vec![0, 1, 2], 3, 3).unwrap();
        let graph = graph::build(&Serial, &elem_node, 3, graph::Strategy::Sort).unwrap();
        assert!(Fill::<4>::new(&Serial, Strategy::Scatter, &elem_node, &graph).is_err());
        let mut fill = Fill::<3>::new(&Serial, Strategy::Scatter, &elem_node, &graph).unwrap();
        let mut matrix = CrsMatrix::zero(graph.crs.clone());
        let kernel = element_fn(|_| ([[0.0; 3]; 3], [0.0; 3]));
        let refused = fill.assemble(&Serial, &kernel, &elem_node, &graph, &mut matrix, &mut [0.0; 2]);
        assert!(refused.unwrap_err().to_string().contains("residual"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_triangles(seeds in proptest::collection::vec(any::<u32>(), 0..400), owned in 3usize..60) {
            let distinct = |seed: u32| {
                let a = seed % 60;
                let b = (a + 1 + seed / 60 % 59) % 60;
                let c = (0..60).find(|c| *c != a && *c != b && (seed >> 20) % 7 <= *c).unwrap();
                [a, b, c]
            };
            check::<3>(&ElemNode::new(seeds.into_iter().flat_map(distinct).collect(), 3, 60).unwrap(), owned);
        }
    }
}
