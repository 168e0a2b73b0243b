//! Every operation on every execution space against `Serial`, which is the specification: the same bits where they are
//! promised, a bound on the rounding where they are not. Sizes are ragged on purpose.

use minifenl::blas::{Blas, Reductions};
use minifenl::element::equations::Heat;
use minifenl::fill::{self, Dirichlet, ElementKernel, Fill, FusedKernel};
use minifenl::graph::{self, Graph, NodeElem};
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Face, Mesh, MeshSpace};
use minifenl::solve::{CgDirection, CgSlot, CgStep, CgSteps};
use minifenl::space::{ExecutionSpace, Serial, Threads, exclusive_scan};
use minifenl::sparse::{CrsMatrix, RowProduct, Spmv};
use support::wave;

fn spaces() -> Vec<Threads> {
    [1, 2, 3, 7].map(|threads| Threads::new(threads).unwrap()).into()
}

/// The second of three ranks: it has ghosts before and behind.
fn mesh(space: &Threads) -> Mesh {
    let spec = BoxSpec::new([61, 23, 17], [3.0, 1.0, 1.0], CoordinateMap::TWIST).unwrap();
    Mesh::new(space, BoxPart::new(&spec, 1, 3).unwrap()).unwrap()
}

fn graph(space: &Threads, mesh: &Mesh) -> Graph {
    graph::build(space, &mesh.elem_node, mesh.map.owned_count(), graph::Strategy::Gather).unwrap()
}

#[test]
fn mesh_tables_are_the_same_on_every_space() {
    let serial = mesh(&Serial);
    for space in spaces() {
        let other = mesh(&space);
        assert_eq!(other.elem_node, serial.elem_node);
        assert_eq!((other.node_coord, other.node_faces), (serial.node_coord.clone(), serial.node_faces.clone()));
    }
}

#[test]
fn scans_and_node_element_lists_are_the_same_on_every_space() {
    let counts: Vec<u64> = (0..1_100_003).map(|i| i * i % 31).collect();
    let scan = |space: &Threads| {
        let mut offsets = counts.clone();
        let total = exclusive_scan(space, &mut offsets);
        (offsets, total)
    };
    let mut serial = counts.clone();
    let total = exclusive_scan(&Serial, &mut serial);
    let mesh = mesh(&Serial);
    let lists = NodeElem::new(&Serial, &mesh.elem_node, mesh.map.owned_count()).unwrap();
    for space in spaces() {
        assert_eq!(scan(&space), (serial.clone(), total));
        assert_eq!(NodeElem::new(&space, &mesh.elem_node, mesh.map.owned_count()).unwrap(), lists);
    }
}

#[test]
fn every_graph_strategy_gives_the_graph_of_serial_on_every_space() {
    let mesh = mesh(&Serial);
    let expected = graph(&Serial, &mesh);
    for space in spaces() {
        for (strategy, name) in graph::Strategy::ALL {
            let other = graph::build(&space, &mesh.elem_node, mesh.map.owned_count(), strategy).unwrap();
            assert!(other.crs == expected.crs && other.elem == expected.elem, "{name} on {}", space.label());
        }
    }
}

/// Matrix and residual of the heat problem, boundary conditions applied.
fn assembled(
    space: &Threads,
    mesh: &Mesh,
    graph: &Graph,
    strategy: fill::Strategy,
    kernel: &impl ElementKernel<8>,
) -> (Vec<f64>, Vec<f64>) {
    let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![f64::NAN; graph.crs.rows()]);
    let mut fill = Fill::new(space, strategy, graph).unwrap();
    fill.assemble(space, kernel, &mut matrix, &mut residual).unwrap();
    let fixed = space.on_faces(mesh, [Face::ZMin, Face::XMax]).unwrap();
    Dirichlet::new(space, &graph.crs, &fixed).unwrap().apply(space, &mut matrix, &mut residual).unwrap();
    (matrix.into_parts().1, residual)
}

#[test]
fn a_fill_has_the_same_bits_on_every_space_unless_it_adds_in_any_order() {
    let mesh = mesh(&Serial);
    let graph = graph(&Serial, &mesh);
    let temperature = wave(mesh.map.local_count(), 0.7);
    let kernel = FusedKernel::new(&mesh.elem_node, &mesh.node_coord, &temperature, Heat::new(2.5)).unwrap();
    let exact = assembled(&Serial, &mesh, &graph, fill::Strategy::Gather, &kernel);
    let scale = exact.0.iter().chain(&exact.1).fold(0.0f64, |max, x| max.max(x.abs()));
    for (strategy, name) in fill::Strategy::ALL {
        let serial = assembled(&Serial, &mesh, &graph, strategy, &kernel);
        for (values, expected) in [(&serial.0, &exact.0), (&serial.1, &exact.1)] {
            assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14 * scale), "{name}");
        }
        for space in spaces() {
            let other = assembled(&space, &mesh, &graph, strategy, &kernel);
            if !strategy.is_reproducible() {
                let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14 * scale);
                assert!(close(&other.0, &serial.0) && close(&other.1, &serial.1), "{name} on {}", space.label());
            } else {
                assert!(other == serial, "{name} on {}: other bits", space.label());
            }
        }
    }
}

#[test]
fn a_product_has_the_same_bits_on_every_space() {
    let mesh = mesh(&Serial);
    let crs = graph(&Serial, &mesh).crs;
    let matrix = CrsMatrix::new(crs.clone(), wave(crs.nnz(), 0.3)).unwrap();
    let single = CrsMatrix::new(crs.clone(), matrix.values().iter().map(|&v| v as f32).collect()).unwrap();
    let x = wave(crs.columns(), 0.11);
    fn all(space: &Threads, matrix: &CrsMatrix, single: &CrsMatrix<f32>, x: &[f64]) -> Vec<Vec<f64>> {
        let rows = matrix.graph().rows();
        let [mut y, mut z, mut w] = [(); 3].map(|()| vec![f64::NAN; rows]);
        let mut sums = Reductions::new(space, rows, 3).unwrap();
        space.spmv(matrix, x, &mut y).unwrap();
        space.spmv(single, x, &mut z).unwrap();
        space
            .spmv_dot(matrix, RowProduct { rows: 0..rows, exchange: None, x, y: &mut w, sums: &mut sums, slot: 2 })
            .unwrap();
        vec![y, z, w, sums.scalars]
    }
    let serial = all(&Serial, &matrix, &single, &x);
    assert!(spaces().iter().all(|space| all(space, &matrix, &single, &x) == serial));
}

#[test]
fn vector_operations_have_the_same_bits_on_every_space() {
    const N: usize = 3 * 4096 + 1234;
    fn all(space: &Threads) -> Vec<Vec<f64>> {
        let (p, q, mut x, mut r) = (wave(N + 5, 0.3), wave(N, 0.7), wave(N, 0.2), wave(N, 0.9));
        let (mut z, mut sums) = (vec![0.0; N], Reductions::new(space, N, CgSlot::LEN).unwrap());
        sums.scalars[..8].copy_from_slice(&[1.25, 0.5, 3.0, 0.0, 9.0, 0.0, 0.0, 1.0]);
        space.cg_step(N, CgStep { rz: 0, rr: 1, p: &p, q: &q, x: &mut x, r: &mut r }, &mut sums).unwrap();
        space.axpby(N, 0.3, &p, -2.0, &q, &mut z).unwrap();
        space.cg_direction(N, CgDirection { rr: 1, top: 1, bottom: 0, z: &r, p: &mut z }, &mut sums).unwrap();
        space.axpy(N, 0.1, &q, &mut z).unwrap();
        let largest = space.max_abs(N, &z, &mut sums.partials).unwrap();
        space.dot(N, &z, &p, &mut sums, 2).unwrap();
        let mut copy = vec![0.0; N];
        space.copy(N, &z, &mut copy).unwrap();
        space.fill(N / 2, 7.0, &mut copy).unwrap();
        vec![x, r, z, sums.scalars, copy, vec![largest]]
    }
    let serial = all(&Serial);
    assert!(spaces().iter().all(|space| all(space) == serial));
}
