//! Products with a matrix that is not stored: each element matrix is computed, multiplied, and forgotten.
//!
//! ```text
//! y = sum_e R_e^T A_e (R_e x),   R_e: dofs of element e; the components of x that are fixed are read as 0
//! ```
//! Works with every [`ElementKernel`], so with given fields and any derivative, and needs no memory beside x and y. A product costs the
//! element matrices of an assembly, 2 ND^2 operations per element more, and no additions to matrix rows. The operators of
//! [`ApplyModel`](crate::fill::ApplyModel) compute less per product, for equations without given fields.

use super::kernel::{ElementBatch, ElementKernel, Evaluate};
use crate::Result;
use crate::error::{check_at_least, check_length};
use crate::fill::Wanted;
use crate::mesh::ElemNode;
use crate::space::lanes::LANES;
use multiversion::multiversion;
use std::ops::Range;

/// An element kernel whose residuals are its matrices times a vector: [`Fill::assemble_parts`](super::Fill::assemble_parts) with
/// [`Parts::Residual`](super::Parts::Residual) adds them up to the product.
///
/// ```
/// use minifenl::contraction::Sum;
/// use minifenl::fill::{ElementProduct, Fill, Parts, Strategy, element_fn};
/// use minifenl::{graph, mesh::ElemNode, space::Threads};
///
/// let (space, elem_node) = (Threads::new(2)?, ElemNode::new(vec![0, 1, 1, 2], 2, 3)?);
/// let graph = graph::build(&space, &elem_node, 3, graph::Strategy::default())?;
/// let kernel = element_fn(|_| ([[1.0, -1.0], [-1.0, 1.0]], [0.0; 2]));
/// let mut fill = Fill::<2>::new(&space, Strategy::default(), &graph)?;
/// // The matrix is [1 -1 0; -1 2 -1; 0 -1 1].
/// let (x, mut y) = ([1.0, 2.0, 4.0], [f64::NAN; 3]);
/// let product = ElementProduct::new(&kernel, fill.elem_node(), &x, &[])?;
/// fill.assemble_parts(&space, &product, Sum::Overwrite, Parts::Residual(&mut y))?;
/// assert_eq!(y, [-1.0, -1.0, 2.0]);
/// # Ok::<(), minifenl::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ElementProduct<'a, K> {
    kernel: &'a K,
    /// Dofs of each element.
    elem_dof: ElemNode,
    x: &'a [f64],
    fixed: &'a [u8],
}

impl<'a, K> ElementProduct<'a, K> {
    /// Borrows a kernel and x, one number per dof; `elem_dof` is the table of the plan, [`Fill::elem_node`](super::Fill::elem_node).
    /// Dofs whose item of `fixed` is not 0 are read as 0; an empty one fixes none.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for arrays of other lengths.
    pub fn new(kernel: &'a K, elem_dof: &ElemNode, x: &'a [f64], fixed: &'a [u8]) -> Result<Self> {
        const NAME: &str = "ElementProduct::new";
        check_length(NAME, "x", x.len(), elem_dof.node_count())?;
        if !fixed.is_empty() {
            check_length(NAME, "fixed", fixed.len(), x.len())?;
        }
        Ok(ElementProduct { kernel, elem_dof: elem_dof.clone(), x, fixed })
    }
}

impl<K: ElementKernel<ND>, const ND: usize> ElementKernel<ND> for ElementProduct<'_, K> {
    fn evaluator(&self, _: Wanted, elems: Range<usize>) -> Result<Evaluate<'_, ND>> {
        const NAME: &str = "ElementProduct";
        check_length(NAME, "elem_dof (dofs per element)", self.elem_dof.nodes_per_elem(), ND)?;
        check_at_least(NAME, "elem_dof", self.elem_dof.elem_count(), elems.end)?;
        let mut evaluate = self.kernel.evaluator(Wanted { matrix: true, residual: false }, elems)?;
        let mut of_elems = [[0.0; LANES]; ND];
        Ok(Box::new(move |elems, batch: &mut ElementBatch<ND>| {
            evaluate(elems.clone(), batch)?;
            for (lane, elem) in elems.enumerate() {
                for (item, &dof) in of_elems.iter_mut().zip(self.elem_dof.elem(elem)) {
                    let is_fixed = self.fixed.get(dof as usize).is_some_and(|&fixed| fixed != 0);
                    item[lane] = if is_fixed { 0.0 } else { self.x[dof as usize] };
                }
            }
            multiply(batch.matrix.as_flattened(), &of_elems, &mut batch.residual);
            Ok(())
        }))
    }

    fn elem_node(&self) -> Option<&ElemNode> {
        self.kernel.elem_node()
    }
}

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
/// Multiplies the matrices `[(i, j)][lane]` of a batch.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn multiply(matrix: &[[f64; LANES]], x: &[[f64; LANES]], y: &mut [[f64; LANES]]) {
    for (row, y) in matrix.chunks_exact(x.len()).zip(y) {
        let mut sum = [0.0; LANES];
        for (entry, x) in row.iter().zip(x) {
            for lane in 0..LANES {
                sum[lane] += entry[lane] * x[lane];
            }
        }
        *y = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contraction::Sum;
    use crate::element::equations::{EquationAt, Field, Point, Weak};
    use crate::element::{BasisTables, ElementType};
    use crate::fill::{EquationKernel, Fill, Given, Parts, Strategy, WithGiven};
    use crate::graph;
    use crate::mesh::Mesh;
    use crate::space::Threads;
    use crate::space::lanes::Number;
    use crate::sparse::CrsMatrix;

    /// Two unknowns, whose matrix is not symmetric and depends on them.
    struct Pair;

    impl EquationAt<2, 1> for Pair {
        fn weak<N: Number>(&self, at: Point<N, 1>, [a, b]: [Field<N>; 2]) -> [Weak<N>; 2] {
            let k = at.given[0].value;
            let of_a = Weak { flux: a.grad.map(|slope| k * slope), source: a.value * b.value };
            [of_a, Weak { flux: b.grad, source: a.value.exp() }]
        }
    }

    #[test]
    fn products_are_those_of_the_assembled_matrix_without_fixed_columns() {
        let (space, element) = (Threads::new(2).unwrap(), ElementType::Wedge6);
        let mesh = Mesh::of_box(element, [3; 3], [1.0, 2.0, 1.0]).unwrap();
        let (table, coord, count) = (&mesh.elem_node, &mesh.node_coord, mesh.node_coord.len());
        let nodes = graph::build(&space, table, count, graph::Strategy::default()).unwrap();
        let graph = nodes.with_dofs(&space, 2).unwrap();
        let tables = BasisTables::of(element);
        let k: Vec<f64> = (0..table.elem_count()).map(|elem| 1.0 + (elem as f64).sin() / 2.0).collect();
        let u: Vec<[f64; 2]> = (0..count).map(|node| [(node as f64).cos(), (node as f64 * 0.7).sin()]).collect();
        let pair = WithGiven { equation: &Pair, given: [Given::elements(&k)] };
        let kernel = EquationKernel::<2, 6, 12>::with_given(&pair, &tables, table, coord, &u).unwrap();
        let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; 2 * count]);
        let x: Vec<f64> = (0..2 * count).map(|dof| (dof as f64 * 0.3).cos()).collect();
        let fixed: Vec<u8> = (0..2 * count).map(|dof| u8::from(dof % 5 == 0)).collect();
        for strategy in [Strategy::Colour, Strategy::Gather, Strategy::Scatter] {
            let mut fill = Fill::<12>::new(&space, strategy, &graph).unwrap();
            fill.assemble(&space, &kernel, &mut matrix, &mut residual).unwrap();
            for fixed in [&[][..], &fixed] {
                let mut y = vec![f64::NAN; 2 * count];
                let product = ElementProduct::new(&kernel, fill.elem_node(), &x, fixed).unwrap();
                fill.assemble_parts(&space, &product, Sum::Overwrite, Parts::Residual(&mut y)).unwrap();
                for row in 0..2 * count {
                    let of = |dof: u32| if fixed.get(dof as usize) == Some(&1) { 0.0 } else { x[dof as usize] };
                    let columns = matrix.graph().row(row).iter();
                    let entries = columns.zip(&matrix.values()[matrix.graph().row_range(row)]);
                    let expected: f64 = entries.map(|(&dof, value)| value * of(dof)).sum();
                    assert!((y[row] - expected).abs() < 1e-13, "{strategy}, row {row}: {} {expected}", y[row]);
                }
            }
        }
        let fill = Fill::<12>::new(&space, Strategy::Colour, &graph).unwrap();
        let refused =
            |x: &[f64], fixed: &[u8]| ElementProduct::new(&kernel, fill.elem_node(), x, fixed).unwrap_err().to_string();
        assert!(refused(&x[1..], &[]).contains("`x`") && refused(&x, &fixed[1..]).contains("`fixed`"));

        let tables_of = |elems: usize, dofs: usize| {
            let each = (0..elems).flat_map(|_| 0..dofs as u32).collect();
            ElemNode::new(each, dofs, 2 * count).unwrap()
        };
        for (other, array) in [(tables_of(1, 12), "`elem_dof`"), (tables_of(8, 6), "`elem_dof (dofs per element)`")] {
            let product = ElementProduct::new(&kernel, &other, &x, &[]).unwrap();
            let refused = product.evaluator(Wanted { matrix: false, residual: true }, 0..8).err().unwrap().to_string();
            assert!(refused.contains(array), "{refused}");
        }
    }
}
