//! A solution as files for ParaView and other readers of VTK: unstructured grids, XML with appended binary data.
//!
//! ```text
//! one rank     x.vtu                     points [node][3], elements; the field, exact, error [node][component]; rank [elem]
//! more ranks   x.0.vtu, x.1.vtu, ...     pieces: an element is in that of the owner of its first node
//!              x.pvtu                    names the pieces; opened in place of x.vtu
//! ```
//! With c components and n nodes per element: 24 + 24 c bytes per node, 13 + 4 n per element. The field is called `temperature`,
//! `displacement` or `u`. Of miniFE's brick the field is written alone: its exact solution is a series, which takes a millisecond per
//! node. Source: VTK's documentation, "VTK XML file formats".

mod grid;

use super::deck::ProblemKind;
use super::problem::Case;
use super::{Deck, Solution};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::comm::{Communicator, agree};
use crate::files;
use crate::mesh::{Mesh, Sizes};
use grid::Grid;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Bytes, at most, of the text around the arrays of a file, and of their lengths.
const HEAD: u64 = 2048;

/// Checks, before the work, that the files of [`Solution::write_vtu`] can be written. All ranks call it together.
///
/// # Errors
/// [`Error::File`], the same on all ranks.
pub fn check_vtu(path: &Path, comm: &dyn Communicator) -> Result<()> {
    let index = index(path, comm.size()).filter(|_| comm.rank() == 0);
    let mut files = [piece(path, comm.rank(), comm.size())].into_iter().chain(index);
    agree(comm, files.try_for_each(|path| files::OutputFile::create(&path).map(drop)))
}

/// The file of a rank.
fn piece(path: &Path, rank: usize, ranks: usize) -> PathBuf {
    if ranks == 1 { path.into() } else { path.with_extension(format!("{rank}.vtu")) }
}

/// The file that names the pieces, if there are several.
fn index(path: &Path, ranks: usize) -> Option<PathBuf> {
    (ranks > 1).then(|| path.with_extension("pvtu"))
}

/// The files of all ranks.
pub(super) fn files_of(path: &Path, ranks: usize) -> impl Iterator<Item = PathBuf> {
    (0..ranks).map(move |rank| piece(path, rank, ranks)).chain(index(path, ranks))
}

/// Returns the bytes of host memory while a rank composes its file: mesh, field, and the file.
pub(super) fn bytes(sizes: &Sizes, case: &Case) -> u64 {
    let (_, has_exact) = field_of(case.kind);
    let per_node = 24 + 8 * sizes.dofs * if has_exact { 3 } else { 1 };
    let file = HEAD + per_node * sizes.local() + (13 + 4 * sizes.nodes) * sizes.elems;
    let mesh = if sizes.is_generated() { Mesh::bytes(sizes) } else { Mesh::listed_bytes(sizes)[1] };
    mesh + 8 * sizes.columns() + file
}

/// Name of the field of a problem, and whether its exact solution is written, too.
fn field_of(kind: ProblemKind) -> (&'static str, bool) {
    match kind {
        ProblemKind::Heat => ("temperature", true),
        ProblemKind::Poisson | ProblemKind::Diffusion => ("u", true),
        ProblemKind::Elasticity => ("displacement", true),
        ProblemKind::Minife => ("u", false),
    }
}

/// Writes the files of all ranks. All ranks call it together.
fn write(path: &Path, comm: &dyn Communicator, grid: &Grid<'_>) -> Result<()> {
    let (rank, ranks) = (comm.rank(), comm.size());
    agree(comm, grid.vtu().and_then(|content| files::write(&piece(path, rank, ranks), &content)))?;
    // Once all pieces are there, the file that names them.
    let index = index(path, ranks).filter(|_| rank == 0);
    agree(comm, index.map_or(Ok(()), |index| files::write(&index, grid.pvtu(path, ranks).as_bytes())))
}

impl Solution {
    /// Writes x.vtu, or one piece per rank and x.pvtu. All ranks call it together. `deck` is that of the run.
    ///
    /// # Errors
    /// [`Error::File`] where a file cannot be written, [`Error::OutOfMemory`] where it cannot be composed; the same on all ranks.
    pub fn write_vtu(&self, path: &Path, deck: &Deck, comm: &dyn Communicator) -> Result<()> {
        let Solution { mesh, field, .. } = self;
        let case = Case::new(deck, mesh.spec());
        let exact = |node: usize| case.at(mesh.node_coord[node]);
        let (name, has_exact) = field_of(case.kind);
        let exact: Option<&dyn Fn(usize) -> [f64; 3]> = if has_exact { Some(&exact) } else { None };
        let grid = Grid {
            element: mesh.element,
            elem_node: &mesh.elem_node,
            points: &mesh.node_coord,
            owned: mesh.map.owned_count(),
            rank: comm.rank(),
            name,
            components: case.model.dofs(),
            values: field,
            exact,
        };
        write(path, comm, &grid)
    }
}
