//! Forecast of the memory of a run on elements of any type, in bytes by stage, before anything is allocated.
//!
//! ```text
//! as in forecast.rs, of nodes: N owned, G ghosts, L = N + G, E elements, Z entries, I corners at owned nodes, M values sent;
//! n nodes of an element, d unknowns of a node, Q points of the grid, E' elements of all cells of the part, p bytes of a position,
//! H slots of a hash table of N items
//! table    lasts      host                                                     GPU
//! mesh     always     4 n E + 33 L + 4 M, and a copy of 4 n E + 24 L           the copy
//!          meanwhile  8 n E' + 8 Q + 17 H, and 24 N or 8 L + 4 n E + 33 L      -
//! graph    always     8 N + 4 Z + n^2 E; with d > 1 instead 8 d N + 4 d^2 Z + 4 d n E + p d^2 n^2 E
//!          meanwhile  both, or as in forecast.rs with 64 = n^2 and 8 = n
//! fill     always     gather   8 d N + 4 d I, and matrices of 8 d n (d n + 1) bytes
//! setup    always     8 d^2 Z, and the matrix of products; vectors and conditions of d N unknowns
//! solve    always     8 d L + 16 d N
//! ```
//! On a GPU the host makes the elements first: that is the staging. Element matrices are stored in halves there, of all elements or, with
//! gather, of a window. Slices with rows of more than 40 offsets list their columns; on hosts, slices of nodes with more than 40 neighbours.
//! `tests/resources` compares with measured peaks.

use super::{Choices, Forecast, Graph, ModelSizes, Sizes};
use crate::fill;
use crate::sparse::{Format, MatrixStorage, Precision};

/// Longest row whose slices have a table, as in the layouts.
const TABLE: u64 = 40;

/// What the formulas of both spaces share.
struct Of {
    sizes: Sizes,
    n: u64,
    d: u64,
    /// Owned unknowns, all unknowns, entries of the matrix, unknowns of an element.
    rows: u64,
    columns: u64,
    nnz: u64,
    unknowns: u64,
    /// Bytes of the graph's positions, and of those of unknowns.
    positions: u64,
    positions_of_unknowns: u64,
    /// Bytes of Dirichlet conditions, and of those listed in lists that grow.
    conditions: u64,
    cleared: u64,
}

impl Of {
    fn new(model: &ModelSizes) -> Self {
        let (sizes, n, d) = (model.of_nodes, model.nodes, model.dofs);
        let width = |longest: u64| match longest {
            0..=255 => 1,
            256..=65_535 => 2,
            _ => 4,
        };
        let pairs = n * n * sizes.elems;
        // Entries of fixed nodes beside the diagonal are pairs of the node with itself.
        let cleared = d * d * sizes.cleared + d * (d - 1) * sizes.fixed;
        Of {
            sizes,
            n,
            d,
            rows: d * sizes.owned,
            columns: d * (sizes.owned + sizes.ghosts),
            nnz: d * d * sizes.nnz,
            unknowns: d * n,
            positions: width(model.longest) * pairs,
            positions_of_unknowns: width(d * model.longest) * d * d * pairs,
            conditions: 4 * d * sizes.fixed + 8 * cleared,
            cleared,
        }
    }

    /// Bytes of the graph of nodes, where its entries take `entries` bytes, and of that of unknowns.
    fn graphs(&self, entries: u64) -> [u64; 2] {
        let of_nodes = 8 * self.sizes.owned + entries + self.positions;
        match self.d {
            1 => [of_nodes; 2],
            _ => {
                let table = 4 * self.unknowns * self.sizes.elems;
                [of_nodes, 8 * self.rows + 4 * self.nnz + table + self.positions_of_unknowns]
            }
        }
    }

    /// Bytes of an element's matrix and residual.
    fn matrix(&self) -> u64 {
        8 * self.unknowns * (self.unknowns + 1)
    }

    /// The peak of building the graph, of nodes and then of unknowns.
    fn graph(&self, of_nodes: u64, [kept, expanded]: [u64; 2]) -> u64 {
        if self.d == 1 { of_nodes } else { of_nodes.max(kept + expanded) }
    }

    /// Bytes of slices: those of tables with `longest` entries per node or, where slices have no tables, `listed`.
    fn slices(&self, storage: MatrixStorage, model: &ModelSizes, listed: u64) -> u64 {
        let item = item(storage.values);
        match storage.format {
            Format::Pattern | Format::Symmetric if model.longest > TABLE => listed,
            Format::Symmetric => item * self.d * model.longest.div_ceil(2) * self.rows + 2 * self.rows,
            _ => item * self.d * model.longest * self.rows + self.rows / 2,
        }
    }
}

fn item(values: Precision) -> u64 {
    match values {
        Precision::F64 => 8,
        Precision::F32 => 4,
    }
}

/// Bytes that the host needs at most to make the elements, and what stays of them.
pub(super) fn elements(model: &ModelSizes) -> [u64; 2] {
    let Sizes { owned, ghosts, elems, sent, .. } = model.of_nodes;
    let (local, table) = (owned + ghosts, 4 * model.nodes * elems);
    let kept = table + 33 * local + 4 * sent;
    let slots = |items: u64| (items * 8).div_ceil(7).next_power_of_two();
    // A list that doubles until it has N ids, beside the half as large one before; then the directory.
    let list = 12 * owned.next_power_of_two();
    let directory = list.max(8 * owned.next_power_of_two() + 8 * owned).max(24 * owned);
    // A table that grows for the ghosts.
    let numbers = 17 * if ghosts == 0 { slots(owned) } else { slots(owned) + slots(2 * owned) };
    let numbered = 8 * local + table + (table + 12 * owned).max(33 * local + 4 * sent);
    [8 * model.nodes * model.listed + 8 * model.points + numbers + directory.max(numbered), kept]
}

/// Returns the forecast for threads of the host.
pub fn on_host(model: &ModelSizes, choices: &Choices) -> Forecast {
    let of = Of::new(model);
    let Sizes { owned, ghosts, elems, nnz, corners, sent, .. } = of.sizes;
    let (n, local) = (of.n, owned + ghosts);
    let [making, kept] = elements(model);
    let mesh = kept + 4 * n * elems + 24 * local;
    let pattern = 8 * owned + 4 * nnz;
    let built = match choices.graph {
        Graph::Gather => {
            // The columns of a piece have room for half of those gathered, and for all where that is too little.
            let half = corners * n / 2;
            let columns = 4 * if nnz > half { 2 * half } else { half };
            12 * owned + 4 * corners + columns + pattern + of.positions
        }
        Graph::Map => {
            let upper = elems * n * (n + 1) / 2;
            let slots = grown(model, (14 * owned).min(upper) * 7 / 6, upper);
            (4 * owned + 8 * slots + pattern).max(pattern + of.positions)
        }
        Graph::DashMap => {
            let pairs = nnz.div_ceil(2) + owned.div_ceil(2);
            let table = 9 * (pairs * 8).div_ceil(7).next_power_of_two();
            (4 * owned + 8 * pairs + table.max(pattern)).max(pattern + of.positions)
        }
        Graph::Sort => (4 * owned + 8 * n * n * elems + pattern).max(pattern + of.positions),
    };
    let graphs = of.graphs(4 * nnz);
    let graph = of.graph(built, graphs);
    let tables = mesh + graphs[1];
    let (lists, matrices, meanwhile) = match choices.fill {
        fill::Strategy::Gather => (8 * of.rows + 4 * of.d * corners, matrices(choices.threads, &of), 0),
        fill::Strategy::Scatter => (of.rows, [0; 2], 4 * of.rows),
        fill::Strategy::Colour => (0, [0; 2], 8 * of.columns),
    };
    let copied = match (choices.storage.format, choices.storage.values) {
        (Format::Crs, Precision::F64) => 0,
        (Format::Crs, Precision::F32) => 4 * of.nnz,
        _ => of.slices(choices.storage, model, item(choices.storage.values) * of.nnz),
    };
    let system = 8 * of.nnz + copied + choices.variant.bytes(of.rows, of.columns) + of.d * (16 * sent + 8 * ghosts);
    let growing = 4 * of.d * of.sizes.fixed + 24 * of.cleared;
    let setup = (2 * of.columns + growing).max(of.conditions + lists + matrices[0] + meanwhile + system);
    let solve = lists + matrices[1] + of.conditions + system + 8 * of.columns + 16 * of.rows;
    Forecast::new(owned, [making.max(mesh), mesh + graph, tables + setup, tables + solve], 0)
}

/// The slots of a set of pairs that begins with `slots`, each row with its share. Where rows differ much, two attempts fail: the next
/// one has half as many slots more, or as many more as inserts failed. About three of four do if all pairs are more than the slots.
fn grown(model: &ModelSizes, slots: u64, inserts: u64) -> u64 {
    let Sizes { owned, nnz, .. } = model.of_nodes;
    if model.longest <= TABLE {
        return slots;
    }
    let failed = if (nnz + owned) / 2 > slots { inserts / 4 * 3 } else { 0 };
    let second = slots + failed.max(slots / 2);
    second + second / 2
}

/// Bytes of the element matrices that a host's gather keeps in the set-up and in the solve, as for the box of hexahedra.
fn matrices(threads: u64, of: &Of) -> [u64; 2] {
    const LANES: u64 = crate::space::lanes::LANES as u64;
    let Sizes { elems, layer, ghosts, .. } = of.sizes;
    let all = of.matrix() * elems;
    // Each piece of rows and each thread has a batch where it is too large for the stack.
    let batches = threads * LANES * of.matrix();
    let reach = layer[0] * layer[1] + layer[0] + 1;
    let window = (reach.div_ceil(LANES) + 1).min(elems.div_ceil(LANES)) * LANES * of.matrix();
    let twice = (threads - 1) * (reach + LANES);
    match () {
        () if 4 * twice > elems => [all + batches; 2],
        () if ghosts > 0 => [all + batches, all + batches + (threads - 1) * window],
        () => [batches, batches + threads * window],
    }
}

/// Returns the forecast for a GPU.
pub fn on_gpu(model: &ModelSizes, choices: &Choices) -> Forecast {
    let of = Of::new(model);
    let Sizes { owned, ghosts, elems, nnz, corners, sent, .. } = of.sizes;
    let (n, local) = (of.n, owned + ghosts);
    let mesh = 4 * n * elems + 24 * local;
    let pairs = n * n * elems;
    let (entries, built) = match choices.graph {
        // Rows of at most 32 entries of hexahedra in one pass, others from lists.
        Graph::Gather if n == 8 && model.longest <= 32 => {
            let entries = (128 * owned).min(256 * elems);
            (entries, 44 * owned + entries + of.positions)
        }
        Graph::Gather => {
            let lists = 12 * owned + 8 * corners;
            (4 * nnz, lists.max(20 * owned + 4 * corners + 4 * nnz + of.positions))
        }
        Graph::Map => {
            let upper = elems * n * (n + 1) / 2;
            let slots = grown(model, (16 * owned).min(upper + upper / 4), upper);
            (4 * nnz, (8 * slots + 12 * owned + 4 * nnz).max(8 * owned + 4 * nnz + of.positions))
        }
        Graph::Sort | Graph::DashMap => {
            (4 * nnz, (pairs * 67 / 4).max(8 * pairs + 20 * owned + 4 * nnz + of.positions))
        }
    };
    let graphs = of.graphs(entries);
    let graph = of.graph(built, graphs);
    let (pattern, places) = match of.d {
        1 => (8 * owned + entries, of.positions),
        _ => (8 * of.rows + 4 * of.nnz, graphs[1] - 8 * of.rows - 4 * of.nnz),
    };
    let storage = choices.storage;
    let item = item(storage.values);
    let padded = of.d * of.d * model.padded;
    let slices = match storage.format {
        Format::Crs if item == 8 => 0,
        Format::Crs => item * of.nnz,
        Format::Pattern | Format::Symmetric => {
            let listed = (item + 4) * padded + of.rows / 2;
            if of.d > 1 { listed } else { of.slices(storage, model, listed) }
        }
    };
    let is_direct = storage.holds_assembled_slices() && choices.fill.assembles_in_slices(of.rows as usize);
    let (values, kept_pattern) = if is_direct { (slices, 0) } else { (8 * of.nnz + slices, 8 * of.rows + 4 * of.nnz) };
    // Halves of symmetric matrices.
    let stored = 4 * of.unknowns * (of.unknowns + 1) + 8 * of.unknowns;
    let (lists, meanwhile, later) = match choices.fill {
        fill::Strategy::Gather => {
            let lists = 8 * of.rows + 4 * of.d * corners;
            (lists, 4 * of.rows + 4 * of.d * corners, stored * window_on_gpu(&of, stored))
        }
        fill::Strategy::Scatter => (0, 0, stored * elems),
        fill::Strategy::Colour => (4 * elems, 4 * elems + 16 * of.columns, stored * elems),
    };
    let tables = mesh + places + of.conditions;
    let conditions = pattern + of.columns + of.rows;
    let exact = if is_direct || of.d > 1 || entries == 4 * nnz { 0 } else { pattern + 4 * nnz };
    let layout = exact.max(if is_direct { pattern } else { kept_pattern } + values + of.rows / 2);
    let assembly = kept_pattern + values + lists;
    let vectors = choices.variant.bytes(of.rows, of.columns) + 12 * of.d * sent;
    let setup = conditions.max(layout).max(assembly + meanwhile.max(vectors));
    let solve = tables + assembly + later + work(&of) + vectors + 8 * of.columns + 16 * of.rows;
    let staging = elements(model)[0].max(elements(model)[1] + 16 * of.columns);
    Forecast::new(owned, [mesh, mesh + graph, tables + setup, solve], staging)
}

/// Bytes of the coefficients at points: at most 64 MiB where one kernel does not do all.
fn work(of: &Of) -> u64 {
    if of.d == 1 && of.n <= 8 { 0 } else { (64 << 20).min(1024 * of.unknowns * of.sizes.elems) }
}

/// Returns the number of element matrices that a GPU's gather stores at once.
fn window_on_gpu(of: &Of, stored: u64) -> u64 {
    const BLOCK: u64 = 128;
    let Sizes { elems, layer: [x, y], ghosts, .. } = of.sizes;
    // As many as hold the bytes of hexahedra of one unknown, in steps of 4096.
    let step = (fill::step_of(elems as usize) as u64 * 352 / stored).next_multiple_of(1 << 12);
    let layers = if ghosts > 0 { 2 + BLOCK / (x + y).max(1) } else { 1 };
    let reach = layers * x * y + x + BLOCK;
    if step >= elems || reach >= step.max(elems / 8) { elems } else { elems.min(step + reach) }
}
