//! What values a deck may hold. Each refusal is one line that names the key and the flag.

use super::{Deck, MapChoice, Nodes};
use crate::{Error, LocalOrdinal, Result, space};

/// Threads a rank may be asked to start.
const MAX_THREADS: usize = 4096;
/// Least bytes a node costs in the matrix alone: 27 values and columns, one row offset.
const MATRIX_BYTES_PER_NODE: u64 = 27 * 12 + 8;

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
        if let Some(edge) = self.mesh.size.into_iter().find(|&edge| !(edge.is_finite() && edge > 0.0)) {
            return refuse("mesh.size", "--size", edge, "give positive numbers");
        }
        if let MapChoice::Bubble(amplitude) | MapChoice::Twist(amplitude) = self.mesh.map
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
        let (newton, cg) = (&self.newton, &self.cg);
        tolerance("newton.tolerance", "--newton-tolerance", newton.tolerance)?;
        tolerance("cg.tolerance", "--cg-tolerance", cg.tolerance)?;
        positive("newton.max_iterations", "--newton-max", newton.max_iterations, usize::MAX)?;
        positive("cg.max_iterations", "--cg-max", cg.max_iterations, usize::MAX)?;
        positive("run.threads", "--threads", self.run.threads.unwrap_or(1), MAX_THREADS)
    }

    /// The nodes of the whole box on `ranks` ranks, before anything is allocated.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when a rank's share cannot be numbered with 32 bits or its matrix cannot fit this machine's
    /// free memory; [`Error::Invalid`] as [`check`](Self::check).
    pub fn nodes(&self, ranks: u64) -> Result<Nodes> {
        self.check()?;
        let nodes = match (self.mesh.nodes, self.mesh.nodes_per_rank) {
            (_, Some(share)) => share.grown(ranks)?,
            (nodes, None) => nodes.map_or_else(|| Nodes::new([64; 3]), Ok)?,
        };
        let share = nodes.total().div_ceil(ranks.max(1));
        let what = format!("mesh.nodes (--nodes): {nodes}");
        if share > u64::from(LocalOrdinal::MAX) {
            let limit = format!("{} (32-bit local ids)", LocalOrdinal::MAX);
            return Err(Error::TooLarge { what, needed: format!("{share} nodes a rank on {ranks} ranks"), limit });
        }
        let (bytes, free) = (share * MATRIX_BYTES_PER_NODE, space::available_bytes());
        if bytes > free {
            let (needed, limit) = (gib(bytes), gib(free));
            let needed = format!("at least {needed} for the matrix of a rank on {ranks} ranks");
            return Err(Error::TooLarge { what, needed, limit: format!("{limit} free") });
        }
        Ok(nodes)
    }
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

fn refuse(key: &str, flag: &str, value: impl std::fmt::Display, why: impl std::fmt::Display) -> Result<()> {
    Err(Error::Invalid(format!("{key} ({flag}): {value}: {why}")))
}

fn tolerance(key: &str, flag: &str, value: f64) -> Result<()> {
    if value > 0.0 && value < 1.0 { Ok(()) } else { refuse(key, flag, value, "give a number between 0 and 1") }
}

fn positive(key: &str, flag: &str, value: usize, limit: usize) -> Result<()> {
    match value {
        0 => refuse(key, flag, value, "give 1 or more"),
        _ if value > limit => refuse(key, flag, value, format!("give {limit} or less")),
        _ => Ok(()),
    }
}
