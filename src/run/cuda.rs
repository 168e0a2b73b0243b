//! The main job on a GPU.

use super::deck::{Choice, Preconditioning, ProblemKind};
use super::provenance::{GpuReport, driver_release};
use super::{Deck, Job};
use crate::comm::{Communicator, equal_on_node};
use crate::element::ElementType;
use crate::graph;
use crate::solve::CgVariant;
use crate::space::cuda::{Event, nvrtc_version};
use crate::space::{Cuda, Scan};
use crate::sparse::{Format, Precision};
use crate::{Result, blas, kernel_files};
use std::path::Path;

impl Job for Cuda {
    type Mark = Event;

    fn mark(&self) -> Result<Event> {
        self.record()
    }

    fn between(&self, before: &Event, after: &Event) -> Result<f64> {
        Ok(after.since(before)?.as_secs_f64())
    }

    fn device(&self) -> String {
        self.device().info().name.clone()
    }

    fn gpu(&self) -> Option<GpuReport> {
        let info = self.device().info();
        let dotted = |major: i32, minor: i32| format!("{major}.{minor}");
        Some(GpuReport {
            name: info.name.clone(),
            memory_bytes: info.memory,
            driver: driver_release(Path::new("/")),
            cuda: dotted(info.driver / 1000, info.driver % 1000 / 10),
            nvrtc: nvrtc_version().ok().map(|(major, minor)| dotted(major, minor)),
        })
    }

    fn scan(&self, _rows: usize) -> Scan {
        Scan::Parallel
    }

    fn free_bytes(&self, comm: &dyn Communicator) -> Result<u64> {
        // A rank whose driver fails joins the sums too, where the others wait for it.
        let memory = self.device().memory();
        // Ranks that see different GPUs may number them alike, so the GPU's own id tells which ranks share it.
        let sharing = equal_on_node(comm, self.device().info().id);
        Ok(memory?.0 / sharing as u64)
    }

    fn load_kernels(&self, deck: &Deck) -> Result<()> {
        let files: Vec<_> = kernel_files().into_iter().filter(|file| launches(deck, file.name())).collect();
        self.load_kernels(&files)
    }

    fn reserve(&self, bytes: u64) -> Result<()> {
        self.reserve(bytes)
    }

    fn peak_bytes(&self) -> Result<u64> {
        self.device().peak_bytes()
    }

    fn triad_seconds(&self, _: &dyn Communicator) -> f64 {
        // 17 passes over at most 6.4 GB, at 1 TB/s, and the allocation.
        0.2
    }

    fn triad_bandwidth(&self, comm: &dyn Communicator) -> Result<f64> {
        let items = (Job::free_bytes(self, comm)? / 64).min(1 << 28) as usize;
        Ok(blas::triad_on_gpu(self, items)?.median)
    }
}

/// Whether a run with these settings launches kernels of the file of this name. A file that is missing here is loaded at its first
/// launch.
fn launches(deck: &Deck, file: &str) -> bool {
    // Coarse boxes have matrices.
    let has_matrix = deck.has_matrix() || deck.preconditioning() == Preconditioning::Multigrid;
    let is_long = deck.mesh.element != ElementType::Hex8 || deck.problem.kind.dofs() > 1;
    match file {
        "space" | "mesh" | "graph" | "blas" | "halo" | "cg" => true,
        // With the exact solution of the heat equation.
        "heat" => deck.mesh.element == ElementType::Hex8 && deck.problem.kind == ProblemKind::Heat,
        // The others serve graph and matrix, but for the vectors of CG's variants.
        "dirichlet" | "fill" | "places" | "cg_at_once" => has_matrix,
        "dofs" | "graph_map" | "sparse" | "slices" | "slice_layout" | "slices_symmetric"
            if !has_matrix && deck.preconditioning() == Preconditioning::None =>
        {
            false
        }
        "dofs" => deck.problem.kind.dofs() > 1,
        "graph_map" => deck.graph.strategy == Choice::Given(graph::Strategy::Map),
        // `auto` takes CRS for long rows, which one unknown on `hex8` has not.
        "sparse" if deck.preconditioning().has_levels() || deck.preconditioning().reads_crs() => true,
        "sparse" => deck.matrix.format == Choice::Given(Format::Crs) || deck.matrix.format == Choice::Auto && is_long,
        "slices" => deck.matrix.format != Choice::Given(Format::Crs) || deck.matrix.values == Precision::F32,
        "slice_layout" => deck.matrix.format != Choice::Given(Format::Crs),
        "slices_symmetric" => deck.matrix.format.or(Format::Symmetric) == Format::Symmetric,
        "algebra" | "aggregation" => deck.preconditioning() == Preconditioning::Algebraic,
        "cg_fused" => matches!(deck.cg.variant, Choice::Given(variant) if variant != CgVariant::Classic),
        _ => false,
    }
}
