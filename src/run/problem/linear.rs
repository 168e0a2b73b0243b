//! The linear operator of a problem: an assembled matrix in its storage format, or the elements themselves (`--operator matrix-free`).

use super::auto_format::{self, ChosenFormat};
use super::discrete::{Discrete, Marks, step};
use super::probed;
use crate::comm::agree;
use crate::fill::{Additions, ApplyCost, ContractionCalls, Dirichlet, StoredSystem};
use crate::graph::Graph;
use crate::run::cost::Cost;
use crate::run::report::LevelReport;
use crate::run::{Job, ProblemInput};
use crate::solve::{ElementOperator, SingleLaunch};
use crate::space::{MemorySpace, Slice};
use crate::sparse::{CrsGraph, MatrixStorage, Operator};
use crate::{Error, Result};
use std::ops::Deref;

/// A matrix with its assembly.
pub(super) struct Stored<S: Job> {
    pub assembly: S::Assembly,
    pub system: StoredSystem<S>,
    /// Entries of the graph, and bytes of a position in a row.
    pub numbers: [u64; 2],
    chosen: ChosenFormat,
}

/// Numbers of a problem on this rank, for the report.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Storage format of the matrix, if there is one.
    pub format: Option<ChosenFormat>,
    /// Calls of contractions by all assemblies.
    pub contractions: ContractionCalls,
    /// Additions of one assembly; `None` without a matrix and with `gather`.
    pub additions: Option<Additions>,
    /// Levels of the preconditioner.
    pub levels: Vec<LevelReport>,
}

/// Where J comes from.
pub(super) enum Linear<'a, S: Job> {
    /// It is assembled and stored.
    Matrix(Box<Stored<S>>),
    /// It is applied by elements; the conditions have no entries.
    Elements(ElementOperator<'a, S>, Dirichlet<S::Memory>),
}

/// A case on a mesh with its linear operator.
pub(super) struct System<'a, S: Job> {
    discrete: Discrete<'a, S>,
    pub linear: Linear<'a, S>,
}

impl<'a, S: Job> Deref for System<'a, S> {
    type Target = Discrete<'a, S>;

    fn deref(&self) -> &Discrete<'a, S> {
        &self.discrete
    }
}

impl<'a, S: Job> System<'a, S> {
    /// Prepares the matrix of this rank's graph with its conditions and assembly; without a graph, the elements.
    pub fn new(discrete: Discrete<'a, S>, graph: Option<Graph<S::Memory>>, marks: &mut Marks<S>) -> Result<Self> {
        let linear = match graph {
            Some(graph) => matrix(&discrete, graph, marks),
            None => elements(&discrete, marks),
        };
        Ok(System { linear: linear?, discrete })
    }

    /// The name of the phase of products.
    pub fn phase(&self) -> &'static str {
        match self.linear {
            Linear::Matrix(_) => "spmv",
            Linear::Elements(..) => "apply",
        }
    }

    /// Computes residual and Jacobian at the unknowns, whose ghosts are fresh.
    pub fn assemble(
        &mut self,
        unknowns: &Slice<S, f64>,
        residual: &mut Slice<S, f64>,
        marks: &mut Marks<S>,
    ) -> Result<()> {
        let (space, node_coord) = (self.space, self.on().node_coord);
        match &mut self.linear {
            Linear::Matrix(stored) => {
                let Stored { assembly, system, .. } = &mut **stored;
                step(space, marks, "fill", || space.assemble(assembly, node_coord, unknowns, system, residual))?;
                step(space, marks, "boundary", || {
                    let StoredSystem { matrix, conditions, .. } = system;
                    space.apply_dirichlet(conditions, S::values_mut(matrix), residual)
                })
            }
            Linear::Elements(operator, _) => {
                step(space, marks, "fill", || operator.linearise(space, unknowns, residual))
            }
        }
    }

    /// Computes the residual at the unknowns, whose ghosts are fresh; returns whether the Jacobian was computed too, as by
    /// [`assemble`](Self::assemble).
    pub fn residual(
        &mut self,
        unknowns: &Slice<S, f64>,
        residual: &mut Slice<S, f64>,
        marks: &mut Marks<S>,
    ) -> Result<bool> {
        let (space, node_coord) = (self.space, self.on().node_coord);
        if let Linear::Matrix(stored) = &mut self.linear {
            let before = space.mark()?;
            if space.residual(&mut stored.assembly, node_coord, unknowns, residual)? {
                self.clear_fixed(residual)?;
                marks.push(("residual", before, space.mark()?));
                return Ok(false);
            }
        }
        self.assemble(unknowns, residual, marks).map(|()| true)
    }

    /// Writes 0 to the fixed items of a vector.
    pub fn clear_fixed(&self, vector: &mut Slice<S, f64>) -> Result<()> {
        let conditions = match &self.linear {
            Linear::Matrix(stored) => &stored.system.conditions,
            Linear::Elements(_, conditions) => conditions,
        };
        self.space.clear_fixed(conditions, vector)
    }

    /// Copies the assembled values to the format, where they are assembled in another one.
    pub fn update(&mut self, marks: &mut Marks<S>) -> Result<()> {
        let space = self.space;
        let Linear::Matrix(stored) = &mut self.linear else { return Ok(()) };
        let before = space.mark()?;
        if space.update(&mut stored.system.matrix)? {
            marks.push(("format", before, space.mark()?));
        }
        Ok(())
    }

    /// The operator on this rank's rows. With `in_f64`, values are those in f64 where products read rounded ones.
    pub fn operator(&self, in_f64: bool) -> &dyn Operator<S> {
        match &self.linear {
            Linear::Matrix(stored) if in_f64 => S::in_f64(&stored.system.matrix),
            Linear::Matrix(stored) => S::operator(&stored.system.matrix),
            Linear::Elements(operator, _) => operator,
        }
    }

    /// The stored matrix. Preconditioners that read one are refused without; the deck's check comes first.
    pub fn stored(&self) -> Result<&S::Matrix> {
        match &self.linear {
            Linear::Matrix(stored) => Ok(&stored.system.matrix),
            Linear::Elements(..) => Err(Error::Invalid("preconditioner: expected an assembled matrix".into())),
        }
    }

    /// Overwrites the first items of a vector with the reciprocals of the diagonal; fixed rows of a matrix get 0 and take no part. All ranks
    /// call it together.
    pub fn inverse_diagonal(&self, inverse: &mut Slice<S, f64>) -> Result<()> {
        match &self.linear {
            Linear::Matrix(stored) => {
                let made = self.space.inverse_diagonal(&stored.system, inverse);
                agree(self.input.links.comm(), made.and_then(|()| self.clear_fixed(inverse)))
            }
            Linear::Elements(operator, _) => probed::inverse_diagonal(&self.discrete, operator, inverse),
        }
    }

    /// What a product moves and computes, in the format of the matrix: fewer bytes than CRS where columns are not stored.
    pub fn product(&self) -> Cost {
        match &self.linear {
            Linear::Matrix(stored) => {
                let bytes = S::operator(&stored.system.matrix).bytes() as u64;
                Cost { bytes, flops: 2 * stored.numbers[0] }
            }
            Linear::Elements(operator, _) => {
                let ApplyCost { bytes, flops } = operator.cost();
                Cost { bytes, flops }
            }
        }
    }

    /// Rows and entries, for the report; without a matrix no entries.
    pub fn level(&self) -> LevelReport {
        let entries = match &self.linear {
            Linear::Matrix(stored) => stored.numbers[0],
            Linear::Elements(..) => 0,
        };
        let ranks = self.input.links.comm().size();
        LevelReport { ranks, rows: self.map().owned_count() as u64, entries, seconds: 0.0 }
    }

    /// Plans CG in one launch, where that suits the matrix.
    pub fn single_launch(&self) -> Result<Option<Box<SingleLaunch<'_, S>>>> {
        match &self.linear {
            Linear::Matrix(stored) => self.space.single_launch(&stored.system.matrix),
            Linear::Elements(..) => Ok(None),
        }
    }

    /// Returns numbers of matrix and assemblies, for the report.
    pub fn outcome(&self) -> Outcome {
        match &self.linear {
            Linear::Matrix(stored) => Outcome {
                format: Some(ChosenFormat { bytes: self.product().bytes, ..stored.chosen.clone() }),
                contractions: S::contractions(&stored.assembly),
                additions: S::additions(&stored.assembly),
                levels: Vec::new(),
            },
            Linear::Elements(..) => Outcome::default(),
        }
    }
}

/// Prepares conditions, matrix and assembly. Takes the graph of this rank's rows.
fn matrix<'a, S: Job>(
    discrete: &Discrete<'a, S>,
    graph: Graph<S::Memory>,
    marks: &mut Marks<S>,
) -> Result<Linear<'a, S>> {
    let Discrete { space, input: ProblemInput { deck, links, .. }, case, .. } = discrete;
    let (strategy, model) = (deck.fill.strategy.or(S::STRATEGY), &case.model);
    let shape = || space.row_shape(&graph.crs, model.is_symmetric());
    // Equations and settings are the same on all ranks, and so is a refusal.
    let chosen = auto_format::choose::<S>(deck, model.is_symmetric(), shape, links.comm())?;
    let storage = MatrixStorage { format: chosen.format, ..deck.storage::<S>() };
    let conditions = step(*space, marks, "setup/boundary", || {
        let fixed = discrete.fixed()?;
        space.dirichlet(&graph.crs, S::Memory::slice(&fixed))
    })?;
    let numbers = [graph.crs.nnz() as u64, graph.elem.position_bytes()];
    let mut system = step(*space, marks, "setup/format", || space.stored_system(strategy, storage, graph, conditions))?;
    if let Some(lanes) = deck.matrix.lanes.given() {
        S::set_lanes(&mut system.matrix, lanes);
    }
    let prepare = || space.assembly(deck.assembly::<S>(), model, discrete.on(), &system);
    let assembly = step(*space, marks, "setup/fill", prepare)?;
    Ok(Linear::Matrix(Box::new(Stored { assembly, system, numbers, chosen })))
}

/// Prepares the elements.
fn elements<'a, S: Job>(discrete: &Discrete<'a, S>, marks: &mut Marks<S>) -> Result<Linear<'a, S>> {
    let Discrete { space, input, case, .. } = discrete;
    let sizes = [discrete.map().owned_count(), discrete.map().local_count()];
    let (fixed, conditions) = step(*space, marks, "setup/boundary", || {
        let fixed = discrete.fixed()?;
        let rows = CrsGraph::without_entries(*space, sizes[0], sizes[1])?;
        let conditions = space.dirichlet(&rows, S::Memory::slice(&fixed))?;
        Ok((fixed, conditions))
    })?;
    let (strategy, owned) = (input.deck.fill.strategy.or(S::STRATEGY), input.mesh.map.owned_count());
    let prepare = || space.model_operator(strategy, &case.model, discrete.on(), owned, fixed);
    let operator = step(*space, marks, "setup/fill", prepare)?;
    Ok(Linear::Elements(ElementOperator::new(operator, discrete.on().node_coord, sizes), conditions))
}
