//! Solves the Laplace equation on a mesh that another program has made and cut: each rank knows its part by global ids only.
//!
//! ```text
//! cargo run --example partitioned_mesh                           1 rank
//! cargo build --features mpi --example partitioned_mesh
//! mpirun -n 4 target/debug/examples/partitioned_mesh             4 ranks
//! ```
//! ```text
//! -laplace(u) = 0 in the unit cube, u = x + 2 y + 3 z on its faces          linear tetrahedra give u exactly
//!
//! 1  read the nodes and elements of this rank's parts
//! 2  MeshPart::from_elements     who owns the ghosts, which elements are missing; local indices
//! 3  coordinates of ghosts       halo exchange
//! 4  graph, fill, conditions     K and K u, rows of this rank
//! 5  K delta = K u by CG         interior rows overlap the exchange of ghosts
//! 6  compare with the exact u
//! ```

use minifenl::comm::{Communicator, Halo, world};
use minifenl::fill::{self, Dirichlet, Fill, element_fn};
use minifenl::graph;
use minifenl::mesh::MeshPart;
use minifenl::solve::{DistributedOperator, Options, solve};
use minifenl::space::Serial;
use minifenl::sparse::CrsMatrix;
use minifenl::{Error, Result};
use std::collections::HashMap;
use std::process::ExitCode;

/// Nodes with coordinates, elements by the ids of their nodes, and the part of each.
const FILE: &str = include_str!("cube.txt");

fn main() -> ExitCode {
    match world().and_then(|comm| run(&*comm)) {
        Ok(()) => ExitCode::SUCCESS,
        // Another rank tells what is wrong.
        Err(Error::Elsewhere { .. }) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Assembles and solves on the ranks of `comm`; rank 0 prints the largest error.
pub fn run(comm: &dyn Communicator) -> Result<()> {
    // 1. This rank's parts of the file. With fewer ranks than parts, a rank has several.
    let is_mine = |part: &str| part.parse().is_ok_and(|part: usize| part % comm.size() == comm.rank());
    let (mut point_of, mut owned, mut tets) = (HashMap::new(), Vec::new(), Vec::new());
    for line in FILE.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word.parse().map_err(|_| Error::Invalid(format!("`{line}`: `{word}` is no number")));
        match words[..] {
            ["node", id, x, y, z, part] if is_mine(part) => {
                let id = number(id)? as u64;
                owned.push(id);
                point_of.insert(id, [number(x)?, number(y)?, number(z)?]);
            }
            ["tet", a, b, c, d, part] if is_mine(part) => {
                for id in [a, b, c, d] {
                    tets.push(number(id)? as u64);
                }
            }
            _ => {}
        }
    }

    // 2. Local indices: owned nodes, then ghosts. Elements of other ranks at this rank's nodes are appended.
    let part = MeshPart::from_elements(comm, &owned, &tets, 4)?;
    let (map, rows, elem_node) = (part.nodes.map(), owned.len(), &part.elem_node);

    // 3. This rank knows coordinates of its own nodes; those of ghosts come from their owners.
    let space = Serial;
    let mut halo = Halo::new(&space, comm, map)?;
    let mut coord = vec![[0.0; 3]; map.local_count()];
    for axis in 0..3 {
        let mut values = vec![0.0; map.local_count()];
        (0..rows).for_each(|node| values[node] = point_of[&part.nodes.ids()[node]][axis]);
        halo.update(&space, &mut values)?;
        values.iter().zip(&mut coord).for_each(|(&value, point)| point[axis] = value);
    }

    // 4. K and K u with u given on the faces and 0 inside, ghosts included.
    let exact = |x: &[f64; 3]| x[0] + 2.0 * x[1] + 3.0 * x[2];
    let is_face = |x: &[f64; 3]| x.iter().any(|&x| x == 0.0 || x == 1.0);
    let mut u: Vec<f64> = coord.iter().map(|x| if is_face(x) { exact(x) } else { 0.0 }).collect();
    let fixed: Vec<u8> = coord.iter().map(|x| is_face(x).into()).collect();
    let kernel = element_fn(|elem| {
        let nodes: [usize; 4] = std::array::from_fn(|i| elem_node.elem(elem)[i] as usize);
        let matrix = stiffness(nodes.map(|node| coord[node]));
        (matrix, matrix.map(|row| (0..4).map(|j| row[j] * u[nodes[j]]).sum()))
    });
    let graph = graph::build(&space, elem_node, rows, graph::Strategy::default())?;
    let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; rows]);
    let mut fill = Fill::<4>::new(&space, fill::Strategy::default(), &graph)?;
    fill.assemble(&space, &kernel, &mut matrix, &mut residual)?;
    Dirichlet::new(&space, &graph.crs, &fixed)?.apply(&space, &mut matrix, &mut residual)?;

    // 5. Newton's step of a linear problem is its solution.
    let operator = DistributedOperator::new(&matrix, &mut halo, part.interior_count())?;
    let mut delta = vec![0.0; rows];
    let options = Options { rtol: 1e-13, ranks: &comm, ..Options::default() };
    let info = solve(&space, &operator, &residual, &mut delta, options)?;
    delta.iter().zip(&mut u).for_each(|(delta, u)| *u -= delta);

    // 6. The largest error and the sizes of all parts.
    let mut error = [(0..rows).map(|node| (u[node] - exact(&coord[node])).abs()).fold(0.0, f64::max)];
    comm.all_max(&mut error);
    let mut counts = [map.ghost_count(), part.copies.len()].map(|count| count as u64);
    comm.all_sum_u64(&mut counts);
    if error[0] > 1e-11 {
        return Err(Error::Invalid(format!("the error is {:.1e}, expected at most 1e-11", error[0])));
    }
    if comm.rank() == 0 {
        let (nodes, ranks, [ghosts, copies]) = (map.global_count(), comm.size(), counts);
        let ranks = if ranks == 1 { "1 rank".into() } else { format!("{ranks} ranks") };
        println!("{nodes} nodes on {ranks}, {ghosts} ghosts, {copies} elements copied, {} iterations", info.iterations);
        println!("largest error {:.1e}", error[0]);
    }
    Ok(())
}

/// Volume times grad phi_i . grad phi_j on a tetrahedron with these corners.
fn stiffness(corner: [[f64; 3]; 4]) -> [[f64; 4]; 4] {
    let edge = |i: usize| [0, 1, 2].map(|d| corner[i][d] - corner[0][d]);
    let cross = |p: [f64; 3], q: [f64; 3]| [[1, 2], [2, 0], [0, 1]].map(|[i, j]| p[i] * q[j] - p[j] * q[i]);
    let dot = |p: [f64; 3], q: [f64; 3]| p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
    let [a, b, c] = [1, 2, 3].map(edge);
    let det = dot(a, cross(b, c));
    let grad = [cross(b, c), cross(c, a), cross(a, b)].map(|g| g.map(|x| x / det));
    let grad = [[0, 1, 2].map(|d| -grad[0][d] - grad[1][d] - grad[2][d]), grad[0], grad[1], grad[2]];
    grad.map(|gi| grad.map(|gj| det / 6.0 * dot(gi, gj)))
}
