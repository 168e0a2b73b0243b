//! The ways to assemble with this library. One round of a candidate builds all it needs from the element-node table.

use crate::kernels::{Batched, Element, Given, HexElasticity, HexPoisson, Mesh, TetElasticity, TetPoisson};
use crate::problem::{Problem, one};
use minifenl::contraction::Sum;
use minifenl::element::equations::Heat;
use minifenl::fill::{Coo, ElementIndices, ElementKernel, Fill, FusedKernel, Parts, Strategy, element_fn};
use minifenl::graph::{self, Graph};
use minifenl::space::Threads;
use minifenl::sparse::CrsMatrix;
use std::time::Instant;

/// Milliseconds of the stages of a round; `None` where a candidate has no such stage.
#[derive(Clone, Copy)]
pub struct Times {
    /// Sparsity pattern of the nodes and positions of the elements in it.
    pub graph: Option<f64>,
    /// All that precedes the first assembly, the graph and a zero matrix included.
    pub pattern: f64,
    /// First assembly into the zero matrix, whose memory it touches first.
    pub first: f64,
    /// Assembly into the same matrix again.
    pub again: f64,
}

/// A round: its times and, on demand, the assembled matrix with one value per entry.
pub type Run<'a> = Box<dyn FnMut(bool) -> (Times, Option<CrsMatrix>) + 'a>;

/// What the candidates of a problem read.
pub struct Input {
    pub problem: Problem,
    pub space: Threads,
    matrices: Vec<f64>,
    dofs: Vec<i32>,
    /// Rows and columns of all values of the element matrices.
    pairs: [Vec<i32>; 2],
    zero: Vec<f64>,
}

impl Input {
    pub fn new(problem: Problem, space: Threads) -> Self {
        let (matrices, dofs, n) = (problem.matrices(), problem.dof_table(), problem.elem_dofs());
        let i = dofs.iter().flat_map(|&dof| std::iter::repeat_n(dof, n)).collect();
        let j = dofs.chunks(n).flat_map(|dofs| dofs.repeat(n)).collect();
        let zero = vec![0.0; problem.points.len()];
        Input { problem, space, matrices, dofs, pairs: [i, j], zero }
    }

    /// Names of all candidates of the problem. The first one's matrix is the reference.
    pub fn candidates(&self) -> Vec<(&'static str, Run<'_>)> {
        let (colour, gather) = (Strategy::Colour, Strategy::Gather);
        let mut list: Vec<(&'static str, Run<'_>)> = match self.problem.name.as_str() {
            "poisson-hexes" => {
                let input = (&self.problem.table, &self.problem.points, &self.zero);
                // T = 0 leaves the conduction term of the heat equation.
                let fused = FusedKernel::new(input.0, input.1, input.2, Heat::new(1.0)).expect("hexahedra");
                let mut list = self.computed::<HexPoisson, 8, 8>(HexPoisson);
                list.insert(1, ("Fill, FusedKernel", self.fill::<8>(colour, fused)));
                list
            }
            "poisson-tets" => self.computed::<TetPoisson, 4, 4>(TetPoisson),
            "elasticity-hexes" => self.computed::<HexElasticity, 8, 24>(HexElasticity),
            _ => self.computed::<TetElasticity, 4, 12>(TetElasticity),
        };
        let given: (&str, Run<'_>) = match (self.problem.dofs, self.problem.elem_dofs()) {
            (1, 8) => ("Fill, given matrices", self.fill::<8>(gather, Given(&self.matrices))),
            (1, _) => ("Fill, given matrices", self.fill::<4>(gather, Given(&self.matrices))),
            (_, 24) => ("Fill, given matrices", self.fill::<24>(gather, Given(&self.matrices))),
            _ => ("Fill, given matrices", self.fill::<12>(gather, Given(&self.matrices))),
        };
        list.extend([given, ("Coo::from_elements", self.coo(false)), ("Coo::new", self.coo(true))]);
        list
    }

    fn mesh<const NODES: usize>(&self) -> Mesh<'_, NODES> {
        Mesh { table: self.problem.table.as_slice().as_chunks().0, points: &self.problem.points }
    }

    fn computed<'a, E: Element<NODES> + Copy + 'a, const NODES: usize, const ND: usize>(
        &'a self,
        element: E,
    ) -> Vec<(&'static str, Run<'a>)>
    where
        Batched<'a, E, NODES>: ElementKernel<ND>,
    {
        let problem = &self.problem;
        let plain = element_fn(move |elem| (one::<E, NODES, ND>(problem.table.elem(elem), &problem.points), [0.0; ND]));
        vec![
            ("Fill", self.fill::<ND>(Strategy::Colour, Batched(self.mesh(), element))),
            ("Fill, gather", self.fill::<ND>(Strategy::Gather, Batched(self.mesh(), element))),
            ("Fill, element_fn", self.fill::<ND>(Strategy::Colour, plain)),
        ]
    }

    fn graph(&self) -> Graph {
        let nodes = self.problem.points.len();
        graph::build(&self.space, &self.problem.table, nodes, graph::Strategy::default()).expect("a graph")
    }

    /// Assembly on the graph of the dofs.
    fn fill<'a, const ND: usize>(&'a self, strategy: Strategy, kernel: impl ElementKernel<ND> + 'a) -> Run<'a> {
        let (space, dofs) = (&self.space, self.problem.dofs);
        Box::new(move |is_checked| {
            let (graph_ms, graph) = ms(|| self.graph());
            let (rest, (mut plan, mut matrix, _expanded)) = ms(|| {
                let expanded = (dofs > 1).then(|| graph.with_dofs(space, dofs).expect("a graph of dofs"));
                let graph = expanded.as_ref().unwrap_or(&graph);
                let plan = Fill::<ND>::new(space, strategy, graph).expect("a plan");
                (plan, CrsMatrix::zero(graph.crs.clone()), expanded)
            });
            let mut assemble = || {
                let assembled = plan.assemble_parts(space, &kernel, Sum::Overwrite, Parts::Matrix(&mut matrix));
                assembled.expect("an assembly");
            };
            let (first, again) = (ms(&mut assemble).0, ms(&mut assemble).0);
            let times = Times { graph: Some(graph_ms), pattern: graph_ms + rest, first, again };
            (times, is_checked.then_some(matrix))
        })
    }

    /// Sums of the stored element matrices, located by arrays of pairs or by the dofs of the elements.
    fn coo(&self, by_pairs: bool) -> Run<'_> {
        let (space, dofs) = (&self.space, self.problem.dofs * self.problem.points.len());
        Box::new(move |is_checked| {
            let table = ElementIndices { indices: &self.dofs[..], per_elem: self.problem.elem_dofs() };
            let (pattern, (plan, mut matrix)) = ms(|| {
                let [i, j] = &self.pairs;
                let plan = if by_pairs {
                    Coo::new(space, dofs, dofs, i, j)
                } else {
                    Coo::from_elements(space, dofs, dofs, table, table)
                };
                let plan = plan.expect("a plan");
                let matrix = plan.matrix::<f64>().expect("memory");
                (plan, matrix)
            });
            let mut sum = || plan.set_values(space, &self.matrices, Sum::Overwrite, &mut matrix).expect("sums");
            let (first, again) = (ms(&mut sum).0, ms(&mut sum).0);
            (Times { graph: None, pattern, first, again }, is_checked.then_some(matrix))
        })
    }

    /// Element matrices and rows and columns of their values, for peers that are given them.
    pub fn given(&self) -> (&[f64], &[Vec<i32>; 2]) {
        (&self.matrices, &self.pairs)
    }
}

/// Milliseconds of `work`, and what it returns.
pub fn ms<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (1e3 * start.elapsed().as_secs_f64(), result)
}
