//! Forecast of the memory of a run, in bytes by stage, before anything is allocated.
//!
//! ```text
//! N owned nodes, G ghosts, L = N + G, E elements, Z entries of the matrix, I element corners at owned nodes,
//! M values sent, C entries that the boundary conditions clear, T threads per rank, W elements of a window
//! table   lasts      host                                   GPU
//! mesh    always     32 E + 25 L + 4 M                      32 E + 25 L
//! graph   always     8 N + 4 Z + 64 E                       64 E, and matrix
//!         meanwhile  gather   12 N + 20 I                   36 N
//!                    map      4 N + 8 x 49/3 N              4 N + 128 N, without 64 E
//!                    dashmap  4 N + 8 (Z + N) / 2 + table   -
//!                    sort     4 N + 512 E                   1072 E in all, then 512 E + 12 N
//! fill    always     gather   8 N + 4 I + element matrices  8 N + 4 I, in the solve 352 W
//!                    scatter  N                             0
//!                    colour   0                             4 E
//!                    contraction                            352 E, with gather 0
//! setup   always     8 Z + 8 L + 16 N + 8 C + 12 M + 8 G    8 L + 16 N + 8 C + 12 M
//!         meanwhile  L, 12 C; or colour 8 L, scatter 4 N    L; or graph; or colour 4 E + 16 L, gather 4 N + 4 I
//! solve   always     8 L + 16 N                             8 L + 16 N
//! ```
//! Single-reduction CG adds 8 L in the set-up. The table of dashmap has 9 bytes per slot and a power of two of
//! slots, at most 7/8 full, in each of 1024 parts. Element matrices of the host's gather lie in windows of about two layers of
//! elements per thread, 576 bytes each, or 576 E where windows would overlap too much. A matrix on a GPU keeps 8 N + 4 Z of the graph,
//! where gather built 128 N for 4 Z, and 8 Z values; in slices 8 x 27 N values, and 4 x 27 N columns (rows next to
//! other ranks). Slices that are assembled directly keep nothing of the graph. W is E, or the elements of a step and the reach of a
//! row. Without a matrix, see `matrix_free`. `tests/resources` compares these numbers with measured peaks.

pub mod matrix_free;
mod model;
mod model_sizes;

pub use model::{on_gpu as model_on_gpu, on_host as model_on_host};
pub use model_sizes::ModelSizes;

use super::deck::Operator;
use crate::comm::Communicator;
use crate::graph::Strategy as Graph;
use crate::mesh::BoxPart;
use crate::solve::CgVariant;
use crate::sparse::{Format, MatrixStorage, Precision};
use crate::{Error, Result, fill};

/// Numbers of a rank's part of the box, on which its memory depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Owned nodes, which are the rows.
    pub owned: u64,
    /// Ghosts.
    pub ghosts: u64,
    /// Elements.
    pub elems: u64,
    /// Elements along x and y.
    pub layer: [u64; 2],
    /// Entries of the matrix.
    pub nnz: u64,
    /// Corners of elements at owned nodes.
    pub corners: u64,
    /// Values sent in an exchange.
    pub sent: u64,
    /// Nodes that the boundary conditions fix.
    pub fixed: u64,
    /// Entries of the matrix that the boundary conditions clear.
    pub cleared: u64,
    /// Rows, at most, of slices that list their columns: at ends of the interior and outside of it, where ids do not follow the lines
    /// of the box.
    pub listed: u64,
    /// Rows, at most, of slices whose tables have 9 offsets more, at ends of lines beside other ranks.
    pub padded: u64,
}

impl Sizes {
    /// Returns the numbers of a part. All of them are exact, but for `listed` and `padded`, which are bounds.
    pub fn of(part: &BoxPart) -> Self {
        let (owned, whole) = (part.owned(), part.spec().nodes());
        let counts = owned.counts();
        // Nodes at an end of the box have one neighbour less on this axis, and one element less.
        let ends = [0, 1, 2].map(|axis| u64::from(owned.low[axis] == 0) + u64::from(owned.high[axis] == whole[axis]));
        let neighbours = [0, 1, 2].map(|axis| 3 * counts[axis] - ends[axis]);
        let elements = [0, 1, 2].map(|axis| 2 * counts[axis] - ends[axis]);
        let is_fixed = |z: u64| z == 0 || z + 1 == whole[2];
        let (plane, pairs) = (counts[0] * counts[1], neighbours[0] * neighbours[1]);
        let (mut fixed, mut cleared) = (0, 0);
        for z in owned.low[2]..owned.high[2] {
            let beside = (z.saturating_sub(1)..whole[2].min(z + 2)).filter(|&other| is_fixed(z) || is_fixed(other));
            cleared += pairs * beside.count() as u64;
            if is_fixed(z) {
                fixed += plane;
                cleared -= plane;
            }
        }
        let along = part.elements().counts();
        // Slices with ends of lines at other ranks have 9 offsets more in their tables. Ids of the shell there go on as those of the
        // interior do, so both sides share these offsets. Ends of layers, and the shell, list columns.
        let (interior, [line, lines, layers]) = (part.interior(), part.interior().counts());
        let shell = owned.count() - interior.count();
        let is_cut = interior.low[0] > owned.low[0] || interior.high[0] < owned.high[0];
        let ends = if is_cut { (SLICE * lines * layers).min(interior.count()) } else { 0 };
        let (listed, padded) = match () {
            () if shell == 0 => (0, 0),
            () if line < SLICE => (owned.count(), 0),
            () => ((shell + 3 * SLICE * layers).min(owned.count()), ends),
        };
        Sizes {
            owned: owned.count(),
            ghosts: part.used().count() - owned.count(),
            elems: part.elements().count(),
            layer: [along[0], along[1]],
            nnz: neighbours.iter().product(),
            corners: elements.iter().product(),
            sent: part.neighbours().iter().map(|neighbour| neighbour.send.count()).sum(),
            fixed,
            cleared,
            listed,
            padded,
        }
    }

    /// Values of the slices of a GPU, and bytes of their tables and columns.
    fn slices(&self, format: Format) -> [u64; 2] {
        let &Sizes { owned, listed, padded, .. } = self;
        let tables = owned / 2;
        match format {
            Format::Crs => [0; 2],
            Format::Pattern => [27 * owned + MORE * padded, 4 * 27 * listed + tables],
            // Rows that list their columns have all entries.
            Format::Symmetric => [14 * owned + 13 * listed + MORE * padded, 4 * 27 * listed + tables],
        }
    }
}

/// Rows of a slice.
const SLICE: u64 = 32;
/// Offsets of ends of lines beside other ranks, beyond those of all rows.
const MORE: u64 = 9;

/// Choices on which the memory depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Strategy of the graph.
    pub graph: Graph,
    /// Strategy of the assembly.
    pub fill: fill::Strategy,
    /// Element kernel.
    pub kernel: fill::Kernel,
    /// Storage of the matrix.
    pub storage: MatrixStorage,
    /// What CG multiplies by.
    pub operator: Operator,
    /// Variant of CG.
    pub variant: CgVariant,
    /// Threads of the rank.
    pub threads: u64,
}

/// Bytes in use at the peak of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Name of the stage.
    pub name: &'static str,
    /// Its largest number of bytes.
    pub bytes: u64,
}

/// Names of the stages, in their order.
pub const STAGES: [&str; 4] = ["mesh", "graph", "setup", "solve"];

/// The memory that one rank needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Stages of the work, in the memory of the space that does it.
    pub stages: [Stage; 4],
    /// Host memory of a rank that works on a GPU, at its peak.
    pub staging: u64,
    /// Nodes of the rank.
    pub nodes: u64,
}

impl Forecast {
    fn new(nodes: u64, bytes: [u64; 4], staging: u64) -> Self {
        Forecast { stages: [0, 1, 2, 3].map(|at| Stage { name: STAGES[at], bytes: bytes[at] }), staging, nodes }
    }

    /// Returns the largest number of bytes over all stages.
    pub fn peak(&self) -> u64 {
        self.stages.iter().map(|stage| stage.bytes).max().unwrap_or(0)
    }

    /// Rejects a run whose stages need more than `free` bytes in the memory of the space, or whose staging needs more than
    /// `free_on_host` bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] that names the first such stage and, on several ranks, the rank.
    pub fn check(&self, comm: &dyn Communicator, free: u64, free_on_host: u64) -> Result<()> {
        let staging = Stage { name: "mesh", bytes: self.staging };
        let all = self.stages.iter().map(|stage| (stage, free)).chain([(&staging, free_on_host)]);
        for (&Stage { name, bytes: wanted }, free) in all {
            if wanted > free {
                // Memory grows with the nodes.
                let fitting = u128::from(self.nodes) * u128::from(free) / u128::from(wanted);
                let what = format!("this number of nodes (about {fitting} on this rank would fit)");
                let error = Error::OutOfMemory { rank: None, stage: None, what, wanted, free };
                return Err(error.in_stage(name, (comm.size() > 1).then(|| comm.rank())));
            }
        }
        Ok(())
    }
}

/// Bytes of a hexahedron's matrix and residual.
const MATRIX: u64 = 576;

/// Returns the forecast for threads of the host, of a run with a matrix.
pub fn on_host(sizes: &Sizes, choices: &Choices) -> Forecast {
    let &Sizes { owned, ghosts, elems, nnz, corners, sent, fixed, cleared, .. } = sizes;
    let local = owned + ghosts;
    let mesh = 32 * elems + 25 * local + 4 * sent;
    let (pattern, positions) = (8 * owned + 4 * nnz, 64 * elems);
    let graph = match choices.graph {
        Graph::Gather => 12 * owned + 20 * corners + pattern + positions,
        Graph::Map => {
            let slots = (14 * owned).min(36 * elems) * 7 / 6;
            (4 * owned + 8 * slots + pattern).max(pattern + positions)
        }
        Graph::DashMap => {
            // The keys are listed before the tables are dropped.
            let pairs = nnz.div_ceil(2) + owned.div_ceil(2);
            let part = (14 * owned).div_ceil(1024).max(1);
            let table = 1024 * 9 * (part * 8).div_ceil(7).next_power_of_two().max(4);
            (4 * owned + 8 * pairs + table.max(pattern)).max(pattern + positions)
        }
        Graph::Sort => (4 * owned + 512 * elems + pattern).max(pattern + positions),
    };
    let tables = mesh + pattern + positions;
    let (kept, matrices, meanwhile) = match choices.fill {
        fill::Strategy::Gather => (8 * owned + 4 * corners, matrices(choices.threads, sizes), 0),
        fill::Strategy::Scatter => (owned, [0; 2], 4 * owned),
        fill::Strategy::Colour => (0, [0; 2], 8 * local),
    };
    let conditions = 4 * fixed + 8 * cleared;
    // Jacobian; vectors of CG; halo.
    let system =
        8 * nnz + copied(choices.storage, owned, nnz) + choices.variant.bytes(owned, local) + 12 * sent + 8 * ghosts;
    let setup = kept + matrices[0] + meanwhile.max(local + conditions + system.max(12 * cleared));
    // T; ||F|| and correction.
    let solve = kept + matrices[1] + conditions + system + 8 * local + 16 * owned;
    let (setup, solve) = (tables + setup, tables + solve);
    Forecast::new(owned, [mesh, mesh + graph, setup, solve], 0)
}

/// Bytes of what products on a host read in place of the assembled matrix.
fn copied(storage: MatrixStorage, owned: u64, nnz: u64) -> u64 {
    let bytes = match storage.values {
        Precision::F64 => 8,
        Precision::F32 => 4,
    };
    // Places of slices; symmetric ones with a quarter of all possible links.
    match (storage.format, storage.values) {
        (Format::Crs, Precision::F64) => 0,
        (Format::Crs, Precision::F32) => bytes * nnz,
        (Format::Pattern, _) => bytes * 27 * owned + owned / 2,
        (Format::Symmetric, _) => bytes * 14 * owned + 2 * owned,
    }
}

/// Bytes of the element matrices that a host's gather keeps in the set-up and in the solve.
fn matrices(threads: u64, sizes: &Sizes) -> [u64; 2] {
    const LANES: u64 = crate::space::lanes::LANES as u64;
    // A row reads elements of two layers. The window also holds the batches at its ends.
    let reach = sizes.layer[0] * sizes.layer[1] + sizes.layer[0] + 1;
    let window = (reach.div_ceil(LANES) + 1).min(sizes.elems.div_ceil(LANES)) * LANES * MATRIX;
    // Two threads both compute the elements between their rows.
    let twice = (threads - 1) * (reach + LANES);
    match () {
        () if 4 * twice > sizes.elems => [MATRIX * sizes.elems; 2],
        // The window of the thread whose rows end the interior and begin the shell spans all elements, if there is one.
        () if sizes.ghosts > 0 => [MATRIX * sizes.elems, MATRIX * sizes.elems + (threads - 1) * window],
        // Each thread allocates its window at its first assembly.
        () => [0, threads * window],
    }
}

/// Returns the forecast for a GPU, of a run with a matrix.
pub fn on_gpu(sizes: &Sizes, choices: &Choices) -> Forecast {
    let &Sizes { owned, ghosts, elems, nnz, corners, sent, fixed, cleared, .. } = sizes;
    let local = owned + ghosts;
    let mesh = 32 * elems + 25 * local;
    let positions = 64 * elems;
    let (entries, graph) = match choices.graph {
        // The number of entries is known only at the end: 32 per row, or those of all elements.
        Graph::Gather => {
            let entries = (128 * owned).min(256 * elems);
            (entries, 44 * owned + entries + positions)
        }
        Graph::Map => {
            let set = (128 * owned).min(360 * elems);
            (4 * nnz, (set + 12 * owned + 4 * nnz).max(8 * owned + 4 * nnz + positions))
        }
        Graph::Sort | Graph::DashMap => (4 * nnz, (1072 * elems).max(512 * elems + 20 * owned + 4 * nnz + positions)),
    };
    let pattern = 8 * owned + entries;
    // What products read besides or instead of the assembled values, in f32 a rounded copy. The graph stays with a matrix in CRS; slices
    // are copied from one unless they are assembled directly.
    let MatrixStorage { format, values: precision } = choices.storage;
    let [sliced, layout] = sizes.slices(format);
    let is_direct = choices.storage.holds_assembled_slices() && choices.fill.assembles_in_slices(owned as usize);
    let (assembled, kept_pattern) = if is_direct { (sliced, 0) } else { (nnz, 8 * owned + 4 * nnz) };
    let copied = match precision {
        Precision::F64 if is_direct => 0,
        Precision::F64 => 8 * sliced,
        Precision::F32 if format == Format::Crs => 4 * nnz,
        Precision::F32 => 4 * sliced,
    };
    let values = 8 * assembled + copied + layout;
    let is_fused = choices.kernel == fill::Kernel::Fused;
    let (kept, meanwhile, later) = match choices.fill {
        fill::Strategy::Gather => (8 * owned + 4 * corners, 4 * owned + 4 * corners, SYMMETRIC * window_on_gpu(sizes)),
        fill::Strategy::Scatter => (0, 0, 0),
        fill::Strategy::Colour => (4 * elems, 4 * elems + 16 * local, 0),
    };
    let stored = if is_fused || choices.fill == fill::Strategy::Gather { 0 } else { SYMMETRIC * elems };
    let tables = mesh + positions + 4 * fixed + 8 * cleared;
    // While the conditions are listed; while slices are laid out; while the assembly is prepared; at the end.
    let conditions = pattern + local + owned;
    let exact = if is_direct || entries == 4 * nnz { 0 } else { pattern + 4 * nnz };
    let layout = exact.max(if is_direct { pattern } else { kept_pattern } + values + owned / 2);
    let assembly = kept_pattern + values + stored + kept;
    let vectors = choices.variant.bytes(owned, local) + 12 * sent;
    let setup = conditions.max(layout).max(assembly + meanwhile.max(vectors));
    let solve = tables + assembly + later + vectors + 8 * local + 16 * owned;
    // Lists of values to send, and the messages.
    let staging = 12 * sent + 8 * ghosts;
    Forecast::new(owned, [mesh, mesh + graph, tables + setup, solve], staging)
}

/// Bytes of the upper half of a hexahedron's matrix, and of its residual.
const SYMMETRIC: u64 = 352;

/// Returns the number of element matrices that a GPU's gather stores at once.
fn window_on_gpu(sizes: &Sizes) -> u64 {
    const BLOCK: u64 = 128;
    let (step, [x, y]) = (fill::step_of(sizes.elems as usize) as u64, sizes.layer);
    // From the first element of a block's first row to the last of its last row. Few rows of the shell fill a layer.
    let layers = if sizes.ghosts > 0 { 2 + BLOCK / (x + y).max(1) } else { 1 };
    let reach = layers * x * y + x + BLOCK;
    if step >= sizes.elems || reach >= step.max(sizes.elems / 8) { sizes.elems } else { sizes.elems.min(step + reach) }
}

#[cfg(test)]
mod tests;
