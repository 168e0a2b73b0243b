//! Meshes on a GPU: launches of `kernels/mesh.cu`.
//!
//! The tables of a box that one process has as a whole are made on the GPU; parts of a box and other meshes are uploaded.

use super::kernel_files::MESH;
use super::{BoxPart, CoordinateMap, ElemNode, Face, Mesh};
use crate::error::{check_at_least, check_length};
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::space::{ExecutionSpace, Serial};
use crate::{Error, LocalOrdinal, Result};

const THREADS: u32 = 256;

impl Mesh<CudaMemory> {
    /// The tables of `part`, unless a run with them would need more than `available` bytes.
    ///
    /// Coordinates have the host's bits, but for twisted boxes, whose sines differ in the last place.
    ///
    /// # Errors
    /// [`Error::TooLarge`] as [`BoxPart::check_memory`], and where the GPU has less.
    pub fn generate(space: &Cuda, part: BoxPart, available: u64) -> Result<Self> {
        part.check_memory(available)?;
        if !part.neighbours().is_empty() {
            return Self::upload(space, &Mesh::new(&Serial, part, u64::MAX)?);
        }
        let (map, spec) = (part.map()?, *part.spec());
        let (nodes, elems) = (spec.node_count(), spec.elem_count());
        let [nx, ny, nz] = spec.nodes().map(|count| count as u32);
        let mut table = space.unfilled::<LocalOrdinal>(8 * elems as usize)?;
        let mut node_coord = space.unfilled::<[f64; 3]>(nodes as usize)?;
        let mut node_faces = space.unfilled::<u8>(nodes as usize)?;
        let per_node = Grid::cover(nodes as usize, THREADS);
        let [size_x, size_y, size_z] = spec.size();
        let (kind, amplitude) = match spec.map() {
            CoordinateMap::None => (0u32, 0.0),
            CoordinateMap::Bubble(amplitude) => (1, amplitude),
            CoordinateMap::Twist(amplitude) => (2, amplitude),
        };
        let grid = Grid::cover(elems as usize, THREADS);
        space.launch(&MESH, "elem_node", grid, arguments![elems, nx, ny, &mut table])?;
        let arguments = arguments![nodes, nx, ny, nz, size_x, size_y, size_z, kind, amplitude, &mut node_coord];
        space.launch(&MESH, "node_coord", per_node, arguments)?;
        space.launch(&MESH, "node_faces", per_node, arguments![nodes, nx, ny, nz, &mut node_faces])?;
        let elem_node = ElemNode::from_parts(table, elems as usize, 8, nodes as usize);
        Ok(Mesh { elem_node, node_coord, node_faces, map, part })
    }

    /// Copies the tables of a host's mesh.
    ///
    /// # Errors
    /// [`Error::TooLarge`] where the GPU has less memory.
    pub fn upload(space: &Cuda, mesh: &Mesh) -> Result<Self> {
        let table = &mesh.elem_node;
        Ok(Mesh {
            elem_node: ElemNode::from_parts(
                space.upload(table.as_slice())?,
                table.elem_count(),
                table.nodes_per_elem(),
                table.node_count(),
            ),
            node_coord: space.upload(&mesh.node_coord)?,
            node_faces: space.upload(&mesh.node_faces)?,
            map: mesh.map.clone(),
            part: mesh.part.clone(),
        })
    }

    /// Twin of [`Mesh::set_on_face`].
    ///
    /// # Errors
    /// [`Error::Shape`] for a short vector.
    pub fn set_on_face(&self, space: &Cuda, face: Face, value: f64, vector: &mut CudaArray<f64>) -> Result<()> {
        let count = self.node_faces.len();
        check_at_least("set_on_face", "vector", vector.len(), count)?;
        let arguments = arguments![count as u64, &self.node_faces, face as u32, value, vector];
        space.launch(&MESH, "set_on_face", Grid::cover(count, THREADS), arguments)
    }

    /// Twin of [`Mesh::on_faces`]: 1 or 0 for each node.
    ///
    /// # Errors
    /// [`Error::TooLarge`] where the GPU has less memory.
    pub fn on_faces(&self, space: &Cuda, faces: [Face; 2]) -> Result<CudaArray<u8>> {
        let count = self.node_faces.len();
        let mut on = space.unfilled(count)?;
        let mask = faces.into_iter().fold(0, |mask, face| mask | face as u32);
        let arguments = arguments![count as u64, &self.node_faces, mask, &mut on];
        space.launch(&MESH, "on_faces", Grid::cover(count, THREADS), arguments)?;
        Ok(on)
    }

    /// Twin of [`check_folding`](super::check_folding), with the gradients of the basis at the points, `[point][node]`.
    ///
    /// # Errors
    /// [`Error::Folded`]; [`Error::Shape`] for a mesh of other elements.
    pub fn check_folding(&self, space: &Cuda, gradients: &[[[f64; 3]; 8]; 8]) -> Result<()> {
        check_length("check_folding", "elem_node", self.elem_node.nodes_per_elem(), 8)?;
        let (elems, gradients) = (self.elem_count(), space.upload(gradients.as_flattened())?);
        let mut first = space.unfilled::<u64>(1)?;
        space.fill_bytes(&mut first, 0xff)?;
        let (table, coord) = (self.elem_node.nodes(), &self.node_coord);
        let arguments = arguments![elems as u64, table, coord, &gradients, &mut first];
        space.launch(&MESH, "check_folding", Grid::cover(elems, THREADS), arguments)?;
        let mut found = [0];
        space.read(&first, &mut found)?;
        if found[0] == u64::MAX {
            return Ok(());
        }
        let mut determinant = space.zeros::<f64>(1)?;
        let arguments = arguments![&first, table, coord, &gradients, &mut determinant];
        space.launch(&MESH, "folded", Grid::new(1, 1), arguments)?;
        let mut value = [0.0];
        space.read(&determinant, &mut value)?;
        let [elem, point] = [found[0] / 8, found[0] % 8].map(|part| part as usize);
        Err(Error::Folded { element: self.global_elem(elem), point, determinant: value[0] })
    }

    /// Twin of [`longest_edge`](super::longest_edge).
    ///
    /// # Errors
    /// [`Error::Shape`] for a mesh of other elements.
    pub fn longest_edge(&self, space: &Cuda) -> Result<f64> {
        check_length("longest_edge", "elem_node", self.elem_node.nodes_per_elem(), 8)?;
        let elems = self.elem_count();
        let mut longest = space.zeros::<f64>(1)?;
        let grid = Grid::new(elems.div_ceil(THREADS as usize).min(4096), THREADS);
        let arguments = arguments![elems as u64, self.elem_node.nodes(), &self.node_coord, &mut longest];
        space.launch(&MESH, "longest_edge", grid, arguments)?;
        let mut square = [0.0];
        space.read(&longest, &mut square)?;
        Ok(f64::sqrt(square[0]))
    }

    /// (a (z - zmin) + b)^-2 at each owned node.
    ///
    /// # Errors
    /// [`Error::TooLarge`] where the GPU has less memory.
    pub(crate) fn inverse_square(&self, space: &Cuda, a: f64, zmin: f64, b: f64) -> Result<CudaArray<f64>> {
        let count = self.map.owned_count();
        let mut out = space.unfilled(count)?;
        let arguments = arguments![count as u64, &self.node_coord, a, zmin, b, &mut out];
        space.launch(&MESH, "inverse_square", Grid::cover(count, THREADS), arguments)?;
        Ok(out)
    }
}
