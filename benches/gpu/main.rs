//! Every stage on a GPU, beside cuSPARSE and cuBLAS in the same run; or, with `--device cpu`, on the cores of the host.
//!
//! ```sh
//! cargo bench --bench gpu -- --json gpu.json
//! cargo bench --bench gpu -- --device cpu --sizes 16,32,64,128 --json cpu.json
//! python3 benches/plot.py gpu.json cpu.json --out bandwidth
//! ```
//! Times are medians, on a GPU between events of its stream. GB/s are bytes by the formulas of `run::cost` over time: the
//! same bytes for every variant of a stage, so that a format that moves fewer can pass the copy. A peer's product is
//! compared with the host's before it is timed. Peers need libcusparse and libcublas on the library path.

#![allow(missing_docs)]

mod clock;
mod formats;
mod groups;
#[path = "../../apps/kernels/src/peers/cuda/mod.rs"]
mod libraries;
mod peers;
mod products;
mod rows;

use clap::Parser;
use groups::Case;
use minifenl::Result;
use minifenl::comm::Solo;
use minifenl::element::equations::Heat;
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{CudaEquationKernel, CudaFill, EquationInput, EquationText};
use minifenl::mesh::{Mesh, MeshSpace};
use minifenl::run::{Chosen, Device};
use minifenl::space::cuda::Architecture;
use minifenl::space::{Cuda, ExecutionSpace, Threads, allowed_cores};
use minifenl::sparse::{CrsMatrix, Lanes, Spmv};
use minifenl::{fill, graph};
use rows::{Row, Table};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Measures every stage by size.
#[derive(Debug, Parser)]
struct Args {
    /// Where to compute: auto, cpu, cuda, cuda:K
    #[arg(long, default_value_t)]
    device: Device,
    /// Nodes along the edges of the boxes
    #[arg(long, value_delimiter = ',', default_values_t = [16, 32, 64, 128, 256])]
    sizes: Vec<usize>,
    /// Stages: vector, spmv, cg, graph, fill, equation (on a GPU only), start; only if given: matrix-free, worksets (on a GPU)
    #[arg(long, value_delimiter = ',', default_values_t = ["vector", "spmv", "cg", "graph", "fill", "equation", "start"].map(String::from))]
    stages: Vec<String>,
    /// Items of the vectors
    #[arg(long)]
    items: Option<usize>,
    /// Threads of the host
    #[arg(long)]
    threads: Option<usize>,
    /// Write what was measured as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

impl Args {
    fn has(&self, stage: &str) -> bool {
        self.stages.iter().any(|given| given == stage)
    }

    /// Whether no other stage is measured, which need a matrix on the host.
    fn is_matrix_free(&self) -> bool {
        self.stages.iter().all(|given| given == "matrix-free")
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    let host = Threads::with_current(args.threads.unwrap_or_else(allowed_cores))?;
    let mut table = Table::default();
    let machine = match args.device.choose(&Solo, false)? {
        Chosen::Cuda(ordinal) => on_gpu(&args, &host, &Cuda::new(ordinal)?, &mut table)?,
        Chosen::Cpu { notice } => {
            notice.into_iter().for_each(|text| table.note(text));
            on_cpu(&args, &host, &mut table)?;
            machine(&host)
        }
    };
    println!("{}\n\n{}", machine["device"].as_str().unwrap_or(""), table.text());
    if let Some(path) = args.json {
        let text = serde_json::to_string_pretty(&table.json(machine)).unwrap_or_default() + "\n";
        std::fs::write(&path, text)
            .map_err(|e| minifenl::Error::File { path: path.display().to_string(), reason: e.to_string() })?;
    }
    Ok(())
}

fn on_cpu(args: &Args, host: &Threads, table: &mut Table) -> Result<()> {
    // Always: the copy is what the others are compared with.
    groups::vectors(host, table, args.items.unwrap_or(1 << 25))?;
    for &edge in &args.sizes {
        if args.has("matrix-free") {
            products::all(host, table, edge)?;
        }
        if args.is_matrix_free() {
            continue;
        }
        let case = Case::new(host, edge)?;
        if args.has("spmv") {
            let expected = product(host, &case)?;
            let spmv = |x: &[f64], y: &mut [f64]| host.spmv(&case.matrix, x, y);
            groups::spmv(host, table, &case, "crs", &expected, spmv)?;
        }
        if args.has("cg") {
            groups::cg_iteration(host, table, &case, "crs", None, (&case.matrix, None))?;
            for (variant, name) in formats::ONE_REDUCTION {
                groups::cg_iteration(host, table, &case, &format!("crs, {name}"), Some(variant), (&case.matrix, None))?;
            }
        }
        let mesh = host.generate_mesh(groups::part(edge)?)?;
        if args.has("graph") {
            groups::graphs(host, table, &case, &mesh)?;
        }
        if args.has("fill") {
            let graph = graph::build(host, &mesh.elem_node, case.nodes(), graph::Strategy::default())?;
            groups::fills(host, table, &case, &mesh, &graph)?;
        }
        if args.has("start") {
            groups::start(host, table, &case, &mesh)?;
        }
    }
    Ok(())
}

fn on_gpu(args: &Args, host: &Threads, space: &Cuda, table: &mut Table) -> Result<Value> {
    let items = args.items.unwrap_or(1 << 27);
    groups::vectors(space, table, items)?;
    let peers = libraries::Libraries::new(space).map_err(|error| table.note(format!("peers: {error}"))).ok();
    if let Some(peers) = &peers {
        peers::vectors(peers, table, items)?;
    }
    for &edge in &args.sizes {
        if args.has("matrix-free") {
            products::all(space, table, edge)?;
        }
        if args.is_matrix_free() {
            continue;
        }
        let case = Case::new(host, edge)?;
        let (matrix, expected) = (case.matrix.upload(space)?, product(host, &case)?);
        if args.has("spmv") {
            for (lanes, name) in Lanes::ALL {
                let spmv = |x: &_, y: &mut _| space.spmv_lanes(lanes, &matrix, x, y);
                groups::spmv(space, table, &case, &format!("crs, {name} lanes"), &expected, spmv)?;
            }
        }
        let what = (args.has("spmv"), args.has("cg"));
        formats::all(space, table, &case, (&matrix, ""), &expected, what)?;
        formats::all(space, table, &case, (&space.single(&matrix)?, ", f32"), &expected, what)?;
        let mesh = Mesh::new(space, groups::part(edge)?)?;
        if args.has("graph") {
            groups::graphs(space, table, &case, &mesh)?;
        }
        if args.has("fill") || args.has("worksets") {
            let graph = graph::build(space, &mesh.elem_node, case.nodes(), graph::Strategy::default())?;
            if args.has("fill") {
                groups::fills(space, table, &case, &mesh, &graph)?;
            }
            if args.has("worksets") {
                groups::worksets(space, table, &case, &mesh, &graph)?;
            }
        }
        if args.has("spmv") {
            formats::set_ups(space, table, &case, &mesh)?;
        }
        if args.has("equation") {
            equations(space, table, edge)?;
        }
        if args.has("start") {
            groups::start(space, table, &case, &mesh)?;
        }
        if let Some(peers) = peers.as_ref().filter(|_| args.has("spmv") || args.has("cg")) {
            peers::solve(peers, table, &case, &expected)?;
        }
    }
    let mut machine = machine(host);
    let dotted = |version: i32| format!("{}.{}", version / 1000, version % 1000 / 10);
    let nvrtc = Architecture::new("sm_90")?.nvrtc;
    machine["device"] = space.label().into();
    machine["driver"] = dotted(space.device().info().driver).into();
    machine["nvrtc"] = format!("{}.{}", nvrtc.0, nvrtc.1).into();
    machine["cusparse"] = peers.as_ref().map(|peers| peers.versions.0).into();
    machine["cublas"] = peers.as_ref().map(|peers| peers.versions.1).into();
    Ok(machine)
}

/// The heat equation from its Rust text: element matrices of boxes with about as many nodes, assembled by `gather`.
fn equations(space: &Cuda, table: &mut Table, edge: usize) -> Result<()> {
    let text = EquationText::of(&Heat::new(1.0));
    let (linear, quadratic) = (edge - 1, edge / 2);
    for (element, cells) in [
        (ElementType::Hex8, linear),
        (ElementType::Wedge6, linear),
        (ElementType::Tet4, linear),
        (ElementType::Hex20, quadratic),
        (ElementType::Hex27, quadratic),
        (ElementType::Tet10, quadratic),
    ] {
        let mesh = Mesh::of_box(element, [cells; 3], [1.0; 3])?;
        let (nodes, elems, tables) = (mesh.node_coord.len(), mesh.elem_node.elem_count(), BasisTables::of(element));
        let (elem_node, node_coord) = (&mesh.elem_node.upload(space)?, &space.upload(&mesh.node_coord)?);
        let graph = graph::build(space, elem_node, nodes, graph::Strategy::default())?;
        let (mut matrix, mut residual) = (CrsMatrix::zeros_on(space, graph.crs.clone())?, space.zeros(nodes)?);
        let mut kernel = CudaEquationKernel::new(space, &text, &tables)?;
        let mut fill = CudaFill::new(space, fill::Strategy::Gather, &graph)?;
        let input = EquationInput { elem_node, node_coord, solution: &space.upload(&vec![1.5; nodes])?, given: &[] };
        let timing =
            clock::median(space, || fill.assemble_equation(space, &mut kernel, input, &mut matrix, &mut residual))?;
        // Values and residual out, tables, coordinates and unknowns in.
        let bytes = (8 * graph.crs.nnz() + 40 * nodes + 4 * elems * tables.nodes) as u64;
        let variant = format!("heat from Rust, {element}");
        table.add(Row { group: "equation", variant, is_peer: false, edge, nodes, timing, bytes, own: None });
    }
    Ok(())
}

/// A x by the host, which is the specification.
fn product(host: &Threads, case: &Case) -> Result<Vec<f64>> {
    let mut y = host.zeros(case.nodes())?;
    host.spmv(&case.matrix, &case.x, &mut y).map(|()| y)
}

/// What the numbers hold for.
fn machine(host: &Threads) -> Value {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    let date = std::process::Command::new("date").args(["-u", "+%F %R"]).output();
    json!({
        "device": format!("cpu, {}", host.label()), "cpu": cpu, "cores": allowed_cores(),
        "minifenl": env!("CARGO_PKG_VERSION"),
        "date": date.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).ok(),
    })
}
