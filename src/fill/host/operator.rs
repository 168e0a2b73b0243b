//! The Jacobian of a model by elements on host memory.
//!
//! Elements lie side by side in vector lanes, four at a time. `Scatter` and `Colour` add element vectors to y in the blocks of an
//! assembly; `Gather` stores them, 8 bytes per dof of an element, and each row sums its own in element order.

use super::colour::Colour;
use super::model::two_dimensional;
use super::scatter::Scatter;
use super::volumes::on_volume;
use crate::blas::{Blas, Reductions};
use crate::element::equations::{Equation, Model, ModelEquation, WithJacobian, depends_on_unknowns};
use crate::element::{DIM, ElementType, FieldsAtPoints, Interpolation, Part, element_vector, product_flops};
use crate::error::{check_at_least, check_length};
use crate::fill::operator::ApplySizes;
use crate::fill::{ApplyCost, ApplyModel, FieldOn, Strategy};
use crate::graph::NodeElem;
use crate::mesh::ElemNode;
use crate::space::atomic::{AtomicF64, add_unshared, atomic_view};
use crate::space::lanes::{HALF_LANES, Lanes};
use crate::space::{HostMemory, HostSpace, try_zeroed};
use crate::{LocalOrdinal, Result};
use multiversion::multiversion;
use multiversion::target::match_target;
use rayon::prelude::*;
use std::fmt::Debug;
use std::ops::Range;

const WIDTH: usize = HALF_LANES;
/// Elements per task of `Gather`.
const BLOCK: usize = 64 * WIDTH;

/// A model on one element type, whose numbers of nodes, dofs and points are constants.
trait ElementOperator<S: HostSpace>: Debug {
    fn linearise(&mut self, space: &S, coords: &[[f64; 3]], unknowns: &[f64], residual: &mut [f64]) -> Result<()>;
    fn apply(&mut self, space: &S, coords: &[[f64; 3]], x: &[f64], y: &mut [f64]) -> Result<()>;
    fn cost(&self) -> ApplyCost;
}

/// The Jacobian of a model on host memory.
#[derive(Debug)]
pub struct HostOperator<S: HostSpace>(Box<dyn ElementOperator<S>>);

#[derive(Debug)]
enum Method {
    Scatter(Scatter),
    Colour(Colour),
    /// Lists of each node's slots, and the element vectors `[elem][m][c]`.
    Gather(NodeElem, Vec<f64>),
}

#[derive(Debug)]
struct OfElement<E, const D: usize, const NN: usize, const NP: usize> {
    equation: E,
    interpolation: Interpolation,
    elem_node: ElemNode,
    owned: usize,
    strategy: Strategy,
    method: Method,
    /// `[node][component]`, owned and ghosts.
    fixed: Vec<u8>,
    /// u of J(u) if J depends on it, else empty.
    unknowns: Vec<f64>,
    part: Part,
    /// Operations of an element.
    flops: usize,
}

/// What a batch reads.
struct Batch<'a, E, const D: usize> {
    equation: &'a E,
    part: Part,
    interpolation: &'a Interpolation,
    elem_node: &'a ElemNode,
    coords: &'a [[f64; DIM]],
    /// x and u, `[node][component]`.
    fields: [&'a [[f64; D]]; 2],
    /// Conditions by which x is masked.
    mask: Option<&'a [[u8; D]]>,
}

/// Element vectors of a batch, `[c][place][lane]`.
type Vectors<const D: usize, const NN: usize> = [[[f64; WIDTH]; NN]; D];
/// Working memory for each kind of lanes, which have the same layout.
type Scratch<const FUSED: bool, const D: usize, const NP: usize> = FieldsAtPoints<Lanes<FUSED, f64, WIDTH>, D, NP>;

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
#[allow(unsafe_code)]
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn evaluate<E: Equation<D>, const D: usize, const NN: usize, const NP: usize>(
    batch: &Batch<'_, E, D>,
    elems: Range<usize>,
    put: &mut dyn FnMut(Range<usize>, &Vectors<D, NN>),
) {
    match_target! {
        "x86_64+avx512f" => batches::<true, E, D, NN, NP>(batch, elems, put),
        "x86_64+fma" => batches::<true, E, D, NN, NP>(batch, elems, put),
        _ => batches::<false, E, D, NN, NP>(batch, elems, put),
    }
}

/// Computes the elements and gives each batch to `put`.
#[inline(always)]
fn batches<const FUSED: bool, E: Equation<D>, const D: usize, const NN: usize, const NP: usize>(
    batch: &Batch<'_, E, D>,
    elems: Range<usize>,
    put: &mut dyn FnMut(Range<usize>, &Vectors<D, NN>),
) {
    let zero = Lanes::<FUSED, f64, WIDTH>::ZERO;
    let mut scratch = Scratch::<FUSED, D, NP>::zero();
    let (mut coords, mut v, mut u) = ([[zero; NN]; DIM], [[zero; NN]; D], [[zero; NN]; D]);
    let (mut sums, mut out) = ([[zero; NN]; D], [[[0.0; WIDTH]; NN]; D]);
    let order: &[usize; NN] = match batch.interpolation.order().first_chunk() {
        Some(order) => order,
        None => return,
    };
    for first in elems.clone().step_by(WIDTH) {
        let lanes = first..elems.end.min(first + WIDTH);
        // Lanes behind the last element repeat it.
        for lane in 0..WIDTH {
            let nodes = batch.elem_node.elem((first + lane).min(lanes.end - 1));
            for place in 0..NN {
                let node = nodes[order[place]] as usize;
                let (x, value) = (batch.coords[node], batch.fields[0][node]);
                for axis in 0..DIM {
                    coords[axis][place].0[lane] = x[axis];
                }
                for c in 0..D {
                    let is_fixed = batch.mask.is_some_and(|mask| mask[node][c] != 0);
                    v[c][place].0[lane] = if is_fixed { 0.0 } else { value[c] };
                }
                if batch.part == Part::Tangent {
                    let value = batch.fields[1][node];
                    for c in 0..D {
                        u[c][place].0[lane] = value[c];
                    }
                }
            }
        }
        let equation = (batch.equation, batch.part);
        element_vector(equation, batch.interpolation, &coords, [&v, &u], &mut scratch, &mut sums);
        for c in 0..D {
            for place in 0..NN {
                out[c][order[place]] = sums[c][place].0;
            }
        }
        put(lanes, &out);
    }
}

/// The owned rows of y, shared by all threads, and the conditions on them.
#[derive(Clone, Copy)]
struct Rows<'a, const D: usize> {
    cells: &'a [AtomicF64],
    fixed: &'a [[u8; D]],
}

impl<const D: usize> Rows<'_, D> {
    /// Adds the vectors of elements to their free rows with `add(node, cell, term)`.
    fn add<E: Equation<D>, const NN: usize, const NP: usize>(
        self,
        batch: &Batch<'_, E, D>,
        elems: Range<usize>,
        add: impl Fn(LocalOrdinal, &AtomicF64, f64),
    ) {
        evaluate::<E, D, NN, NP>(batch, elems, &mut |lanes, found: &Vectors<D, NN>| {
            for (lane, elem) in lanes.enumerate() {
                for (m, &node) in batch.elem_node.elem(elem).iter().enumerate() {
                    // Ids of ghosts lie behind those of rows, so the bounds check is the test for ownership.
                    let Some(cells) = self.cells.get(D * node as usize..D * node as usize + D) else { continue };
                    for c in 0..D {
                        if self.fixed[node as usize][c] == 0 {
                            add(node, &cells[c], found[c][m][lane]);
                        }
                    }
                }
            }
        });
    }
}

impl<E: Equation<D> + Debug, const D: usize, const NN: usize, const NP: usize> OfElement<E, D, NN, NP> {
    /// Overwrites `out` with the sums of element vectors. With `masked`, fields are masked by the conditions and fixed unknowns get
    /// those of x; else fixed unknowns get 0.
    fn sum<S: HostSpace>(
        &mut self,
        space: &S,
        part: Part,
        coords: &[[f64; DIM]],
        x: &[f64],
        masked: bool,
        out: &mut [f64],
    ) -> Result<()> {
        const NAME: &str = "model operator";
        let OfElement { equation, interpolation, elem_node, owned, method, fixed, unknowns, .. } = self;
        let (all, owned) = (D * elem_node.node_count(), *owned);
        check_length(NAME, "node_coord", coords.len(), elem_node.node_count())?;
        check_at_least(NAME, "x", x.len(), all)?;
        check_at_least(NAME, "y", out.len(), D * owned)?;
        let (x, out) = (x[..all].as_chunks::<D>().0, out[..D * owned].as_chunks_mut::<D>().0);
        let fixed = fixed.as_chunks::<D>().0;
        let u = if part == Part::Tangent { unknowns.as_chunks::<D>().0 } else { x };
        let mask = masked.then_some(fixed);
        let batch = Batch { equation: &*equation, part, interpolation, elem_node, coords, fields: [x, u], mask };
        let own = |node: usize, c: usize| if masked { x[node][c] } else { 0.0 };
        if let Method::Gather(lists, vectors) = method {
            space.for_each(vectors.par_chunks_mut(BLOCK * NN * D).enumerate(), |(block, vectors)| {
                let first = block * BLOCK;
                let elems = first..elem_node.elem_count().min(first + BLOCK);
                evaluate::<E, D, NN, NP>(&batch, elems, &mut |lanes, found: &Vectors<D, NN>| {
                    for (lane, elem) in lanes.enumerate() {
                        let vector = vectors[(elem - first) * NN * D..][..NN * D].as_chunks_mut::<D>().0;
                        for (m, items) in vector.iter_mut().enumerate() {
                            for c in 0..D {
                                items[c] = found[c][m][lane];
                            }
                        }
                    }
                });
            });
            let vectors = vectors.as_chunks::<D>().0;
            space.for_each(out.par_chunks_mut(S::CHUNK).enumerate(), |(chunk, out)| {
                for (node, out) in (chunk * S::CHUNK..).zip(out) {
                    let mut sums = [0.0; D];
                    for &slot in lists.slots(node) {
                        for c in 0..D {
                            sums[c] += vectors[slot as usize][c];
                        }
                    }
                    for c in 0..D {
                        out[c] = if fixed[node][c] != 0 { own(node, c) } else { sums[c] };
                    }
                }
            });
            return Ok(());
        }
        space.for_each(out.par_chunks_mut(S::CHUNK).enumerate(), |(chunk, out)| {
            for (node, out) in (chunk * S::CHUNK..).zip(out) {
                for c in 0..D {
                    out[c] = if fixed[node][c] != 0 { own(node, c) } else { 0.0 };
                }
            }
        });
        let rows = Rows { cells: atomic_view(out.as_flattened_mut()), fixed };
        match method {
            Method::Scatter(scatter) => scatter.for_blocks(space, |elems| {
                rows.add::<E, NN, NP>(&batch, elems, |row, cell, term| scatter.add(row, cell, term));
                Ok(())
            }),
            Method::Colour(colour) => colour.for_blocks(space, elem_node, |elems| {
                rows.add::<E, NN, NP>(&batch, elems, |_, cell, term| add_unshared(cell, term));
                Ok(())
            }),
            Method::Gather(..) => Ok(()),
        }
    }
}

impl<S: HostSpace, E: Equation<D> + Debug, const D: usize, const NN: usize, const NP: usize> ElementOperator<S>
    for OfElement<E, D, NN, NP>
{
    fn linearise(&mut self, space: &S, coords: &[[f64; 3]], unknowns: &[f64], residual: &mut [f64]) -> Result<()> {
        check_at_least("linearise", "unknowns", unknowns.len(), self.fixed.len())?;
        if self.part == Part::Tangent {
            space.copy(self.fixed.len(), unknowns, &mut self.unknowns)?;
        }
        self.sum(space, Part::Residual, coords, unknowns, false, residual)
    }

    fn apply(&mut self, space: &S, coords: &[[f64; 3]], x: &[f64], y: &mut [f64]) -> Result<()> {
        self.sum(space, self.part, coords, x, true, y)
    }

    fn cost(&self) -> ApplyCost {
        let (elems, local) = (self.elem_node.elem_count(), self.elem_node.node_count());
        let reads_unknowns = self.part == Part::Tangent;
        let sizes = ApplySizes { elems, nodes: NN, dofs: D, owned: self.owned, local, reads_unknowns };
        ApplyCost { bytes: sizes.bytes(self.strategy), flops: (elems * self.flops) as u64 }
    }
}

impl<S: HostSpace> ApplyModel for S {
    type ModelOperator = HostOperator<S>;

    fn model_operator(
        &self,
        strategy: Strategy,
        model: &Model,
        on: FieldOn<'_, HostMemory>,
        owned: usize,
        fixed: Vec<u8>,
    ) -> Result<HostOperator<S>> {
        const NAME: &str = "model_operator";
        let FieldOn { element, elem_node, .. } = on;
        check_length(NAME, "elem_node (nodes per element)", elem_node.nodes_per_elem(), element.nodes())?;
        check_length(NAME, "fixed", fixed.len(), model.dofs() * elem_node.node_count())?;
        check_at_least(NAME, "elem_node (its nodes)", elem_node.node_count(), owned)?;
        let vectors = || {
            let items = elem_node.elem_count() * element.nodes() * model.dofs();
            try_zeroed("element vectors", items)
        };
        let method = match strategy {
            Strategy::Scatter => Method::Scatter(Scatter::new(self, elem_node, owned)?),
            Strategy::Colour => Method::Colour(Colour::new(elem_node)?),
            Strategy::Gather => Method::Gather(NodeElem::new(self, elem_node, owned)?, vectors()?),
        };
        macro_rules! of_element {
            ($equation:expr, $dofs:literal, $nodes:literal, $all:literal, $points:literal) => {{
                let equation = $equation;
                let part = if depends_on_unknowns::<_, $dofs>(&equation) { Part::Tangent } else { Part::Linear };
                let flops = product_flops::<_, $dofs>(&equation, part, element);
                let kept = if part == Part::Tangent { fixed.len() } else { 0 };
                Ok(HostOperator(Box::new(OfElement::<_, $dofs, $nodes, $points> {
                    equation,
                    interpolation: Interpolation::new(element),
                    elem_node: elem_node.clone(),
                    owned,
                    strategy,
                    method,
                    unknowns: try_zeroed("unknowns of the Jacobian", kept)?,
                    fixed,
                    part,
                    flops,
                })))
            }};
        }
        on_volume!(model, element, of_element, Err(two_dimensional(NAME, element)))
    }

    fn linearise(
        &self,
        operator: &mut HostOperator<S>,
        node_coord: &[[f64; 3]],
        unknowns: &[f64],
        residual: &mut [f64],
    ) -> Result<()> {
        operator.0.linearise(self, node_coord, unknowns, residual)
    }

    fn apply_model(
        &self,
        operator: &mut HostOperator<S>,
        node_coord: &[[f64; 3]],
        x: &[f64],
        y: &mut [f64],
        sums: Option<&Reductions<S>>,
    ) -> Result<()> {
        if sums.map_or(Ok(false), Reductions::is_stopped)? {
            return Ok(());
        }
        operator.0.apply(self, node_coord, x, y)
    }

    fn apply_cost(operator: &HostOperator<S>) -> ApplyCost {
        operator.0.cost()
    }
}
