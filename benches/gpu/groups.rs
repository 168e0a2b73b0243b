//! The groups of measurements, written once for every space.

use crate::clock::{Timing, median};
use crate::rows::{Row, Table};
use minifenl::blas::Reductions;
use minifenl::comm::{Links, Solo};
use minifenl::graph::{self, Graph};
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Face, Mesh, MeshSpace};
use minifenl::run::cost::{self, Sizes};
use minifenl::run::deck::Choice;
use minifenl::run::{Analytic, Deck, Job, Phases, Problem, ProblemInput, silent};
use minifenl::solve::{
    CgParams, CgVariant, CgWorkspace, Identity, LinearSystem, NonlinearProblem, SingleLaunch, cg, cg_single_launch,
};
use minifenl::space::{Layout, MemorySpace, Slice, Threads, zeroed};
use minifenl::sparse::{CrsMatrix, Format, Operator};
use minifenl::{Error, Result, fill};

/// A box of twisted hexahedra, a matrix and a vector, on the host.
#[derive(Debug)]
pub struct Case {
    pub edge: usize,
    pub matrix: CrsMatrix,
    pub x: Vec<f64>,
    pub sizes: Sizes,
}

/// A box with `edge` nodes along each edge.
pub fn part(edge: usize) -> Result<BoxPart> {
    BoxPart::new(&BoxSpec::unit([edge as u64; 3], CoordinateMap::TWIST)?, 0, 1)
}

impl Case {
    /// The graph of the box with the 27-point operator of HPCG on it: 26 on the diagonal, -1 beside it.
    pub fn new(host: &Threads, edge: usize) -> Result<Self> {
        let mesh = host.generate_mesh(part(edge)?)?;
        let rows = mesh.map.owned_count();
        let graph = graph::build(host, &mesh.elem_node, rows, graph::Strategy::Gather)?.crs;
        let mut values = zeroed(graph.nnz());
        for row in 0..rows {
            for (entry, &column) in graph.row_range(row).zip(graph.row(row)) {
                values[entry] = if column as usize == row { 26.0 } else { -1.0 };
            }
        }
        let sizes = Sizes { owned: rows as u64, ghosts: 0, elems: mesh.elem_count() as u64, nnz: graph.nnz() as u64 };
        let x = (0..rows).map(|i| (i as f64 * 0.01).sin()).collect();
        Ok(Case { edge, matrix: CrsMatrix::new(graph, values)?, x, sizes })
    }

    pub fn nodes(&self) -> usize {
        self.sizes.owned as usize
    }

    /// A row of the table for this case.
    pub fn row(&self, group: &'static str, variant: impl Into<String>, timing: Timing, bytes: u64) -> Row {
        Row {
            group,
            variant: variant.into(),
            is_peer: false,
            edge: self.edge,
            nodes: self.nodes(),
            timing,
            bytes,
            own: None,
        }
    }
}

/// Copy, dot, axpy of `n` items.
pub fn vectors<S: Job>(space: &S, table: &mut Table, n: usize) -> Result<()> {
    let (x, mut y) = (space.upload(&vec![1.0; n])?, space.zeros::<f64>(n)?);
    let (x, y) = (S::Memory::slice(&x), S::Memory::slice_mut(&mut y));
    let mut sums = Reductions::new(space, n, 1)?;
    let row = |variant: &str, timing, item| Row {
        group: "vector",
        variant: variant.into(),
        is_peer: false,
        edge: 0,
        nodes: n,
        timing,
        bytes: item * n as u64,
        own: None,
    };
    table.add(row("copy", median(space, || space.copy(n, x, y))?, 16));
    table.add(row("dot", median(space, || space.dot(n, x, y, &mut sums, 0))?, 16));
    table.add(row("axpy", median(space, || space.axpy(n, 1e-3, x, y))?, 24));
    Ok(())
}

/// A product, by any function that writes y = A x; compared with `expected` before it is timed.
pub fn spmv<S: Job>(
    space: &S,
    table: &mut Table,
    case: &Case,
    variant: &str,
    expected: &[f64],
    mut product: impl FnMut(&Slice<S, f64>, &mut Slice<S, f64>) -> Result<()>,
) -> Result<()> {
    let (x, mut y) = (space.upload(&case.x)?, space.zeros::<f64>(case.nodes())?);
    product(S::Memory::slice(&x), S::Memory::slice_mut(&mut y))?;
    let found = space.download(&y)?;
    // A NaN is within no bound.
    let is_right = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-12 * 52.0;
    if let Some(row) = found.iter().zip(expected).position(|pair| !is_right(pair)) {
        let (found, expected) = (found[row], expected[row]);
        return Err(Error::Invalid(format!("spmv {variant}: row {row} is {found}, on the host {expected}")));
    }
    let timing = median(space, || product(S::Memory::slice(&x), S::Memory::slice_mut(&mut y)))?;
    table.add(case.row("spmv", variant, timing, cost::spmv(case.sizes).bytes));
    Ok(())
}

/// An iteration of CG: the time of many iterations less that of few, without refreshes. `cg_variant`: as asked, also for
/// small systems.
pub fn cg_iteration<S: Job>(
    space: &S,
    table: &mut Table,
    case: &Case,
    variant: &str,
    cg_variant: Option<CgVariant>,
    (operator, launch): (&dyn Operator<S>, Option<&SingleLaunch<'_, S>>),
) -> Result<()> {
    let rows = case.nodes();
    let (b, mut x) = (space.upload(&case.x)?, space.zeros::<f64>(rows)?);
    let (b, x) = (S::Memory::slice(&b), S::Memory::slice_mut(&mut x));
    let mut work = match cg_variant {
        None => CgWorkspace::new(space, rows, rows)?,
        Some(cg_variant) => CgWorkspace::of_variant(space, rows, rows, cg_variant)?,
    };
    // Fewer than a small box needs to converge to the last bit.
    let (few, many) = if rows < 1 << 19 { (8, 40) } else { (16, 48) };
    let mut solve = |max_iterations| {
        median(space, || {
            space.fill(rows, 0.0, x)?;
            let params = CgParams::new(1e-300, max_iterations);
            let mut system = LinearSystem { operator, preconditioner: &mut Identity, comm: &Solo, rhs: b };
            let observe = &mut |_, _| Ok(());
            let solved = match launch {
                Some(launch) => cg_single_launch(space, launch, &mut system, x, params, &mut work, observe),
                None => cg(space, &mut system, x, params, &mut work, observe),
            };
            match solved {
                Err(Error::NotConverged { .. }) => Ok(()),
                other => Err(Error::Invalid(format!("cg {variant}: {other:?} in {max_iterations} iterations"))),
            }
        })
    };
    let (short, long) = (solve(few)?, solve(many)?);
    let seconds = (long.seconds - short.seconds) / (many - few) as f64;
    let timing = Timing { seconds, samples: long.samples };
    table.add(case.row("cg", variant, timing, cost::cg_iteration(case.sizes).bytes));
    Ok(())
}

/// Every strategy that the space has.
pub fn graphs<S: Job>(space: &S, table: &mut Table, case: &Case, mesh: &Mesh<S::Memory>) -> Result<()> {
    for (strategy, name) in graph::Strategy::ALL {
        match median(space, || graph::build(space, &mesh.elem_node, case.nodes(), strategy)) {
            Ok(timing) => table.add(case.row("graph", name, timing, cost::graph(case.sizes, cost::Shape::HEX8).bytes)),
            Err(error @ (Error::Invalid(_) | Error::TooLarge { .. })) => {
                table.note(format!("graph {name} on {}: {error}", space.label()))
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Every strategy and element kernel: matrix and residual, boundary conditions included; in the space's own format and, by the strategy
/// that assembles in halves, in these.
pub fn fills<S: Job>(
    space: &S,
    table: &mut Table,
    case: &Case,
    mesh: &Mesh<S::Memory>,
    graph: &Graph<S::Memory>,
) -> Result<()> {
    for (strategy, name) in fill::Strategy::on_gpu() {
        let halves = (strategy == S::STRATEGY).then_some((Format::Symmetric, ", symmetric"));
        let formats = [Some((S::FORMAT, "")), halves];
        let kernels = fill::Kernel::ALL.into_iter();
        let variants = kernels.flat_map(|kernel| formats.into_iter().flatten().map(move |format| (kernel, format)));
        for ((kernel, kernel_name), (format, suffix)) in variants {
            let mut deck = Deck::default();
            (deck.fill.strategy, deck.fill.kernel) = (Choice::Given(strategy), Choice::Given(kernel));
            deck.matrix.format = Choice::Given(format);
            let timing = match assembly(space, &deck, case, mesh, graph) {
                Ok(timing) => timing,
                Err(error @ (Error::Invalid(_) | Error::TooLarge { .. })) => {
                    table.note(format!("fill {name} {kernel_name}{suffix} on {}: {error}", space.label()));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let sum = if strategy == fill::Strategy::Gather { 8 } else { 24 };
            let cost = cost::fill(case.sizes, cost::Shape::HEX8, sum, 0, 0);
            table.add(case.row("fill", format!("{name} {kernel_name}{suffix}"), timing, cost.bytes));
        }
    }
    Ok(())
}

/// Kernel `intrepid` by size and layout of its worksets, and by `auto`. Its own bytes are those of the assembly and the bound of
/// `src/fill/cuda/worksets.rs`: 3840 bytes of operands written and 5376 read per element, 1728 of matrix and residual written, read and
/// written again. A rate above that of the copy shows that L2 serves the worksets.
pub fn worksets<S: Job>(
    space: &S,
    table: &mut Table,
    case: &Case,
    mesh: &Mesh<S::Memory>,
    graph: &Graph<S::Memory>,
) -> Result<()> {
    let sizes = [1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18].map(Some);
    let given = Layout::ALL.into_iter().flat_map(|layout| sizes.map(|cells| (Some(layout), cells)));
    for (layout, cells) in std::iter::once((None, None)).chain(given) {
        let mut deck = Deck::default();
        (deck.fill.strategy, deck.fill.kernel) = (Choice::Given(S::STRATEGY), Choice::Given(fill::Kernel::Intrepid));
        (deck.matrix.format, deck.fill.workset) = (Choice::Given(S::FORMAT), cells);
        deck.fill.layout = layout.map_or(Choice::Auto, |(layout, _)| Choice::Given(layout));
        let timing = assembly(space, &deck, case, mesh, graph)?;
        let [layout, cells] = [layout.map(|(_, name)| name.to_string()), cells.map(|cells| cells.to_string())];
        let [layout, cells] = [layout, cells].map(|name| name.unwrap_or("auto".into()));
        let bytes = cost::fill(case.sizes, cost::Shape::HEX8, 8, 0, 0).bytes;
        table.add(case.row("fill", format!("intrepid, {layout}, {cells} cells"), timing, bytes));
        table.own(bytes + 10_944 * case.sizes.elems);
    }
    Ok(())
}

/// Times an assembly with the boundary conditions.
fn assembly<S: Job>(
    space: &S,
    deck: &Deck,
    case: &Case,
    mesh: &Mesh<S::Memory>,
    graph: &Graph<S::Memory>,
) -> Result<Timing> {
    let exact = Analytic::new(deck.problem.t_min, deck.problem.t_max, 0.0, 1.0);
    let phases = Phases::default();
    let input =
        ProblemInput { deck, links: &Links::staged(&Solo), mesh, coarse: &[], phases: &phases, progress: &silent };
    let mut problem = Problem::new(space, input, Some(graph.clone()))?;
    let mut temperature = space.sample(&exact, S::Memory::slice(&mesh.node_coord), case.nodes())?;
    let mut residual = space.zeros(case.nodes())?;
    let [temperature, residual] = [&mut temperature, &mut residual].map(S::Memory::slice_mut);
    median(space, || problem.assemble(temperature, residual))
}

/// From the mesh to 100 iterations: graph, set-up, first fill, boundary conditions, format, CG; a wall clock around all.
pub fn start<S: Job>(space: &S, table: &mut Table, case: &Case, mesh: &Mesh<S::Memory>) -> Result<()> {
    let mut deck = Deck::default();
    (deck.cg.tolerance, deck.cg.max_iterations) = (Some(1e-300), 100);
    let mut seconds = Vec::new();
    for _ in 0..5 {
        let mut temperature = space.zeros(case.nodes())?;
        let (mut residual, mut delta) = (space.zeros(case.nodes())?, space.zeros(case.nodes())?);
        let [temperature, residual, delta] = [&mut temperature, &mut residual, &mut delta].map(S::Memory::slice_mut);
        space.set_on_face(mesh, Face::ZMin, deck.problem.t_min, temperature)?;
        space.set_on_face(mesh, Face::ZMax, deck.problem.t_max, temperature)?;
        space.fence()?;
        let begin = std::time::Instant::now();
        let graph = graph::build(space, &mesh.elem_node, case.nodes(), graph::Strategy::default())?;
        let phases = Phases::default();
        let input = ProblemInput {
            deck: &deck,
            links: &Links::staged(&Solo),
            mesh,
            coarse: &[],
            phases: &phases,
            progress: &silent,
        };
        let mut problem = Problem::new(space, input, Some(graph))?;
        problem.assemble(temperature, residual)?;
        let solved = problem.solve(temperature, residual, delta, None);
        seconds.push(begin.elapsed().as_secs_f64());
        if !matches!(solved, Ok(_) | Err(Error::NotConverged { .. })) {
            solved?;
        }
    }
    seconds.sort_by(f64::total_cmp);
    let timing = Timing { seconds: seconds[seconds.len() / 2], samples: seconds.len() };
    let bytes = cost::graph(case.sizes, cost::Shape::HEX8).bytes
        + cost::fill(case.sizes, cost::Shape::HEX8, 8, 0, 0).bytes
        + 100 * cost::cg_iteration(case.sizes).bytes;
    table.add(case.row("start", "graph, set-up, fill, 100 CG", timing, bytes));
    Ok(())
}
