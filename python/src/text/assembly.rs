//! The assembly of a program on an element type.

use super::program::Program;
use minifenl::contraction::Sum;
use minifenl::element::{BasisTables, ElementType, Rule};
use minifenl::fill::{ElementProduct, EquationKernel, Fill, Given, Parts, Strategy, WithGiven};
use minifenl::graph::Graph;
use minifenl::mesh::ElemNode;
use minifenl::space::Threads;
use minifenl::{Error, Result};

/// What is computed of an equation.
pub enum Task<'a> {
    Assemble(Parts<'a>),
    /// The Jacobian times x; fixed items of x count as 0.
    Multiply {
        x: &'a [f64],
        fixed: &'a [u8],
        y: &'a mut [f64],
    },
}

/// Does a task with coordinates, unknowns `[node][component]` and given fields.
pub type TextAssembly = dyn FnMut(&Threads, &[[f64; 3]], &[f64], &[Given<'_>], Task<'_>) -> Result<()> + Send;

/// Evaluates `build!(arguments, nodes)` with the nodes of a volume.
macro_rules! on_volume {
    ($element:expr, $build:ident($($argument:expr),*)) => {
        match $element {
            ElementType::Hex8 => $build!($($argument,)* { ElementType::Hex8.nodes() }),
            ElementType::Hex20 => $build!($($argument,)* { ElementType::Hex20.nodes() }),
            ElementType::Hex27 => $build!($($argument,)* { ElementType::Hex27.nodes() }),
            ElementType::Tet4 => $build!($($argument,)* { ElementType::Tet4.nodes() }),
            ElementType::Tet10 => $build!($($argument,)* { ElementType::Tet10.nodes() }),
            ElementType::Wedge6 => $build!($($argument,)* { ElementType::Wedge6.nodes() }),
            ElementType::Wedge15 => $build!($($argument,)* { ElementType::Wedge15.nodes() }),
            other => Err(Error::Invalid(format!("{other}: expected a volume"))),
        }
    };
}

/// Plans the assembly of a program on the graph of the dofs.
///
/// # Errors
/// Those of [`Fill::new`].
pub fn plan(
    space: &Threads,
    program: Program,
    element: ElementType,
    elem_node: &ElemNode,
    graph: &Graph,
) -> Result<Box<TextAssembly>> {
    macro_rules! build {
        ($dofs:literal, $nodes:expr) => {{
            let fill = Fill::new(space, Strategy::default(), graph)?;
            of_element::<$dofs, $nodes, { $dofs * $nodes }>(program, element, elem_node.clone(), fill)
        }};
    }
    match program.terms.len() {
        1 => on_volume!(element, build(1)),
        2 => on_volume!(element, build(2)),
        3 => on_volume!(element, build(3)),
        other => Err(Error::Invalid(format!("{other} unknowns per node: expected 1, 2 or 3"))),
    }
}

/// An element of `NN` nodes and `ND` dofs.
fn of_element<const D: usize, const NN: usize, const ND: usize>(
    program: Program,
    element: ElementType,
    elem_node: ElemNode,
    mut fill: Fill<ND>,
) -> Result<Box<TextAssembly>> {
    let tables = BasisTables::of(element);
    // Flux and source are constant in each element: one point is exact.
    let centre = Rule { points: vec![[0.25; 3]], weights: vec![1.0 / 6.0] };
    let one_point = match element {
        ElementType::Tet4 if program.is_constant() => Some(BasisTables::with_rule(element, &centre)?),
        _ => None,
    };
    Ok(Box::new(move |space, coords, unknowns, given, task| {
        let is_constant = given.iter().all(Given::is_constant_in_elements);
        let tables = one_point.as_ref().filter(|_| is_constant).unwrap_or(&tables);
        let unknowns = unknowns.as_chunks::<D>().0;
        macro_rules! with_fields {
            ($count:literal) => {{
                // Fields behind the last one are not read.
                let given = std::array::from_fn(|k| given.get(k).copied().unwrap_or(Given::constant(&0.0)));
                let with = WithGiven::<Program, $count> { equation: &program, given };
                let kernel = EquationKernel::<D, NN, ND>::with_given(&with, tables, &elem_node, coords, unknowns)?;
                match task {
                    Task::Assemble(parts) => fill.assemble_parts(space, &kernel, Sum::Overwrite, parts),
                    Task::Multiply { x, fixed, y } => {
                        let product = ElementProduct::new(&kernel, fill.elem_node(), x, fixed)?;
                        fill.assemble_parts(space, &product, Sum::Overwrite, Parts::Residual(y))
                    }
                }
            }};
        }
        match given.len() {
            0 => with_fields!(0),
            1 | 2 => with_fields!(2),
            3 | 4 => with_fields!(4),
            _ => with_fields!(10),
        }
    }))
}
