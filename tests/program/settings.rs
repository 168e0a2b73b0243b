//! Every flag of the main program with its key of the deck, and decks as flat lists of keys.

use std::collections::BTreeMap;

/// A flag, its key, and two different values as a flag and as TOML. `None` is a flag without a value.
pub struct Setting {
    pub flag: &'static str,
    pub key: &'static str,
    /// As a flag and in the deck; differs from the default, but for flags without a value.
    pub first: (Option<&'static str>, &'static str),
    /// Another value.
    pub second: (Option<&'static str>, &'static str),
}

const fn setting(
    flag: &'static str,
    key: &'static str,
    first: (&'static str, &'static str),
    second: (&'static str, &'static str),
) -> Setting {
    Setting { flag, key, first: (Some(first.0), first.1), second: (Some(second.0), second.1) }
}

/// Flags that do not go together with others: `--nodes-per-rank` replaces `--nodes`, `--cg-iterations` contradicts a tolerance,
/// problems have no temperatures, operators no formats, advection no fused kernel, other solvers no variants of CG, elements need odd numbers of nodes, files for VTK hold no run with derivatives by dual numbers.
const ALONE: [&str; 8] = [
    "--nodes-per-rank",
    "--cg-iterations",
    "--problem",
    "--element",
    "--jacobian",
    "--operator",
    "--advection",
    "--solver",
];

/// All settings but those that contradict others.
pub fn together() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| !ALONE.contains(&setting.flag))
}

/// All settings.
pub const SETTINGS: [Setting; 42] = [
    setting("--nodes", "mesh.nodes", ("9", "9"), ("5x7x11", "\"5x7x11\"")),
    setting("--nodes-per-rank", "mesh.nodes_per_rank", ("8", "8"), ("6x5x4", "\"6x5x4\"")),
    setting("--problem", "problem.kind", ("poisson", "\"poisson\""), ("elasticity", "\"elasticity\"")),
    setting("--element", "mesh.element", ("hex27", "\"hex27\""), ("tet4", "\"tet4\"")),
    setting("--map", "mesh.map", ("bubble:2", "\"bubble:2\""), ("twist:0.25", "\"twist:0.25\"")),
    setting("--size", "mesh.size", ("4,5,6", "[4.0, 5.0, 6.0]"), ("1,2.5,3", "[1.0, 2.5, 3.0]")),
    setting("--imbalance", "mesh.imbalance", ("50", "50.0"), ("12.5", "12.5")),
    setting("--t-min", "problem.t_min", ("5", "5.0"), ("3", "3.0")),
    setting("--t-max", "problem.t_max", ("6", "6.0"), ("4.5", "4.5")),
    setting("--advection", "problem.advection", ("1,2,3", "[1.0, 2.0, 3.0]"), ("0,-1.5,0", "[0.0, -1.5, 0.0]")),
    setting("--graph", "graph.strategy", ("map", "\"map\""), ("sort", "\"sort\"")),
    setting("--scan", "graph.scan", ("serial", "\"serial\""), ("parallel", "\"parallel\"")),
    setting("--fill", "fill.strategy", ("gather", "\"gather\""), ("colour", "\"colour\"")),
    setting("--kernel", "fill.kernel", ("table", "\"table\""), ("auto", "\"auto\"")),
    setting("--workset", "fill.workset", ("96", "96"), ("7", "7")),
    setting("--layout", "fill.layout", ("left", "\"left\""), ("right", "\"right\"")),
    setting("--variant", "fill.variant", ("flat", "\"flat\""), ("dmma", "\"dmma\"")),
    setting("--jacobian", "fill.jacobian", ("ad", "\"ad\""), ("analytic", "\"analytic\"")),
    setting("--newton-tolerance", "newton.tolerance", ("1e-5", "0.00001"), ("0.25", "0.25")),
    setting("--forcing", "newton.forcing", ("adaptive", "\"adaptive\""), ("fixed", "\"fixed\"")),
    setting("--newton-max", "newton.max_iterations", ("33", "33"), ("7", "7")),
    setting("--cg-tolerance", "cg.tolerance", ("1e-4", "0.0001"), ("0.5", "0.5")),
    setting("--cg-max", "cg.max_iterations", ("44", "44"), ("77", "77")),
    setting("--cg-iterations", "cg.iterations", ("55", "55"), ("66", "66")),
    setting("--solver", "cg.solver", ("bicgstab", "\"bicgstab\""), ("cg", "\"cg\"")),
    setting("--cg-variant", "cg.variant", ("single-reduction", "\"single-reduction\""), ("classic", "\"classic\"")),
    setting("--operator", "cg.operator", ("matrix-free", "\"matrix-free\""), ("assembled", "\"assembled\"")),
    setting("--preconditioner", "cg.preconditioner", ("jacobi", "\"jacobi\""), ("auto", "\"auto\"")),
    setting("--preset", "run.preset", ("fast", "\"fast\""), ("papers", "\"papers\"")),
    setting("--device", "run.device", ("cuda:3", "\"cuda:3\""), ("cpu", "\"cpu\"")),
    setting("--format", "matrix.format", ("crs", "\"crs\""), ("pattern", "\"pattern\"")),
    setting("--matrix", "matrix.values", ("f32", "\"f32\""), ("f64", "\"f64\"")),
    setting("--lanes", "matrix.lanes", ("warp", "\"warp\""), ("auto", "\"auto\"")),
    Setting { flag: "--share-gpu", key: "run.share_gpu", first: (None, "true"), second: (None, "true") },
    setting("--halo", "run.halo", ("mpi", "\"mpi\""), ("peer", "\"peer\"")),
    Setting { flag: "--deterministic", key: "run.deterministic", first: (None, "true"), second: (None, "true") },
    setting("--threads", "run.threads", ("2", "2"), ("3", "3")),
    setting("--timeout", "run.timeout", ("30", "30.0"), ("2.5", "2.5")),
    setting("--report", "run.report", ("a.json", "\"a.json\""), ("b c.json", "\"b c.json\"")),
    setting("--append", "run.append", ("a.csv", "\"a.csv\""), ("b c.csv", "\"b c.csv\"")),
    setting("--vtk", "run.vtk", ("a.vtu", "\"a.vtu\""), ("b c.vtu", "\"b c.vtu\"")),
    Setting { flag: "--triad", key: "run.triad", first: (None, "true"), second: (None, "true") },
];

/// The values of a deck by key (`mesh.nodes`), as TOML.
pub fn flat(toml: &str) -> BTreeMap<String, String> {
    let table: toml::Table = toml::from_str(toml).unwrap();
    let keys = table.iter().flat_map(|(section, keys)| {
        keys.as_table().unwrap().iter().map(move |(key, value)| (format!("{section}.{key}"), value.to_string()))
    });
    keys.collect()
}

/// A deck with these values, `key = value` by section.
pub fn deck<'a>(values: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut sections: BTreeMap<&str, String> = BTreeMap::new();
    for (path, value) in values {
        let (section, key) = path.split_once('.').unwrap();
        *sections.entry(section).or_default() += &format!("{key} = {value}\n");
    }
    sections.iter().map(|(section, keys)| format!("[{section}]\n{keys}\n")).collect()
}
