//! The kernel of `kernels/intrepid.cu` and the contractions of its operands give the element matrices of the host's `EquationKernel`,
//! without a GPU: the compiler of the host compiles the kernel, `Serial` contracts.

use super::equation_kernel::{ELEMS, compiler, distorted, run};
use super::on_host::PRELUDE;
use crate::equations::{Energy, Layered};
use minifenl::contraction::{Sum, data_field_scalar, data_field_vector, field_field_scalar, field_field_vector};
use minifenl::element::equations::{Diffusion, Elasticity, Equation, Heat};
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{ElementBatch, ElementKernel, EquationKernel, EquationText, Wanted};
use minifenl::space::{DeviceText, Layout, Serial, View, ViewMut};

/// Cells that a workset has room for.
const CELLS: usize = ELEMS + 2;
const MAIN: &str = r#"
static std::vector<double> numbers(size_t count) {
    std::vector<double> all(count);
    if (fread(all.data(), 8, count, stdin) != count) all.clear();
    return all;
}
int main() {
    std::vector<double> nodes = numbers(COUNT * NODES), coords = numbers(COUNT * NODES * DIM);
    std::vector<double> solution = numbers(COUNT * ROWS), parameters = numbers(PARAMETERS), tables = numbers(NUMBERS);
    std::vector<u32> elem_node(nodes.begin(), nodes.end());
    const int points = CELLS * POINTS, columns = DOFS * ROWS;
    std::vector<double> gradients(points * NODES * DIM, NAN), slopes(points * columns * DIM, NAN), reactions(points * columns, NAN);
    std::vector<double> fluxes(points * DOFS * DIM, NAN), sources(points * DOFS, NAN);
    for (blockIdx.x = 0; blockIdx.x < COUNT / GROUP + 2; blockIdx.x++) {
        workset_operands(COUNT, CELLS, elem_node.data(), coords.data(), solution.data(), parameters.data(), tables.data(),
                         gradients.data(), slopes.data(), reactions.data(), fluxes.data(), sources.data());
    }
    std::vector<double> phi;
    for (int m = 0; m < NODES; m++) {
        for (int p = 0; p < POINTS; p++) phi.push_back(((Tables*)tables.data())->basis[p][m][DIM]);
    }
    for (auto& array : {phi, gradients, slopes, reactions, fluxes, sources}) fwrite(array.data(), 8, array.size(), stdout);
}
"#;

/// The first elements of the array of component `i`, of extents that begin with all cells.
fn part<const R: usize>(of: &[f64], i: usize, mut extents: [usize; R], layout: Layout) -> View<'_, f64, R> {
    let (first, strides) = (i * extents.iter().product::<usize>(), layout.strides(extents));
    extents[0] = ELEMS;
    View::with_strides(&of[first..], extents, strides).unwrap()
}

fn check<E: Equation<D> + DeviceText, const D: usize, const NN: usize, const ND: usize>(
    compiler: &str,
    equation: &E,
    element: ElementType,
) {
    let (elem_node, coords, nodal) = distorted::<D>(element);
    let (tables, text) = (BasisTables::of(element), EquationText::of(equation));
    let (points, numbers) = (tables.weights.len(), text.tables(&tables).unwrap());
    let kernel = EquationKernel::<D, NN, ND>::new(equation, &tables, &elem_node, &coords, &nodal).unwrap();
    let mut expected = Box::new(ElementBatch::<ND>::ZERO);
    kernel.evaluator(Wanted { matrix: true, residual: true }, 0..ELEMS).unwrap()(0..ELEMS, &mut expected).unwrap();
    let ElementBatch { matrix: expected, residual: expected_residual } = &*expected;
    let scale = expected.as_flattened().as_flattened().iter().fold(0.0f64, |max, x| max.max(x.abs()));
    let sizes = format!(
        "constexpr int COUNT = {ELEMS}, CELLS = {CELLS}, PARAMETERS = {}, NUMBERS = {};\n",
        text.parameters().len(),
        numbers.len()
    );
    let input = [
        elem_node.iter().flatten().map(|&node| f64::from(node)).collect(),
        coords.as_flattened().to_vec(),
        nodal.as_flattened().to_vec(),
        text.parameters().to_vec(),
        numbers,
    ];
    for (layout, layout_name) in Layout::ALL {
        let name = format!("{} on {element}, {layout_name}", E::NAME);
        let source = text.workset_source(&tables, layout).unwrap();
        let (_, kernel) = source.split_once("#line 1 \"device.cuh\"").unwrap();
        let found = run(compiler, &name, &[PRELUDE, kernel, &sizes, MAIN].concat(), &input.concat());
        let (of_point, columns) = (CELLS * points, D * ND);
        // As the kernel reads them: the points of some elements are in another order.
        let (phi, rest) = found.split_at(NN * points);
        let (gradients, rest) = rest.split_at(of_point * NN * 3);
        let (slopes, rest) = rest.split_at(of_point * columns * 3);
        let (reactions, rest) = rest.split_at(of_point * columns);
        let (fluxes, sources) = rest.split_at(of_point * D * 3);
        let has_reactions = source.contains("REACTIONS = true");
        assert_eq!(reactions.iter().any(|x| !x.is_nan()), has_reactions, "{name}");
        let phi = View::with_strides(phi, [ELEMS, NN, points], [0, points, 1]).unwrap();
        let gradients = part(gradients, 0, [CELLS, NN, points, 3], layout);
        let (mut matrix, mut residual) = (vec![f64::NAN; ELEMS * ND * ND], vec![f64::NAN; ELEMS * ND]);
        for i in 0..D {
            let strides = [1, ELEMS * D * ND, ELEMS];
            let mut to = ViewMut::with_strides(&mut matrix[i * ND * ELEMS..], [ELEMS, NN, ND], strides).unwrap();
            let slopes = part(slopes, i, [CELLS, ND, points, 3], layout);
            field_field_vector(&Serial, &gradients, &slopes, &mut to, Sum::Overwrite).unwrap();
            if has_reactions {
                let reactions = part(reactions, i, [CELLS, ND, points], layout);
                field_field_scalar(&Serial, &phi, &reactions, &mut to, Sum::Into).unwrap();
            }
            let mut to = ViewMut::with_strides(&mut residual[i * ELEMS..], [ELEMS, NN], [1, ELEMS * D]).unwrap();
            let fluxes = part(fluxes, i, [CELLS, points, 3], layout);
            data_field_vector(&Serial, &fluxes, &gradients, &mut to, Sum::Overwrite).unwrap();
            data_field_scalar(&Serial, &part(sources, i, [CELLS, points], layout), &phi, &mut to, Sum::Into).unwrap();
        }
        for (elem, i) in (0..ELEMS).flat_map(|elem| (0..ND).map(move |i| (elem, i))) {
            let near = |what: &str, found: f64, expected: f64| {
                assert!(
                    (found - expected).abs() < 1e-13 * scale,
                    "{name}, element {elem}, {what}: {found}, {expected}"
                );
            };
            near("residual", residual[i * ELEMS + elem], expected_residual[i][elem]);
            (0..ND).for_each(|j| near("matrix", matrix[(i * ND + j) * ELEMS + elem], expected[i][j][elem]));
        }
    }
}

#[test]
fn contractions_of_a_workset_compute_the_element_matrices_of_the_host() {
    let Some(compiler) = compiler() else { return };
    check::<_, 1, 8, 8>(&compiler, &Heat::new(1.7), ElementType::Hex8);
    check::<_, 1, 8, 8>(&compiler, &Energy {}, ElementType::Hex8);
    check::<_, 1, 4, 4>(&compiler, &Heat::new(1.7), ElementType::Tet4);
    check::<_, 1, 27, 27>(&compiler, &Diffusion { direction: [0.5, 1.0, -0.25] }, ElementType::Hex27);
    check::<_, 3, 10, 30>(&compiler, &Elasticity { lambda: 1.2, mu: 0.8, force: [0.1, 0.0, -1.0] }, ElementType::Tet10);
    let layered = Layered { weights: [1.5, 0.0, 0.25], mix: [[1.0, 0.5], [0.25, 2.0]], limit: 20.0 };
    check::<_, 2, 20, 40>(&compiler, &layered, ElementType::Hex20);
}
