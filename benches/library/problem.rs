//! The problems: meshes of a distorted unit cube, and their element matrices.
//!
//! ```text
//! poisson     K[i, j]     = int grad phi_i . grad phi_j                                        1 dof per node
//! elasticity  K[i c, j d] = int lambda g_ic g_jd + mu (g_id g_jc + delta_cd g_i . g_j)         3 dofs per node, lambda = mu = 1
//! hexes       cells^3 trilinear hexahedra, 2x2x2 Gauss points
//! tets        6 cells^3 linear tetrahedra, all with positive volume: gradients are constant, 1 point is exact
//! ```
//! Nodes are numbered with x fastest. The map of the cube is smooth and curved, so no two hexahedra have the same Jacobian.

use crate::kernels::{Element, HexElasticity, HexPoisson, Sink, TetElasticity, TetPoisson};
use minifenl::mesh::ElemNode;
use std::f64::consts::PI;

/// Names of the problems, with the cells along an edge of the cube of a quick run.
pub const ALL: [(&str, u32); 4] =
    [("poisson-hexes", 32), ("poisson-tets", 24), ("elasticity-hexes", 12), ("elasticity-tets", 12)];

/// A mesh and the dofs on it.
pub struct Problem {
    pub points: Vec<[f64; 3]>,
    pub table: ElemNode,
    pub dofs: usize,
    pub name: String,
}

impl Problem {
    pub fn new(name: &str, cells: u32) -> Self {
        let edge = cells + 1;
        let points: Vec<[f64; 3]> = (0..edge.pow(3))
            .map(|node| {
                let x = [node % edge, node / edge % edge, node / edge.pow(2)].map(|i| f64::from(i) / f64::from(cells));
                std::array::from_fn(|d| x[d] + 0.05 * (PI * (x[(d + 1) % 3] + 2.0 * x[(d + 2) % 3])).sin())
            })
            .collect();
        let (nodes, per_elem) = if name.ends_with("hexes") { (hexes(cells), 8) } else { (tets(cells), 4) };
        let table = ElemNode::new(nodes, per_elem, points.len()).expect("a table of the cube");
        let dofs = if name.starts_with("poisson") { 1 } else { 3 };
        assert!(ALL.iter().any(|(known, _)| *known == name), "unknown problem {name}");
        Problem { points, table, dofs, name: name.into() }
    }

    /// Dofs of the elements, `[elem, 3 i + c]`.
    pub fn dof_table(&self) -> Vec<i32> {
        let dofs = self.dofs as u32;
        self.table.as_slice().iter().flat_map(|&node| (0..dofs).map(move |c| (dofs * node + c) as i32)).collect()
    }

    pub fn elem_dofs(&self) -> usize {
        self.dofs * self.table.nodes_per_elem()
    }

    /// Matrices of all elements, `[elem, i, j]`, computed one at a time in plain numbers.
    pub fn matrices(&self) -> Vec<f64> {
        match self.name.as_str() {
            "poisson-hexes" => self.all::<HexPoisson, 8, 8>(),
            "poisson-tets" => self.all::<TetPoisson, 4, 4>(),
            "elasticity-hexes" => self.all::<HexElasticity, 8, 24>(),
            _ => self.all::<TetElasticity, 4, 12>(),
        }
    }

    fn all<E: Element<NODES>, const NODES: usize, const ND: usize>(&self) -> Vec<f64> {
        let elems = self.table.iter();
        elems.flat_map(|nodes| one::<E, NODES, ND>(nodes, &self.points).into_iter().flatten()).collect()
    }
}

/// The matrix of the element with these nodes.
pub fn one<E: Element<NODES>, const NODES: usize, const ND: usize>(
    nodes: &[u32],
    points: &[[f64; 3]],
) -> [[f64; ND]; ND] {
    struct Matrix<const ND: usize>([[f64; ND]; ND]);
    impl<const ND: usize> Sink<f64> for Matrix<ND> {
        #[inline(always)]
        fn put(&mut self, i: usize, j: usize, value: f64) {
            self.0[i][j] = value;
        }
    }
    let mut matrix = Matrix([[0.0; ND]; ND]);
    E::matrix(&std::array::from_fn(|i| points[nodes[i] as usize]), &mut matrix);
    matrix.0
}

/// Hexahedra with nodes in the order of VTK.
fn hexes(cells: u32) -> Vec<u32> {
    let [x, y, z] = [1, cells + 1, (cells + 1).pow(2)];
    let around = [0, x, x + y, y, z, x + z, x + y + z, y + z];
    corners(cells).flat_map(|corner| around.map(|step| corner + step)).collect()
}

/// Six tetrahedra per cell along the paths from its first to its last corner.
fn tets(cells: u32) -> Vec<u32> {
    let step = [1, cells + 1, (cells + 1).pow(2)];
    let cell = |corner: u32| {
        [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]].into_iter().enumerate().flat_map(
            move |(path, [a, b, c])| {
                let (first, second) = (corner + step[a], corner + step[a] + step[b]);
                // Odd permutations of the axes: two nodes change places, so that the volume is positive.
                let (first, second) = if path < 3 { (first, second) } else { (second, first) };
                [corner, first, second, corner + step[a] + step[b] + step[c]]
            },
        )
    };
    corners(cells).flat_map(cell).collect()
}

/// First nodes of the cells of the cube.
fn corners(cells: u32) -> impl Iterator<Item = u32> {
    let edge = cells + 1;
    (0..cells.pow(3)).map(move |cell| cell % cells + edge * (cell / cells % cells + edge * (cell / cells.pow(2))))
}
