//! Assembly of equations whose coefficients are given fields, on element types that are known at run time.
//!
//! A plan is made once for a graph; each assembly takes coordinates, unknowns and coefficients. Cost: that of an
//! [`EquationKernel`], whose constants of the element are compiled in. On linear tetrahedra, equations without terms of u are integrated
//! at the centre if all given fields are constant in each element, which is exact then.

use super::kernel::Integrand;
use super::volumes::on_volume;
use super::weak_form::{Erased, Joined};
use super::{ElementProduct, EquationKernel, Fill, Given, Parts, WeakForm};
use crate::Result;
use crate::contraction::Sum;
use crate::element::{BasisTables, DIM, ElementType, Rule};
use crate::error::check_length;
use crate::fill::{Strategy, no_volume};
use crate::graph::Graph;
use crate::mesh::ElemNode;
use crate::space::Threads;
use std::fmt::{Debug, Formatter};

type Work = dyn FnMut(&Threads, &[[f64; DIM]], &[f64], &[Given<'_>], Task<'_>) -> Result<()> + Send;

/// A [`WeakForm`] with a strategy on the elements of a graph; numbers of nodes and dofs are constants inside.
///
/// ```
/// use minifenl::element::{ElementType, equations::GivenEquation};
/// use minifenl::fill::{Given, GivenAssembly, Parts, Strategy};
/// use minifenl::{graph, mesh::Mesh, space::Threads};
///
/// let (space, element) = (Threads::new(2)?, ElementType::Hex8);
/// let mesh = Mesh::of_box(element, [2; 3], [1.0; 3])?;
/// let graph = graph::build(&space, &mesh.elem_node, 27, graph::Strategy::default())?;
/// let mut assembly = GivenAssembly::new(&space, Strategy::default(), GivenEquation::Diffusion, element, &mesh.elem_node, &graph)?;
/// let (mut values, mut residual) = (vec![0.0; graph.crs.nnz()], vec![0.0; 27]);
/// // Each element conducts as its number says; the load is 3.
/// let conductivity: Vec<f64> = (1..=8).map(f64::from).collect();
/// let given = [Given::elements(&conductivity), Given::constant(&3.0)];
/// assembly.assemble(&space, &mesh.node_coord, &[0.0; 27], &given, Parts::Values(&mut values, &mut residual))?;
/// // Rows of the matrix add up to 0, and the residual to minus the integral of the load.
/// assert!(values.iter().sum::<f64>().abs() < 1e-12);
/// assert!((residual.iter().sum::<f64>() + 3.0).abs() < 1e-12);
/// # Ok::<(), minifenl::Error>(())
/// ```
pub struct GivenAssembly(Box<Work>);

impl Debug for GivenAssembly {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GivenAssembly").finish_non_exhaustive()
    }
}

/// What is computed of an equation.
enum Task<'a> {
    Assemble(Parts<'a>),
    /// The Jacobian times x; fixed items of x count as 0.
    Multiply {
        x: &'a [f64],
        fixed: &'a [u8],
        y: &'a mut [f64],
    },
}

/// [`EquationKernel`] of an element of `NN` nodes and `ND` dofs.
fn of_element<const D: usize, const NN: usize, const ND: usize>(
    (space, strategy, graph): (&Threads, Strategy, &Graph),
    (equation, is_constant): (Box<Joined<D>>, bool),
    (element, elem_node): (ElementType, ElemNode),
) -> Result<GivenAssembly> {
    let (mut fill, tables) = (Fill::<ND>::new(space, strategy, graph)?, BasisTables::of(element));
    let centre = Rule { points: vec![[0.25; 3]], weights: vec![1.0 / 6.0] };
    let one_point = match element {
        ElementType::Tet4 if is_constant => Some(BasisTables::with_rule(element, &centre)?),
        _ => None,
    };
    Ok(GivenAssembly(Box::new(move |space, coords, unknowns, given, task| {
        let (of_nodes, rest) = unknowns.as_chunks::<D>();
        check_length("GivenAssembly::assemble", "unknowns (beyond the last node)", rest.len(), 0)?;
        let has_constants = given.iter().all(Given::is_constant_in_elements);
        let tables = one_point.as_ref().filter(|_| has_constants).unwrap_or(&tables);
        let mut task = Some(task);
        equation(given, &mut |joined| {
            let integrand = Integrand::new(joined, tables, &elem_node, coords, of_nodes);
            let kernel = EquationKernel::<D, NN, ND>::of_any(integrand)?;
            match task.take() {
                None => Ok(()),
                Some(Task::Assemble(parts)) => fill.assemble_parts(space, &kernel, Sum::Overwrite, parts),
                Some(Task::Multiply { x, fixed, y }) => {
                    let product = ElementProduct::new(&kernel, fill.elem_node(), x, fixed)?;
                    fill.assemble_parts(space, &product, Sum::Overwrite, Parts::Residual(y))
                }
            }
        })
    })))
}

impl GivenAssembly {
    /// Prepares a strategy for the elements of a graph, which for several unknowns per node is that of
    /// [`Graph::with_dofs`]. The equation is a [`GivenEquation`](crate::element::equations::GivenEquation) or any [`WeakForm`].
    ///
    /// # Errors
    /// Those of [`Fill::new`]; [`Error::Invalid`](crate::Error::Invalid) for an element of fewer than three dimensions.
    // Compiled by callers, as they need it, like the kernels of a model.
    #[inline]
    pub fn new(
        space: &Threads,
        strategy: Strategy,
        equation: impl Into<WeakForm>,
        element: ElementType,
        elem_node: &ElemNode,
        graph: &Graph,
    ) -> Result<Self> {
        check_length(
            "GivenAssembly::new",
            "elem_node (nodes per element)",
            elem_node.nodes_per_elem(),
            element.nodes(),
        )?;
        let refused = || Err(no_volume("GivenAssembly::new", element));
        let WeakForm { equation, is_constant } = equation.into();
        let (of, on) = ((space, strategy, graph), (element, elem_node.clone()));
        match equation {
            Erased::One(equation) => on_volume!(element, of_element::<1>(of, (equation, is_constant), on), refused()),
            Erased::Two(equation) => on_volume!(element, of_element::<2>(of, (equation, is_constant), on), refused()),
            Erased::Three(equation) => on_volume!(element, of_element::<3>(of, (equation, is_constant), on), refused()),
        }
    }

    /// Overwrites matrix and residual, or one of them, at `unknowns` `[node][component]`. `given` has the fields of the equation in its
    /// order.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for arrays and fields of other lengths or numbers; [`Error::Invalid`](crate::Error::Invalid) for a matrix on
    /// another graph, or a graph of other elements; [`Error::Folded`](crate::Error::Folded) where det J is not positive at a point of an
    /// element.
    pub fn assemble(
        &mut self,
        space: &Threads,
        node_coord: &[[f64; DIM]],
        unknowns: &[f64],
        given: &[Given<'_>],
        parts: Parts<'_>,
    ) -> Result<()> {
        (self.0)(space, node_coord, unknowns, given, Task::Assemble(parts))
    }

    /// Overwrites y with the matrix at `unknowns` times x, both `[dof]`, as an [`ElementProduct`]: no matrix is stored. The pair is x and
    /// `fixed`: dofs whose item of `fixed` is not 0 are read as 0; an empty one fixes none.
    ///
    /// # Errors
    /// Those of [`assemble`](Self::assemble); [`Error::Shape`](crate::Error::Shape) for x, `fixed` or y of other lengths.
    pub fn multiply(
        &mut self,
        space: &Threads,
        node_coord: &[[f64; DIM]],
        unknowns: &[f64],
        given: &[Given<'_>],
        (x, fixed): (&[f64], &[u8]),
        y: &mut [f64],
    ) -> Result<()> {
        (self.0)(space, node_coord, unknowns, given, Task::Multiply { x, fixed, y })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::{Elasticity, GivenDiffusion, GivenEquation, Poisson};
    use crate::fill::host::WithGiven;
    use crate::graph;
    use crate::mesh::Mesh;
    use crate::sparse::CrsMatrix;

    /// Elasticity on quadratic tetrahedra, its coefficients given as constants and per element.
    #[test]
    fn constants_and_values_of_elements_give_the_system_of_the_equation() {
        let (space, solid) = (Threads::new(2).unwrap(), Elasticity { lambda: 1.2, mu: 0.8, force: [0.3, 0.0, -1.0] });
        let element = ElementType::Tet10;
        let mesh = Mesh::of_box(element, [2; 3], [1.0; 3]).unwrap();
        let (table, coord, count) = (&mesh.elem_node, &mesh.node_coord, mesh.node_coord.len());
        let u: Vec<f64> = (0..3 * count).map(|dof| (dof as f64).sin()).collect();
        let nodes = graph::build(&space, table, count, graph::Strategy::default()).unwrap();
        let graph = nodes.with_dofs(&space, 3).unwrap();
        let tables = BasisTables::of(element);
        let kernel = EquationKernel::<3, 10, 30>::new(&solid, &tables, table, coord, u.as_chunks::<3>().0).unwrap();
        let (mut matrix, mut expected) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; 3 * count]);
        let mut fill = Fill::<30>::new(&space, Strategy::Gather, &graph).unwrap();
        fill.assemble(&space, &kernel, &mut matrix, &mut expected).unwrap();

        let of = GivenEquation::Elasticity;
        let mut assembly = GivenAssembly::new(&space, Strategy::default(), of, element, table, &graph).unwrap();
        let (mut values, mut residual) = (vec![f64::NAN; graph.crs.nnz()], vec![f64::NAN; 3 * count]);
        let (lambda, zero) = (vec![1.2; table.elem_count()], 0.0);
        let given = [
            Given::elements(&lambda),
            Given::constant(&0.8),
            Given::constant(&0.3),
            Given::constant(&zero),
            Given::constant(&-1.0),
        ];
        assembly.assemble(&space, coord, &u, &given, Parts::Values(&mut values, &mut residual)).unwrap();
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-13);
        assert!(close(&values, matrix.values()) && close(&residual, &expected));

        // The residual is linear in u: the matrix times u and what the load leaves.
        let (mut product, mut load) = (vec![f64::NAN; 3 * count], vec![f64::NAN; 3 * count]);
        assembly.multiply(&space, coord, &u, &given, (&u, &[]), &mut product).unwrap();
        assembly.assemble(&space, coord, &vec![0.0; 3 * count], &given, Parts::Residual(&mut load)).unwrap();
        let sum: Vec<f64> = product.iter().zip(&load).map(|(product, load)| product + load).collect();
        assert!(close(&sum, &residual));

        let mut refused = |given: &[Given<'_>], values: &mut [f64]| {
            assembly.assemble(&space, coord, &u, given, Parts::Values(values, &mut residual)).unwrap_err().to_string()
        };
        assert!(refused(&given[..4], &mut values).contains("given (fields)"));
        assert!(refused(&given, &mut values[1..]).contains("`values`"));
        let short = [Given::elements(&lambda[1..]), given[1], given[2], given[3], given[4]];
        assert!(refused(&short, &mut values).contains("a value per element"));
        let flat = GivenAssembly::new(&space, Strategy::default(), of, ElementType::Hex8, table, &graph);
        assert!(flat.unwrap_err().to_string().contains("nodes per element"));
    }

    /// One point per linear tetrahedron gives the system of four points.
    #[test]
    fn the_centre_of_linear_tetrahedra_suffices_without_terms_of_u() {
        let (space, element, poisson) = (Threads::new(2).unwrap(), ElementType::Tet4, Poisson { load: 0.7 });
        let mesh = Mesh::of_box(element, [2; 3], [1.0, 2.0, 3.0]).unwrap();
        let (table, coord, count) = (&mesh.elem_node, &mesh.node_coord, mesh.node_coord.len());
        let u: Vec<f64> = (0..count).map(|node| (node as f64).sin()).collect();
        let graph = graph::build(&space, table, count, graph::Strategy::default()).unwrap();
        let tables = BasisTables::of(element);
        let kernel = EquationKernel::<1, 4, 4>::new(&poisson, &tables, table, coord, u.as_chunks().0).unwrap();
        let (mut matrix, mut expected) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; count]);
        let mut fill = Fill::<4>::new(&space, Strategy::Gather, &graph).unwrap();
        fill.assemble(&space, &kernel, &mut matrix, &mut expected).unwrap();
        for (of, given) in [
            (GivenEquation::Diffusion, vec![Given::constant(&1.0), Given::constant(&0.7)]),
            (GivenEquation::Reaction, vec![Given::constant(&1.0), Given::constant(&0.0), Given::constant(&0.7)]),
        ] {
            let mut assembly = GivenAssembly::new(&space, Strategy::Colour, of, element, table, &graph).unwrap();
            let (mut values, mut residual) = (vec![f64::NAN; graph.crs.nnz()], vec![f64::NAN; count]);
            assembly.assemble(&space, coord, &u, &given, Parts::Values(&mut values, &mut residual)).unwrap();
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14);
            assert!(close(&values, matrix.values()) && close(&residual, &expected), "{of}");
        }
        // A load that varies in the elements needs all four points.
        let load: Vec<f64> = (0..count).map(|node| (3.0 * node as f64).cos()).collect();
        let given = [Given::constant(&1.0), Given::nodes(&load)];
        let with = WithGiven { equation: &GivenDiffusion, given };
        let kernel = EquationKernel::<1, 4, 4>::with_given(&with, &tables, table, coord, u.as_chunks().0).unwrap();
        fill.assemble(&space, &kernel, &mut matrix, &mut expected).unwrap();
        let of = GivenEquation::Diffusion;
        let mut assembly = GivenAssembly::new(&space, Strategy::Gather, of, element, table, &graph).unwrap();
        let mut residual = vec![f64::NAN; count];
        assembly.assemble(&space, coord, &u, &given, Parts::Residual(&mut residual)).unwrap();
        assert!(residual.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-14));
    }
}
