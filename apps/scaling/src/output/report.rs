//! The report of a study, and the tables that other commands print.

use super::document::{self, Block};
use super::{figures, words};
use crate::model::machine::Terms;
use crate::model::{Machine, Partition, Prediction};
use crate::study::peer::{PeerRow, Program};
use crate::study::{Row, Study, Table};

/// All of it, conclusions first.
pub fn blocks(study: &Study, table: &Table, model: Option<&Prediction>) -> Vec<Block> {
    let mut blocks = vec![
        Block::Text(words::origin(table)),
        Block::Command(study.command()),
        Block::Heading("What can be concluded"),
        Block::List(words::conclusions(study, table, model)),
        Block::Heading("Times"),
        Block::Text(
            "Times are those of one call on the slowest rank (CG, SpMV, halo: of one iteration), medians over the runs; +- is half the \
             distance from the tenth to the ninetieth percentile. Halo / CG includes waiting for the slowest rank."
                .into(),
        ),
        times(&table.rows),
        Block::Heading("Efficiency per phase"),
        Block::Text("Nodes per second and worker (rank x thread) over that of the smallest point, per call or iteration.".into()),
        efficiencies(&table.rows),
    ];
    blocks.extend(uneven(table));
    blocks.extend(Program::ALL.into_iter().flat_map(|program| peers(table, program)));
    let (line, measured): (Vec<Block>, Vec<Block>) =
        figures::all(table, model).into_iter().partition(|block| matches!(block, Block::Figure("model", ..)));
    blocks.extend(measured);
    if let Some(model) = model {
        blocks.push(Block::Heading("Model, and 100,000 simulated ranks"));
        blocks.push(Block::Text(words::model(model)));
        blocks.extend(line);
        blocks.push(predicted(model));
    }
    blocks
}

/// Milliseconds with three digits.
pub fn ms(seconds: f64) -> String {
    let ms = 1e3 * seconds;
    let digits = if ms > 0.0 { (2 - ms.log10().floor() as i32).clamp(0, 6) as usize } else { 0 };
    format!("{ms:.digits$}")
}

fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Block {
    Block::Table(header.iter().map(|cell| cell.to_string()).collect(), rows.collect())
}

fn percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

fn size([x, y, z]: [u64; 3]) -> String {
    format!("{x}x{y}x{z}")
}

/// The ranks, with the imbalance of their boxes.
fn ranks(row: &Row) -> String {
    let (ranks, asked) = (row.point.ranks, row.point.imbalance);
    if row.point.is_uneven() { format!("{ranks} ({asked} % imbalance)") } else { ranks.to_string() }
}

fn times(rows: &[Row]) -> Block {
    let levels = rows.iter().any(|row| row.phase("preconditioner").is_some()).then_some("preconditioner");
    let header = ["ranks", "threads", "nodes", "runs", "CG iterations", "graph, ms", "fill, ms"].into_iter();
    let header = header.chain(levels.map(|_| "preconditioner, ms")).chain([
        "CG iteration, ms",
        "+-, ms",
        "SpMV, ms",
        "halo, ms",
        "halo / CG",
        "SpMV max/mean",
        "total, s",
        "triad, GB/s",
        "binding",
    ]);
    let header: Vec<&str> = header.collect();
    let cells = |row: &Row| {
        let phase = |name: &str| row.phase(name).map_or("-".into(), |phase| ms(phase.seconds.median_seconds));
        let spread = |time: &minifenl::run::report::SpreadReport| ms(0.5 * (time.p90_seconds - time.p10_seconds));
        let binding = if row.placement.oversubscribed.is_some() { "oversubscribed" } else { row.placement.binding };
        let mut cells = vec![
            ranks(row),
            row.point.threads.to_string(),
            size(row.nodes),
            row.runs.to_string(),
            format!("{}", row.iterations),
            phase("graph"),
            phase("fill"),
        ];
        cells.extend(levels.map(phase));
        cells.extend([
            phase("cg"),
            row.phase("cg").map_or("-".into(), |cg| spread(&cg.seconds)),
            phase("spmv"),
            phase("halo"),
            percent(row.communication),
            row.phase("spmv").map_or("-".into(), |spmv| format!("{:.2}", spmv.imbalance)),
            format!("{:.3}", row.total.median_seconds),
            row.triad_gb_per_s.map_or("-".into(), |triad| format!("{triad:.1}")),
            binding.to_string(),
        ]);
        cells
    };
    table(&header, rows.iter().map(cells))
}

fn efficiencies(rows: &[Row]) -> Block {
    let cells = |row: &Row| {
        let efficiency = |name: &str| row.phase(name).and_then(|phase| phase.efficiency);
        let cells =
            ["graph", "fill", "cg", "spmv"].map(|name| efficiency(name).map_or("-".into(), |e| format!("{e:.2}")));
        [ranks(row), row.point.threads.to_string()].into_iter().chain(cells).collect()
    };
    table(&["ranks", "threads", "graph", "fill", "CG iteration", "SpMV"], rows.iter().map(cells))
}

/// Uneven boxes against even ones.
fn uneven(table: &Table) -> Vec<Block> {
    let rows = table.rows.iter().filter(|row| row.point.is_uneven() && row.is_rated());
    let rows: Vec<Vec<String>> = rows
        .filter_map(|row| {
            let (even, ratio) = table.against_even(row)?;
            let [asked, own] = [f64::from(row.point.imbalance), row.imbalance_percent?];
            Some(vec![
                row.point.ranks.to_string(),
                row.point.threads.to_string(),
                format!("{asked} %"),
                format!("{own:.1} %"),
                format!("{:.2}", words::more_rows(even, row)?),
                format!("{ratio:.2}"),
                percent(row.communication),
            ])
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let header =
        ["ranks", "threads", "asked", "imbalance", "rows of the fullest rank", "time of a CG iteration", "halo / CG"];
    let text = "Rank 0 owns more nodes than the mean, as with `load_imbalance` of miniFE; the imbalance is the largest deviation from the \
                mean, in whole layers of nodes. Rows and times are relative to even boxes on the same ranks.";
    vec![Block::Heading("Uneven boxes"), Block::Text(text.into()), self::table(&header, rows.into_iter())]
}

/// Another program beside minifenl, where it ran.
fn peers(table: &Table, program: Program) -> Vec<Block> {
    let mut rows = table.peers_of(program).peekable();
    if rows.peek().is_none() {
        return Vec::new();
    }
    let ratio = format!("{} / minifenl, CG iteration", program.name());
    let header = ["ranks", "threads", "runs", "graph, ms", "fill, ms", "CG iteration, ms", "SpMV, ms", &ratio];
    let cells = |row: &PeerRow| {
        let own = table.rows.iter().find(|own| own.point == row.point).and_then(Row::iteration);
        let uneven =
            if row.point.is_uneven() { format!(" ({} % imbalance)", row.point.imbalance) } else { String::new() };
        let ranks = format!("{}{uneven}", row.point.ranks);
        let mut cells = vec![ranks, row.point.threads.to_string(), row.runs.to_string()];
        cells.extend(row.seconds.iter().map(|time| ms(time.median_seconds)));
        cells.push(own.map_or("-".into(), |own| format!("{:.2}", row.seconds[2].median_seconds / own)));
        cells
    };
    let text = match program {
        Program::MiniFe => {
            "miniFE on the same boxes, after the runs of minifenl. It stops after 200 iterations, multiplies by the matrix of \
                            another equation with the same sparsity pattern, and its fill leaves out the boundary conditions. Without OpenMP it has 1 thread per rank at every point."
        }
        Program::Fenl => {
            "Kokkos FENL on the same boxes, after the runs of minifenl. It makes a map of node pairs, adds element matrices \
                          with atomic operations, and stops each solve after 200 iterations."
        }
    };
    vec![Block::Heading(program.name()), Block::Text(text.into()), self::table(&header, rows.map(cells))]
}

/// Cells of a partition.
const PARTITION: [&str; 6] =
    ["ranks", "nodes", "owned max/mean", "most ghosts", "most neighbours", "duplicated elements"];

fn partition(partition: &Partition) -> Vec<String> {
    vec![
        partition.ranks.to_string(),
        size(partition.nodes),
        format!("{:.3}", partition.imbalance()),
        partition.ghosts_max.to_string(),
        partition.neighbours_max.to_string(),
        percent(partition.duplicated()),
    ]
}

fn predicted(model: &Prediction) -> Block {
    let header: Vec<&str> = PARTITION.into_iter().chain(["CG iteration, ms", "communication", "efficiency"]).collect();
    table(
        &header,
        model.line.iter().map(|point| {
            let mut cells = partition(&point.partition);
            cells.extend([ms(point.seconds), percent(point.communication), format!("{:.2}", point.efficiency)]);
            cells
        }),
    )
}

/// What `model` prints.
pub fn of_machine(machine: &Machine, points: &[(Partition, Terms)]) -> String {
    let header: Vec<&str> = PARTITION
        .into_iter()
        .chain([
            "memory or flops, ms",
            "messages, ms",
            "ghosts, ms",
            "all-reduces, ms",
            "CG iteration, ms",
            "communication",
            "efficiency",
        ])
        .collect();
    let rate =
        |(partition, terms): &(Partition, Terms)| partition.owned as f64 / (terms.total() * partition.ranks as f64);
    let base = points.first().map_or(1.0, rate);
    let rows = points.iter().map(|point| {
        let (parts, terms) = point;
        let mut cells = partition(parts);
        cells.extend([terms.compute, terms.messages, terms.link, terms.reductions, terms.total()].map(ms));
        cells.extend([percent(terms.communication()), format!("{:.2}", rate(point) / base)]);
        cells
    });
    let text = format!(
        "Each rank: memory {} GB/s, {} GFLOP/s, messages {} us, link {} GB/s. Nothing overlaps in this model.",
        machine.bandwidth / 1e9,
        machine.flops / 1e9,
        machine.latency / 1e-6,
        machine.link / 1e9
    );
    document::markdown("Predicted CG iteration", &[Block::Text(text), table(&header, rows)])
}

/// What `compare` prints: times of b over a, and efficiencies side by side, at the points that both have.
pub fn of_two(names: [&str; 2], studies: [&Study; 2], tables: [&Table; 2]) -> String {
    let [a, b] = tables;
    let mut rows = Vec::new();
    for own in &a.rows {
        let Some(other) = b.rows.iter().find(|other| other.point == own.point) else { continue };
        for phase in &own.phases {
            let Some(second) = other.phase(&phase.name) else { continue };
            let [first, second] = [phase, second];
            let spread = |time: &minifenl::run::report::SpreadReport| time.p90_seconds - time.p10_seconds;
            let [x, y] = [&first.seconds, &second.seconds];
            let per_node = |row: &Row, seconds: f64| seconds / row.count();
            let ratio = per_node(other, y.median_seconds) / per_node(own, x.median_seconds);
            // A difference within the two spreads is noise.
            let is_noise = own.nodes == other.nodes
                && (y.median_seconds - x.median_seconds).abs() <= 0.5 * (spread(x) + spread(y));
            let efficiency = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
            rows.push(vec![
                ranks(own),
                own.point.threads.to_string(),
                phase.name.clone(),
                ms(x.median_seconds),
                ms(y.median_seconds),
                if is_noise { format!("{ratio:.2} (noise)") } else { format!("{ratio:.2}") },
                efficiency(first.efficiency),
                efficiency(second.efficiency),
            ]);
        }
    }
    let header = ["ranks", "threads", "phase", "A, ms", "B, ms", "B / A per node", "efficiency A", "efficiency B"];
    let lines =
        (0..2).map(|i| format!("{}: {} ({}). {}", ["A", "B"][i], names[i], studies[i], words::origin(tables[i])));
    let mut blocks = vec![Block::List(lines.collect())];
    if studies[0].nodes != studies[1].nodes || studies[0].kind != studies[1].kind {
        blocks.push(Block::Text(
            "The studies differ in their boxes: times per node compare only where both exceed the caches.".into(),
        ));
    }
    blocks.push(match rows.is_empty() {
        true => Block::Text("The studies have no point in common.".into()),
        false => table(&header, rows.into_iter()),
    });
    document::markdown("Two studies", &blocks)
}

#[test]
fn milliseconds_have_three_digits() {
    assert_eq!([0.0, 1.2345e-3, 12.345e-3, 0.12345, 12.3456].map(ms), ["0", "1.23", "12.3", "123", "12346"]);
}
