//! The kernels of `kernels/equation.cu` and `kernels/fill_contraction.cu` compute the element matrices of the host's `EquationKernel`.
//! Without a GPU: the compiler of the host compiles their text. A loop takes the place of blocks and threads; for contractions, 32
//! threads are the lanes of a warp, and a function the tensor cores.

use super::on_host::{MAIN, PRELUDE, RECIPROCAL, WARP, WARP_MAIN};
use crate::equations::{Bratu, Energy, Exchange, Layered, Seepage};
use minifenl::element::equations::{
    Diffusion, Elasticity, Equation, EquationAt, Field, Heat, PlaneStrain, Point, Weak,
};
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{ElementBatch, ElementKernel, EquationKernel, EquationText, Given, Wanted, WithGiven};
use minifenl::mesh::ElemNode;
use minifenl::space::DeviceText;
use minifenl::space::lanes::Number;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use support::noise;

/// Elements, as many as a batch of the host has; columns in front of theirs and behind them are not written.
pub const ELEMS: usize = 5;
const BEFORE: usize = 2;
const CAPACITY: usize = 8;

/// What the kernels write, compiled as C++: matrices and residuals.
pub fn run(compiler: &str, name: &str, program: &str, input: &[f64]) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let at = |file: &str| folder.path().join(file);
    std::fs::write(at("kernels.cpp"), program).unwrap();
    let mut command = Command::new(compiler);
    let command = command.args(["-std=c++20", "-pthread", "-O0", "-w", "-o"]).arg(at("kernels")).arg(at("kernels.cpp"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let program: &Path = &at("kernels");
    let mut running = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let bytes: Vec<u8> = input.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let mut stdin = running.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = running.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    output.stdout.as_chunks().0.iter().map(|&bytes| f64::from_ne_bytes(bytes)).collect()
}

/// Returns distorted elements that share no node: their nodes, coordinates and random unknowns.
pub fn distorted<const D: usize>(element: ElementType) -> (ElemNode, Vec<[f64; 3]>, Vec<[f64; D]>) {
    let (per_elem, nodes) = (element.nodes(), ELEMS * element.nodes());
    let elem_node = ElemNode::new((0..nodes as u32).rev().collect(), per_elem, nodes).unwrap();
    let (mut coords, mut nodal) = (vec![[0.0; 3]; nodes], vec![[0.0; D]; nodes]);
    for (elem, table) in elem_node.iter().enumerate() {
        for (m, &node) in table.iter().enumerate() {
            let xi = element.reference_nodes()[m];
            let moved = |a: usize| xi[a] + elem as f64 + 0.2 * noise(3 * node as usize + a);
            coords[node as usize] = std::array::from_fn(|a| if a < element.dim() { moved(a) } else { 0.25 });
            nodal[node as usize] = std::array::from_fn(|c| 1.5 + noise(7919 + D * node as usize + c));
        }
    }
    (elem_node, coords, nodal)
}

/// A given field: number of its place in the kernels, values per place, component, values.
type GivenField = (u64, usize, usize, Vec<f64>);

/// Compares the elements of an equation.
fn check<E: Equation<D> + DeviceText, const D: usize, const NN: usize, const ND: usize>(
    compiler: &str,
    equation: &E,
    element: ElementType,
) {
    let name = format!("{} on {element}", E::NAME);
    let (elem_node, coords, nodal) = distorted::<D>(element);
    let (tables, text) = (BasisTables::of(element), EquationText::of(equation));
    let kernel = EquationKernel::<D, NN, ND>::new(equation, &tables, &elem_node, &coords, &nodal).unwrap();
    let programs = if D == 1 && element == ElementType::Hex8 { 2 } else { 1 };
    compare(compiler, &name, (&text, &tables), (&elem_node, &coords, &nodal), (&kernel, &[]), programs);
}

/// Compares the elements of an equation with given fields: the last node has the largest number.
fn check_at<E: EquationAt<D, K> + DeviceText, const D: usize, const K: usize, const NN: usize, const ND: usize>(
    compiler: &str,
    equation: &E,
    element: ElementType,
    on_boundary: bool,
) {
    let name = format!("{} on {element}, boundary: {on_boundary}", E::NAME);
    let (elem_node, mut coords, nodal) = distorted::<D>(element);
    if on_boundary {
        coords = coords.into_iter().map(bent(element)).collect();
    }
    let (tables, nodes) = (BasisTables::of(element), coords.len());
    let points = tables.weights.len();
    let values = |count: usize, seed: usize| (0..count).map(|i| 1.5 + noise(seed + i)).collect::<Vec<f64>>();
    // Component 1 of two unknowns; elements; points.
    let (old, of_elements, of_points) = (values(2 * nodes, 11), values(ELEMS, 5003), values(points * ELEMS, 6007));
    let given = [Given::component::<2>(old.as_chunks().0, 1), Given::elements(&of_elements), Given::points(&of_points)];
    let fields = [(0, 2, 1, old.clone()), (1, 1, 0, of_elements.clone()), (2, 1, 0, of_points.clone())];
    let equation_there = WithGiven { equation, given: std::array::from_fn(|k| given[k]) };
    let mut text = EquationText::of_at(equation);
    let make = if on_boundary {
        text = text.on_boundary();
        EquationKernel::<D, NN, ND>::on_boundary
    } else {
        EquationKernel::with_given
    };
    let kernel = make(&equation_there, &tables, &elem_node, &coords, &nodal).unwrap();
    compare(compiler, &name, (&text, &tables), (&elem_node, &coords, &nodal), (&kernel, &fields[..K]), 1);
}

/// An equation that reads neither given fields nor the normal, for a boundary on the host.
struct Plain<'a, E>(&'a E);

impl<E: Equation<1>> EquationAt<1, 0> for Plain<'_, E> {
    fn weak<N: Number>(&self, at: Point<N, 0>, u: [Field<N>; 1]) -> [Weak<N>; 1] {
        self.0.weak(at.x, u)
    }
}

/// Compares the elements of such an equation on bent faces or lines.
fn check_plain_boundary<E: Equation<1> + DeviceText, const NN: usize>(
    compiler: &str,
    equation: &E,
    element: ElementType,
) {
    let (elem_node, coords, nodal) = distorted::<1>(element);
    let coords: Vec<[f64; 3]> = coords.into_iter().map(bent(element)).collect();
    let (tables, text) = (BasisTables::of(element), EquationText::of(equation).on_boundary());
    let there = WithGiven { equation: &Plain(equation), given: [] };
    let kernel = EquationKernel::<1, NN, NN>::on_boundary(&there, &tables, &elem_node, &coords, &nodal).unwrap();
    let name = format!("{} on the boundary, {element}", E::NAME);
    compare(compiler, &name, (&text, &tables), (&elem_node, &coords, &nodal), (&kernel, &[]), 1);
}

/// Curved faces, and lines that are not parallel to an axis.
fn bent(element: ElementType) -> impl Fn([f64; 3]) -> [f64; 3] {
    move |[x, y, _]| if element.dim() == 1 { [x, 0.3 * x * x, 0.25] } else { [x, y, 0.1 * x * y - 0.3 * x] }
}

/// Compares the elements of a text with those of a kernel of the host.
fn compare<const D: usize, const NN: usize, const ND: usize>(
    compiler: &str,
    name: &str,
    (text, tables): (&EquationText, &BasisTables),
    (elem_node, coords, nodal): (&ElemNode, &[[f64; 3]], &[[f64; D]]),
    (kernel, fields): (&EquationKernel<'_, D, NN, ND>, &[GivenField]),
    program_count: usize,
) {
    let source = text.source(tables).unwrap();
    // The common header is CUDA's alone; the prelude states what of it the kernels need.
    let (_, kernels) = source.split_once("#line 1 \"device.cuh\"").unwrap();
    let numbers = text.tables(tables).unwrap();
    let mut sizes = format!(
        "constexpr u32 COUNT = {ELEMS}, BEFORE = {BEFORE}, CAPACITY = {CAPACITY}, PARAMETERS = {}, NUMBERS = {};\n",
        text.parameters().len(),
        numbers.len()
    );
    sizes += "struct { u64 size, place, stride, first; } FIELDS[] = {";
    for (place, stride, first, values) in fields {
        sizes += &format!("{{{}, {place}, {stride}, {first}}}, ", values.len());
    }
    sizes += "{}};\n";
    let input = [
        elem_node.iter().flatten().map(|&node| f64::from(node)).collect(),
        coords.as_flattened().to_vec(),
        nodal.as_flattened().to_vec(),
        text.parameters().to_vec(),
        numbers,
        fields.iter().flat_map(|(_, _, _, values)| values.clone()).collect(),
    ];
    let mut programs = vec![(name.to_string(), [PRELUDE, kernels, &sizes, MAIN].concat())];
    if let Some(source) = text.contraction_source(tables) {
        let (_, source) = source.split_once("#line 1 \"element.cuh\"").unwrap();
        let (headers, rest) = source.split_once("#line 1 \"dmma.cuh\"").unwrap();
        let (_, kernel) = rest.split_once("#line 1").unwrap();
        let [of_gpu, of_host] = RECIPROCAL;
        assert!(kernel.contains(of_gpu));
        let kernel = kernel.replace(of_gpu, of_host);
        programs
            .push((format!("{name}, contraction"), [WARP, headers, "#line 1", &kernel, &sizes, WARP_MAIN].concat()));
    }
    assert_eq!(programs.len(), program_count, "{name}");
    let mut expected = Box::new(ElementBatch::<ND>::ZERO);
    kernel.evaluator(Wanted { matrix: true, residual: true }, 0..ELEMS).unwrap()(0..ELEMS, &mut expected).unwrap();
    let ElementBatch { matrix, residual } = &*expected;
    let largest = |all: &[f64]| all.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    let scale = largest(matrix.as_flattened().as_flattened()).max(largest(residual.as_flattened()));
    for (name, program) in programs {
        let found = run(compiler, &name, &program, &input.concat());
        assert_eq!(found.len(), (ND * ND + ND) * CAPACITY, "{name}");
        let (matrices, residuals) = found.split_at(ND * ND * CAPACITY);
        let mut compared = 0;
        for column in 0..CAPACITY {
            let elem = column.checked_sub(BEFORE).filter(|&elem| elem < ELEMS);
            let mut compare = |what: &str, i: usize, j: usize, found: f64, expected: &[f64]| match elem {
                Some(elem) => {
                    let difference = (found - expected[elem]).abs();
                    assert!(
                        difference < 1e-13 * scale,
                        "{name}, element {elem}, {what} {i} {j}: {found}, {}",
                        expected[elem]
                    );
                    compared += 1;
                }
                None => assert!(found.is_nan(), "{name}: column {column} of {what} {i} {j} is written"),
            };
            let (mut entries, full) = (0.., !text.is_symmetric());
            for (i, j) in (0..ND).flat_map(|i| (0..ND).map(move |j| (i, j))).filter(|(i, j)| full || i <= j) {
                let entry = entries.next().unwrap_or(0);
                compare("matrix", i, j, matrices[entry * CAPACITY + column], &matrix[i][j]);
            }
            (0..ND).for_each(|i| compare("residual", i, 0, residuals[i * CAPACITY + column], &residual[i]));
        }
        let entries = if text.is_symmetric() { ND * (ND + 1) / 2 } else { ND * ND };
        assert_eq!(compared, ELEMS * (entries + ND), "{name}");
    }
}

/// The compiler of the host; `None` after a line that says so.
pub fn compiler() -> Option<String> {
    let compiler = std::env::var("CXX").unwrap_or("c++".into());
    let works = Command::new(&compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if works.is_ok_and(|status| status.success()) {
        return Some(compiler);
    }
    println!("skipped: no C++ compiler `{compiler}` (CXX may name one)");
    None
}

#[test]
fn kernels_compute_the_element_matrices_of_the_host() {
    let Some(compiler) = compiler() else { return };
    // In one kernel.
    check::<_, 1, 8, 8>(&compiler, &Heat::new(1.7), ElementType::Hex8);
    check::<_, 1, 8, 8>(&compiler, &Diffusion { direction: [0.5, 1.0, -0.25] }, ElementType::Hex8);
    check::<_, 1, 8, 8>(&compiler, &Bratu { lambda: 1.3 }, ElementType::Hex8);
    check::<_, 1, 8, 8>(&compiler, &Energy {}, ElementType::Hex8);
    check::<_, 1, 6, 6>(&compiler, &Bratu { lambda: 1.3 }, ElementType::Wedge6);
    // In two, with one tile and with several.
    let elasticity = Elasticity { lambda: 1.2, mu: 0.8, force: [0.1, 0.0, -1.0] };
    check::<_, 3, 8, 24>(&compiler, &elasticity, ElementType::Hex8);
    check::<_, 3, 10, 30>(&compiler, &elasticity, ElementType::Tet10);
    check::<_, 1, 27, 27>(&compiler, &Diffusion { direction: [0.5, 1.0, -0.25] }, ElementType::Hex27);
    let layered = Layered { weights: [1.5, 0.0, 0.25], mix: [[1.0, 0.5], [0.25, 2.0]], limit: 20.0 };
    check::<_, 2, 20, 40>(&compiler, &layered, ElementType::Hex20);
    // In the plane.
    check::<_, 1, 3, 3>(&compiler, &Heat::new(1.7), ElementType::Tri3);
    check::<_, 1, 9, 9>(&compiler, &Diffusion { direction: [0.5, 1.0, 0.0] }, ElementType::Quad9);
    check::<_, 2, 6, 12>(&compiler, &PlaneStrain { lambda: 1.2, mu: 0.8, force: [0.5, -1.0] }, ElementType::Tri6);
    // In layers: symmetric with one unknown above, with several, and not symmetric.
    check::<_, 3, 27, 81>(&compiler, &elasticity, ElementType::Hex27);
    check::<_, 2, 27, 54>(&compiler, &layered, ElementType::Hex27);
}

#[test]
fn kernels_compute_given_fields_and_boundaries_as_the_host() {
    let Some(compiler) = compiler() else { return };
    let (seepage, exchange) = (Seepage { dt: 0.4 }, Exchange { ambient: 0.7 });
    // In one kernel, in two, and with points in the order of the rule instead of layers.
    check_at::<_, 1, 3, 4, 4>(&compiler, &seepage, ElementType::Tet4, false);
    check_at::<_, 1, 3, 8, 8>(&compiler, &seepage, ElementType::Hex8, false);
    check_at::<_, 1, 3, 27, 27>(&compiler, &seepage, ElementType::Hex27, false);
    check_at::<_, 1, 3, 6, 6>(&compiler, &seepage, ElementType::Tri6, false);
    check_at::<_, 2, 1, 3, 6>(&compiler, &exchange, ElementType::Tri3, true);
    check_at::<_, 2, 1, 9, 18>(&compiler, &exchange, ElementType::Quad9, true);
    check_at::<_, 2, 1, 3, 6>(&compiler, &exchange, ElementType::Line3, true);
    check_at::<_, 1, 3, 4, 4>(&compiler, &seepage, ElementType::Quad4, true);
    check_plain_boundary::<_, 4>(&compiler, &Heat::new(0.7), ElementType::Quad4);
    check_plain_boundary::<_, 2>(&compiler, &Heat::new(0.7), ElementType::Line2);
    let cells = EquationText::of_at(&exchange).on_boundary().source(&BasisTables::of(ElementType::Hex8)).unwrap_err();
    assert!(cells.to_string().contains("hex8, expected faces or lines"), "{cells}");
}
