//! The arrays of a file for VTK, and the text that lists them.

use std::fmt::{Debug, Formatter, Result, Write};

/// The items of an array.
#[derive(Clone, Copy)]
pub(super) enum Numbers<'a> {
    List(&'a [f64]),
    Function(&'a (dyn Fn(usize) -> [f64; 3] + Sync)),
    Rank(i32),
    Connectivity,
    Offsets,
    Types,
}

impl Debug for Numbers<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("numbers")
    }
}

/// An array of the file.
pub(super) struct Array<'a> {
    pub section: &'static str,
    pub name: String,
    pub kind: &'static str,
    /// Numbers per node or element in the view of a reader.
    pub components: usize,
    /// Bytes per node or element.
    pub bytes: usize,
    pub numbers: Numbers<'a>,
}

pub(super) fn opening(grid: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"{grid}\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n"
    )
}

/// A name as XML has it in quotes.
pub(super) fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// The arrays by section, each with the attributes that `more` gives; those without are left out. `prefix` begins all names of tags.
pub(super) fn sections<'a>(all: &[Array<'_>], prefix: &str, more: impl Fn(usize) -> Option<&'a str>) -> String {
    let mut text = String::new();
    for group in ["PointData", "CellData", "Points", "Cells"] {
        let mut arrays = String::new();
        for (at, Array { section, name, kind, components, .. }) in all.iter().enumerate() {
            if let (true, Some(more)) = (*section == group, more(at)) {
                // Scalars without the attribute, so that readers give them the shape [node], not [node, 1].
                let width =
                    if *components > 1 { format!(" NumberOfComponents=\"{components}\"") } else { String::new() };
                let name = escaped(name);
                let _ = writeln!(arrays, "<{prefix}DataArray type=\"{kind}\" Name=\"{name}\"{width}{more}/>");
            }
        }
        if !arrays.is_empty() {
            let _ = write!(text, "<{prefix}{group}>\n{arrays}</{prefix}{group}>\n");
        }
    }
    text
}
