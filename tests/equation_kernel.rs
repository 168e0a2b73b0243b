//! The kernels of `kernels/equation.cu` compute the element matrices of the host's `EquationKernel`. Without a GPU: the compiler of the
//! host compiles their text, and a loop takes the place of blocks and threads.

#![cfg(feature = "cuda")]

#[path = "common/equations.rs"]
mod equations;

use equations::{Bratu, Layered};
use minifenl::element::equations::{Diffusion, Elasticity, Equation, Heat};
use minifenl::element::{Basis, BasisTables, ElementType};
use minifenl::fill::{ElementBatch, ElementKernel, EquationKernel, EquationText};
use minifenl::mesh::ElemNode;
use minifenl::space::DeviceText;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Elements, as many as a batch of the host has; columns in front of theirs and behind them are not written.
const ELEMS: usize = 5;
const BEFORE: usize = 2;
const CAPACITY: usize = 8;

const PRELUDE: &str = r#"
#include <math.h>
#include <stdio.h>
#include <vector>
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define KERNEL static void
#define INLINE static inline
typedef unsigned int u32;
typedef unsigned long long u64;
struct { u32 x; } blockIdx, blockDim = {1}, threadIdx;
static u64 thread_index() { return blockIdx.x; }
static void __syncthreads() {}
template <class T> static T __ldg(const T* from) { return *from; }
static void __stcs(double* to, double value) { *to = value; }
"#;
const MAIN: &str = r#"
static std::vector<double> numbers(size_t count) {
    std::vector<double> all(count);
    if (fread(all.data(), 8, count, stdin) != count) all.clear();
    return all;
}
int main() {
    std::vector<double> nodes = numbers(ELEMS * NODES), coords = numbers(ELEMS * NODES * DIM);
    std::vector<double> solution = numbers(ELEMS * ROWS), parameters = numbers(PARAMETERS);
    std::vector<double> values = numbers(POINTS * NODES), gradients = numbers(POINTS * NODES * DIM), weights = numbers(POINTS);
    std::vector<u32> elem_node(nodes.begin(), nodes.end());
    static Tables tables;
    for (int p = 0; p < POINTS; p++) {
        for (int m = 0; m < NODES; m++) {
            for (int a = 0; a < DIM; a++) tables.basis[p][m][a] = gradients[(p * NODES + m) * DIM + a];
            tables.basis[p][m][DIM] = values[p * NODES + m];
        }
        tables.weights[p] = weights[p];
    }
    const double* from = (const double*)&tables;
    std::vector<double> matrices(ROWS * ROWS * CAPACITY, NAN), residuals(ROWS * CAPACITY, NAN);
#if FUSED
    for (blockIdx.x = 0; blockIdx.x < ELEMS + 1; blockIdx.x++) {
        store_equation(ELEMS, BEFORE, CAPACITY, elem_node.data(), coords.data(), solution.data(), parameters.data(), from,
                       matrices.data(), residuals.data());
    }
#else
    u64 cells = ELEMS + 1;
    std::vector<double> work(cells * ITEMS * POINTS, NAN);
    for (blockIdx.x = 0; blockIdx.x < ELEMS * POINTS + 1; blockIdx.x++) {
        equation_points(ELEMS, cells, elem_node.data(), coords.data(), solution.data(), parameters.data(), from, work.data());
    }
    for (blockIdx.x = 0; blockIdx.x < TILES + DOFS; blockIdx.x++) {
        for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++) {
            equation_tiles(ELEMS, cells, BEFORE, CAPACITY, from, work.data(), matrices.data(), residuals.data());
        }
    }
#endif
    fwrite(matrices.data(), 8, matrices.size(), stdout);
    fwrite(residuals.data(), 8, residuals.size(), stdout);
}
"#;

/// Numbers in -0.5..0.5 without a pattern.
fn noise(k: usize) -> f64 {
    (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x632b_e59b_d9b4_e019) as f64 / u64::MAX as f64 - 0.5
}

/// What the kernels write, compiled as C++: matrices and residuals.
fn run(compiler: &str, name: &str, program: &str, input: &[f64]) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let at = |file: &str| folder.path().join(file);
    std::fs::write(at("kernels.cpp"), program).unwrap();
    let mut command = Command::new(compiler);
    let command = command.args(["-std=c++17", "-O0", "-w", "-o"]).arg(at("kernels")).arg(at("kernels.cpp"));
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

/// Distorted elements that share no node, with random unknowns.
fn check<E: Equation<D> + DeviceText, const D: usize, const NN: usize, const ND: usize>(
    compiler: &str,
    equation: &E,
    element: ElementType,
) {
    let (name, nodes) = (format!("{} on {element}", E::NAME), ELEMS * NN);
    let elem_node = ElemNode::new((0..nodes as u32).rev().collect(), NN, nodes).unwrap();
    let (mut coords, mut nodal) = (vec![[0.0; 3]; nodes], vec![[0.0; D]; nodes]);
    for (elem, table) in elem_node.iter().enumerate() {
        for (m, &node) in table.iter().enumerate() {
            let xi = element.reference_nodes()[m];
            coords[node as usize] = std::array::from_fn(|a| xi[a] + elem as f64 + 0.2 * noise(3 * node as usize + a));
            nodal[node as usize] = std::array::from_fn(|c| 1.5 + noise(7919 + D * node as usize + c));
        }
    }
    let tables = Basis::new(element).at(&element.rule());
    let text = EquationText::of(equation);
    let source = text.source(&tables).unwrap();
    // The common header is CUDA's alone; the prelude states what of it the kernels need.
    let (_, kernels) = source.split_once("#line 1 \"device.cuh\"").unwrap();
    let sizes = format!(
        "constexpr u32 ELEMS = {ELEMS}, BEFORE = {BEFORE}, CAPACITY = {CAPACITY}, PARAMETERS = {};\n",
        text.parameters().len()
    );
    let BasisTables { values, gradients, weights, .. } = &tables;
    let input = [
        elem_node.iter().flatten().map(|&node| f64::from(node)).collect(),
        coords.as_flattened().to_vec(),
        nodal.as_flattened().to_vec(),
        text.parameters().to_vec(),
        values.clone(),
        gradients.as_flattened().to_vec(),
        weights.clone(),
    ];
    let found = run(compiler, &name, &[PRELUDE, kernels, &sizes, MAIN].concat(), &input.concat());
    assert_eq!(found.len(), (ND * ND + ND) * CAPACITY, "{name}");
    let (matrices, residuals) = found.split_at(ND * ND * CAPACITY);

    let kernel = EquationKernel::<E, D, NN, ND>::new(equation, &tables, &elem_node, &coords, &nodal).unwrap();
    let mut expected = Box::new(ElementBatch::<ND>::ZERO);
    kernel.evaluate(0..ELEMS, &mut kernel.scratch(), &mut expected);
    let ElementBatch { matrix, residual } = &*expected;
    let largest = |all: &[f64]| all.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    let scale = largest(matrix.as_flattened().as_flattened()).max(largest(residual.as_flattened()));
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

#[test]
fn kernels_compute_the_element_matrices_of_the_host() {
    let compiler = std::env::var("CXX").unwrap_or("c++".into());
    let works = Command::new(&compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        println!("skipped: no C++ compiler `{compiler}` (CXX may name one)");
        return;
    }
    // In one kernel.
    check::<_, 1, 8, 8>(&compiler, &Heat { conductivity: 1.7 }, ElementType::Hex8);
    check::<_, 1, 6, 6>(&compiler, &Bratu { lambda: 1.3 }, ElementType::Wedge6);
    // In two, with one tile and with several.
    let elasticity = Elasticity { lambda: 1.2, mu: 0.8, force: [0.1, 0.0, -1.0] };
    check::<_, 3, 8, 24>(&compiler, &elasticity, ElementType::Hex8);
    check::<_, 3, 10, 30>(&compiler, &elasticity, ElementType::Tet10);
    check::<_, 1, 27, 27>(&compiler, &Diffusion { direction: [0.5, 1.0, -0.25] }, ElementType::Hex27);
    let layered = Layered { weights: [1.5, 0.0, 0.25], mix: [[1.0, 0.5], [0.25, 2.0]], limit: 20.0 };
    check::<_, 2, 20, 40>(&compiler, &layered, ElementType::Hex20);
}
