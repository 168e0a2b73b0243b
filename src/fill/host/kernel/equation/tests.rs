//! Element matrices against the integral in plain loops, for every element type and equation.

use super::*;
use crate::Error;
use crate::element::equations::{
    Diffusion, Elasticity, Equation, EquationAt, Field, Heat, Jacobian, Point, Poisson, Weak, WithJacobian,
};
use crate::element::testing::{distorted_hex, temperatures};
use crate::element::{Basis, BasisTables, ElementType, reference};
use crate::fill::Given;
use crate::space::lanes::{LANES, Number};
use proptest::prelude::*;
use support::noise;

/// Residual `[dof]` and matrix `[dof][dof]` of an element by the formula of the module, with 3 x 3 inverses by cofactors.
fn integral<E: Equation<D>, const D: usize>(
    equation: &E,
    element: ElementType,
    coords: &[[f64; 3]],
    nodal: &[[f64; D]],
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (basis, rule, nodes) = (Basis::new(element), element.rule(), coords.len());
    let (mut residual, mut matrix) = (vec![0.0; D * nodes], vec![vec![0.0; D * nodes]; D * nodes]);
    for (&xi, weight) in rule.points.iter().zip(&rule.weights) {
        let (phi, slopes) = (basis.values(xi), basis.gradients(xi));
        let jacobian: [[f64; 3]; 3] =
            std::array::from_fn(|a| std::array::from_fn(|b| (0..nodes).map(|m| coords[m][a] * slopes[m][b]).sum()));
        let cofactor = |a: usize, b: usize| {
            let (p, q, r, s) = ((a + 1) % 3, (a + 2) % 3, (b + 1) % 3, (b + 2) % 3);
            jacobian[p][r] * jacobian[q][s] - jacobian[p][s] * jacobian[q][r]
        };
        let determinant: f64 = (0..3).map(|b| jacobian[0][b] * cofactor(0, b)).sum();
        // grad phi = J^-T grad_xi phi, and J^-T is the matrix of cofactors over the determinant.
        let tested: Vec<[f64; 4]> = (0..nodes)
            .map(|m| {
                let grad = |a: usize| (0..3).map(|b| cofactor(a, b) * slopes[m][b]).sum::<f64>() / determinant;
                [grad(0), grad(1), grad(2), phi[m]]
            })
            .collect();
        let at = |values: &dyn Fn(usize) -> f64, k: usize| (0..nodes).map(|m| values(m) * tested[m][k]).sum::<f64>();
        let x = std::array::from_fn(|axis| at(&|m| coords[m][axis], 3));
        let u = std::array::from_fn(|c| {
            let part = |k| at(&|m| nodal[m][c], k);
            Field { grad: [part(0), part(1), part(2)], value: part(3) }
        });
        let (weak, slopes) = (equation.weak(x, u), equation.slopes(x, u));
        for (m, c) in (0..nodes).flat_map(|m| (0..D).map(move |c| (m, c))) {
            let [a, b, e] = weak[c].flux;
            let terms = [a, b, e, weak[c].source];
            residual[D * m + c] += weight * determinant * (0..4).map(|k| terms[k] * tested[m][k]).sum::<f64>();
            for (n, d) in (0..nodes).flat_map(|n| (0..D).map(move |d| (n, d))) {
                let pairs = (0..4).flat_map(|k| (0..4).map(move |j| (k, j)));
                let sum: f64 = pairs.map(|(k, j)| tested[m][k] * slopes[c][d][k][j] * tested[n][j]).sum();
                matrix[D * m + c][D * n + d] += weight * determinant * sum;
            }
        }
    }
    (residual, matrix)
}

/// The kernel with derivatives by hand and by dual numbers against the integral of those by hand.
fn check<E: Equation<D> + Copy, const D: usize, const NN: usize, const ND: usize>(equation: &E, element: ElementType) {
    for (jacobian, name) in Jacobian::ALL {
        let with = WithJacobian { equation: *equation, jacobian };
        let ((elem_node, coords, nodal), tables) = (mesh::<D>(element), BasisTables::of(element));
        let kernel = EquationKernel::<D, NN, ND>::new(&with, &tables, &elem_node, &coords, &nodal).unwrap();
        let expected = |elem: usize| {
            let (x, u) = (of_element(&elem_node, elem, &coords), of_element(&elem_node, elem, &nodal));
            integral(equation, element, &x, &u)
        };
        compare(&kernel, expected, &format!("{element}, {name}"));
    }
}

const ELEMS: usize = 11;

/// Distorted elements that share no node, with random unknowns.
fn mesh<const D: usize>(element: ElementType) -> (ElemNode, Vec<[f64; 3]>, Vec<[f64; D]>) {
    let nodes = ELEMS * element.nodes();
    let elem_node = ElemNode::new((0..nodes as u32).rev().collect(), element.nodes(), nodes).unwrap();
    let (mut coords, mut nodal) = (vec![[0.0; 3]; nodes], vec![[0.0; D]; nodes]);
    for (elem, table) in elem_node.iter().enumerate() {
        for (m, &node) in table.iter().enumerate() {
            let xi = element.reference_nodes()[m];
            coords[node as usize] = std::array::from_fn(|a| xi[a] + elem as f64 + 0.2 * noise(3 * node as usize + a));
            nodal[node as usize] = std::array::from_fn(|c| 1.5 + noise(7919 + D * node as usize + c));
        }
    }
    (elem_node, coords, nodal)
}

/// The items of the nodes of an element.
fn of_element<T: Copy>(elem_node: &ElemNode, elem: usize, items: &[T]) -> Vec<T> {
    elem_node.elem(elem).iter().map(|&node| items[node as usize]).collect()
}

/// A kernel against residual and matrix of each element.
fn compare<const D: usize, const NN: usize, const ND: usize>(
    kernel: &EquationKernel<'_, D, NN, ND>,
    expected: impl Fn(usize) -> (Vec<f64>, Vec<Vec<f64>>),
    name: &str,
) {
    let (mut evaluate, mut out) =
        (kernel.evaluator(Wanted { matrix: true, residual: true }, 0..ELEMS).unwrap(), vec![ElementBatch::<ND>::ZERO]);
    for first in (0..ELEMS).step_by(LANES) {
        let elems = first..ELEMS.min(first + LANES);
        evaluate(elems.clone(), &mut out[0]).unwrap();
        for elem in elems {
            let (residual, matrix) = expected(elem);
            let largest = matrix.iter().flatten().chain(&residual).fold(0.0f64, |max, x| max.max(x.abs()));
            for i in 0..ND {
                let close = |found: f64, expected: f64| (found - expected).abs() < 1e-12 * largest;
                assert!(close(out[0].residual[i][elem - first], residual[i]), "{name}, element {elem}, residual {i}");
                for j in 0..ND {
                    assert!(close(out[0].matrix[i][j][elem - first], matrix[i][j]), "{name}, {elem}, {i} {j}");
                }
            }
        }
    }
}

/// Reads fields of nodes, elements and points.
struct Reading;

impl EquationAt<1, 4> for Reading {
    fn weak<N: Number>(&self, at: Point<N, 4>, [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
        let [x, y, k, z] = at.given;
        let k = k.value * (N::from(1.0) + x.value * x.value);
        let flux = std::array::from_fn(|i| k * u.grad[i] + y.grad[i] * u.value);
        [Weak { flux, source: z.value * u.value * u.value + y.grad[1] * x.value + z.grad[0] }]
    }
}

/// The same with x, y, z from the point.
struct Knowing {
    k: f64,
}

impl Equation<1> for Knowing {
    fn weak<N: Number>(&self, [x, _, z]: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
        let k = N::from(self.k) * (N::from(1.0) + x * x);
        let [a, b, c] = u.grad.map(|slope| k * slope);
        [Weak { flux: [a, b + u.value, c], source: z * u.value * u.value + x }]
    }
}

#[test]
fn given_fields_are_those_of_nodes_elements_and_points() {
    fn check<const NN: usize>(element: ElementType) {
        let (elem_node, coords, nodal) = mesh::<1>(element);
        let (tables, k): (_, Vec<f64>) = (BasisTables::of(element), (0..ELEMS).map(|elem| 2.0 + noise(elem)).collect());
        let x: Vec<f64> = coords.iter().map(|x| x[0]).collect();
        let y: Vec<[f64; 2]> = coords.iter().map(|x| [f64::NAN, x[1]]).collect();
        let at_points = |elem: usize| {
            let corners = of_element(&elem_node, elem, &coords);
            let z = move |phi: &[f64]| phi.iter().zip(&corners).map(|(phi, x)| phi * x[2]).sum::<f64>();
            tables.values.chunks(NN).map(z).collect::<Vec<_>>()
        };
        let z: Vec<f64> = (0..ELEMS).flat_map(at_points).collect();
        let given = [Given::nodes(&x), Given::component(&y, 1), Given::elements(&k), Given::points(&z)];
        let with = WithGiven { equation: &Reading, given };
        let kernel = EquationKernel::<1, NN, NN>::with_given(&with, &tables, &elem_node, &coords, &nodal).unwrap();
        assert!(!kernel.symmetric && kernel.terms == TERMS);
        let expected = |elem: usize| {
            let (x, u) = (of_element(&elem_node, elem, &coords), of_element(&elem_node, elem, &nodal));
            integral(&Knowing { k: k[elem] }, element, &x, &u)
        };
        compare(&kernel, expected, &element.to_string());
        let with = WithGiven { equation: &Reading, given: [given[0], given[0], given[2], Given::elements(&z)] };
        let refused = EquationKernel::<1, NN, NN>::with_given(&with, &tables, &elem_node, &coords, &nodal);
        assert!(refused.unwrap_err().to_string().contains("given (a value per element)"));
    }
    check::<10>(ElementType::Tet10);
    check::<8>(ElementType::Hex8);
}

/// Two unknowns, neither symmetric nor of gradients alone.
#[derive(Clone, Copy)]
struct Driven;

impl Equation<2> for Driven {
    fn weak<N: Number>(&self, _: [N; 3], [u, v]: [Field<N>; 2]) -> [Weak<N>; 2] {
        let [a, b] = [0.3, 0.7].map(N::from);
        let flux = [v.grad[0] + a * u.grad[1], v.grad[1], v.grad[2] - b * u.value];
        [Weak { flux: u.grad, source: b * u.grad[0] }, Weak { flux, source: u.value * v.value }]
    }
}

fn check_all<const NN: usize, const N2: usize, const N3: usize>(element: ElementType) {
    check::<_, 1, NN, NN>(&Heat::new(1.7), element);
    check::<_, 1, NN, NN>(&Poisson { load: 0.5 }, element);
    check::<_, 1, NN, NN>(&Diffusion { direction: [0.5, 1.0, -0.25] }, element);
    check::<_, 2, NN, N2>(&Driven, element);
    check::<_, 3, NN, N3>(&Elasticity { lambda: 1.2, mu: 0.8, force: [0.1, 0.0, -1.0] }, element);
}

#[test]
fn element_matrices_are_the_integrals() {
    check_all::<8, 16, 24>(ElementType::Hex8);
    check_all::<20, 40, 60>(ElementType::Hex20);
    check_all::<27, 54, 81>(ElementType::Hex27);
    check_all::<4, 8, 12>(ElementType::Tet4);
    check_all::<10, 20, 30>(ElementType::Tet10);
    check_all::<6, 12, 18>(ElementType::Wedge6);
    check_all::<15, 30, 45>(ElementType::Wedge15);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_heat_equation_on_hexahedra_is_the_reference(x in distorted_hex(), t in temperatures(), k in 0.1..5.0f64) {
        let elem_node = ElemNode::new((0..8).collect(), 8, 8).unwrap();
        let (tables, heat) = (BasisTables::of(ElementType::Hex8), Heat::new(k));
        let nodal = t.map(|t| [t]);
        let kernel = EquationKernel::<1, 8, 8>::new(&heat, &tables, &elem_node, &x, &nodal).unwrap();
        let mut out = ElementBatch::ZERO;
        kernel.evaluator(Wanted { matrix: true, residual: true }, 0..1).unwrap()(0..1, &mut out).unwrap();
        let (residual, matrix) = reference(&tables, x, t, &heat).unwrap();
        let largest = matrix.iter().flatten().chain(&residual).fold(0.0f64, |max, x| max.max(x.abs()));
        for i in 0..8 {
            prop_assert!((out.residual[i][0] - residual[i]).abs() < 1e-12 * largest);
            for j in 0..8 {
                prop_assert!((out.matrix[i][j][0] - matrix[i][j]).abs() < 1e-12 * largest);
            }
        }
    }
}

#[test]
fn other_sizes_are_refused() {
    let (tables, poisson) = (BasisTables::of(ElementType::Tet4), Poisson { load: 1.0 });
    let elem_node = ElemNode::new((0..4).collect(), 4, 4).unwrap();
    let refused = |error: Error| error.to_string();
    let new = EquationKernel::<1, 4, 5>::new(&poisson, &tables, &elem_node, &[[0.0; 3]; 4], &[[0.0]; 4]);
    assert!(refused(new.unwrap_err()).contains("5 dofs per element, expected 1 x 4"));
    let new = EquationKernel::<1, 8, 8>::new(&poisson, &tables, &elem_node, &[[0.0; 3]; 4], &[[0.0]; 4]);
    assert!(refused(new.unwrap_err()).contains("tables (nodes)"));
    let new = EquationKernel::<1, 4, 4>::new(&poisson, &tables, &elem_node, &[[0.0; 3]; 3], &[[0.0]; 4]);
    assert!(refused(new.unwrap_err()).contains("`node_coord`"));
}
