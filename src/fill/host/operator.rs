//! The Jacobian of a model by elements on host memory.
//!
//! Elements lie side by side in vector lanes, four at a time. `Gather` stores element vectors, 8 bytes per dof of an element, and each row sums its own in element order.

use super::any_equation::{AnyPoints, AnyProduct, WIDTH, elastic, scalar};
use super::blocks::Method;

use super::volumes::on_volume;
use crate::Result;
use crate::blas::{Blas, Reductions};
use crate::element::equations::{Model, ModelEquation};
use crate::element::{DIM, ElementType, FieldsAtPoints, Interpolation, Part, Points, element_vector};
use crate::error::{check_at_least, check_length};
use crate::fill::operator::ApplySizes;
use crate::fill::{ApplyCost, ApplyModel, FieldOn, Strategy, no_volume};
use crate::graph::NodeElem;
use crate::mesh::ElemNode;
use crate::space::atomic::atomic_view;
use crate::space::lanes::Lanes;
use crate::space::{HostMemory, Threads, try_zeroed};
use multiversion::multiversion;
use multiversion::target::match_target;
use rayon::prelude::*;
use std::ops::Range;

/// Elements per task of `Gather`.
const BLOCK: usize = 64 * WIDTH;

/// The Jacobian of a model on host memory.
#[derive(Debug)]
pub struct HostOperator(OfDofs);

#[derive(Debug)]
enum OfDofs {
    Scalar(ElementOperator<1>),
    Elastic(ElementOperator<3>),
}

/// An equation of `D` unknowns per node on one element type.
#[derive(Debug)]
struct ElementOperator<const D: usize> {
    equation: Box<dyn AnyProduct<D> + Send>,
    evaluate: Evaluate<D>,
    interpolation: Interpolation,
    elem_node: ElemNode,
    owned: usize,
    /// `Gather` has lists of each node's slots, and the element vectors `[elem][m][c]`.
    method: Method<(NodeElem, Vec<f64>)>,
    /// `[node][component]`, owned and ghosts.
    fixed: Vec<u8>,
    /// u of J(u) if J depends on it, else empty.
    unknowns: Vec<f64>,
    part: Part,
    cost: ApplyCost,
}

/// What a batch reads.
struct Batch<'a, const D: usize> {
    equation: &'a dyn AnyProduct<D>,
    part: Part,
    interpolation: &'a Interpolation,
    elem_node: &'a ElemNode,
    coords: &'a [[f64; DIM]],
    /// x and u, `[node][component]`.
    fields: [&'a [[f64; D]]; 2],
    /// Conditions by which x is masked.
    mask: Option<&'a [[u8; D]]>,
}

/// The loop over elements of a type: gives the element vectors of each batch to the function, `[m][c][lane]`.
type Evaluate<const D: usize> = fn(&Batch<'_, D>, Range<usize>, &mut Put<'_, D>);
type Put<'a, const D: usize> = dyn FnMut(Range<usize>, &[[[f64; WIDTH]; D]]) + 'a;

// The attribute expands to calls of the versions, each behind a check that the processor has its instructions.
// The variants of the enum themselves would not be general enough in their lifetimes.
#[allow(unsafe_code, clippy::redundant_closure)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn evaluate<const D: usize, const NN: usize, const NP: usize>(
    batch: &Batch<'_, D>,
    elems: Range<usize>,
    put: &mut Put<'_, D>,
) {
    match_target! {
        "x86_64+fma" => batches::<true, D, NN, NP>(batch, elems, put, |points| AnyPoints::Fused(points)),
        _ => batches::<false, D, NN, NP>(batch, elems, put, |points| AnyPoints::Plain(points)),
    }
}

/// Computes the elements and gives each batch to `put`.
#[inline(always)]
fn batches<const FUSED: bool, const D: usize, const NN: usize, const NP: usize>(
    batch: &Batch<'_, D>,
    elems: Range<usize>,
    put: &mut Put<'_, D>,
    any: impl for<'a> Fn(Points<'a, Lanes<FUSED, f64, WIDTH>, D>) -> AnyPoints<'a, D>,
) {
    let zero = Lanes::<FUSED, f64, WIDTH>::ZERO;
    let mut scratch = FieldsAtPoints::<Lanes<FUSED, f64, WIDTH>, D, NP>::zero();
    let (mut coords, mut v, mut u) = ([[zero; NN]; DIM], [[zero; NN]; D], [[zero; NN]; D]);
    let (mut sums, mut out) = ([[zero; NN]; D], [[[0.0; WIDTH]; D]; NN]);
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
        let at_points = |points: Points<'_, _, D>| batch.equation.vectors(batch.part, any(points));
        element_vector(batch.part, at_points, batch.interpolation, &coords, [&v, &u], &mut scratch, &mut sums);
        for c in 0..D {
            for place in 0..NN {
                out[order[place]][c] = sums[c][place].0;
            }
        }
        put(lanes, &out);
    }
}

impl<const D: usize> ElementOperator<D> {
    /// Overwrites `out` with the sums of element vectors. With `masked`, fields are masked by the conditions and fixed unknowns get
    /// those of x; else fixed unknowns get 0.
    fn sum(
        &mut self,
        space: &Threads,
        part: Part,
        coords: &[[f64; DIM]],
        x: &[f64],
        masked: bool,
        out: &mut [f64],
    ) -> Result<()> {
        const NAME: &str = "model operator";
        let ElementOperator { equation, evaluate, interpolation, elem_node, owned, method, fixed, unknowns, .. } = self;
        let (all, owned) = (D * elem_node.node_count(), *owned);
        check_length(NAME, "node_coord", coords.len(), elem_node.node_count())?;
        check_at_least(NAME, "x", x.len(), all)?;
        check_at_least(NAME, "y", out.len(), D * owned)?;
        let (x, out) = (x[..all].as_chunks::<D>().0, out[..D * owned].as_chunks_mut::<D>().0);
        let fixed = fixed.as_chunks::<D>().0;
        let u = if part == Part::Tangent { unknowns.as_chunks::<D>().0 } else { x };
        let mask = masked.then_some(fixed);
        let (equation, evaluate, nodes) = (&**equation, *evaluate, elem_node.nodes_per_elem());
        let batch = Batch { equation, part, interpolation, elem_node, coords, fields: [x, u], mask };
        if let Method::Gather((_, vectors)) = method {
            space.for_each(vectors.par_chunks_mut(BLOCK * nodes * D).enumerate(), |(block, vectors)| {
                let first = block * BLOCK;
                let elems = first..elem_node.elem_count().min(first + BLOCK);
                evaluate(&batch, elems, &mut |lanes, found| {
                    for (lane, elem) in lanes.enumerate() {
                        let vector = vectors[(elem - first) * nodes * D..][..nodes * D].as_chunks_mut::<D>().0;
                        for (items, found) in vector.iter_mut().zip(found) {
                            for c in 0..D {
                                items[c] = found[c][lane];
                            }
                        }
                    }
                });
            });
        }
        space.for_each(out.par_chunks_mut(Threads::CHUNK).enumerate(), |(chunk, out)| {
            for (node, out) in (chunk * Threads::CHUNK..).zip(out) {
                let mut sums = [0.0; D];
                if let Method::Gather((lists, vectors)) = &*method {
                    let vectors = vectors.as_chunks::<D>().0;
                    for &slot in lists.slots(node) {
                        for c in 0..D {
                            sums[c] += vectors[slot as usize][c];
                        }
                    }
                }
                for c in 0..D {
                    let own = if masked { x[node][c] } else { 0.0 };
                    out[c] = if fixed[node][c] != 0 { own } else { sums[c] };
                }
            }
        });
        let Method::Blocks(blocks) = method else { return Ok(()) };
        let cells = atomic_view(out.as_flattened_mut());
        blocks.for_each(space, &|elems| {
            evaluate(&batch, elems, &mut |lanes, found| {
                for (lane, elem) in lanes.enumerate() {
                    for (m, &node) in elem_node.elem(elem).iter().enumerate() {
                        // Ids of ghosts lie behind those of rows, so the bounds check is the test for ownership.
                        let Some(cells) = cells.get(D * node as usize..D * node as usize + D) else { continue };
                        let is_free = |c: &usize| fixed[node as usize][*c] == 0;
                        blocks.adds.add((0..D).filter(is_free).map(|c| (&cells[c], found[m][c][lane])));
                    }
                }
            });
            Ok(())
        })
    }

    fn new(
        space: &Threads,
        strategy: Strategy,
        equation: Box<dyn AnyProduct<D> + Send>,
        on: FieldOn<'_, HostMemory>,
        owned: usize,
        fixed: Vec<u8>,
    ) -> Result<Self> {
        const NAME: &str = "model_operator";
        let FieldOn { element, elem_node, .. } = on;
        check_length(NAME, "elem_node (nodes per element)", elem_node.nodes_per_elem(), element.nodes())?;
        check_length(NAME, "fixed", fixed.len(), D * elem_node.node_count())?;
        check_at_least(NAME, "elem_node (its nodes)", elem_node.node_count(), owned)?;
        let (elems, local, nodes) = (elem_node.elem_count(), elem_node.node_count(), element.nodes());
        let gather = || {
            let lists = NodeElem::new(space, elem_node, owned)?;
            Ok((lists, try_zeroed("element vectors", elems * nodes * D)?))
        };
        let (part, flops) = equation.product(element);
        let reads_unknowns = part == Part::Tangent;
        Ok(ElementOperator {
            equation,
            evaluate: on_volume!(
                element,
                |OF| evaluate::<D, { OF.nodes() }, { OF.points() }> as Evaluate<D>,
                return Err(no_volume(NAME, element))
            ),
            interpolation: Interpolation::new(element),
            elem_node: elem_node.clone(),
            owned,
            method: Method::of(space, Some(strategy), elem_node, gather)?,
            unknowns: try_zeroed("unknowns of the Jacobian", if reads_unknowns { fixed.len() } else { 0 })?,
            fixed,
            part,
            cost: ApplySizes { elems, nodes, dofs: D, owned, local, reads_unknowns }.cost(strategy, flops),
        })
    }

    fn linearise(
        &mut self,
        space: &Threads,
        coords: &[[f64; DIM]],
        unknowns: &[f64],
        residual: &mut [f64],
    ) -> Result<()> {
        check_at_least("linearise", "unknowns", unknowns.len(), self.fixed.len())?;
        if self.part == Part::Tangent {
            space.copy(self.fixed.len(), unknowns, &mut self.unknowns)?;
        }
        self.sum(space, Part::Residual, coords, unknowns, false, residual)
    }
}

impl ApplyModel for Threads {
    type ModelOperator = HostOperator;

    // Compiled by callers, as they need it, like `assembly`.
    #[inline]
    fn model_operator(
        &self,
        strategy: Strategy,
        model: &Model,
        on: FieldOn<'_, HostMemory>,
        owned: usize,
        fixed: Vec<u8>,
    ) -> Result<HostOperator> {
        Ok(HostOperator(match model.equation {
            ModelEquation::Scalar(equation) => {
                OfDofs::Scalar(ElementOperator::new(self, strategy, scalar(model, equation), on, owned, fixed)?)
            }
            ModelEquation::Elastic(equation) => {
                OfDofs::Elastic(ElementOperator::new(self, strategy, elastic(model, equation), on, owned, fixed)?)
            }
        }))
    }

    fn linearise(
        &self,
        operator: &mut HostOperator,
        node_coord: &[[f64; 3]],
        unknowns: &[f64],
        residual: &mut [f64],
    ) -> Result<()> {
        match &mut operator.0 {
            OfDofs::Scalar(of) => of.linearise(self, node_coord, unknowns, residual),
            OfDofs::Elastic(of) => of.linearise(self, node_coord, unknowns, residual),
        }
    }

    fn apply_model(
        &self,
        operator: &mut HostOperator,
        node_coord: &[[f64; 3]],
        x: &[f64],
        y: &mut [f64],
        sums: Option<&Reductions<Threads>>,
    ) -> Result<()> {
        if sums.map_or(Ok(false), Reductions::is_stopped)? {
            return Ok(());
        }
        match &mut operator.0 {
            OfDofs::Scalar(of) => of.sum(self, of.part, node_coord, x, true, y),
            OfDofs::Elastic(of) => of.sum(self, of.part, node_coord, x, true, y),
        }
    }

    fn apply_cost(operator: &HostOperator) -> ApplyCost {
        match &operator.0 {
            OfDofs::Scalar(of) => of.cost,
            OfDofs::Elastic(of) => of.cost,
        }
    }
}
