//! The deck: all settings of a run, as TOML sections with a default for every key.
//!
//! Unknown keys are refused. Each message is one line that names the key, and the line of the deck where it was parsed.

mod by_name;
mod check;
mod choice;
mod device;
#[cfg(feature = "cuda")]
mod host_gpus;
mod lanes;
mod model;
mod named;
mod nodes;
mod parse;
mod shape;
#[cfg(test)]
mod tests;
mod unused;

pub(super) use check::{flag, with_flag};
pub use choice::Choice;
pub use device::{Chosen, Device};
pub use lanes::RowLanes;
pub use named::{Forcing, Operator, Preconditioning, Preset, ProblemKind, Solver};
pub use nodes::Nodes;

use crate::comm::Transport;
use crate::contraction::Variant;
use crate::element::ElementType;
use crate::element::equations::Jacobian;
#[cfg(doc)]
use crate::mesh::BoxSpec;
use crate::mesh::CoordinateMap;
use crate::solve::{CgParams, CgVariant};
use crate::space::{Layout, Scan};
use crate::sparse::{Format, Formats, MatrixStorage, Precision};
use crate::{Error, Result, fill, graph};
use serde::{Deserialize, Serialize};
use shape::{section, three_numbers};
use std::path::PathBuf;

/// All settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Deck {
    /// `[mesh]`: the box and its nodes.
    #[serde(deserialize_with = "section")]
    pub mesh: MeshDeck,
    /// `[problem]`: the problem and its boundary values.
    #[serde(deserialize_with = "section")]
    pub problem: ProblemDeck,
    /// `[graph]`: how the matrix graph is made.
    #[serde(deserialize_with = "section")]
    pub graph: GraphDeck,
    /// `[fill]`: how element contributions become matrix values.
    #[serde(deserialize_with = "section")]
    pub fill: FillDeck,
    /// `[newton]`: the nonlinear iteration.
    #[serde(deserialize_with = "section")]
    pub newton: NewtonDeck,
    /// `[cg]`: the linear iteration.
    #[serde(deserialize_with = "section")]
    pub cg: CgDeck,
    /// `[matrix]`: how products store the matrix.
    #[serde(deserialize_with = "section")]
    pub matrix: MatrixDeck,
    /// `[run]`: device, threads, report, bandwidth.
    #[serde(deserialize_with = "section")]
    pub run: RunDeck,
}

/// The box of hexahedra.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MeshDeck {
    /// Nodes along the edges of the whole box. It is 64 when neither this nor `nodes_per_rank` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Nodes>,
    /// Nodes along the edges of each rank's share: the box grows with the ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes_per_rank: Option<Nodes>,
    /// Type of the elements. Those of degree 2 have a node at every half cell, which `nodes` counts.
    pub element: ElementType,
    /// The map from the uniform box to the mesh.
    pub map: CoordinateMap,
    /// Edges of the box.
    #[serde(deserialize_with = "three_numbers")]
    pub size: [f64; 3],
    /// Nodes that rank 0 owns above the mean, in per cent of the mean; see [`BoxSpec::with_imbalance`].
    pub imbalance: f64,
}

impl Default for MeshDeck {
    fn default() -> Self {
        MeshDeck {
            nodes: None,
            nodes_per_rank: None,
            element: ElementType::default(),
            map: CoordinateMap::default(),
            size: [1.0; 3],
            imbalance: 0.0,
        }
    }
}

/// The problem; for heat the boundary values, from which K follows (see [`Analytic`](crate::element::Analytic)).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProblemDeck {
    /// Equation, boundary conditions and solution.
    pub kind: ProblemKind,
    /// Temperature at the lowest z.
    pub t_min: f64,
    /// Temperature at the highest z.
    pub t_max: f64,
    /// Velocity v of the term v . grad u, of `heat`, `poisson` and `diffusion`.
    #[serde(deserialize_with = "three_numbers")]
    pub advection: [f64; 3],
}

impl Default for ProblemDeck {
    fn default() -> Self {
        ProblemDeck { kind: ProblemKind::default(), t_min: 1.0, t_max: 2.0, advection: [0.0; 3] }
    }
}

/// Settings of the graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphDeck {
    /// The algorithm; all give the same graph.
    pub strategy: Choice<graph::Strategy>,
    /// How a host turns lengths of rows into offsets. A GPU's scan is parallel.
    pub scan: Scan,
}

/// Settings of the fill.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FillDeck {
    /// Who adds up the contributions to one entry.
    pub strategy: Choice<fill::Strategy>,
    /// How an element matrix is computed. `auto` is `intrepid`; with preset `fast` fused where it exists, else table.
    pub kernel: Choice<fill::Kernel>,
    /// Cells per workset of kernel `intrepid`; as many as suit the caches when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workset: Option<usize>,
    /// Order of a workset's arrays in memory: cells fastest (`left`) or slowest.
    pub layout: Choice<Layout>,
    /// Algorithm of the contractions of kernel `intrepid` on a GPU.
    pub variant: Variant,
    /// Where the derivatives of the equation come from. The kernels of heat on `hex8` have them by hand; other values take the general
    /// kernel.
    pub jacobian: Jacobian,
}

/// Settings of the matrix format.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MatrixDeck {
    /// Storage format of the matrix for products.
    pub format: Choice<Format>,
    /// Type of the stored values that products read.
    pub values: Precision,
    /// Threads that share a row of a product in CRS on a GPU.
    pub lanes: RowLanes,
}

/// Settings of Newton's method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewtonDeck {
    /// Residual norm to reach, relative to the first; [`Deck::newton_tolerance`] when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Iterations after which it is an error.
    pub max_iterations: usize,
    /// How accurately each step is solved for. `auto` is fixed; with preset `fast`, or without a matrix, adaptive with a multigrid
    /// preconditioner.
    pub forcing: Choice<Forcing>,
}

impl Default for NewtonDeck {
    fn default() -> Self {
        NewtonDeck { tolerance: None, max_iterations: 10, forcing: Choice::default() }
    }
}

/// Method of the linear solves, and when it stops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CgDeck {
    /// Residual norm to reach, relative to the right-hand side; [`Deck::cg_tolerance`] when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Iterations after which it is an error.
    pub max_iterations: usize,
    /// Iterations of each solve, whatever the residual; the run is not judged then. By the tolerance when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<usize>,
    /// Krylov method; `auto` is CG, or GMRES for a matrix that is not symmetric.
    pub solver: Choice<Solver>,
    /// Variant of CG. `auto` is classic CG; with preset `fast` one launch for a small system on a GPU.
    pub variant: Choice<CgVariant>,
    /// What the solution multiplies by: a stored matrix or the elements.
    pub operator: Operator,
    /// What approximates the inverse of the matrix.
    pub preconditioner: Choice<Preconditioning>,
}

impl Default for CgDeck {
    fn default() -> Self {
        CgDeck {
            tolerance: None,
            max_iterations: 10_000,
            iterations: None,
            solver: Choice::default(),
            variant: Choice::default(),
            operator: Operator::default(),
            preconditioner: Choice::default(),
        }
    }
}

/// Preset, device, threads, report, bandwidth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunDeck {
    /// Algorithms of the settings that are left at `auto`.
    pub preset: Preset,
    /// Where the run computes.
    pub device: Device,
    /// Whether several ranks may use one GPU.
    pub share_gpu: bool,
    /// How values travel between ranks.
    pub halo: Choice<Transport>,
    /// Whether runs on equally many ranks give the same bits, independent of transport and threads.
    pub deterministic: bool,
    /// Threads of each rank; the cores allowed to the rank when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Seconds that a rank waits for others before it ends the job; no limit when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    /// Where the report goes: JSON, or YAML for `.yaml`; `-` is the standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<PathBuf>,
    /// CSV table to which the run adds a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append: Option<PathBuf>,
    /// Where mesh and temperature go, as files for VTK.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vtk: Option<PathBuf>,
    /// Whether the run measures the triad bandwidth. By default it does if that takes less than 2 % of its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triad: Option<bool>,
}

impl Deck {
    /// The storage of the matrix on a space.
    pub(super) fn storage<S: Formats>(&self) -> MatrixStorage {
        let (format, keeps_crs) = (self.matrix.format.or(S::FORMAT), self.preconditioning().reads_crs());
        MatrixStorage { format, values: self.matrix.values, keeps_crs }
    }

    /// The stopping criteria of a linear solve.
    pub(super) fn cg_params(&self) -> CgParams {
        let (tolerance, max_iterations) = (self.cg_tolerance(), self.cg.max_iterations);
        self.cg_iterations().map_or(CgParams::new(tolerance, max_iterations), CgParams::exactly)
    }

    /// The deck as TOML, every key written out; [`parse`](Self::parse) gives it back unchanged.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a path of a file that is not UTF-8, which TOML cannot hold.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| Error::Invalid(format!("deck: {error}")))
    }
}
