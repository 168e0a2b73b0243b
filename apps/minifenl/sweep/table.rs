//! The runs of a sweep for people, at most 80 columns wide, and as CSV.

use super::{PHASES, Plan, Run};
use minifenl::error::count;
use minifenl::run::Report;
use minifenl::run::program::wrapped;
use minifenl::run::report::{SpreadReport, columns, quoted};

/// Columns of the screen, and of the names in the head.
const WIDTH: usize = 80;
const INDENT: usize = 12;

const LEGEND: &str = "\
graph, fill, cg  median of the trials: microseconds per node; cg: per iteration
its              iterations of the linear solves of a run
total            seconds of a run from start to verdict, median
+-%              half the distance of 10th and 90th percentile
                 (smallest and largest: fewer than 4 trials), % of the median
ok               verified; - where --cg-iterations asks for no solution
";

/// The runs of one size and value, in the order of the first of them.
pub fn cases(runs: &[Run]) -> Vec<Vec<&Run>> {
    let mut cases: Vec<Vec<&Run>> = Vec::new();
    for run in runs {
        let is_like =
            |case: &Vec<&Run>| (case[0].report.mesh.nodes, &case[0].value) == (run.report.mesh.nodes, &run.value);
        match cases.iter_mut().find(|case| is_like(case)) {
            Some(case) => case.push(run),
            None => cases.push(vec![run]),
        }
    }
    cases
}

/// Median and percentiles of microseconds per node.
pub fn spread(case: &[&Run], phase: &str) -> Option<SpreadReport> {
    let times: Vec<f64> = case.iter().filter_map(|run| run.us_per_node(phase)).collect();
    (!times.is_empty()).then(|| SpreadReport::new(&times))
}

/// Nodes along the edges, as `--nodes` takes them.
pub fn size(run: &Run) -> String {
    let [x, y, z] = run.report.mesh.nodes;
    if x == y && y == z { x.to_string() } else { format!("{x}x{y}x{z}") }
}

/// What the runs have in common, or each value that some of them have.
fn each(runs: &[Run], text: impl Fn(&Report) -> String) -> String {
    let mut values: Vec<String> = Vec::new();
    for value in runs.iter().map(|run| text(&run.report)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values.join(" and ")
}

/// The table; its last line begins with PASS, FAIL or NOT JUDGED.
pub fn table(runs: &[Run], plan: &Plan) -> String {
    let flag = plan.values[0].split_once('=').map_or("", |(flag, _)| flag);
    let rows = cases(runs).into_iter().map(|case| {
        let value = case[0].value.split_once('=').map_or("", |(_, value)| value);
        let mut row = vec![size(case[0]), value.to_string()];
        for phase in PHASES {
            let spread = spread(&case, phase);
            row.push(spread.as_ref().map_or("-".into(), |spread| digits(spread.median_seconds)));
            row.push(spread.map_or("-".into(), |spread| {
                format!("{:.0}", 50.0 * (spread.p90_seconds - spread.p10_seconds) / spread.median_seconds)
            }));
        }
        row.push(case[0].report.cg_iterations.to_string());
        let totals: Vec<f64> = case.iter().map(|run| run.report.total_seconds).collect();
        row.push(digits(SpreadReport::new(&totals).median_seconds));
        let (is_good, is_judged) = (case.iter().all(|run| run.is_good()), !case[0].report.is_not_judged());
        row.push(
            if !is_good {
                "NO"
            } else if is_judged {
                "yes"
            } else {
                "-"
            }
            .into(),
        );
        row
    });
    let advection =
        each(runs, |report| report.problem.advection.map_or("none".into(), |[x, y, z]| format!("{x},{y},{z}")));
    let with = if advection == "none" { String::new() } else { format!(", advection {advection}") };
    let line = |text: String| wrapped(&text, WIDTH, INDENT);
    let head = format!(
        "minifenl {}: sweep of {}, {} each\n{}\n{}\n\n",
        runs[0].report.version,
        count(plan.sizes.len(), "size"),
        count(plan.trials, "trial"),
        line(format!("{:INDENT$}{}{with}", "problem", problem(runs))),
        line(format!("{:INDENT$}{}", "parallel", parallel(runs))),
    );
    let body = body(flag, &rows.collect::<Vec<_>>());
    format!("{head}{body}\n{LEGEND}{}\n", verdict(runs, plan.sizes.len() * plan.trials * plan.values.len()))
}

/// The rows in columns. Where those of `--compare` are too wide, each value has a table of its own, below its name.
fn body(flag: &str, rows: &[Vec<String>]) -> String {
    let names = ["nodes", &format!("{flag}="), "graph", "+-%", "fill", "+-%", "cg", "+-%", "its", "total", "ok"];
    let without_value = |rows: &mut dyn Iterator<Item = &Vec<String>>| {
        columns(&[&names[..1], &names[2..]].concat(), rows.map(|row| [&row[..1], &row[2..]].concat()))
    };
    if flag.is_empty() {
        return without_value(&mut rows.iter());
    }
    let body = columns(&names, rows.iter().cloned());
    if body.lines().all(|line| line.chars().count() <= WIDTH) {
        return body;
    }
    let mut values: Vec<&str> = Vec::new();
    for row in rows {
        if !values.contains(&&*row[1]) {
            values.push(&row[1]);
        }
    }
    let of_value = |value: &&str| {
        let table = without_value(&mut rows.iter().filter(|row| row[1] == *value));
        format!("{flag}={value}\n{table}")
    };
    values.iter().map(of_value).collect::<Vec<_>>().join("\n")
}

/// Problem, element and map.
pub fn problem(runs: &[Run]) -> String {
    let [problem, element] = [each(runs, |r| r.problem.name.to_string()), each(runs, |r| r.mesh.element.to_string())];
    format!("{problem} on {element}, map {}", each(runs, |report| report.mesh.map.clone()))
}

/// Ranks, threads and device.
pub fn parallel(runs: &[Run]) -> String {
    let [ranks, threads] = [each(runs, |r| count(r.ranks, "rank")), each(runs, |r| count(r.threads, "thread"))];
    format!("{ranks} x {threads} on {}", each(runs, |report| report.device.clone()))
}

/// The last line; it names how many runs were planned if not all were done.
fn verdict(runs: &[Run], planned: usize) -> String {
    let done = count(planned, "run");
    let done = if runs.len() < planned { format!("{} of {done}", runs.len()) } else { done };
    let wrong: Vec<&Run> = runs.iter().filter(|run| !run.is_good()).collect();
    let word = match () {
        () if runs.len() < planned => "ENDED EARLY",
        () if runs.iter().all(|run| run.report.is_not_judged()) => "NOT JUDGED",
        () => "PASS",
    };
    let Some(run) = wrong.first() else { return format!("{word}: {done}") };
    let reason = run.report.verdict.first().map_or("not verified", String::as_str);
    let name = format!("{} {}", size(run), run.value);
    format!("FAIL: {} of {done} not verified; first {}, trial {}: {reason}", wrong.len(), name.trim_end(), run.trial)
}

/// One row per run: the value of `--compare`, the trial, the three times, and the columns of `--append`.
pub fn csv(runs: &[Run]) -> String {
    let mut text = format!("value,trial,graph_us_per_node,fill_us_per_node,cg_us_per_node,{}\n", Report::csv_header());
    for run in runs {
        let times = PHASES.map(|phase| run.us_per_node(phase).map_or(String::new(), |time| format!("{time:?}")));
        text += &format!("{},{},{},{}\n", quoted(&run.value), run.trial, times.join(","), run.report.csv_row());
    }
    text
}

/// Three digits that count.
fn digits(value: f64) -> String {
    let decimals = (2.0 - value.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}
