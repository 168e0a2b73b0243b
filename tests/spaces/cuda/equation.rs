//! Equations of Rust on a GPU against the host's kernel and assembly.

use super::equations::{Bratu, Exchange, Layered, Seepage};
use super::{difference, gpu};
use minifenl::contraction::Sum;
use minifenl::element::equations::{Diffusion, Elasticity, Equation, Heat, Jacobian, PlaneStrain};
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{
    CudaEquationKernel, CudaFill, CudaGiven, EquationInput, EquationKernel, EquationText, Fill, Given, Parts, Strategy,
    WithGiven,
};
use minifenl::graph;
use minifenl::mesh::{ElemNode, Mesh, boundary_faces};
use minifenl::space::{Cuda, DeviceText, ExecutionSpace, Serial};
use minifenl::sparse::CrsMatrix;

/// Assembles on a twisted box on both sides, with every strategy.
fn check<E: Equation<D> + DeviceText, const D: usize, const NN: usize, const ND: usize>(
    space: &Cuda,
    equation: &E,
    element: ElementType,
    cells: [usize; 3],
) {
    let mesh = Mesh::of_box(element, cells, [1.0, 0.8, 1.2]).unwrap();
    let bump = |x: f64| x * (1.0 - x);
    let coord = mesh.node_coord.iter().map(|&[x, y, z]| [x + 0.3 * bump(y), y, z + 0.2 * bump(x)]);
    check_mesh::<E, D, NN, ND>(space, equation, element, &mesh.elem_node, coord.collect());
}

/// Assembles on the top of a box of `cells`, in a plane.
fn check_plane<E: Equation<D> + DeviceText, const D: usize, const NN: usize, const ND: usize>(
    space: &Cuda,
    equation: &E,
    cells: ElementType,
) {
    let mesh = Mesh::of_box(cells, [7, 9, 1], [1.0, 0.8, 0.5]).unwrap();
    let is_top = |nodes: &[u32]| nodes.iter().all(|&node| mesh.node_coord[node as usize][2] == 0.5);
    let top = &boundary_faces(cells, &mesh.elem_node, &is_top).unwrap()[0];
    let coord = mesh.node_coord.iter().map(|&[x, y, _]| [x + 0.3 * y * (1.0 - y), y - 0.1 * x * x, 0.5]);
    check_mesh::<E, D, NN, ND>(space, equation, top.element, &top.elem_node, coord.collect());
}

fn check_mesh<E: Equation<D> + DeviceText, const D: usize, const NN: usize, const ND: usize>(
    space: &Cuda,
    equation: &E,
    element: ElementType,
    table: &ElemNode,
    coord: Vec<[f64; 3]>,
) {
    let name = format!("{} on {element}", E::NAME);
    let count = coord.len();
    let u: Vec<[f64; D]> = coord
        .iter()
        .map(|&[x, y, z]| std::array::from_fn(|c| 1.0 + (x + 2.0 * y * z + c as f64).sin() / 3.0))
        .collect();
    let nodes = graph::build(&Serial, table, count, graph::Strategy::default()).unwrap();
    let graph = nodes.with_dofs(&Serial, D).unwrap();
    let tables = BasisTables::of(element);
    let kernel = EquationKernel::<D, NN, ND>::new(equation, &tables, table, &coord, &u).unwrap();
    let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; D * count]);
    let mut fill = Fill::<ND>::new(&Serial, Strategy::Gather, &graph).unwrap();
    fill.assemble(&Serial, &kernel, &mut matrix, &mut residual).unwrap();

    let (elem_node, on_device) = (table.upload(space).unwrap(), graph.upload(space).unwrap());
    let (coord, solution) = (space.upload(&coord).unwrap(), space.upload(u.as_flattened()).unwrap());
    let input = EquationInput { elem_node: &elem_node, node_coord: &coord, solution: &solution, given: &[] };
    let elems = table.elem_count();
    for (jacobian, jacobian_name) in Jacobian::ALL {
        let text = EquationText::of(equation).with_jacobian(jacobian);
        let mut kernel = CudaEquationKernel::new(space, &text, &tables).unwrap();
        let name = format!("{name}, {jacobian_name}");
        for ((strategy, strategy_name), step) in Strategy::on_gpu().flat_map(|s| [(s, elems), (s, elems / 3)]) {
            let mut fill = CudaFill::with_step(space, strategy, step, &on_device).unwrap();
            let mut found = CrsMatrix::zeros_on(space, on_device.crs.clone()).unwrap();
            let mut found_residual = space.upload(&vec![f64::NAN; D * count]).unwrap();
            for _ in 0..2 {
                fill.assemble_equation(space, &mut kernel, input, &mut found, &mut found_residual).unwrap();
            }
            let values = difference(&space.download(found.values()).unwrap(), matrix.values());
            let residuals = difference(&space.download(&found_residual).unwrap(), &residual);
            assert!(values < 1e-12, "{name}, {strategy_name}, step {step}: matrix differs by {values:e}");
            assert!(residuals < 1e-12, "{name}, {strategy_name}, step {step}: residual differs by {residuals:e}");
        }
    }
}

/// The equation on small and large elements, with and without one kernel for all.
fn check_elements<E: Equation<1> + DeviceText>(space: &Cuda, equation: &E) {
    check::<_, 1, 8, 8>(space, equation, ElementType::Hex8, [9, 10, 11]);
    check::<_, 1, 4, 4>(space, equation, ElementType::Tet4, [5, 6, 7]);
    check::<_, 1, 6, 6>(space, equation, ElementType::Wedge6, [5, 6, 7]);
    check::<_, 1, 10, 10>(space, equation, ElementType::Tet10, [3, 4, 5]);
    check::<_, 1, 20, 20>(space, equation, ElementType::Hex20, [3, 4, 5]);
    check::<_, 1, 27, 27>(space, equation, ElementType::Hex27, [4, 5, 6]);
}

#[test]
fn heat_and_diffusion_are_assembled_as_on_a_host() {
    let Some(space) = gpu("heat_and_diffusion_are_assembled_as_on_a_host") else { return };
    check_elements(&space, &Heat::new(1.7));
    check_elements(&space, &Diffusion { direction: [0.5, 1.0, -0.25] });
}

#[test]
fn equations_of_a_user_are_assembled_as_on_a_host() {
    let Some(space) = gpu("equations_of_a_user_are_assembled_as_on_a_host") else { return };
    check_elements(&space, &Bratu { lambda: 1.3 });
    for limit in [0.7, 20.0] {
        let layered = Layered { weights: [1.5, 0.0, 0.25], mix: [[1.0, 0.5], [0.25, 2.0]], limit };
        check::<_, 2, 8, 16>(&space, &layered, ElementType::Hex8, [5, 4, 3]);
        check::<_, 2, 27, 54>(&space, &layered, ElementType::Hex27, [3, 3, 2]);
    }
}

#[test]
fn elasticity_is_assembled_as_on_a_host() {
    let Some(space) = gpu("elasticity_is_assembled_as_on_a_host") else { return };
    let equation = Elasticity { lambda: 1.2, mu: 0.8, force: [0.1, 0.0, -1.0] };
    check::<_, 3, 8, 24>(&space, &equation, ElementType::Hex8, [5, 6, 7]);
    check::<_, 3, 4, 12>(&space, &equation, ElementType::Tet4, [3, 4, 5]);
    check::<_, 3, 27, 81>(&space, &equation, ElementType::Hex27, [3, 2, 4]);
}

#[test]
fn plane_meshes_are_assembled_as_on_a_host() {
    let Some(space) = gpu("plane_meshes_are_assembled_as_on_a_host") else { return };
    check_plane::<_, 1, 3, 3>(&space, &Heat::new(1.7), ElementType::Tet4);
    check_plane::<_, 1, 9, 9>(&space, &Diffusion { direction: [0.5, 1.0, 0.0] }, ElementType::Hex27);
    let solid = PlaneStrain { lambda: 1.2, mu: 0.8, force: [0.5, -1.0] };
    check_plane::<_, 2, 4, 8>(&space, &solid, ElementType::Hex8);
    check_plane::<_, 2, 6, 12>(&space, &solid, ElementType::Tet10);
}

#[test]
fn other_sizes_are_refused() {
    let Some(space) = gpu("other_sizes_are_refused") else { return };
    let mesh = Mesh::of_box(ElementType::Hex8, [2; 3], [1.0; 3]).unwrap();
    let graph = graph::build(&Serial, &mesh.elem_node, 27, graph::Strategy::default()).unwrap().upload(&space).unwrap();
    let mut fill = CudaFill::new(&space, Strategy::Gather, &graph).unwrap();
    let (mut matrix, mut residual) =
        (CrsMatrix::zeros_on(&space, graph.crs.clone()).unwrap(), space.zeros(27).unwrap());
    let (elem_node, coord) = (mesh.elem_node.upload(&space).unwrap(), space.upload(&mesh.node_coord).unwrap());
    let text = EquationText::of(&Heat::new(1.0));
    let mut refused = |element: ElementType, unknowns: usize| {
        let mut kernel = CudaEquationKernel::new(&space, &text, &BasisTables::of(element)).unwrap();
        let solution = space.zeros(unknowns).unwrap();
        let input = EquationInput { elem_node: &elem_node, node_coord: &coord, solution: &solution, given: &[] };
        fill.assemble_equation(&space, &mut kernel, input, &mut matrix, &mut residual).unwrap_err().to_string()
    };
    assert!(refused(ElementType::Tet4, 27).contains("elem_node (nodes per element)"));
    assert!(refused(ElementType::Hex8, 26).contains("`solution`"));
}

/// Assembles with given fields of nodes, elements and points on both sides.
fn check_given<const NN: usize>(space: &Cuda, element: ElementType, cells: [usize; 3]) {
    let (mesh, tables, equation) =
        (Mesh::of_box(element, cells, [1.0; 3]).unwrap(), BasisTables::of(element), Seepage { dt: 0.4 });
    let (table, coord) = (&mesh.elem_node, &mesh.node_coord);
    let (count, elems) = (coord.len(), table.elem_count());
    let values = |len: usize, step: f64| (0..len).map(|i| 1.5 + (step * i as f64).sin()).collect::<Vec<f64>>();
    let (u, old) = (values(count, 0.3), values(2 * count, 0.7));
    let (of_elements, of_points) = (values(elems, 1.1), values(elems * tables.weights.len(), 0.9));
    let given = [Given::component::<2>(old.as_chunks().0, 1), Given::elements(&of_elements), Given::points(&of_points)];
    let there = WithGiven { equation: &equation, given };
    let graph = graph::build(&Serial, table, count, graph::Strategy::default()).unwrap();
    let kernel = EquationKernel::<1, NN, NN>::with_given(&there, &tables, table, coord, u.as_chunks().0).unwrap();
    let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; count]);
    let mut fill = Fill::<NN>::new(&Serial, Strategy::Gather, &graph).unwrap();
    fill.assemble(&Serial, &kernel, &mut matrix, &mut residual).unwrap();

    let (elem_node, on_device) = (table.upload(space).unwrap(), graph.upload(space).unwrap());
    let [solution, old, of_elements, of_points] = [u, old, of_elements, of_points].map(|of| space.upload(&of).unwrap());
    let given = [CudaGiven::component::<2>(&old, 1), CudaGiven::elements(&of_elements), CudaGiven::points(&of_points)];
    let coord = space.upload(coord).unwrap();
    let input = EquationInput { elem_node: &elem_node, node_coord: &coord, solution: &solution, given: &given };
    let mut kernel = CudaEquationKernel::new(space, &EquationText::of_at(&equation), &tables).unwrap();
    // Steps that begin inside the fields.
    for ((strategy, name), step) in Strategy::on_gpu().flat_map(|s| [(s, elems), (s, elems / 3)]) {
        let mut fill = CudaFill::with_step(space, strategy, step, &on_device).unwrap();
        let mut found = CrsMatrix::zeros_on(space, on_device.crs.clone()).unwrap();
        let mut sums = space.upload(&vec![f64::NAN; count]).unwrap();
        fill.assemble_equation(space, &mut kernel, input, &mut found, &mut sums).unwrap();
        let values = difference(&space.download(found.values()).unwrap(), matrix.values());
        let residuals = difference(&space.download(&sums).unwrap(), &residual);
        assert!(values < 1e-12 && residuals < 1e-12, "{element}, {name}, step {step}: {values:e}, {residuals:e}");
        let fewer = EquationInput { given: &given[..2], ..input };
        let refused = fill.assemble_equation(space, &mut kernel, fewer, &mut found, &mut sums).unwrap_err().to_string();
        assert!(refused.contains("given (fields)"), "{refused}");
        let longer = EquationInput { given: &[given[0], CudaGiven::elements(&old), given[2]], ..input };
        let refused =
            fill.assemble_equation(space, &mut kernel, longer, &mut found, &mut sums).unwrap_err().to_string();
        assert!(refused.contains("`given (a value per element)`"), "{refused}");
    }
}

#[test]
fn given_fields_are_those_of_a_host() {
    let Some(space) = gpu("given_fields_are_those_of_a_host") else { return };
    check_given::<8>(&space, ElementType::Hex8, [9, 10, 11]);
    check_given::<4>(&space, ElementType::Tet4, [5, 6, 7]);
    check_given::<27>(&space, ElementType::Hex27, [4, 5, 6]);
}

/// Cells with the terms of their boundary, of two unknowns.
#[test]
fn boundaries_are_added_as_on_a_host() {
    let Some(space) = gpu("boundaries_are_added_as_on_a_host") else { return };
    let (cells, mesh) = (ElementType::Tet10, Mesh::of_box(ElementType::Tet10, [3, 4, 5], [1.0; 3]).unwrap());
    let faces = &boundary_faces(cells, &mesh.elem_node, &|_: &[u32]| true).unwrap()[0];
    let (coord, count) = (&mesh.node_coord, mesh.node_coord.len());
    let u: Vec<[f64; 2]> = coord.iter().map(|&[x, y, z]| [x + y * z, 1.0 - x * y]).collect();
    let h: Vec<f64> = coord.iter().map(|&[x, y, z]| 1.0 + x * x + y - z).collect();
    let layered = Layered { weights: [1.5, 0.0, 0.25], mix: [[1.0, 0.5], [0.25, 2.0]], limit: 20.0 };
    let exchange = Exchange { ambient: 0.7 };
    let nodes = [&mesh.elem_node, &faces.elem_node];
    let groups = graph::build_groups(&Serial, &nodes, count, graph::Strategy::default()).unwrap();
    let groups: Vec<_> = groups.into_iter().map(|graph| graph.with_dofs(&Serial, 2).unwrap()).collect();
    let crs = groups[0].crs.clone();
    let (of_cells, of_faces) = (BasisTables::of(cells), BasisTables::of(faces.element));
    let (mut matrix, mut residual) = (CrsMatrix::zero(crs.clone()), vec![0.0; 2 * count]);
    let kernel = EquationKernel::<2, 10, 20>::new(&layered, &of_cells, nodes[0], coord, &u).unwrap();
    let mut fill = Fill::<20>::new(&Serial, Strategy::Gather, &groups[0]).unwrap();
    fill.assemble(&Serial, &kernel, &mut matrix, &mut residual).unwrap();
    let there = WithGiven { equation: &exchange, given: [Given::nodes(&h)] };
    let kernel = EquationKernel::<2, 6, 12>::on_boundary(&there, &of_faces, nodes[1], coord, &u).unwrap();
    let mut fill = Fill::<12>::new(&Serial, Strategy::Gather, &groups[1]).unwrap();
    fill.assemble_parts(&Serial, &kernel, Sum::Into, Parts::Both(&mut matrix, &mut residual)).unwrap();

    let on_device: Vec<_> = groups.iter().map(|graph| graph.upload(&space).unwrap()).collect();
    let tables = nodes.map(|table| table.upload(&space).unwrap());
    let (coord, solution, h) =
        (space.upload(coord).unwrap(), space.upload(u.as_flattened()).unwrap(), space.upload(&h).unwrap());
    let given = [CudaGiven::nodes(&h)];
    let input = EquationInput { elem_node: &tables[0], node_coord: &coord, solution: &solution, given: &[] };
    let mut found = CrsMatrix::zeros_on(&space, on_device[0].crs.clone()).unwrap();
    let mut sums = space.upload(&vec![f64::NAN; 2 * count]).unwrap();
    let mut kernel = CudaEquationKernel::new(&space, &EquationText::of(&layered), &of_cells).unwrap();
    let mut fill = CudaFill::new(&space, Strategy::Gather, &on_device[0]).unwrap();
    fill.assemble_equation(&space, &mut kernel, input, &mut found, &mut sums).unwrap();
    let text = EquationText::of_at(&exchange).on_boundary();
    let mut kernel = CudaEquationKernel::new(&space, &text, &of_faces).unwrap();
    let input = EquationInput { elem_node: &tables[1], given: &given, ..input };
    let mut gather = CudaFill::new(&space, Strategy::Gather, &on_device[1]).unwrap();
    let refused = gather.add_equation(&space, &mut kernel, input, &mut found, &mut sums).unwrap_err().to_string();
    assert!(refused.contains("strategy gather: expected scatter"), "{refused}");
    let mut fill = CudaFill::new(&space, Strategy::Scatter, &on_device[1]).unwrap();
    fill.add_equation(&space, &mut kernel, input, &mut found, &mut sums).unwrap();
    let values = difference(&space.download(found.values()).unwrap(), matrix.values());
    let residuals = difference(&space.download(&sums).unwrap(), &residual);
    assert!(values < 1e-12 && residuals < 1e-12, "{values:e}, {residuals:e}");
}
