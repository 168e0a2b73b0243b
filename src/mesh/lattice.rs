//! Sizes of a rank's part for any element type, computed without a mesh.
//!
//! Points of the grid are alike if they lie alike in their cells, to the ends of the box and to the ends of the part; one of each kind is
//! looked at and counted as often as it occurs. Time and memory do not grow with the mesh.

use super::cell_elements::CellElements;
use super::{BoxPart, BoxSpec, IndexBox, Sizes};
use crate::element::ElementType;
use std::collections::BTreeMap;

/// Rows of a slice.
const SLICE: u64 = 32;

/// Rows of a part of the box of hexahedra, at most, of slices that list their columns, and of slices with more offsets.
///
/// Slices with ends of lines at other ranks have 9 offsets more in their tables. Ids of the shell there go on as those of the interior
/// do, so both sides share these offsets. Ends of layers, and the shell, list columns.
fn listed_and_padded(part: &BoxPart) -> (u64, u64) {
    let (owned, interior, [line, lines, layers]) = (part.owned(), part.interior(), part.interior().counts());
    let shell = owned.count() - interior.count();
    let is_cut = interior.low[0] > owned.low[0] || interior.high[0] < owned.high[0];
    let ends = if is_cut { (SLICE * lines * layers).min(interior.count()) } else { 0 };
    match () {
        () if shell == 0 => (0, 0),
        () if line < SLICE => (owned.count(), 0),
        () => ((shell + 3 * SLICE * layers).min(owned.count()), ends),
    }
}

/// How a point lies along an axis: in its cell, to both ends of the box, to both ends of the part.
type Place = (u64, u64, u64, i64, i64);

/// The points of an axis by kind: one of them, and how many they are.
fn kinds(degree: u64, points: u64, [low, high]: [u64; 2]) -> Vec<(u64, u64)> {
    let near = degree + 1;
    let mut kinds: BTreeMap<Place, (u64, u64)> = BTreeMap::new();
    for i in low.saturating_sub(degree)..points.min(high + degree) {
        let clip = |distance: i64| distance.clamp(-(near as i64), near as i64);
        let (from_low, to_high) = (i as i64 - low as i64, high as i64 - 1 - i as i64);
        let place = (i % degree, i.min(near), (points - 1 - i).min(near), clip(from_low), clip(to_high));
        kinds.entry(place).or_insert((i, 0)).1 += 1;
    }
    kinds.into_values().collect()
}

/// The box and its elements.
struct Lattice {
    cells: CellElements,
    points: [u64; 3],
    owned: IndexBox,
    fixes_all_faces: bool,
}

impl Lattice {
    fn is_fixed(&self, point: [u64; 3]) -> bool {
        let at_end = |axis: usize| point[axis] == 0 || point[axis] + 1 == self.points[axis];
        if self.fixes_all_faces { (0..3).any(at_end) } else { at_end(2) }
    }

    /// The neighbours of a node, itself among them, and the number of its elements.
    fn neighbours(&self, point: [u64; 3], found: &mut Vec<[u64; 3]>) -> u64 {
        found.clear();
        let mut elements = 0;
        let cells = |axis: usize| {
            let last = (self.points[axis] - 1) / self.cells.degree - 1;
            point[axis].saturating_sub(1) / self.cells.degree..=(point[axis] / self.cells.degree).min(last)
        };
        for (z, y, x) in cells(2).flat_map(|z| cells(1).flat_map(move |y| cells(0).map(move |x| (z, y, x)))) {
            let origin = [x, y, z].map(|cell| self.cells.degree * cell);
            for shape in &self.cells.shapes {
                let of_box = |at: &[u64; 3]| [0, 1, 2].map(|axis| origin[axis] + at[axis]);
                if shape.iter().any(|at| of_box(at) == point) {
                    elements += 1;
                    found.extend(shape.iter().map(of_box));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        elements
    }

    /// Counts the elements of the cell with this origin: those with an owned node, and all; 0 and 0 unless the cell has an owned point.
    fn elements(&self, origin: [u64; 3]) -> [u64; 2] {
        let begins = |axis: usize| {
            let (degree, at) = (self.cells.degree, origin[axis]);
            at % degree == 0 && at + degree < self.points[axis] && at < self.owned.high[axis]
        };
        if !(0..3).all(begins) {
            return [0; 2];
        }
        let is_owned = |at: &[u64; 3]| self.owned.contains([0, 1, 2].map(|axis| origin[axis] + at[axis]));
        let owned = self.cells.shapes.iter().filter(|shape| shape.iter().any(is_owned)).count();
        [owned as u64, self.cells.shapes.len() as u64]
    }
}

impl Sizes {
    /// Returns the numbers of nodes and elements of the whole box.
    pub fn whole(spec: &BoxSpec, element: ElementType) -> [u64; 2] {
        let (CellElements { degree, shapes, places }, points) = (CellElements::new(element), spec.nodes());
        let cells = points.map(|points| (points - 1) / degree);
        let along = |axis: usize, place: u64| if place == 0 { cells[axis] + 1 } else { cells[axis] };
        let at = |place: &[u64; 3]| (0..3).map(|axis| along(axis, place[axis])).product::<u64>();
        let nodes = places.iter().map(at).sum();
        [nodes, cells.iter().product::<u64>() * shapes.len() as u64]
    }

    /// Returns the sizes of a part for `dofs` unknowns per node.
    pub fn of(part: &BoxPart, element: ElementType, dofs: usize, fixes_all_faces: bool) -> Self {
        let cells = CellElements::new(element);
        let degree = cells.degree;
        let (owned, points) = (part.owned(), part.spec().nodes());
        let lattice = Lattice { cells, points, owned: *owned, fixes_all_faces };
        let along = [0, 1].map(|axis| owned.counts()[axis].div_ceil(degree));
        let is_box = element == ElementType::Hex8;
        // Of hexahedra all that are computed, of others those of owned cells.
        let of_cells = part.elements().counts();
        let layer =
            if is_box { [of_cells[0], of_cells[1]] } else { [along[0] * lattice.cells.shapes.len() as u64, along[1]] };
        let (rows_listed, rows_padded) = if is_box { listed_and_padded(part) } else { (0, 0) };
        let mut sizes = Sizes {
            layer,
            listed: rows_listed,
            padded: rows_padded,
            nodes: element.nodes() as u64,
            cubature: element.points() as u64,
            dofs: dofs as u64,
            points: owned.count(),
            ..Sizes::default()
        };
        let [along_x, along_y, along_z] =
            [0, 1, 2].map(|axis| kinds(degree, points[axis], [owned.low[axis], owned.high[axis]]));
        let mut neighbours = Vec::new();
        for &(z, nz) in &along_z {
            for &(y, ny) in &along_y {
                let (mut nodes_of_line, mut longest_of_line) = (0, 0);
                for &(x, nx) in &along_x {
                    let (point, count) = ([x, y, z], nx * ny * nz);
                    let [elems, looked_at] = lattice.elements(point);
                    sizes.elems += count * elems;
                    sizes.looked_at += count * looked_at;
                    if !lattice.cells.is_node(point) {
                        continue;
                    }
                    let elements = lattice.neighbours(point, &mut neighbours);
                    if !lattice.owned.contains(point) {
                        sizes.ghosts +=
                            count * u64::from(neighbours.iter().any(|&other| lattice.owned.contains(other)));
                        continue;
                    }
                    let (is_fixed, entries) = (lattice.is_fixed(point), neighbours.len() as u64);
                    let clears = |other: &&[u64; 3]| **other != point && (is_fixed || lattice.is_fixed(**other));
                    sizes.owned += count;
                    sizes.nnz += count * entries;
                    sizes.corners += count * elements;
                    sizes.fixed += count * u64::from(is_fixed);
                    sizes.cleared += count * neighbours.iter().filter(clears).count() as u64;
                    nodes_of_line += nx;
                    longest_of_line = entries.max(longest_of_line);
                }
                sizes.lined += ny * nz * nodes_of_line * longest_of_line;
                sizes.longest = longest_of_line.max(sizes.longest);
            }
        }
        sizes.sent = match is_box {
            true => part.neighbours().iter().map(|neighbour| neighbour.send.count()).sum(),
            false => sizes.ghosts,
        };
        sizes
    }

    /// [`of`](Self::of) for the heat equation on `hex8`.
    pub fn of_box(part: &BoxPart) -> Self {
        Self::of(part, ElementType::Hex8, 1, false)
    }
}
