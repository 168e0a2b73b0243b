//! Meshes on a GPU: launches of `kernels/mesh.cu`, which make the tables of a part of the box from its index boxes.

use super::grid_columns::{Columns, positions};
use super::grid_matrix::{GridMatrix, Points, grid_matrix};
use super::kernel_files::MESH;
use super::{BoxPart, CoordinateMap, ElemNode, Face, IndexBox, Mesh, MeshSpace, Stencil};
use crate::comm::{Communicator, Map, Staging};
use crate::element::ElementType;
use crate::error::{check_at_least, check_length};
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::space::{ExecutionSpace, Serial};
use crate::sparse::Operator;
use crate::{LocalOrdinal, Result};

const THREADS: u32 = 256;

/// Returns the part as the kernels read it: lowest used node, nodes of the whole box, used nodes along each axis, number of index
/// boxes, then lowest index (relative to the lowest used node), counts and first local id of each: interior, owned (whose first
/// id is that of the nodes outside the interior), ghosts of each neighbour.
fn words(part: &BoxPart) -> Vec<u64> {
    let ghosts = part.neighbours().iter().map(|neighbour| (&neighbour.receive, neighbour.first_ghost));
    words_of(part, part.used(), ghosts)
}

/// Returns the words of a part for a kernel that uses other nodes and ghosts of it.
fn words_of<'a>(part: &'a BoxPart, used: &IndexBox, ghosts: impl Iterator<Item = (&'a IndexBox, u64)>) -> Vec<u64> {
    let interior = part.interior();
    let boxes: Vec<(&IndexBox, u64)> =
        [(interior, 0), (part.owned(), interior.count())].into_iter().chain(ghosts).collect();
    let mut words = [used.low, part.spec().nodes(), used.counts()].concat();
    words.push(boxes.len() as u64);
    for (nodes, first) in boxes {
        words.extend([0, 1, 2].map(|axis| nodes.low[axis] - used.low[axis]));
        words.extend(nodes.counts());
        words.push(first);
    }
    words
}

/// Lists the local index of each point of a range, `[position]`, or with `inverse` the position of each of so many nodes, `[node]`. The part
/// is given by its words and its used nodes.
fn grid_numbers(
    space: &Cuda,
    (words, used): (Vec<u64>, &IndexBox),
    range: &IndexBox,
    inverse: Option<usize>,
) -> Result<CudaArray<LocalOrdinal>> {
    let (count, words) = (range.count() as usize, space.upload(&words)?);
    let mut numbers = space.unfilled(inverse.unwrap_or(count))?;
    let ([x, y, z], [nx, ny, _]) =
        ([0, 1, 2].map(|axis| (range.low[axis] - used.low[axis]) as u32), range.counts().map(|count| count as u32));
    let arguments = arguments![count as u64, &words, x, y, z, nx, ny, u32::from(inverse.is_some()), &mut numbers];
    space.launch(&MESH, "grid_numbers", Grid::cover(count, THREADS), arguments)?;
    Ok(numbers)
}

/// The local indices of a range of a box's points, own ones and ghosts.
fn numbers_in_box(
    space: &Cuda,
    columns: &Columns<'_, CudaMemory>,
    range: &IndexBox,
) -> Result<CudaArray<LocalOrdinal>> {
    if range.count() == 0 {
        return space.unfilled(0);
    }
    let ghosts = columns.ghosts.iter().map(|(ghosts, first)| (ghosts, u64::from(*first)));
    let ghosts = ghosts.filter(|(ghosts, _)| ghosts.count() > 0);
    let used = ghosts.clone().fold(*columns.mesh.part.owned(), |used, (ghosts, _)| used.joined(ghosts));
    grid_numbers(space, (words_of(&columns.mesh.part, &used, ghosts), &used), range, None)
}

impl MeshSpace for Cuda {
    fn generate_mesh(&self, part: BoxPart) -> Result<Mesh<CudaMemory>> {
        let (map, spec) = (part.map()?, *part.spec());
        let (nodes, elems) = (map.local_count(), part.elements().count() as usize);
        let mut table = self.unfilled::<LocalOrdinal>(8 * elems)?;
        let mut node_coord = self.unfilled::<[f64; 3]>(nodes)?;
        let mut node_faces = self.unfilled::<u8>(nodes)?;
        let words = self.upload(&words(&part))?;
        let [size_x, size_y, size_z] = spec.size();
        let (kind, amplitude) = match spec.map() {
            CoordinateMap::None => (0u32, 0.0),
            CoordinateMap::Bubble(amplitude) => (1, amplitude),
            CoordinateMap::Twist(amplitude) => (2, amplitude),
        };
        let (per_elem, per_node) = (Grid::cover(elems, THREADS), Grid::cover(nodes, THREADS));
        self.launch(&MESH, "elem_node", per_elem, arguments![elems as u64, &words, &mut table])?;
        #[rustfmt::skip]
        let arguments = arguments![
            nodes as u64, &words, size_x, size_y, size_z, kind, amplitude, &mut node_coord, &mut node_faces,
        ];
        self.launch(&MESH, "node_tables", per_node, arguments)?;
        let elem_node = ElemNode::from_parts(table, elems, 8, nodes);
        Ok(Mesh { element: ElementType::Hex8, elem_node, node_coord, node_faces, map, part, listed: None })
    }

    fn take_mesh(&self, mesh: Mesh) -> Result<Mesh<CudaMemory>> {
        mesh.upload(self)
    }

    fn grid_matrix(
        &self,
        comm: Option<&dyn Communicator>,
        meshes: [&Mesh<CudaMemory>; 2],
        stencils: &[Stencil; 3],
        dofs: usize,
    ) -> Result<(GridMatrix<CudaMemory>, Map)> {
        // Kernels number the nodes of boxes.
        let of_rows = |rows: &Mesh<CudaMemory>| match rows.listed {
            None => {
                let (part, count) = (&rows.part, rows.map.owned_count());
                grid_numbers(self, (words(part), part.used()), part.owned(), Some(count))
            }
            Some(_) => self.upload(&positions(&self.host()?, rows)?),
        };
        let of_columns = |columns: &Columns<'_, CudaMemory>, range: &IndexBox| match columns.mesh.listed {
            None => numbers_in_box(self, columns, range),
            Some(_) => self.upload(&columns.numbers(range)?),
        };
        grid_matrix(self, comm, meshes, (stencils, dofs), of_rows, of_columns)
    }

    fn grid_product(&self, matrix: &GridMatrix<CudaMemory>, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        let count = Operator::<Cuda>::rows(matrix);
        let numbers = |points: &Points<CudaMemory>| points.numbers.as_ref().map_or(Argument::NULL, Argument::from);
        let (rows, columns, [along_x, along_y, along_z]) = (&matrix.rows, &matrix.columns, &matrix.stencils);
        #[rustfmt::skip]
        let arguments = arguments![
            count as u64, matrix.dofs as u32, rows.counts[0], rows.counts[1], numbers(rows), columns.counts[0], columns.counts[1],
            numbers(columns), &along_x.offsets, &along_y.offsets, &along_z.offsets, &along_x.columns, &along_y.columns,
            &along_z.columns, &along_x.weights, &along_y.weights, &along_z.weights, x, y,
        ];
        self.launch(&MESH, "grid_product", Grid::cover(count, THREADS), arguments)
    }

    fn check_inside(&self, mesh: &Mesh<CudaMemory>) -> Result<()> {
        let count = mesh.node_coord.len();
        let mut first = self.unfilled::<u64>(1)?;
        self.fill_bytes(&mut first, 0xff)?;
        let [size_x, size_y, size_z] = mesh.part.spec().size();
        let arguments = arguments![count as u64, size_x, size_y, size_z, &mesh.node_coord, &mut first];
        self.launch(&MESH, "check_inside", Grid::cover(count, THREADS), arguments)?;
        let mut found = [0];
        self.read(&first, &mut found)?;
        match found[0] {
            u64::MAX => Ok(()),
            node => Err(mesh.outside(node as usize, self.download(&mesh.node_coord)?[node as usize])),
        }
    }

    fn check_folding(&self, mesh: &Mesh<CudaMemory>) -> Result<()> {
        check_length("check_folding", "elem_node (nodes per element)", mesh.elem_node.nodes_per_elem(), 8)?;
        let (elems, mut open) = (mesh.elem_count(), self.zeros::<u32>(1)?);
        let arguments = arguments![elems as u64, mesh.elem_node.nodes(), &mesh.node_coord, &mut open];
        self.launch(&MESH, "check_folding", Grid::cover(elems, THREADS), arguments)?;
        let mut found = [0];
        self.read(&open, &mut found)?;
        // An element that the kernel cannot decide is rare: the host bisects it, or names it.
        if found[0] == 0 { Ok(()) } else { Serial.check_folding(&mesh.download(self)?) }
    }

    fn spacing(&self, mesh: &Mesh<CudaMemory>, axis: usize) -> Result<f64> {
        check_length("spacing", "elem_node (nodes per element)", mesh.elem_node.nodes_per_elem(), 8)?;
        let (elems, size) = (mesh.elem_count(), mesh.part.spec().size()[axis]);
        let mut largest = self.zeros::<f64>(1)?;
        let grid = Grid::new(elems.div_ceil(THREADS as usize).min(4096), THREADS);
        let (table, coord) = (mesh.elem_node.nodes(), &mesh.node_coord);
        let arguments = arguments![elems as u64, axis as u32, size, table, coord, &mut largest];
        self.launch(&MESH, "spacing", grid, arguments)?;
        let mut square = [0.0];
        self.read(&largest, &mut square)?;
        Ok(size * f64::sqrt(square[0]))
    }

    fn scatter_by_id(
        &self,
        mesh: &Mesh<CudaMemory>,
        seed: u64,
        fields: usize,
        vector: &mut CudaArray<f64>,
    ) -> Result<()> {
        let owned = mesh.map.owned_count();
        check_at_least("scatter_by_id", "vector", vector.len(), fields * owned)?;
        // The kernel numbers nodes by boxes.
        if fields != 1 || mesh.listed.is_some() {
            return self.write(&mesh.random(seed, fields), 0, vector);
        }
        let words = self.upload(&words(&mesh.part))?;
        let arguments = arguments![owned as u64, &words, seed, vector];
        self.launch(&MESH, "scatter_by_id", Grid::cover(owned, THREADS), arguments)
    }

    fn set_on_face(&self, mesh: &Mesh<CudaMemory>, face: Face, value: f64, vector: &mut CudaArray<f64>) -> Result<()> {
        let count = mesh.node_faces.len();
        check_at_least("set_on_face", "vector", vector.len(), count)?;
        let arguments = arguments![count as u64, &mesh.node_faces, face as u32, value, vector];
        self.launch(&MESH, "set_on_face", Grid::cover(count, THREADS), arguments)
    }

    fn set_nodes(&self, nodes: &[LocalOrdinal], values: &[f64], vector: &mut CudaArray<f64>) -> Result<()> {
        let (count, fields) = (values.len(), super::fields_to_set(nodes, values, vector.len())?);
        let (nodes, values) = (self.upload(nodes)?, self.upload(values)?);
        let arguments = arguments![count as u64, fields as u32, &nodes, &values, vector];
        self.launch(&MESH, "set_nodes", Grid::cover(count, THREADS), arguments)
    }

    fn on_faces(&self, mesh: &Mesh<CudaMemory>, faces: impl IntoIterator<Item = Face>) -> Result<CudaArray<u8>> {
        let count = mesh.node_faces.len();
        let mut on = self.unfilled(count)?;
        let mask = faces.into_iter().fold(0, |mask, face| mask | face as u32);
        let arguments = arguments![count as u64, &mesh.node_faces, mask, &mut on];
        self.launch(&MESH, "on_faces", Grid::cover(count, THREADS), arguments)?;
        Ok(on)
    }
}
