//! Fill and boundary conditions: every strategy against the serial one.

use super::{difference, gpu, wave};
use minifenl::element::equations::{Heat, Jacobian, Model, ModelEquation, Scalar};
use minifenl::element::{Analytic, ElementType};
use minifenl::fill::{
    self, Assemble, CudaEquationKernel, CudaFill, Dirichlet, ElementMatrices, EquationInput, FieldOn, Fill,
    FusedKernel, Kernel, Strategy, element_fn,
};
use minifenl::graph::{self, Graph};
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, ElemNode, Face, Mesh, MeshSpace};
use minifenl::space::{Cuda, CudaMemory, ExecutionSpace, Serial, Threads};
use minifenl::sparse::{CrsMatrix, Format, Formats};
use std::sync::Arc;

/// What stands behind the rows of a residual, and has to stay.
pub(super) const TAIL: [f64; 3] = [7.5, 8.5, 9.5];

/// A table and its graph, here and on the GPU.
pub(super) struct Tables {
    pub elem_node: ElemNode,
    pub graph: Graph,
    pub on_device: Graph<CudaMemory>,
}

impl Tables {
    pub fn new(space: &Cuda, elem_node: ElemNode, rows: usize) -> Self {
        let graph = graph::build(&Serial, &elem_node, rows, graph::Strategy::default()).unwrap();
        let on_device = graph.upload(space).unwrap();
        Tables { elem_node, graph, on_device }
    }

    /// Values and residual that `assemble` leaves of garbage, twice from the same plan and once from another.
    pub fn assembled(
        &self,
        space: &Cuda,
        strategy: Strategy,
        mut assemble: impl FnMut(
            &mut CudaFill,
            &mut CrsMatrix<f64, CudaMemory>,
            &mut minifenl::space::CudaArray<f64>,
        ) -> minifenl::Result<()>,
    ) -> [(Vec<f64>, Vec<f64>); 3] {
        let graph = &self.on_device;
        let rows = self.graph.crs.rows();
        let mut fills = [(); 2].map(|()| CudaFill::new(space, strategy, graph).unwrap());
        [0, 0, 1].map(|plan| {
            let mut matrix = CrsMatrix::zeros_on(space, graph.crs.clone()).unwrap();
            *matrix.parts_mut().1 = space.upload(&vec![f64::NAN; self.graph.crs.nnz()]).unwrap();
            let mut residual = space.upload(&[vec![f64::NAN; rows], TAIL.to_vec()].concat()).unwrap();
            assemble(&mut fills[plan], &mut matrix, &mut residual).unwrap();
            let mut residual = space.download(&residual).unwrap();
            assert_eq!(residual.split_off(rows), TAIL, "behind the rows");
            (space.download(matrix.values()).unwrap(), residual)
        })
    }
}

/// The heat equation as a model of the program.
pub(super) fn heat(equation: Heat) -> Model {
    Model { equation: ModelEquation::Scalar(Scalar::Heat(equation)), jacobian: Jacobian::Analytic }
}

/// Heat matrices of hexahedra by every strategy.
fn check_heat(space: &Cuda, name: &str, tables: &Tables, node_coord: &[[f64; 3]]) {
    let temperature = wave(node_coord.len(), 0.7);
    let mut matrix = CrsMatrix::zero(tables.graph.crs.clone());
    let mut residual = vec![f64::NAN; tables.graph.crs.rows()];
    let kernel = FusedKernel::new(&tables.elem_node, node_coord, &temperature, Heat::new(2.5)).unwrap();
    Fill::new(&Serial, Strategy::Gather, &tables.graph)
        .unwrap()
        .assemble(&Serial, &kernel, &mut matrix, &mut residual)
        .unwrap();
    let (coord, temperature) = (space.upload(node_coord).unwrap(), space.upload(&temperature).unwrap());
    for (strategy, strategy_name) in Strategy::on_gpu() {
        let found = tables.assembled(space, strategy, |fill, matrix, residual| {
            let elem_node = tables.on_device.elem.elem_node();
            let input = EquationInput { elem_node, node_coord: &coord, solution: &temperature, given: &[] };
            let mut kernel = CudaEquationKernel::fused(Heat::new(2.5)).unwrap();
            fill.assemble_equation(space, &mut kernel, input, matrix, residual)
        });
        for (values, found_residual) in &found {
            let (values, residual) = (difference(values, matrix.values()), difference(found_residual, &residual));
            assert!(values < 1e-13 && residual < 1e-13, "{name}, {strategy_name}: {values:e}, {residual:e}");
        }
        if strategy.is_reproducible() {
            assert!(found[0] == found[1] && found[0] == found[2], "{name}, {strategy_name}: not the same bits");
        }
    }
}

pub(super) fn mesh(nodes: [u64; 3], rank: u32, ranks: u32) -> Mesh {
    let spec = BoxSpec::new(nodes, [3.0, 1.0, 1.0], CoordinateMap::TWIST).unwrap();
    Mesh::new(&Serial, BoxPart::new(&spec, rank as _, ranks as _).unwrap()).unwrap()
}

#[test]
fn fills_agree_with_serial_on_parts_of_a_box() {
    let Some(space) = gpu("fills_agree_with_serial_on_parts_of_a_box") else { return };
    for (nodes, rank, ranks) in [([2, 2, 2], 0, 1), ([34, 9, 7], 0, 1), ([61, 23, 17], 1, 3), ([20, 31, 12], 5, 8)] {
        let mesh = mesh(nodes, rank, ranks);
        let tables = Tables::new(&space, mesh.elem_node.clone(), mesh.map.owned_count());
        check_heat(&space, &format!("{nodes:?} rank {rank} of {ranks}"), &tables, &mesh.node_coord);
    }
}

#[test]
fn fills_agree_with_serial_for_a_scattered_numbering() {
    let Some(space) = gpu("fills_agree_with_serial_for_a_scattered_numbering") else { return };
    let mesh = mesh([17, 13, 11], 0, 1);
    let count = mesh.node_coord.len();
    let moved = |node: usize| (node * 1009 + 7) % count;
    let mut coord = vec![[0.0; 3]; count];
    (0..count).for_each(|node| coord[moved(node)] = mesh.node_coord[node]);
    // Elements in another order too: neighbours in x are not neighbours in the table.
    let mut elems: Vec<&[u32]> = mesh.elem_node.iter().collect();
    elems.sort_by_key(|nodes| nodes[0] as usize * 577 % 1021);
    let nodes: Vec<u32> = elems.concat().iter().map(|&node| moved(node as usize) as u32).collect();
    for rows in [count, count / 2] {
        let tables = Tables::new(&space, ElemNode::new(nodes.clone(), 8, count).unwrap(), rows);
        check_heat(&space, &format!("scattered, {rows} rows"), &tables, &coord);
    }
}

/// Hexahedra around one node: its row is too long for bytes, for shared memory, for 16 bits.
#[test]
fn fills_agree_with_serial_at_a_node_with_many_elements() {
    let Some(space) = gpu("fills_agree_with_serial_at_a_node_with_many_elements") else { return };
    for elems in [40, 600, 9400] {
        let (elem_node, coords) = hub(elems);
        let rows = elem_node.node_count();
        let tables = Tables::new(&space, elem_node, rows);
        check_heat(&space, &format!("hub of {elems}"), &tables, &coords);
    }
}

/// Hexahedra that share one node, and the coordinates of their nodes.
pub(super) fn hub(elems: u32) -> (ElemNode, Vec<[f64; 3]>) {
    let corners = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];
    let nodes = (0..elems).flat_map(|e| [0].into_iter().chain(7 * e + 1..7 * e + 8)).collect();
    let elem_node = ElemNode::new(nodes, 8, 7 * elems as usize + 1).unwrap();
    let moved = wave(21 * elems as usize, 0.37);
    let coord = |(at, corner): (usize, &[i32; 3])| {
        [0, 1, 2].map(|axis| f64::from(corner[axis]) + 0.1 * (moved[3 * at + axis] - 1.5))
    };
    let mut coords = vec![[0.0; 3]];
    coords.extend(corners.iter().cycle().take(7 * elems as usize).enumerate().map(coord));
    (elem_node, coords)
}

/// Stored element matrices by every strategy: whole numbers exactly, others with `Gather` to the bit.
fn check_matrices<const NN: usize>(space: &Cuda, name: &str, elem_node: ElemNode, rows: usize) {
    let tables = Tables::new(space, elem_node, rows);
    let elems = tables.elem_node.elem_count();
    let whole = |e: usize, i: usize, j: usize| ((e * 31 + i * 7 + j * 3) % 17) as f64 - 8.0;
    let symmetric = |e: usize, i: usize, j: usize| whole(e, i.min(j), i.max(j));
    let broken = |e: usize, i: usize, j: usize| (1.0 + (e * 29 + i * 5 + j) as f64).sqrt().sin();
    type Term<'a> = &'a (dyn Fn(usize, usize, usize) -> f64 + Sync);
    let cases: [(Term, bool, bool); 4] =
        [(&whole, false, true), (&symmetric, true, true), (&symmetric, false, true), (&broken, false, false)];
    for (term, packed, exact) in cases {
        let kernel = element_fn(|e| {
            let matrix = std::array::from_fn(|i| std::array::from_fn(|j| term(e, i, j)));
            (matrix, std::array::from_fn::<_, NN, _>(|i| term(e, i, NN)))
        });
        let mut matrix = CrsMatrix::zero(tables.graph.crs.clone());
        let mut residual = vec![f64::NAN; rows];
        Fill::new(&Serial, fill::Strategy::Gather, &tables.graph)
            .unwrap()
            .assemble(&Serial, &kernel, &mut matrix, &mut residual)
            .unwrap();
        let expected = (matrix.into_parts().1, residual);
        let (mut matrices, mut residuals) = (vec![], vec![]);
        for i in 0..NN {
            residuals.extend((0..elems).map(|e| term(e, i, NN)));
            for j in if packed { i } else { 0 }..NN {
                matrices.extend((0..elems).map(|e| term(e, i, j)));
            }
        }
        let (matrices, residuals) = (space.upload(&matrices).unwrap(), space.upload(&residuals).unwrap());
        let elements = ElementMatrices { matrices: &matrices, residuals: &residuals, symmetric: packed };
        for (strategy, strategy_name) in Strategy::on_gpu() {
            let found = tables.assembled(space, strategy, |fill, matrix, residual| {
                fill.assemble_matrices(space, elements, matrix, residual)
            });
            let name = format!("{name}, {NN} nodes, {strategy_name}, packed: {packed}");
            for found in &found {
                if exact || strategy == Strategy::Gather {
                    assert!(*found == expected, "{name}: other bits than the host's");
                }
                let differences = (difference(&found.0, &expected.0), difference(&found.1, &expected.1));
                // A hub's sums have a term of each element, in any order.
                let bound = 1e-13_f64.max(elems as f64 * f64::EPSILON);
                assert!(differences.0 < bound && differences.1 < bound, "{name}: {differences:?}");
            }
            assert!(!strategy.is_reproducible() || found[0] == found[2], "{name}: not the same bits");
        }
    }
}

#[test]
fn stored_matrices_of_fans_and_strips_are_summed_as_on_serial() {
    let Some(space) = gpu("stored_matrices_of_fans_and_strips_are_summed_as_on_serial") else { return };
    let table = |nodes: Vec<u32>, nn: usize| {
        let count = nodes.iter().max().map_or(3, |&node| node as usize + 1);
        (ElemNode::new(nodes, nn, count).unwrap(), count)
    };
    let (nothing, count) = table(vec![], 4);
    check_matrices::<4>(&space, "nothing", nothing, count);
    let (strip, _) = table((0..3000).flat_map(|e| [e, e + 1]).collect(), 2);
    check_matrices::<2>(&space, "strip", strip, 2500);
    // Rows for bytes, for 16 bits, for shared memory no more, for 32 bits.
    for elems in [30, 300, 1200, 33_000] {
        let (fan, count) = table((0..elems).flat_map(|e| [0, 2 * e + 1, 2 * e + 2]).collect(), 3);
        check_matrices::<3>(&space, &format!("fan of {elems}"), fan, count);
    }
    let (ring, count) = table((0..500).flat_map(|e| [0, 7, 19, 42, 100].map(|step| (e + step) % 500)).collect(), 5);
    check_matrices::<5>(&space, "ring", ring, count - 11);
    let (single, count) = table(vec![3, 0, 1], 1);
    check_matrices::<1>(&space, "points", single, count);
}

/// `cells` cubes along each axis, of `order + 1` nodes along each of theirs.
pub(super) fn cubes(cells: u32, order: u32) -> ElemNode {
    let side = cells * order + 1;
    let mut nodes = vec![];
    for cell in 0..cells.pow(3) {
        let lowest = [cell % cells, cell / cells % cells, cell / cells / cells].map(|c| c * order);
        let n = order + 1;
        nodes.extend((0..n.pow(3)).map(|m| {
            let at = [m % n, m / n % n, m / n / n];
            (lowest[0] + at[0]) + side * ((lowest[1] + at[1]) + side * (lowest[2] + at[2]))
        }));
    }
    ElemNode::new(nodes, (order as usize + 1).pow(3), (side as usize).pow(3)).unwrap()
}

#[test]
fn stored_matrices_of_cubes_are_summed_as_on_serial() {
    let Some(space) = gpu("stored_matrices_of_cubes_are_summed_as_on_serial") else { return };
    check_matrices::<8>(&space, "cubes", cubes(9, 1), 1000);
    check_matrices::<8>(&space, "cubes", cubes(9, 1), 777);
    check_matrices::<27>(&space, "cubes", cubes(5, 2), 1331);
    let tetrahedra =
        cubes(7, 1).iter().flat_map(|n| [[0, 1, 3, 7], [0, 4, 2, 7]].map(|t| t.map(|i| n[i])).concat()).collect();
    check_matrices::<4>(&space, "tetrahedra", ElemNode::new(tetrahedra, 4, 512).unwrap(), 500);
}

/// The heat equation by every strategy and kernel, through the interface that the host has too; the exact solution.
#[test]
fn every_strategy_and_kernel_solves_the_heat_equation() {
    let Some(space) = gpu("every_strategy_and_kernel_solves_the_heat_equation") else { return };
    let mesh = mesh([31, 12, 9], 1, 2);
    let (on_device, rows) = (mesh.upload(&space).unwrap(), mesh.map.owned_count());
    let graph = graph::build(&Serial, &mesh.elem_node, rows, graph::Strategy::default()).unwrap();
    let graph_on_device = graph.upload(&space).unwrap();
    let exact = Analytic::new(1.0, 2.0, 0.0, 1.0);
    let columns = mesh.map.local_count();
    let temperature = Serial.sample(&exact, &mesh.node_coord, columns).unwrap();
    let found = space.sample(&exact, &on_device.node_coord, columns).unwrap();
    assert!(difference(&space.download(&found).unwrap(), &temperature) < 1e-15);
    assert!(space.sample(&exact, &on_device.node_coord, columns + 1).is_err());

    let found_temperature = space.upload(&temperature).unwrap();
    let model = heat(exact.heat());
    let mut residual = vec![0.0; rows];
    let nothing = vec![0; columns];
    for (kernel, kernel_name) in Kernel::ALL {
        for (strategy, name) in Strategy::on_gpu() {
            let free = Dirichlet::new(&Serial, &graph.crs, &nothing).unwrap();
            let mut system = Serial.stored_system(strategy, Format::Crs.into(), graph.clone(), free).unwrap();
            let (element, elem_node, node_coord) = (ElementType::Hex8, &mesh.elem_node, &mesh.node_coord[..]);
            let on = FieldOn { element, elem_node, node_coord };
            let mut assembly = Serial.assembly((strategy, kernel).into(), &model, on, &system).unwrap();
            Serial.assemble(&mut assembly, node_coord, &temperature, &mut system, &mut residual).unwrap();

            let node_coord = &on_device.node_coord;
            let graph = graph_on_device.clone();
            let free = Dirichlet::new(&space, &graph.crs, &space.upload(&nothing).unwrap()).unwrap();
            let mut found = space.stored_system(strategy, Format::Crs.into(), graph, free).unwrap();
            let on = FieldOn { element, elem_node: &on_device.elem_node, node_coord };
            let mut assembly = space.assembly((strategy, kernel).into(), &model, on, &found).unwrap();
            let mut found_residual = space.zeros(rows).unwrap();
            space.assemble(&mut assembly, node_coord, &found_temperature, &mut found, &mut found_residual).unwrap();
            let values = difference(
                &space.download(found.matrix.values()).unwrap(),
                Threads::crs(&system.matrix).unwrap().values(),
            );
            let residual = difference(&space.download(&found_residual).unwrap(), &residual);
            assert!(values < 1e-13 && residual < 1e-12, "{name}, {kernel_name}: {values:e}, {residual:e}");
            let numbers = match (strategy, kernel) {
                (Strategy::Scatter, Kernel::Fused) => 0,
                (_, Kernel::Intrepid) => 64 + 8,
                _ => 36 + 8,
            };
            assert_eq!(Cuda::stored_bytes(&assembly), 16 * numbers * mesh.elem_count() as u64, "{name}, {kernel_name}");
        }
    }
}

#[test]
fn boundary_conditions_are_those_of_serial() {
    let Some(space) = gpu("boundary_conditions_are_those_of_serial") else { return };
    let mesh = mesh([31, 12, 9], 1, 2);
    let tables = Tables::new(&space, mesh.elem_node.clone(), mesh.map.owned_count());
    let (rows, columns, nnz) = (tables.graph.crs.rows(), tables.graph.crs.columns(), tables.graph.crs.nnz());
    let faces = Serial.on_faces(&mesh, [Face::ZMin, Face::XMax]).unwrap();
    let scattered = (0..columns).map(|node| u8::from(node * 7 % 5 == 0)).collect();
    for fixed in [faces, scattered, vec![0; columns], vec![1; columns]] {
        let mut matrix = CrsMatrix::new(tables.graph.crs.clone(), wave(nnz, 0.3)).unwrap();
        let mut residual = wave(rows, 0.9);
        let host = Dirichlet::new(&Serial, &tables.graph.crs, &fixed).unwrap();
        host.apply(&Serial, &mut matrix, &mut residual).unwrap();

        let graph = &tables.on_device.crs;
        let mut found = CrsMatrix::zeros_on(&space, graph.clone()).unwrap();
        *found.parts_mut().1 = space.upload(&wave(nnz, 0.3)).unwrap();
        let mut found_residual = space.upload(&wave(rows, 0.9)).unwrap();
        let conditions = Dirichlet::new(&space, graph, &space.upload(&fixed).unwrap()).unwrap();
        conditions.apply(&space, &mut found, &mut found_residual).unwrap();
        assert_eq!(conditions.len(), host.len());
        assert_eq!(space.download(found.values()).unwrap(), *matrix.values());
        assert_eq!(space.download(&found_residual).unwrap(), residual);
        assert!(Dirichlet::new(&space, graph, &space.upload(&fixed[1..]).unwrap()).is_err());
    }
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let Some(space) = gpu("arrays_that_do_not_fit_are_refused") else { return };
    let (tables, other) = (Tables::new(&space, cubes(2, 1), 27), Tables::new(&space, cubes(3, 1), 64));
    let graph = &tables.on_device;
    let (coord, temperature) = (space.zeros::<[f64; 3]>(27).unwrap(), space.zeros::<f64>(27).unwrap());
    for (strategy, _) in Strategy::on_gpu() {
        let mut fill = CudaFill::new(&space, strategy, graph).unwrap();
        let mut matrix = CrsMatrix::zeros_on(&space, graph.crs.clone()).unwrap();
        let (mut residual, mut short) = (space.zeros::<f64>(27).unwrap(), space.zeros::<f64>(26).unwrap());
        let (mut kernel, elem_node) = (CudaEquationKernel::fused(Heat::new(1.0)).unwrap(), graph.elem.elem_node());
        let mut heat = |solution, residual| {
            let input = EquationInput { elem_node, node_coord: &coord, solution, given: &[] };
            fill.assemble_equation(&space, &mut kernel, input, &mut matrix, residual)
        };
        assert!(heat(&temperature, &mut short).unwrap_err().to_string().contains("`residual`"));
        assert!(heat(&space.zeros(26).unwrap(), &mut residual).unwrap_err().to_string().contains("`solution`"));
        let elements = ElementMatrices { matrices: &temperature, residuals: &temperature, symmetric: false };
        let refused = fill.assemble_matrices(&space, elements, &mut matrix, &mut residual);
        assert!(refused.unwrap_err().to_string().contains("`matrices`"));
        // Matrices on another graph, and on an equal graph that was built apart.
        let apart = graph::build(&Serial, &tables.elem_node, 27, graph::Strategy::Sort).unwrap();
        let apart = Arc::new(apart.crs.upload(&space).unwrap());
        for (crs, message) in [(&other.on_device.crs, "rows, columns and entries"), (&apart, "was built apart")] {
            let mut matrix = CrsMatrix::zeros_on(&space, crs.clone()).unwrap();
            let input = EquationInput { elem_node, node_coord: &coord, solution: &temperature, given: &[] };
            let refused = fill.assemble_equation(&space, &mut kernel, input, &mut matrix, &mut residual);
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(message), "{refused}");
        }
    }
}
