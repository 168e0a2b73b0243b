//! States in words the conclusions that a table allows.

use crate::model::Prediction;
use crate::study::{Kind, Row, Study, Table};
use minifenl::error::count;

/// Noise, in units of the median, above which small differences are not discussed.
const NOISY: f64 = 0.1;
/// Hardware threads of other programs above which a machine is called shared.
const BUSY: f64 = 0.1;
/// Ratio of times above which more than the ratio of rows is seen.
const SLOWER: f64 = 1.05;
/// Error of a model above which its line is not believed.
const DOUBTFUL: f64 = 0.1;

/// Machine, build and date.
pub fn origin(table: &Table) -> String {
    let Some(first) = &table.first else { return "No run has a report that counts.".into() };
    let (machine, build) = (&first.provenance.machine, &first.provenance.build);
    let cores = machine.cores.map_or(String::new(), |cores| format!("{cores} cores, "));
    let mpi = first.provenance.mpi.as_deref().map_or("no MPI", |mpi| mpi.split(',').next().unwrap_or(mpi));
    format!(
        "Measured {} on {} ({}, {cores}{} hardware threads), device {}, {mpi}; minifenl {}, commit {}, {} build.",
        first.date,
        machine.host,
        machine.cpu,
        machine.hardware_threads,
        first.device,
        first.version,
        build.commit,
        build.profile
    )
}

/// Sentences, the most important first.
pub fn conclusions(study: &Study, table: &Table, model: Option<&Prediction>) -> Vec<String> {
    let mut words = Vec::new();
    if table.rows.is_empty() {
        words.push(format!("Nothing: no run has a report that counts. {}.", table.missing.join("; ")));
        return words;
    }
    words.extend(table.refusal());
    words.extend(shared(table));
    words.extend(hardware_threads(table));
    // Efficiency, bandwidth and noise are those of even boxes.
    let rated: Vec<&Row> = table.rows.iter().filter(|row| row.is_rated() && !row.point.is_uneven()).collect();
    words.push(reach(&rated));
    words.extend(efficiency(&rated));
    words.extend(uneven(table));
    words.extend(iterations(study, table));
    words.extend(bandwidth(&rated));
    words.extend(model.map(end));
    let hosts = table.rows.iter().map(|row| row.placement.hosts).max().unwrap_or(0);
    if hosts <= 1 {
        words.push(
            "All ranks were on one host: messages went through its memory, and nothing here tells about a network."
                .into(),
        );
    }
    if let Some(asked) =
        table.first.as_ref().filter(|first| first.is_not_judged()).and_then(|first| first.cg_iterations_asked)
    {
        words.push(format!(
            "Each solve made {asked} CG iterations, as asked: times per iteration count, answers were not judged."
        ));
    }
    words.extend(noise(&rated));
    if table.first.as_ref().is_some_and(|first| first.provenance.build.profile != "release") {
        words.push("The program was a debug build: its times mean nothing for a release build.".into());
    }
    let runs = table.missing.len();
    if runs > 0 {
        words.push(format!(
            "{runs} run{} missing: {}.",
            if runs == 1 { " is" } else { "s are" },
            table.missing.join("; ")
        ));
    }
    words
}

/// How far the numbers reach.
fn reach(rated: &[&Row]) -> String {
    let most = rated.iter().map(|row| row.point.workers()).max().unwrap_or(0);
    match most {
        0 => "No point had a hardware thread for each of its threads: times here say that the program works, not how it scales.".into(),
        1 => "Only points with one worker had the cores that they need: nothing can be said about scaling.".into(),
        most if most < 8 => format!(
            "At most {most} workers were measured. That shows what the first communication and the shared memory bandwidth cost; it does not \
             show how costs grow with the logarithm of the ranks, nor with the number of hosts."
        ),
        most => format!("Up to {most} workers were measured; what is said of more is the model's."),
    }
}

fn efficiency(rated: &[&Row]) -> Option<String> {
    let (first, last) = (rated.first()?, rated.last()?);
    let value = last.phase("cg")?.efficiency.filter(|_| last.point != first.point)?;
    Some(format!(
        "An iteration of CG on {} has an efficiency of {value:.2} relative to {}; {:.0} % of its time is in the halo exchange, which \
         includes waiting for the slowest rank (SpMV max/mean {:.2}).",
        last.point,
        first.point,
        100.0 * last.communication,
        last.phase("spmv").map_or(1.0, |spmv| spmv.imbalance)
    ))
}

/// Nodes of the fullest rank over those with even boxes.
pub fn more_rows(even: &Row, uneven: &Row) -> Option<f64> {
    Some(uneven.owned_max? as f64 / even.owned_max? as f64)
}

/// What the most uneven boxes cost, on most workers.
fn uneven(table: &Table) -> Option<String> {
    let row = table.rows.iter().rev().find(|row| row.point.is_uneven() && row.is_rated())?;
    let (even, ratio) = table.against_even(row)?;
    let rows = more_rows(even, row)?;
    let why = match ratio {
        ratio if ratio > SLOWER * rows => {
            "the time grows by more than the rows, so the imbalance of rows alone does not explain it"
        }
        ratio if ratio < rows / SLOWER => {
            "the fullest rank gains from the memory bandwidth that the other ranks leave while they wait"
        }
        _ => "the fullest rank decides the time, as expected",
    };
    Some(format!(
        "With an imbalance of {:.0} % ({} % asked), an iteration of CG on {} ranks x {} takes {ratio:.2} times as long as with even boxes, \
         while the fullest rank has {rows:.2} times the rows: {why}.",
        row.imbalance_percent?,
        row.point.imbalance,
        row.point.ranks,
        count(row.point.threads, "thread"),
    ))
}

fn iterations(study: &Study, table: &Table) -> Option<String> {
    let (first, last) = (table.rows.first()?, table.rows.iter().rfind(|row| !row.point.is_uneven())?);
    let is_given = table.first.as_ref().is_some_and(|first| first.is_not_judged());
    (study.kind == Kind::Weak && last.iterations > first.iterations && !is_given).then(|| {
        format!(
            "CG needs {} iterations on {} and {} on {}, because the box grows: efficiencies are per iteration, and the time to solution \
             grows faster.",
            first.iterations, first.point, last.iterations, last.point
        )
    })
}

/// Whether memory bandwidth explains the efficiency.
fn bandwidth(rated: &[&Row]) -> Option<String> {
    let (first, last) = (rated.first()?, rated.last()?);
    let [one, all] = [first.triad_gb_per_s?, last.triad_gb_per_s?];
    let workers = last.point.workers() as f64 / first.point.workers() as f64;
    (workers > 1.0).then(|| {
        format!(
            "The triad bandwidth grew from {one:.1} to {all:.1} GB/s over {workers}x the workers: memory alone limits the efficiency of \
             CG to about {:.2}.{}",
            all / (one * workers),
            bound(first, last).unwrap_or_default()
        )
    })
}

/// How much of an iteration's time its bytes take at the bandwidth of the triad.
fn bound(first: &Row, last: &Row) -> Option<String> {
    let share = |row: &Row| {
        let seconds = row.phase("cg")?.seconds.median_seconds;
        Some(row.bytes / (1e9 * row.triad_gb_per_s?) / seconds)
    };
    let [one, all] = [share(first)?, share(last)?];
    let caches = if one.max(all) > 1.0 { "; more than 1 means that caches held part of the data" } else { "" };
    Some(format!(
        " At that bandwidth the bytes of an iteration take {one:.2} of its time on {} and {all:.2} on {}{caches}.",
        first.point, last.point
    ))
}

/// Whether other programs took part of the machine.
fn shared(table: &Table) -> Option<String> {
    let worst = table.rows.iter().filter_map(|row| Some((row.others?, row.point)));
    let (used, point) = worst.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (used > BUSY).then(|| {
        format!(
            "Other programs (and other virtual machines) used up to {used:.1} hardware threads during the runs ({point}): times, efficiencies \
             and the model below are those of a shared machine. An idle machine is expected for a statement about minifenl."
        )
    })
}

/// Whether threads share cores.
fn hardware_threads(table: &Table) -> Option<String> {
    let machine = &table.first.as_ref()?.provenance.machine;
    let cores = machine.cores?;
    let is_shared = |row: &&Row| row.is_rated() && row.placement.hosts == 1 && row.point.workers() > cores;
    let row =
        table.rows.iter().find(is_shared).filter(|_| table.first.as_ref().is_some_and(|run| run.device == "cpu"))?;
    Some(format!(
        "From {} on, threads share the {cores} cores of {}, which have {} hardware threads: efficiencies there compare a part of a core with a \
         whole one.",
        row.point, machine.host, machine.hardware_threads
    ))
}

fn noise(rated: &[&Row]) -> Option<String> {
    let worst = rated.iter().filter_map(|row| {
        let time = &row.phase("cg")?.seconds;
        Some(((time.p90_seconds - time.p10_seconds) / time.median_seconds, row.point, row.runs))
    });
    let (spread, point, runs) = worst.max_by(|a, b| a.0.total_cmp(&b.0))?;
    if runs < 3 {
        return Some(format!("{point} has fewer than 3 runs: nothing is known about noise (--repeats 3)."));
    }
    (spread > NOISY).then(|| {
        format!(
            "Repeats of {point} differ by {:.0} % of their median: smaller differences are noise (other programs on the machine, its clock).",
            100.0 * spread
        )
    })
}

/// Where the model stops scaling, and how far it can be believed.
fn end(model: &Prediction) -> String {
    if !model.shows_communication() {
        return "The points that the model was fitted to show no cost of messages or all-reduces, so it cannot say where scaling ends: its line has \
                memory traffic only. Points on more ranks, with a core for each thread, would show these costs."
            .into();
    }
    let error = match model.error_held_out {
        Some(error) if error > DOUBTFUL => format!(
            "its error on held-out points is {:.0} %, too large for a prediction far beyond the measured ranks",
            100.0 * error
        ),
        Some(error) => format!("its largest error on held-out points is {:.0} %", 100.0 * error),
        None => "no point was held out, so its error is unknown".into(),
    };
    let last = model.line.last().map_or(0, |point| point.partition.ranks);
    match model.ends() {
        Some(ranks) => format!("The model falls below half the efficiency of one rank at {ranks} ranks; {error}."),
        None => format!("The model stays above half the efficiency of one rank up to {last} ranks; {error}."),
    }
}

/// The model in a paragraph.
pub fn model(model: &Prediction) -> String {
    let fit = &model.fit;
    let link = match fit.per_byte {
        0.0 => "a link that the points do not show".into(),
        per_byte => format!("a link of {:.2} GB/s", 1e-9 / per_byte),
    };
    let error = match model.error_held_out {
        Some(error) => format!("; held out: {}, error {:.1} %", model.held_out.join(", "), 100.0 * error),
        None => "; no point was held out".into(),
    };
    let mut text = format!(
        "t = {:.3} bytes / triad bandwidth + {:.2} us per message + {link} + {:.2} us per stage of an all-reduce (ceil(log2 p) stages), by \
         least squares with terms that are not negative; a term of 0 is one that the points do not show. Fitted to {} (largest error {:.1} %){error}. \
         The line has {} per rank and the bandwidth per rank of the largest point. Partitions, ghosts and neighbours are those of all ranks, \
         computed as each rank would.",
        fit.slowdown,
        1e6 * fit.latency,
        1e6 * fit.per_stage,
        model.fitted.join(", "),
        100.0 * model.error_fitted,
        count(model.threads, "thread"),
    );
    if fit.slowdown < 1.0 {
        text += " A factor of memory below 1 means that caches held part of the data: expected larger boxes for a study of memory bandwidth.";
    }
    if let Some(first) = model.too_many.first() {
        text += &format!(" The box has too few nodes for {first} ranks and more.");
    }
    text
}

#[cfg(test)]
mod tests;
