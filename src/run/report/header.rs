//! The lines above the tables of a report: problem, mesh, ranks, strategies, machine and build, within [`WIDTH`] columns.

use super::Report;
use crate::element::ElementType;
use crate::error::count;
use crate::run::deck::{Forcing, ProblemKind};
use crate::run::provenance::{BuildReport, GpuReport, MachineReport};
use crate::sparse::Precision;

/// Columns of a terminal.
pub(super) const WIDTH: usize = 80;
/// Columns of the names of lines.
const INDENT: usize = 12;
/// Hardware threads of other programs above which the table says so, as the scaling study does.
const BUSY: f64 = 0.5;

/// Returns a line `name part, part, ...`, continued below its first part if too long.
pub(in crate::run) fn line(name: &str, parts: impl IntoIterator<Item = String>) -> String {
    let (mut text, mut column) = (format!("{name:<INDENT$}"), INDENT);
    for (index, part) in parts.into_iter().enumerate() {
        let width = part.chars().count();
        if index > 0 {
            // Room for the comma after this part, too.
            let fits = column + 2 + width < WIDTH;
            text += if fits { ", " } else { ",\n            " };
            column = if fits { column + 2 } else { INDENT };
        }
        text += &part;
        column += width;
    }
    text + "\n"
}

impl Report {
    /// The lines above the tables.
    pub(super) fn header(&self) -> String {
        let (problem, mesh, with) = (&self.problem, &self.mesh, &self.strategies);
        let [x, y, z] = mesh.nodes;
        let equation = match problem.advection {
            Some(_) if problem.name == ProblemKind::Heat => "-K laplace(T) + v . grad T + T^2 = f".into(),
            Some(_) => problem.name.equation().replace(" = f", " + v . grad u = f"),
            None => problem.name.equation().into(),
        };
        let mut text = format!("minifenl {}: {equation}\n", self.version);
        let of_problem = match (problem.t_min, problem.t_max, problem.conductivity) {
            (Some(low), Some(high), Some(k)) => {
                vec![format!("T = {low} at zmin"), format!("{high} at zmax"), format!("K = {}", rounded(k, 8))]
            }
            _ => vec![problem.name.to_string(), count(problem.components, "unknown") + " per node"],
        };
        let advection = problem.advection.map(|[x, y, z]| format!("advection {x},{y},{z}"));
        let of_problem = of_problem.into_iter().chain(advection);
        text += &line("problem", of_problem);
        text += &line(
            "mesh",
            [
                match x * y * z == self.nodes {
                    true => format!("{x} x {y} x {z} = {}", count(self.nodes, "node")),
                    false => format!("{} of {x} x {y} x {z} points", count(self.nodes, "node")),
                },
                match mesh.element {
                    ElementType::Hex8 => count(self.elements, "element"),
                    element => format!("{} {element}", count(self.elements, "element")),
                },
                format!("map {}", mesh.map),
                format!("spacing {}", rounded(mesh.spacing, 4)),
            ],
        );
        let (ranks, threads) = (count(self.ranks, "rank"), count(self.threads, "thread"));
        let device = format!("{ranks} x {threads} on {}", self.device);
        text += &line("parallel", [device].into_iter().chain(self.deterministic.then(|| "deterministic".into())));
        text += &self.partition_line();
        let format = with.format.map(|format| match with.matrix_values {
            None | Some(Precision::F64) => format!("format {format}"),
            Some(values) => format!("format {format}, {values}"),
        });
        // What did not run is not named.
        let strategies = [
            with.format.is_none().then(|| format!("operator {}", with.operator)),
            with.graph.map(|graph| format!("graph {graph}")),
            with.scan.map(|scan| format!("scan {scan}")),
            Some(format!("fill {}", with.fill)),
            with.kernel.map(|kernel| format!("kernel {kernel}")),
            Some(with.solver.described(&with.cg, with.preconditioner)),
            (with.forcing == Forcing::Adaptive).then(|| "forcing adaptive".into()),
            format,
            with.format_bytes_per_row.map(|bytes| format!("{bytes:.0} bytes per row")),
            with.halo.as_ref().map(|halo| format!("halo {halo}")),
        ];
        text += &line("strategies", strategies.into_iter().flatten());
        if let (Some(atomic), Some(plain)) = (with.fill_atomic_adds, with.fill_plain_adds) {
            text += &line("additions", [format!("{atomic} atomic and {plain} plain per fill")]);
        }
        text + &self.origin()
    }

    fn partition_line(&self) -> String {
        let part = &self.partition;
        let duplicated = 100.0 * part.duplicated_elements as f64 / self.elements.max(1) as f64;
        let asked = part.imbalance_asked_percent;
        let uneven = (asked > 0.0).then(|| format!("imbalance {:.1} % (asked {asked} %)", part.imbalance_percent));
        let parts = [
            format!("{} to {} nodes per rank", part.owned_min, part.owned_max),
            format!("at most {} and {}", count(part.ghosts, "ghost"), count(part.neighbours, "neighbour")),
            format!("{duplicated:.1} % duplicated elements"),
        ];
        line("partition", parts.into_iter().chain(uneven))
    }

    /// Machine, GPU, MPI and build.
    fn origin(&self) -> String {
        let provenance = &self.provenance;
        let MachineReport { host, cpu, sockets, cores, memory_bytes, .. } = &provenance.machine;
        let gib = |bytes: u64| format!("{:.0} GiB", bytes as f64 / f64::from(1 << 30));
        let mut parts = vec![host.clone(), cpu.clone()];
        parts.extend(cores.map(|cores| count(cores, "core")));
        parts.extend(sockets.map(|sockets| count(sockets, "socket")));
        parts.extend(memory_bytes.map(gib));
        let mut text = line("machine", parts);
        if let Some(used) = provenance.other_programs.filter(|used| *used > BUSY) {
            text += &line("busy", [format!("other programs used {used:.1} hardware threads: times may be too long")]);
        }
        if let Some(GpuReport { driver, cuda, nvrtc, memory_bytes, .. }) = &provenance.gpu {
            let [driver, nvrtc] = [driver, nvrtc].map(|text| text.as_deref().unwrap_or("unknown"));
            let versions = [format!("driver {driver}"), format!("CUDA {cuda}"), format!("NVRTC {nvrtc}")];
            text += &line("gpu", [gib(*memory_bytes)].into_iter().chain(versions));
        }
        // `Open MPI v4.1.4, package: ..., ident: ...` has its name first.
        let mpi = provenance.mpi.as_ref().map(|mpi| mpi.split(',').next().unwrap_or(mpi).to_string());
        text += &mpi.map_or(String::new(), |mpi| line("mpi", [mpi]));
        let BuildReport { commit, rustc, profile, .. } = &provenance.build;
        let rustc = rustc.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        text + &line("build", [profile.to_string(), rustc, format!("commit {}", short(commit))])
    }
}

/// A positive number with so many decimals, or with an exponent where that shows none of its digits or too many.
fn rounded(value: f64, decimals: usize) -> String {
    if (1e-3..1e9).contains(&value) { format!("{value:.decimals$}") } else { format!("{value:.decimals$e}") }
}

/// A commit with 12 digits of its hash.
fn short(commit: &str) -> String {
    let (hash, rest) = commit.split_at(commit.find('-').unwrap_or(commit.len()));
    let is_hash = hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { format!("{}{rest}", &hash[..12]) } else { commit.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_show_their_digits() {
        assert_eq!([0.0159, 1e-3].map(|value| rounded(value, 4)), ["0.0159", "0.0010"]);
        assert_eq!([9.99e-4, 1.25e49].map(|value| rounded(value, 4)), ["9.9900e-4", "1.2500e49"]);
    }

    #[test]
    fn long_lines_are_continued_below_their_first_part() {
        let parts = |lengths: &[usize]| lengths.iter().map(|&length| "x".repeat(length)).collect::<Vec<_>>();
        assert_eq!(line("name", parts(&[3, 2])), "name        xxx, xx\n");
        // 12 + 33 + 2 + 32 = 79 columns.
        assert_eq!(line("name", parts(&[33, 32])).lines().map(str::len).collect::<Vec<_>>(), [79]);
        let text = line("name", parts(&[33, 33, 1]));
        assert_eq!(text.lines().map(str::len).collect::<Vec<_>>(), [46, 48]);
        assert!(text.lines().nth(1).unwrap().starts_with("            xxx"));
    }

    #[test]
    fn hashes_are_shortened_and_other_names_are_not() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(hash.len(), 40);
        for (commit, shown) in [
            (hash.to_string(), "0123456789ab".to_string()),
            (format!("{hash}-dirty"), "0123456789ab-dirty".into()),
            (hash[1..].to_string(), hash[1..].into()),
            (hash.replace('f', "g"), hash.replace('f', "g")),
            ("unknown".into(), "unknown".into()),
        ] {
            assert_eq!(short(&commit), shown);
        }
    }

    #[test]
    fn a_busy_machine_is_named() {
        let mut report = super::super::tests::sample();
        for (used, line) in [
            (None, None),
            (Some(0.4), None),
            (Some(1.26), Some("busy        other programs used 1.3 hardware threads: times may be too long")),
        ] {
            report.provenance.other_programs = used;
            assert_eq!(report.header().lines().find(|line| line.starts_with("busy")), line);
        }
    }
}
