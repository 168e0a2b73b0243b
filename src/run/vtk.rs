//! A solution as files for ParaView and other readers of VTK: unstructured grids, XML with appended binary data.
//!
//! ```text
//! one rank     x.vtu                     points [node][3], hexahedra [elem][8]; temperature, exact, error [node]; rank [elem]
//! more ranks   x.0.vtu, x.1.vtu, ...     pieces: an element is in that of the owner of its first node
//!              x.pvtu                    names the pieces; opened in place of x.vtu
//! ```
//! 48 bytes per node and 45 per element. Source: VTK's documentation, "VTK XML file formats".

use super::{Analytic, Solution};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::comm::{Communicator, agree};
use crate::files;
use crate::space::try_reserve;
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// VTK's number for hexahedra of 8 nodes; it orders nodes as [`Mesh`](crate::mesh::Mesh) does.
const HEXAHEDRON: u8 = 12;

/// Section, name, attributes, bytes per item and items per node or element of the arrays, in their order in the file.
const ARRAYS: [Array; 8] = [
    Array { section: "PointData", name: "temperature", kind: "Float64", components: 1, bytes: 8 },
    Array { section: "PointData", name: "exact", kind: "Float64", components: 1, bytes: 8 },
    Array { section: "PointData", name: "error", kind: "Float64", components: 1, bytes: 8 },
    Array { section: "CellData", name: "rank", kind: "Int32", components: 1, bytes: 4 },
    Array { section: "Points", name: "points", kind: "Float64", components: 3, bytes: 24 },
    Array { section: "Cells", name: "connectivity", kind: "UInt32", components: 1, bytes: 32 },
    Array { section: "Cells", name: "offsets", kind: "Int64", components: 1, bytes: 8 },
    Array { section: "Cells", name: "types", kind: "UInt8", components: 1, bytes: 1 },
];

struct Array {
    section: &'static str,
    name: &'static str,
    kind: &'static str,
    components: usize,
    /// Bytes per node or element.
    bytes: usize,
}

/// Checks, before the work, that the files of [`Solution::write_vtu`] can be written. All ranks call it together.
///
/// # Errors
/// [`Error::File`], the same on all ranks.
pub fn check_vtu(path: &Path, comm: &dyn Communicator) -> Result<()> {
    agree(comm, files::OutputFile::create(&piece(path, comm)).map(drop))
}

/// The file of this rank.
fn piece(path: &Path, comm: &dyn Communicator) -> PathBuf {
    if comm.size() == 1 { path.into() } else { path.with_extension(format!("{}.vtu", comm.rank())) }
}

impl Solution {
    /// Writes x.vtu, or one piece per rank and x.pvtu. All ranks call it together. `exact` is compared with the temperature.
    ///
    /// # Errors
    /// [`Error::File`] where a file cannot be written, [`Error::OutOfMemory`] where it cannot be composed; the same on all ranks.
    pub fn write_vtu(&self, path: &Path, exact: &Analytic, comm: &dyn Communicator) -> Result<()> {
        let content = self.vtu(exact, comm.rank());
        agree(comm, content.and_then(|content| files::write(&piece(path, comm), &content)))?;
        // Once all pieces are there, the file that names them.
        let named = match (comm.size(), comm.rank()) {
            (2.., 0) => files::write(&path.with_extension("pvtu"), pvtu(path, comm.size()).as_bytes()),
            _ => Ok(()),
        };
        agree(comm, named)
    }

    fn vtu(&self, exact: &Analytic, rank: usize) -> Result<Vec<u8>> {
        let Solution { mesh, field, .. } = self;
        let owned = mesh.map.owned_count();
        let elements = || mesh.elem_node.iter().filter(move |nodes| (nodes[0] as usize) < owned);
        let (points, cells) = (field.len(), elements().count());
        let exact = |node: usize| exact.at(mesh.node_coord[node][2]);

        let sizes = ARRAYS.map(|Array { section, bytes, .. }| {
            bytes * if matches!(section, "PointData" | "Points") { points } else { cells }
        });
        let mut end = 0;
        let offsets = sizes.map(|size| {
            let start = end;
            end += size_of::<u64>() + size;
            format!(" format=\"appended\" offset=\"{start}\"")
        });
        let head = format!(
            "{}<UnstructuredGrid>\n<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">\n{}</Piece>\n\
             </UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_",
            opening("UnstructuredGrid"),
            sections("", |at| Some(&offsets[at])),
        );
        let tail = b"\n</AppendedData>\n</VTKFile>\n";
        let mut out = Vec::new();
        try_reserve("a file for VTK", &mut out, head.len() + end + tail.len())?;
        out.extend_from_slice(head.as_bytes());
        for (at, size) in sizes.into_iter().enumerate() {
            out.extend_from_slice(&(size as u64).to_le_bytes());
            match ARRAYS[at].name {
                "temperature" => field.iter().for_each(|t| out.extend_from_slice(&t.to_le_bytes())),
                "exact" => (0..points).for_each(|node| out.extend_from_slice(&exact(node).to_le_bytes())),
                "error" => {
                    (0..points).for_each(|node| out.extend_from_slice(&(field[node] - exact(node)).to_le_bytes()));
                }
                "rank" => (0..cells).for_each(|_| out.extend_from_slice(&(rank as i32).to_le_bytes())),
                "points" => mesh.node_coord.iter().flatten().for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
                "connectivity" => elements().flatten().for_each(|node| out.extend_from_slice(&node.to_le_bytes())),
                "offsets" => (1..=cells as i64).for_each(|cell| out.extend_from_slice(&(8 * cell).to_le_bytes())),
                _ => out.resize(out.len() + cells, HEXAHEDRON),
            }
        }
        out.extend_from_slice(tail);
        Ok(out)
    }
}

/// The file that names the pieces of all ranks, which lie beside it.
fn pvtu(path: &Path, ranks: usize) -> String {
    let mut text = opening("PUnstructuredGrid") + "<PUnstructuredGrid GhostLevel=\"0\">\n";
    text += &sections("P", |at| (ARRAYS[at].section != "Cells").then_some(""));
    for rank in 0..ranks {
        let name = path.with_extension(format!("{rank}.vtu"));
        let name = name.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let _ = writeln!(text, "<Piece Source=\"{name}\"/>");
    }
    text + "</PUnstructuredGrid>\n</VTKFile>\n"
}

fn opening(grid: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"{grid}\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n"
    )
}

/// The arrays by section, each with the attributes that `more` gives; those without are left out. `prefix` begins all names of tags.
fn sections<'a>(prefix: &str, more: impl Fn(usize) -> Option<&'a str>) -> String {
    let mut text = String::new();
    for group in ["PointData", "CellData", "Points", "Cells"] {
        let mut arrays = String::new();
        for (at, Array { section, name, kind, components, .. }) in ARRAYS.iter().enumerate() {
            if let (true, Some(more)) = (*section == group, more(at)) {
                // Scalars without the attribute, so that readers give them the shape [node], not [node, 1].
                let width =
                    if *components > 1 { format!(" NumberOfComponents=\"{components}\"") } else { String::new() };
                let _ = writeln!(arrays, "<{prefix}DataArray type=\"{kind}\" Name=\"{name}\"{width}{more}/>");
            }
        }
        if !arrays.is_empty() {
            let _ = write!(text, "<{prefix}{group}>\n{arrays}</{prefix}{group}>\n");
        }
    }
    text
}
