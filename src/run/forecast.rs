//! Forecast of the memory of a run, in bytes by stage, before anything is allocated.
//!
//! ```text
//! N owned nodes, G ghosts, L = N + G, E elements, Z entries of the matrix, I element corners at owned nodes,
//! M values sent, C entries that the boundary conditions clear, T threads per rank
//! table   lasts      host                                   GPU
//! mesh    always     32 E + 25 L + 4 M                      32 E + 25 L
//! graph   always     8 N + 4 Z + 64 E                       as the host; gather keeps 128 N for 4 Z
//!         meanwhile  gather   12 N + 20 I                   36 N
//!                    map      4 N + 8 x 49/3 N              4 N + 128 N, without 64 E
//!                    dashmap  4 N + 8 (Z + N) / 2 + table   -
//!                    sort     4 N + 512 E                   1072 E in all, then 512 E + 12 N
//! fill    always     gather   8 N + 4 I + element matrices  8 N + 4 I + 352 E
//!                    scatter  N                             0
//!                    colour   0                             4 E
//!                    contraction                            576 E + 4352 min(E, 65536), gather without 352 E
//! setup   always     8 Z + 8 L + 16 N + 8 C + 12 M + 8 G    8 Z + 8 L + 16 N + 8 C + 12 M + storage
//!         meanwhile  L, 12 C; or colour 8 L, scatter 4 N    L; or colour 4 E + 16 L, gather 4 N + 4 I
//! solve   always     8 L + 16 N                             8 L + 16 N
//! ```
//! The table of dashmap has 9 bytes per slot and a power of two of slots, at most 7/8 full, in each of 1024 parts. Element
//! matrices of the host's gather lie in windows of about two layers of elements per thread, 576 bytes each, or 576 E where
//! windows would overlap too much. A matrix is stored as 0 (crs), 12 x 27 N (sell) or 8 x 27 N (pattern; 12 x 27 for rows next
//! to other ranks). `tests/resources.rs` compares these numbers with measured peaks.

use crate::comm::Communicator;
use crate::graph::Strategy as Graph;
use crate::mesh::BoxPart;
use crate::sparse::Format;
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
}

impl Sizes {
    /// Returns the numbers of a part. All of them are exact.
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
        }
    }
}

/// Choices on which the memory depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Strategy of the graph.
    pub graph: Graph,
    /// Strategy of the assembly.
    pub fill: fill::Strategy,
    /// Element kernel.
    pub kernel: fill::Kernel,
    /// Storage format of the matrix.
    pub format: Format,
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

/// Returns the forecast for threads of the host.
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
    // Jacobian; p, q, r; halo.
    let system = 8 * nnz + 8 * local + 16 * owned + 12 * sent + 8 * ghosts;
    let setup = kept + matrices[0] + meanwhile.max(local + conditions + system.max(12 * cleared));
    // T; ||F|| and correction.
    let solve = kept + matrices[1] + conditions + system + 8 * local + 16 * owned;
    let (setup, solve) = (tables + setup, tables + solve);
    Forecast::new(owned, [mesh, mesh + graph, setup, solve], 0)
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

/// Cells of a workset of contractions on a GPU, and its bytes per cell.
const WORKSET: [u64; 2] = [65_536, 4352];

/// Returns the forecast for a GPU.
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
    let tables = mesh + 8 * owned + entries + positions;
    let is_fused = choices.kernel == fill::Kernel::Fused;
    let contraction = if is_fused { 0 } else { MATRIX * elems + WORKSET[1] * elems.min(WORKSET[0]) };
    let (kept, meanwhile, later) = match choices.fill {
        fill::Strategy::Gather => {
            (8 * owned + 4 * corners, 4 * owned + 4 * corners, if is_fused { 352 * elems } else { 0 })
        }
        fill::Strategy::Scatter => (0, 0, 0),
        fill::Strategy::Colour => (4 * elems, 4 * elems + 16 * local, 0),
    };
    let storage = match choices.format {
        Format::Crs => 0,
        Format::Sell => 12 * 27 * owned + owned / 2,
        // In a part of a box, slices may span ends of the numbering and then store their columns: all do in the worst case.
        Format::Pattern if ghosts > 0 => 12 * 27 * owned + owned / 2,
        Format::Pattern => 8 * 27 * owned + owned / 2,
    };
    let kept = kept + contraction + 4 * fixed + 8 * cleared;
    let vectors = 8 * nnz + storage + 8 * local + 16 * owned + 8 * local + 16 * owned + 12 * sent;
    let setup = (kept + meanwhile).max(kept + local + 8 * nnz + storage + 8 * local + 16 * owned);
    let solve = tables + kept + later + vectors;
    // Lists of values to send, and the messages.
    let staging = 12 * sent + 8 * ghosts;
    Forecast::new(owned, [mesh, mesh + graph, tables + setup, solve], staging)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Solo;
    use crate::graph;
    use crate::mesh::{BoxSpec, CoordinateMap, Face, Mesh};
    use crate::space::Serial;

    #[test]
    fn sizes_are_those_of_the_mesh_and_its_graph() {
        let spec = BoxSpec::new([5, 7, 11], [1.0; 3], CoordinateMap::None).unwrap();
        for ranks in [1, 2, 5, 12] {
            for rank in 0..ranks {
                let part = BoxPart::new(&spec, rank, ranks).unwrap();
                let sizes = Sizes::of(&part);
                let mesh = Mesh::new(&Serial, part, u64::MAX).unwrap();
                let rows = mesh.map.owned_count();
                let crs = graph::build(&Serial, &mesh.elem_node, rows, Graph::Sort).unwrap().crs;
                let is_fixed = |node: usize| [Face::ZMin, Face::ZMax].iter().any(|f| f.is_in(mesh.node_faces[node]));
                let columns = |row: usize| crs.row(row).iter().map(|&column| column as usize);
                let cleared = |row: usize| columns(row).filter(|&c| c != row && (is_fixed(row) || is_fixed(c))).count();
                let corners = mesh.elem_node.as_slice().iter().filter(|&&node| (node as usize) < rows).count();
                let expected = Sizes {
                    owned: rows as u64,
                    ghosts: mesh.map.ghost_count() as u64,
                    elems: mesh.elem_count() as u64,
                    nnz: crs.nnz() as u64,
                    corners: corners as u64,
                    sent: mesh.map.neighbours().iter().map(|n| n.send.len() as u64).sum(),
                    fixed: (0..rows).filter(|&row| is_fixed(row)).count() as u64,
                    cleared: (0..rows).map(cleared).sum::<usize>() as u64,
                    ..sizes
                };
                assert_eq!(sizes, expected, "rank {rank} of {ranks}");
            }
        }
    }

    #[test]
    fn the_first_stage_that_does_not_fit_is_named_with_its_bytes() {
        let forecast = Forecast::new(1000, [100, 300, 200, 400], 0);
        assert_eq!(forecast.peak(), 400);
        forecast.check(&Solo, 400, 0).unwrap();
        for (free, stage, wanted, fitting) in [(399, "solve", 400, 997), (299, "graph", 300, 996), (0, "mesh", 100, 0)]
        {
            let text = forecast.check(&Solo, free, 0).unwrap_err().to_string();
            for part in [
                format!("stage `{stage}`"),
                format!("({wanted} bytes)"),
                format!("({free} bytes) are free"),
                format!("about {fitting} "),
            ] {
                assert!(text.contains(&part), "{text}");
            }
        }
        let on_gpu = Forecast::new(1, [1; 4], 50);
        on_gpu.check(&Solo, 1, 50).unwrap();
        assert!(on_gpu.check(&Solo, 1, 49).unwrap_err().to_string().contains("(49 bytes) are free"));
    }
}
