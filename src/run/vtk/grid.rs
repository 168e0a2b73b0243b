//! A rank's elements and field as the text and bytes of a file.
//!
//! Cells are in VTK's order of nodes. Source: VTK's classes vtkHexahedron, vtkQuadraticHexahedron, vtkTriQuadraticHexahedron, vtkTetra,
//! vtkQuadraticTetra, vtkWedge.

use crate::Result;
use crate::element::ElementType;
use crate::mesh::ElemNode;
use crate::space::try_reserve;
use std::fmt::Write;
use std::path::Path;

/// Elements and field of a rank.
pub(super) struct Grid<'a> {
    pub element: ElementType,
    pub elem_node: &'a ElemNode,
    /// Coordinates of owned nodes and ghosts.
    pub points: &'a [[f64; 3]],
    /// Owned nodes.
    pub owned: usize,
    pub rank: usize,
    /// Name of the field.
    pub name: &'static str,
    pub components: usize,
    /// The field, `[node][component]`.
    pub values: &'a [f64],
    /// Its exact value at a node, where it is known.
    pub exact: Option<&'a dyn Fn(usize) -> [f64; 3]>,
}

/// An array of the file.
#[derive(Clone, Copy)]
struct Array {
    section: &'static str,
    name: &'static str,
    kind: &'static str,
    /// Numbers per node or element in the view of a reader.
    components: usize,
    /// Bytes per node or element.
    bytes: usize,
}

impl Grid<'_> {
    /// The arrays in their order in the file.
    fn arrays(&self) -> Vec<Array> {
        let components = self.components;
        let at_nodes = |name| Array { section: "PointData", name, kind: "Float64", components, bytes: 8 * components };
        let array = |section, name, kind, components, bytes| Array { section, name, kind, components, bytes };
        let mut arrays = vec![at_nodes(self.name)];
        if self.exact.is_some() {
            arrays.extend(["exact", "error"].map(at_nodes));
        }
        arrays.extend([
            array("CellData", "rank", "Int32", 1, 4),
            array("Points", "points", "Float64", 3, 24),
            array("Cells", "connectivity", "UInt32", 1, 4 * self.element.nodes()),
            array("Cells", "offsets", "Int64", 1, 8),
            array("Cells", "types", "UInt8", 1, 1),
        ]);
        arrays
    }

    /// The elements of this rank's piece.
    fn elements(&self) -> impl Iterator<Item = &[u32]> {
        self.elem_node.iter().filter(|nodes| (nodes[0] as usize) < self.owned)
    }

    /// The file of this rank.
    pub fn vtu(&self) -> Result<Vec<u8>> {
        let (points, cells) = (self.points.len(), self.elements().count());
        let arrays = self.arrays();
        let (mut end, mut sizes, mut offsets) = (0, Vec::new(), Vec::new());
        for Array { section, bytes, .. } in &arrays {
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
            self.append(array.name, cells, &mut out);
        }
        out.extend_from_slice(tail);
        Ok(out)
    }

    /// Appends the items of an array.
    fn append(&self, name: &str, cells: usize, out: &mut Vec<u8>) {
        let &Grid { components, values, exact, .. } = self;
        match (name, exact) {
            ("exact" | "error", Some(exact)) => {
                for (node, values) in values.chunks_exact(components).enumerate() {
                    for (value, exact) in values.iter().zip(exact(node)) {
                        let number = if name == "exact" { exact } else { value - exact };
                        out.extend_from_slice(&number.to_le_bytes());
                    }
                }
            }
            ("rank", _) => (0..cells).for_each(|_| out.extend_from_slice(&(self.rank as i32).to_le_bytes())),
            ("points", _) => self.points.iter().flatten().for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
            ("connectivity", _) => {
                let order = self.element.vtk_order();
                let nodes = self.elements().flat_map(|nodes| order.iter().map(|&at| nodes[at]));
                nodes.for_each(|node| out.extend_from_slice(&node.to_le_bytes()));
            }
            ("offsets", _) => {
                let nodes = self.element.nodes() as i64;
                (1..=cells as i64).for_each(|cell| out.extend_from_slice(&(nodes * cell).to_le_bytes()));
            }
            ("types", _) => out.resize(out.len() + cells, self.element.vtk_cell()),
            _ => values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes())),
        }
    }

    /// The file that names the pieces of all ranks, which lie beside it.
    pub fn pvtu(&self, path: &Path, ranks: usize) -> String {
        let arrays = self.arrays();
        let mut text = opening("PUnstructuredGrid") + "<PUnstructuredGrid GhostLevel=\"0\">\n";
        text += &sections(&arrays, "P", |at| (arrays[at].section != "Cells").then_some(""));
        for rank in 0..ranks {
            let name = path.with_extension(format!("{rank}.vtu"));
            let name = name.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
            let _ = writeln!(text, "<Piece Source=\"{name}\"/>");
        }
        text + "</PUnstructuredGrid>\n</VTKFile>\n"
    }
}

fn opening(grid: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"{grid}\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n"
    )
}

/// The arrays by section, each with the attributes that `more` gives; those without are left out. `prefix` begins all names of tags.
fn sections<'a>(all: &[Array], prefix: &str, more: impl Fn(usize) -> Option<&'a str>) -> String {
    let mut text = String::new();
    for group in ["PointData", "CellData", "Points", "Cells"] {
        let mut arrays = String::new();
        for (at, Array { section, name, kind, components, .. }) in all.iter().enumerate() {
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
