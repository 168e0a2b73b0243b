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

/// A field of a file, or another array of it.
#[derive(Clone, Copy, Debug)]
pub struct VtuField<'a> {
    pub(super) section: &'static str,
    pub(super) name: &'a str,
    pub(super) kind: &'static str,
    /// Numbers per node or element in the view of a reader.
    pub(super) components: usize,
    /// Bytes per node or element.
    pub(super) bytes: usize,
    pub(super) numbers: Numbers<'a>,
}

impl<'a> VtuField<'a> {
    /// Values of the nodes, `[node][component]`.
    pub fn nodes(name: &'a str, components: usize, values: &'a [f64]) -> Self {
        Self::of("PointData", name, components, Numbers::List(values))
    }

    /// Values of the elements, `[elem][component]`.
    pub fn elements(name: &'a str, components: usize, values: &'a [f64]) -> Self {
        Self::of("CellData", name, components, Numbers::List(values))
    }

    /// Values of the nodes by a function of the node, of up to three components.
    pub fn function(name: &'a str, components: usize, values: &'a (dyn Fn(usize) -> [f64; 3] + Sync)) -> Self {
        Self::of("PointData", name, components, Numbers::Function(values))
    }

    pub(super) fn of(section: &'static str, name: &'a str, components: usize, numbers: Numbers<'a>) -> Self {
        VtuField { section, name, kind: "Float64", components, bytes: components.saturating_mul(8), numbers }
    }
}

/// Appends numbers to a file.
pub(super) fn append(out: &mut Vec<u8>, values: &[f64]) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
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
pub(super) fn sections<'a>(all: &[VtuField<'_>], prefix: &str, more: impl Fn(usize) -> Option<&'a str>) -> String {
    let mut text = String::new();
    for group in ["PointData", "CellData", "Points", "Cells"] {
        let mut arrays = String::new();
        for (at, VtuField { section, name, kind, components, .. }) in all.iter().enumerate() {
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
