//! Checks the values of a deck. Each refusal is one line that names the key and the flag.

use super::{CgDeck, Choice, Deck, Device, Nodes};
use crate::mesh::{BoxSpec, CoordinateMap};
use crate::space::allowed_cores;
use crate::sparse::Format;
use crate::{Error, Result, fill};

/// Threads that a rank may start on any machine, and threads per core above that.
const MAX_THREADS: (usize, usize) = (64, 4);
/// Longest limit of a wait, in seconds.
const MAX_TIMEOUT: f64 = 1e9;

impl Deck {
    /// Checks every value and combination that does not depend on the number of ranks.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the key, its flag and the value.
    pub fn check(&self) -> Result<()> {
        if let (Some(nodes), Some(share)) = (self.mesh.nodes, self.mesh.nodes_per_rank) {
            return refuse(
                "mesh.nodes",
                "--nodes",
                nodes,
                format!("mesh.nodes_per_rank is {share} too; give one of them"),
            );
        }
        self.check_model()?;
        self.check_operator()?;
        if let Some(edge) = self.mesh.size.into_iter().find(|&edge| !(edge.is_finite() && edge > 0.0)) {
            return refuse("mesh.size", "--size", edge, "give positive numbers");
        }
        let imbalance = self.mesh.imbalance;
        if !(0.0..=BoxSpec::MOST_UNEVEN).contains(&imbalance) {
            let range = format!("give per cent from 0 to {:e}", BoxSpec::MOST_UNEVEN);
            return refuse("mesh.imbalance", "--imbalance", imbalance, range);
        }
        if let CoordinateMap::Bubble(amplitude) | CoordinateMap::Twist(amplitude) = self.mesh.map
            && !amplitude.is_finite()
        {
            return refuse("mesh.map", "--map", amplitude, "give a finite amplitude");
        }
        let (low, high) = (self.problem.t_min, self.problem.t_max);
        for (key, flag, value) in [("problem.t_min", "--t-min", low), ("problem.t_max", "--t-max", high)] {
            if !(value.is_finite() && value > 0.0) {
                return refuse(key, flag, value, "give a positive temperature");
            }
        }
        if low == high {
            return refuse("problem.t_max", "--t-max", high, "equal to problem.t_min: no conductivity solves that");
        }
        if let Some(seconds) = self.run.timeout.filter(|seconds| !(*seconds > 0.0 && *seconds <= MAX_TIMEOUT)) {
            let range = format!("give seconds above 0 and up to {MAX_TIMEOUT:e}");
            return refuse("run.timeout", "--timeout", seconds, range);
        }
        if self.run.deterministic && self.fill.strategy == Choice::Given(fill::Strategy::Scatter) {
            let why = "fill.strategy (--fill) is scatter, which adds in any order; give auto, gather or colour";
            return refuse("run.deterministic", "--deterministic", true, why);
        }
        let is_crs = self.matrix.format == Choice::Given(Format::Crs);
        self.matrix.lanes.check(is_crs && self.run.device != Device::Cpu)?;
        let (newton, cg) = (&self.newton, &self.cg);
        tolerance("newton.tolerance", "--newton-tolerance", newton.tolerance)?;
        tolerance("cg.tolerance", "--cg-tolerance", self.cg_tolerance())?;
        positive("newton.max_iterations", "--newton-max", newton.max_iterations)?;
        positive("cg.max_iterations", "--cg-max", cg.max_iterations)?;
        iterations(cg)?;
        if self.run.report.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            return refuse("run.report", "--report", "``", "give a file name");
        }
        if self.run.append.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            return refuse("run.append", "--append", "``", "give a file name");
        }
        if self.run.vtk.as_ref().is_some_and(|path| path.extension().is_none_or(|extension| extension != "vtu")) {
            let name = self.run.vtk.as_ref().map_or(String::new(), |path| format!("`{}`", path.display()));
            return refuse("run.vtk", "--vtk", &name, "give a name that ends with .vtu");
        }
        if self.run.append.is_some() && self.run.append == self.run.report {
            return refuse("run.append", "--append", "this is the report (--report)", "give another file");
        }
        threads(self.run.threads.unwrap_or(1), allowed_cores())
    }

    /// The nodes of the whole box on `ranks` ranks.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when the grown box passes 64-bit ids; [`Error::Invalid`] as [`check`](Self::check).
    pub fn nodes(&self, ranks: u64) -> Result<Nodes> {
        self.check()?;
        let nodes = match (self.mesh.nodes, self.mesh.nodes_per_rank) {
            (_, Some(share)) => share.grown(ranks),
            (nodes, None) => nodes.map_or_else(|| Nodes::new([self.default_nodes(); 3]), Ok),
        }?;
        self.check_points(nodes).map(|()| nodes)
    }

    /// Edges of the box with these nodes: as given, or grown with the nodes when each rank brings a share, so that the
    /// elements keep their shape.
    pub fn size(&self, nodes: Nodes) -> [f64; 3] {
        let Some(share) = self.mesh.nodes_per_rank else { return self.mesh.size };
        let growth = |axis: usize| (nodes.edges()[axis] - 1) as f64 / (share.edges()[axis] - 1) as f64;
        [0, 1, 2].map(|axis| self.mesh.size[axis] * growth(axis))
    }

    /// Returns the box with these numbers of nodes.
    ///
    /// # Errors
    /// Those of [`BoxSpec::new`] and [`BoxSpec::with_imbalance`].
    pub fn spec(&self, nodes: Nodes) -> Result<BoxSpec> {
        BoxSpec::new(nodes.edges(), self.size(nodes), self.mesh.map)?.with_imbalance(self.mesh.imbalance)
    }
}

fn refuse(key: &str, flag: &str, value: impl std::fmt::Display, why: impl std::fmt::Display) -> Result<()> {
    Err(Error::Invalid(format!("{key} ({flag}): {value}: {why}")))
}

fn tolerance(key: &str, flag: &str, value: f64) -> Result<()> {
    if value > 0.0 && value < 1.0 { Ok(()) } else { refuse(key, flag, value, "give a number between 0 and 1") }
}

/// Checks a number of iterations against the criteria that would end a solve before. What has its default value was not asked for.
fn iterations(cg: &CgDeck) -> Result<()> {
    let (Some(asked), default) = (cg.iterations, CgDeck::default()) else { return Ok(()) };
    let (key, flag) = ("cg.iterations", "--cg-iterations");
    positive(key, flag, asked)?;
    if let Some(tolerance) = cg.tolerance {
        let why = format!(
            "cg.tolerance (--cg-tolerance) is {tolerance:e} too, which may end a solve before; give one of them"
        );
        return refuse(key, flag, asked, why);
    }
    if cg.max_iterations != default.max_iterations && cg.max_iterations < asked {
        let why = format!(
            "cg.max_iterations (--cg-max) is {} too, which ends a solve before; give one of them",
            cg.max_iterations
        );
        return refuse(key, flag, asked, why);
    }
    Ok(())
}

fn positive(key: &str, flag: &str, value: usize) -> Result<()> {
    if value > 0 { Ok(()) } else { refuse(key, flag, value, "give 1 or more") }
}

/// Checks a number of threads on a machine where this rank may use some cores. Threads beyond the cores only take turns.
fn threads(value: usize, cores: usize) -> Result<()> {
    let (key, flag) = ("run.threads", "--threads");
    positive(key, flag, value)?;
    let limit = MAX_THREADS.0.max(MAX_THREADS.1.saturating_mul(cores));
    if value <= limit {
        return Ok(());
    }
    let are = if cores == 1 { "core is" } else { "cores are" };
    refuse(
        key,
        flag,
        value,
        format!("{cores} {are} allowed to this rank; give {cores} for full speed, {limit} or fewer"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_bounded_by_the_cores_with_advice() {
        for (value, cores, is_fine) in [
            (1, 1, true),
            (64, 1, true),
            (65, 1, false),
            (65, 16, false),
            (65, 17, true),
            (1024, 256, true),
            (1025, 256, false),
        ] {
            assert_eq!(threads(value, cores).is_ok(), is_fine, "{value} threads on {cores} cores");
        }
        let message = threads(4096, 2).unwrap_err().to_string();
        assert_eq!(
            message,
            "run.threads (--threads): 4096: 2 cores are allowed to this rank; give 2 for full speed, 64 or fewer"
        );
        assert!(threads(0, 2).is_err() && threads(usize::MAX, usize::MAX).is_ok());
    }
}
