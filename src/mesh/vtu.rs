//! A mesh with fields as files for ParaView and other readers of VTK: unstructured grids, XML with appended binary data.
//!
//! ```text
//! one rank     x.vtu                     points [node][3], elements; fields [node][component] and [elem][component]; rank [elem]
//! more ranks   x.0.vtu, x.1.vtu, ...     pieces: an element is in that of the owner of its first node
//!              x.pvtu                    names the pieces; opened in place of x.vtu
//! ```
//! With n nodes per element: 24 bytes per node, 13 + 4 n per element, 8 per number of a field. Cells are in VTK's order of nodes. Source:
//! VTK's documentation, "VTK XML file formats"; its classes vtkHexahedron, vtkQuadraticHexahedron, vtkTriQuadraticHexahedron, vtkTetra,
//! vtkQuadraticTetra, vtkWedge, vtkQuadraticEdge, vtkQuadraticTriangle, vtkQuadraticQuad, vtkBiQuadraticQuad.

mod arrays;
#[cfg(test)]
pub(crate) mod tests;

use super::ElemNode;
use crate::comm::{Communicator, agree};
use crate::element::ElementType;
use crate::error::check_length;
use crate::space::try_reserve;
use crate::{Error, Result, files};
pub use arrays::VtuField;
use arrays::{Numbers, append, opening, sections};
use std::path::{Path, PathBuf};

/// Bytes, at most, of the text around the arrays of a file, and of their lengths, with up to three fields of short names.
#[cfg(feature = "cli")]
pub(crate) const HEAD: u64 = 2048;

/// A rank's mesh with its fields.
#[derive(Clone, Copy, Debug)]
pub struct Vtu<'a> {
    /// Type of the elements.
    pub element: ElementType,
    /// Their nodes.
    pub elem_node: &'a ElemNode,
    /// Coordinates of all nodes, owned ones first.
    pub node_coord: &'a [[f64; 3]],
    /// Number of owned nodes: all on one rank.
    pub owned: usize,
    /// Fields, the same on all ranks; those of nodes have distinct names, and those of elements.
    pub fields: &'a [VtuField<'a>],
}

impl Vtu<'_> {
    /// Writes x.vtu, or one piece per rank and x.pvtu. All ranks call it together.
    ///
    /// ```
    /// use minifenl::comm::Solo;
    /// use minifenl::element::ElementType;
    /// use minifenl::mesh::{ElemNode, Vtu, VtuField};
    ///
    /// let (elem_node, node_coord) = (ElemNode::new(vec![0, 1, 2], 3, 3)?, [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    /// let fields = [VtuField::nodes("u", 1, &[1.0, 2.0, 3.0]), VtuField::elements("material", 1, &[7.0])];
    /// let vtu = Vtu { element: ElementType::Tri3, elem_node: &elem_node, node_coord: &node_coord, owned: 3, fields: &fields };
    /// # let folder = std::env::temp_dir().join(format!("minifenl-vtu-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// vtu.write(&folder.join("triangle.vtu"), &Solo)?;
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), minifenl::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] where table, coordinates, owned nodes or a field do not fit, [`Error::Invalid`] for two fields of one name, no components, or more than three of a
    /// function, [`Error::File`] where a file cannot be written, [`Error::OutOfMemory`] where it cannot be composed: on the lowest rank that fails,
    /// and [`Error::Elsewhere`] on all others.
    pub fn write(&self, path: &Path, comm: &dyn Communicator) -> Result<()> {
        let (rank, ranks) = (comm.rank(), comm.size());
        agree(comm, self.content(rank, ranks).and_then(|content| files::write(&piece(path, rank, ranks), &content)))?;
        // Once all pieces are there, the file that names them.
        let index = index(path, ranks).filter(|_| rank == 0);
        agree(comm, index.map_or(Ok(()), |index| files::write(&index, self.index(path, ranks).as_bytes())))
    }

    fn check(&self, ranks: usize) -> Result<()> {
        const NAME: &str = "Vtu::write";
        let (elems, nodes) = (self.elem_node.elem_count(), self.node_coord.len());
        check_length(NAME, "elem_node (nodes per element)", self.elem_node.nodes_per_elem(), self.element.nodes())?;
        check_length(NAME, "node_coord", nodes, self.elem_node.node_count())?;
        // Elements whose first node is not owned are in the file of another rank.
        let most = if ranks == 1 { nodes } else { nodes.min(self.owned) };
        check_length(NAME, "owned", self.owned, most)?;
        for (at, VtuField { name, components, section, numbers, .. }) in self.fields.iter().enumerate() {
            let is_ours = (*section, *name) == ("CellData", "rank");
            if is_ours || self.fields[..at].iter().any(|other| (other.section, other.name) == (*section, *name)) {
                return Err(Error::Invalid(format!(
                    "{NAME}: two fields are named `{name}`: expected distinct names, and that of elements `rank` is taken"
                )));
            }
            if *components == 0 {
                return Err(Error::Invalid(format!("{NAME}: field `{name}` has 0 components: expected 1 or more")));
            }
            let items = if *section == "CellData" { elems } else { nodes };
            match numbers {
                Numbers::List(values) => {
                    check_length(NAME, "fields (values)", values.len(), components.saturating_mul(items))?;
                }
                Numbers::Function(_) if *components > 3 => {
                    return Err(Error::Invalid(format!(
                        "{NAME}: a function of {components} components: expected up to 3"
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The elements of this rank's piece.
    fn elements(&self) -> impl Iterator<Item = usize> {
        (0..self.elem_node.elem_count()).filter(|&elem| (self.elem_node.elem(elem)[0] as usize) < self.owned)
    }

    /// The arrays in their order in the file.
    fn arrays(&self, rank: usize) -> Vec<VtuField<'_>> {
        let array =
            |section, name, kind, bytes, numbers| VtuField { section, name, kind, components: 1, bytes, numbers };
        let of = |section: &'static str| self.fields.iter().filter(move |field| field.section == section).copied();
        let mut arrays: Vec<_> = of("PointData").chain(of("CellData")).collect();
        arrays.extend([
            array("CellData", "rank", "Int32", 4, Numbers::Rank(rank as i32)),
            VtuField::of("Points", "points", 3, Numbers::List(self.node_coord.as_flattened())),
            array("Cells", "connectivity", "UInt32", 4 * self.element.nodes(), Numbers::Connectivity),
            array("Cells", "offsets", "Int64", 8, Numbers::Offsets),
            array("Cells", "types", "UInt8", 1, Numbers::Types),
        ]);
        arrays
    }

    /// The file of a rank.
    fn content(&self, rank: usize, ranks: usize) -> Result<Vec<u8>> {
        self.check(ranks)?;
        let (points, cells) = (self.node_coord.len(), self.elements().count());
        let arrays = self.arrays(rank);
        let (mut end, mut sizes, mut offsets) = (0, Vec::new(), Vec::new());
        for VtuField { section, bytes, .. } in &arrays {
            let size = bytes * if matches!(*section, "PointData" | "Points") { points } else { cells };
            sizes.push(size);
            offsets.push(format!(" format=\"appended\" offset=\"{end}\""));
            end += size_of::<u64>() + size;
        }
        let head = format!(
            "{}<UnstructuredGrid>\n<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">\n{}</Piece>\n\
             </UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_",
            opening("UnstructuredGrid"),
            sections(&arrays, "", |at| Some(&offsets[at])),
        );
        let tail = b"\n</AppendedData>\n</VTKFile>\n";
        let mut out = Vec::new();
        try_reserve("a file for VTK", &mut out, head.len() + end + tail.len())?;
        out.extend_from_slice(head.as_bytes());
        for (array, size) in arrays.iter().zip(sizes) {
            out.extend_from_slice(&(size as u64).to_le_bytes());
            self.append(array, &mut out);
        }
        out.extend_from_slice(tail);
        Ok(out)
    }

    /// Appends the items of an array.
    fn append(&self, array: &VtuField<'_>, out: &mut Vec<u8>) {
        let (width, order, nodes) = (array.components, self.element.vtk_order(), self.element.nodes());
        // Node or element `item` is number `at` of the file.
        let put = |(at, item): (usize, usize)| match array.numbers {
            Numbers::List(values) => append(out, &values[width * item..][..width]),
            Numbers::Function(of) => append(out, &of(item)[..width]),
            Numbers::Rank(rank) => out.extend_from_slice(&rank.to_le_bytes()),
            Numbers::Connectivity => {
                let nodes = self.elem_node.elem(item);
                order.iter().for_each(|&m| out.extend_from_slice(&nodes[m].to_le_bytes()));
            }
            Numbers::Offsets => out.extend_from_slice(&((nodes * (at + 1)) as i64).to_le_bytes()),
            Numbers::Types => out.push(self.element.vtk_cell()),
        };
        match array.section {
            "PointData" | "Points" => (0..self.node_coord.len()).map(|node| (node, node)).for_each(put),
            _ => self.elements().enumerate().for_each(put),
        }
    }

    /// The file that names the pieces of all ranks, which lie beside it.
    fn index(&self, path: &Path, ranks: usize) -> String {
        let arrays = self.arrays(0);
        let mut text = opening("PUnstructuredGrid") + "<PUnstructuredGrid GhostLevel=\"0\">\n";
        text += &sections(&arrays, "P", |at| (arrays[at].section != "Cells").then_some(""));
        for rank in 0..ranks {
            let name = piece(path, rank, ranks);
            let name = name.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            text += &format!("<Piece Source=\"{}\"/>\n", arrays::escaped(&name));
        }
        text + "</PUnstructuredGrid>\n</VTKFile>\n"
    }
}

/// The file of a rank.
fn piece(path: &Path, rank: usize, ranks: usize) -> PathBuf {
    if ranks == 1 { path.into() } else { path.with_extension(format!("{rank}.vtu")) }
}

/// The file that names the pieces, if there are several.
fn index(path: &Path, ranks: usize) -> Option<PathBuf> {
    (ranks > 1).then(|| path.with_extension("pvtu"))
}

/// Returns the files of all ranks.
#[cfg(feature = "cli")]
pub(crate) fn vtu_files(path: &Path, ranks: usize) -> impl Iterator<Item = PathBuf> {
    (0..ranks).map(move |rank| piece(path, rank, ranks)).chain(index(path, ranks))
}

/// Checks, before the work, that the files of [`Vtu::write`] can be written. All ranks call it together.
///
/// # Errors
/// [`Error::File`] on the lowest rank that fails, and [`Error::Elsewhere`] on all others.
pub fn check_vtu(path: &Path, comm: &dyn Communicator) -> Result<()> {
    let index = index(path, comm.size()).filter(|_| comm.rank() == 0);
    let mut files = [piece(path, comm.rank(), comm.size())].into_iter().chain(index);
    agree(comm, files.try_for_each(|path| files::OutputFile::create(&path).map(drop)))
}
