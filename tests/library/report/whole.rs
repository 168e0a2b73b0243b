//! Numbers of reports and forecasts of many settings against `whole.txt`: counts, bytes and flops of each phase, sizes of parts and levels,
//! residuals, errors, memory by stage. The other tests here compute single numbers by hand; this one notices a change of any. Linear solves make a
//! given number of iterations, so that counts depend on no rounding. Matrices are in CRS: the bytes of the other formats on a host differ by some
//! from run to run.
//!
//! On a difference the new text lies in the file that the message names. Copy it if the change is meant.

use crate::thread_ranks::on_ranks;
use minifenl::run::{Deck, Event, Report, dry_run, silent, solve_on};
use minifenl::space::Threads;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Ranks, and settings over those of [`deck`].
const RUNS: [(usize, &str); 28] = [
    (1, "run.preset = 'papers'; fill.workset = 64"),
    (3, "run.preset = 'papers'; fill.workset = 64"),
    (1, "run.preset = 'fast'"),
    (3, "run.preset = 'fast'"),
    (3, "mesh.imbalance = 40.0; graph.strategy = 'gather'; fill.strategy = 'gather'; fill.kernel = 'table'"),
    (1, "graph.strategy = 'sort'; fill.strategy = 'colour'; fill.kernel = 'fused'"),
    (2, "graph.strategy = 'dashmap'; fill.strategy = 'colour'; cg.variant = 'single-reduction'"),
    (2, "matrix.values = 'f32'; cg.preconditioner = 'jacobi'; run.deterministic = true"),
    (3, "cg.operator = 'matrix-free'; cg.preconditioner = 'jacobi'"),
    (1, "cg.operator = 'matrix-free'; mesh.map = 'twist'; cg.preconditioner = 'mg'"),
    (3, "cg.preconditioner = 'mg'; mesh.nodes = '17x9x9'"),
    (1, "cg.preconditioner = 'amg'; newton.forcing = 'adaptive'"),
    (3, "cg.preconditioner = 'amg'; problem.kind = 'elasticity'; mesh.nodes = '9x7x7'"),
    (2, "cg.preconditioner = 'gauss-seidel'; fill.strategy = 'colour'"),
    (1, "cg.preconditioner = 'chebyshev'; problem.kind = 'poisson'"),
    (2, "cg.solver = 'gmres'; problem.kind = 'diffusion'; problem.advection = [3.0, -2.0, 1.0]"),
    (3, "cg.solver = 'bicgstab'; problem.kind = 'poisson'; problem.advection = [0.0, 2.0, 0.0]; mesh.element = 'tet4'"),
    (1, "mesh.element = 'hex20'; mesh.nodes = '9x7x9'"),
    (3, "mesh.element = 'hex27'; mesh.nodes = '9x7x9'; problem.kind = 'poisson'"),
    (2, "mesh.element = 'tet10'; mesh.nodes = '9x7x9'; problem.kind = 'elasticity'; fill.strategy = 'gather'"),
    (1, "mesh.element = 'wedge6'; problem.kind = 'diffusion'"),
    (2, "mesh.element = 'wedge6'; fill.jacobian = 'ad'; fill.strategy = 'colour'"),
    (3, "problem.kind = 'minife'; mesh.map = 'none'; mesh.size = [1.0, 1.0, 1.0]"),
    (
        1,
        "problem.kind = 'minife'; mesh.map = 'none'; mesh.size = [1.0, 1.0, 1.0]; mesh.element = 'hex20'; mesh.nodes = '9x7x9'",
    ),
    (2, "problem.kind = 'elasticity'; cg.operator = 'matrix-free'; fill.strategy = 'gather'"),
    (2, "cg.solver = 'cg'; newton.max_iterations = 1"),
    (1, "cg.solver = 'cg'; cg.max_iterations = 3"),
    (2, "problem.t_min = 2.0; problem.t_max = 5.0; newton.max_iterations = 2"),
];

/// What the runs share: a box whose sizes all differ. Solves make 7 iterations; only CG takes a given number, and without `cg.solver`.
const USUAL: &str = "mesh.nodes = '9x8x11'; mesh.size = [1.0, 0.75, 1.25]; mesh.map = 'twist:0.2'; run.device = 'cpu'; run.threads = 2; \
                     run.triad = false; newton.max_iterations = 3; cg.iterations = 7";

fn deck(settings: &str) -> Deck {
    let all = USUAL.split("; ").chain(settings.split("; ")).filter_map(|line| line.split_once(" = "));
    let mut all: BTreeMap<&str, &str> = all.collect();
    if all.contains_key("cg.solver") {
        all.remove("cg.iterations");
    }
    let text: String = all.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    Deck::parse("deck", &text).unwrap_or_else(|error| panic!("{settings}: {error}"))
}

/// Names and numbers of a value, `null`s left out; fractions with five digits.
fn flat(value: &Value, name: &str, text: &mut String) {
    match value {
        Value::Null => {}
        Value::Object(map) => map.iter().for_each(|(key, value)| flat(value, &format!("{name}.{key}"), text)),
        Value::Array(list) => list.iter().for_each(|value| flat(value, name, text)),
        // What rounding leaves.
        Value::Number(number) if number.as_f64().is_some_and(|x| x != 0.0 && x.abs() < 1e-11) => {
            write!(text, " {name} tiny").unwrap()
        }
        Value::Number(number) if number.is_f64() => write!(text, " {name} {:.4e}", number.as_f64().unwrap()).unwrap(),
        value => write!(text, " {name} {value}").unwrap(),
    }
}

/// The lines of a report without times, rates, rounding and provenance.
fn lines(report: &Report) -> String {
    let mut value = serde_json::to_value(report).unwrap();
    let map = value.as_object_mut().unwrap();
    let measured = [
        "version",
        "date",
        "device",
        "total_seconds",
        "rating",
        "peak_bytes",
        "peak_bytes_per_node",
        "provenance",
        "symmetry",
    ];
    measured.iter().for_each(|key| drop(map.remove(*key)));
    map["levels"].as_array_mut().unwrap().iter_mut().for_each(|level| level["seconds"] = Value::Null);
    map["history"].as_array_mut().unwrap().iter_mut().for_each(|line| line["true_residual"] = Value::Null);
    let phase = |phase: &Value| {
        ["name", "parent", "calls", "bytes", "flops"].iter().map(|key| format!("{} ", phase[key])).collect()
    };
    map["phases"] = map["phases"].as_array().unwrap().iter().map(phase).collect::<Vec<String>>().into();
    let mut text = String::new();
    for (key, value) in map {
        let mut line = String::new();
        flat(value, key, &mut line);
        let is_one = !value.is_object() && !value.is_array();
        text += &format!("{line}{}", if is_one { "" } else { "\n" });
    }
    text
}

/// What a run tells: phases and notices as they come, and how often Newton's method and the linear solver report.
#[derive(Default)]
struct Told {
    events: String,
    counts: [usize; 2],
    /// Each Newton step, its residual, and the last that its linear solver reports.
    steps: Vec<(usize, f64, (usize, f64))>,
}

impl Told {
    fn see(&mut self, event: Event<'_>) -> minifenl::Result<()> {
        match event {
            Event::Newton(step, residual) => {
                self.counts[0] += 1;
                self.steps.push((step, residual, (0, 0.0)));
            }
            Event::Cg(iteration, residual) => {
                self.counts[1] += 1;
                self.steps.last_mut().expect("a Newton step before a solve").2 = (iteration, residual);
            }
            Event::Phase(name) | Event::Notice(name) => self.events += &format!(" {name}"),
            Event::Done => self.events.push('.'),
        }
        Ok(())
    }
}

#[test]
fn whole_reports_and_forecasts_are_those_that_were_looked_through() {
    let mut found = String::new();
    for (ranks, settings) in RUNS {
        let deck = deck(settings);
        let of_rank = on_ranks(ranks, |comm| {
            let told = RefCell::<Told>::default();
            let report = solve_on(&Threads::new(1).unwrap(), &deck, comm, &|event| told.borrow_mut().see(event));
            let report = report.unwrap_or_else(|error| panic!("{settings}: {error}"));
            let Told { events, counts, steps } = told.take();
            let history = report.history.iter();
            // The last residual that a solver tells is its own estimate, which the history has as it was computed.
            let apart = |told: f64, found: f64| (told - found).abs() > 1e-6 * found;
            assert_eq!(steps.len(), history.len(), "{settings}");
            for ((step, residual, (iterations, estimate)), line) in steps.into_iter().zip(history) {
                let counted = (line.newton, line.residual, line.cg_iterations);
                assert_eq!((step, residual, iterations), counted, "{settings}");
                assert!(!apart(estimate, line.cg_residual), "{settings}: {estimate} {line:?}");
            }
            (report, format!("{events} {counts:?}"), dry_run(&deck, comm, &silent).unwrap())
        });
        let (report, events, forecast) = &of_rank[0];
        writeln!(found, "\n{ranks} ranks; {settings}\n{}events {events}", lines(report)).unwrap();
        for (rank, (other, others, own)) in of_rank.iter().enumerate() {
            assert_eq!((other, others), (report, events), "rank {rank}: {settings}");
            assert_eq!(own.largest.forecast, of_rank[own.largest.rank].2.own.forecast, "rank {rank}: {settings}");
            writeln!(found, "rank {rank} {:?} {:?}", own.own.sizes, own.own.forecast).unwrap();
        }
        writeln!(found, "{} of {:?}; {:?}", forecast.solver, forecast.points, forecast.choices).unwrap();
    }
    let expected = include_str!("whole.txt");
    if found != expected {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("whole.txt");
        std::fs::write(&path, &found).unwrap();
        let different = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
        panic!("the new text is {}: {different:#?}", path.display());
    }
}
