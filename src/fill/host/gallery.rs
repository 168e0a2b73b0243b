//! The gallery of element kernels on host memory, and assembly with them.
//!
//! | equation | element | [`Kernel`] | kernel |
//! |---|---|---|---|
//! | heat, derivatives by hand | `hex8` | `Fused` | [`FusedKernel`] |
//! | any | any volume type | `Table` | [`EquationKernel`] |
//! | any | any volume type | `Intrepid` | [`IntrepidKernel`] |

use super::any_equation::{AnyProduct, elastic, scalar};
use super::gather;
use super::kernel::{EquationKernel, Integrand, workset_bytes};
use super::volumes::on_volume;
use super::{Fill, FusedKernel, IntrepidKernel, Worksets};
use crate::contraction::Sum;
use crate::element::equations::{Heat, Model, ModelEquation};
use crate::element::{Analytic, BasisTables, ElementType, HEX8_NODES};
use crate::error::{check_at_least, check_length};
use crate::fill::{
    Additions, Assemble, AssemblyChoice, ContractionCalls, Dirichlet, FieldOn, Kernel, Parts, StoredSystem, Strategy,
    heat_on_hex8, no_kernel, no_volume,
};
use crate::graph::{Graph, NodeElem};
use crate::mesh::Sizes;
use crate::space::{HostMemory, Threads};
use crate::sparse::{HostMatrix, HostRows, MatrixStorage};
use crate::{Error, LocalOrdinal, Result};
use rayon::prelude::*;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

type Work = dyn FnMut(&Threads, &[[f64; 3]], &[f64], Parts<'_>) -> Result<()>;

/// An element kernel with its strategy; numbers of nodes and dofs are constants inside.
pub struct HostAssembly {
    /// Assembles matrix and residual, or the residual.
    work: Box<Work>,
    stored_bytes: u64,
    /// Returns the calls of contractions so far.
    calls: Box<dyn Fn() -> ContractionCalls>,
    additions: Option<Additions>,
}

impl Debug for HostAssembly {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostAssembly").field("stored_bytes", &self.stored_bytes).finish_non_exhaustive()
    }
}

/// [`FusedKernel`].
fn fused(space: &Threads, heat: Heat, mut fill: Fill<HEX8_NODES>) -> HostAssembly {
    let (stored_bytes, additions) = (fill.stored_bytes(), fill.additions(space));
    let work = move |space: &Threads, coords: &[_], unknowns: &[_], parts: Parts<'_>| {
        let elem_node = fill.elem_node().clone();
        let kernel = FusedKernel::new(&elem_node, coords, unknowns, heat)?;
        fill.assemble_parts(space, &kernel, Sum::Overwrite, parts)
    };
    HostAssembly { work: Box::new(work), stored_bytes, additions, calls: Box::new(ContractionCalls::default) }
}

/// [`EquationKernel`], or [`IntrepidKernel`] on worksets, of an element of `NN` nodes and `ND` dofs.
fn of_element<const D: usize, const NN: usize, const ND: usize>(
    space: &Threads,
    AssemblyChoice { strategy, kernel, workset }: AssemblyChoice,
    equation: Box<dyn AnyProduct<D>>,
    on: FieldOn<'_, HostMemory>,
    system: &StoredSystem<Threads>,
) -> Result<HostAssembly> {
    let mut fill = Fill::<ND>::prepare(space, strategy, system.matrix.graph().clone(), system.places.clone())?;
    let (tables, elem_node) = (BasisTables::of(on.element), on.elem_node.clone());
    let (stored_bytes, additions) = (fill.stored_bytes(), fill.additions(space));
    let make = || Worksets::new(&tables, elem_node.elem_count(), workset, space.concurrency()).map(Arc::new);
    let worksets = (kernel == Kernel::Intrepid).then(make).transpose()?;
    let counted = worksets.clone();
    let calls = move || counted.as_ref().map_or(ContractionCalls::default(), |worksets| worksets.calls());
    let work = move |space: &Threads, coords: &[_], unknowns: &[_], parts: Parts<'_>| {
        let (of_nodes, rest) = unknowns.as_chunks::<D>();
        check_length("assemble", "unknowns (beyond the last node)", rest.len(), 0)?;
        let (integrand, sum) = (Integrand::new(&*equation, &tables, &elem_node, coords, of_nodes), Sum::Overwrite);
        match &worksets {
            Some(worksets) => {
                fill.assemble_parts(space, &IntrepidKernel::<D, NN, ND>::of_any(integrand, worksets)?, sum, parts)
            }
            None => fill.assemble_parts(space, &EquationKernel::<D, NN, ND>::of_any(integrand)?, sum, parts),
        }
    };
    Ok(HostAssembly { work: Box::new(work), stored_bytes, additions, calls: Box::new(calls) })
}

impl Assemble for Threads {
    const STRATEGY: Strategy = Strategy::Colour;

    type Assembly = HostAssembly;

    fn dof_graph(&self, nodes: Graph, dofs: usize) -> Result<Graph> {
        if dofs == 1 { Ok(nodes) } else { nodes.with_dofs(self, dofs) }
    }

    fn stored_system(
        &self,
        strategy: Strategy,
        storage: MatrixStorage,
        graph: Graph,
        mut conditions: Dirichlet,
    ) -> Result<StoredSystem<Self>> {
        let Graph { crs, elem: places, .. } = graph;
        let matrix = if adds_in_slices(strategy) {
            HostMatrix::direct(self, storage, crs)?
        } else {
            HostMatrix::new(self, storage, crs)?
        };
        conditions.move_to(self, matrix.parts().0);
        Ok(StoredSystem { matrix, places, conditions })
    }

    // Compiled by callers, as they need it: the kernels of all elements are half of the library's code.
    #[inline]
    fn assembly(
        &self,
        choice: AssemblyChoice,
        model: &Model,
        on: FieldOn<'_, HostMemory>,
        system: &StoredSystem<Threads>,
    ) -> Result<HostAssembly> {
        let AssemblyChoice { strategy, kernel, .. } = choice;
        if strategy == Some(Strategy::Gather) && matches!(system.matrix.parts().0, HostRows::Slices(_)) {
            let why = "assembly: gather adds to rows in CRS, and the system was made for another strategy";
            return Err(Error::Invalid(why.into()));
        }
        check_length("assembly", "elem_node (nodes per element)", on.elem_node.nodes_per_elem(), on.element.nodes())?;
        if kernel == Kernel::Fused {
            let heat = heat_on_hex8(model, on.element).ok_or_else(|| no_kernel(kernel, on.element))?;
            let fill = Fill::prepare(self, strategy, system.matrix.graph().clone(), system.places.clone())?;
            return Ok(fused(self, heat, fill));
        }
        let refused = || Err(no_volume("assembly", on.element));
        match model.equation {
            ModelEquation::Scalar(of) => {
                on_volume!(on.element, of_element::<1>(self, choice, scalar(model, of), on, system), refused())
            }
            ModelEquation::Elastic(of) => {
                on_volume!(on.element, of_element::<3>(self, choice, elastic(model, of), on, system), refused())
            }
        }
    }

    fn system_bytes(strategy: Strategy, storage: MatrixStorage, sizes: &Sizes, pattern: u64) -> [u64; 2] {
        let direct = adds_in_slices(strategy) && HostMatrix::is_direct(storage);
        [pattern + HostMatrix::bytes(storage, direct, &sizes.matrix()); 2]
    }

    fn strategy_bytes(strategy: Strategy, [rows, slots, columns, _]: [u64; 4]) -> [u64; 2] {
        match strategy {
            Strategy::Scatter => [0; 2],
            Strategy::Gather => [NodeElem::bytes(rows, slots), 0],
            Strategy::Colour => [0, 8 * columns],
        }
    }

    fn matrices_bytes((choice, _): (AssemblyChoice, bool), sizes: &Sizes, threads: u64) -> [u64; 2] {
        let stored =
            if choice.strategy == Some(Strategy::Gather) { gather::stored_bytes(sizes, threads) } else { [0; 2] };
        let is_intrepid = choice.kernel == Kernel::Intrepid;
        let worksets = if is_intrepid { threads * workset_bytes(choice.workset, sizes) } else { 0 };
        stored.map(|stored| stored + worksets)
    }

    fn assemble(
        &self,
        assembly: &mut HostAssembly,
        node_coord: &[[f64; 3]],
        unknowns: &[f64],
        system: &mut StoredSystem<Threads>,
        residual: &mut [f64],
    ) -> Result<()> {
        (assembly.work)(self, node_coord, unknowns, Parts::Stored(&mut system.matrix, residual))
    }

    fn residual(
        &self,
        assembly: &mut HostAssembly,
        node_coord: &[[f64; 3]],
        unknowns: &[f64],
        residual: &mut [f64],
    ) -> Result<bool> {
        (assembly.work)(self, node_coord, unknowns, Parts::Residual(residual)).map(|()| true)
    }

    fn inverse_diagonal(&self, system: &StoredSystem<Self>, inverse: &mut [f64]) -> Result<()> {
        let ((stored, values), graph) = (system.matrix.parts(), system.matrix.graph());
        let rows = graph.rows();
        check_at_least("inverse_diagonal", "inverse", inverse.len(), rows)?;
        let blocks = inverse[..rows].par_chunks_mut(Threads::CHUNK).enumerate();
        self.try_for_each(blocks, |(block, inverse)| {
            for (row, inverse) in (block * Threads::CHUNK..).zip(inverse) {
                let position = graph.row(row).binary_search(&(row as LocalOrdinal));
                let missing = |_| Error::Invalid(format!("row {row} has no entry on the diagonal"));
                let value = values[stored.value(row, position.map_err(missing)?)];
                *inverse = if value > 0.0 { value.recip() } else { f64::NAN };
            }
            Ok(())
        })
    }

    fn stored_bytes(assembly: &HostAssembly) -> u64 {
        assembly.stored_bytes
    }

    fn contractions(assembly: &HostAssembly) -> ContractionCalls {
        (assembly.calls)()
    }

    fn additions(assembly: &HostAssembly) -> Option<Additions> {
        assembly.additions
    }

    fn sample(&self, exact: &Analytic, node_coord: &[[f64; 3]], count: usize) -> Result<Vec<f64>> {
        check_at_least("sample", "node_coord", node_coord.len(), count)?;
        self.map(count, |node| exact.at(node_coord[node][2]))
    }
}

/// Whether a strategy adds to the slices that products read; gather writes rows in CRS.
fn adds_in_slices(strategy: Strategy) -> bool {
    strategy != Strategy::Gather
}
