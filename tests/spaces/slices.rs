//! Operations of hosts take slices: parts of longer vectors, arrays and vectors alike. Each result equals that of vectors of its own, and
//! nothing outside the parts is written.

use minifenl::blas::{Blas, Reductions};
use minifenl::comm::{Halo, Map, Solo};
use minifenl::fill::Dirichlet;
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Face, Mesh, MeshSpace};
use minifenl::solve::{
    CgParams, CgVariant, CgWorkspace, Identity, Jacobi, LinearSystem, NewtonInfo, NewtonParams, NonlinearProblem,
    SolveInfo, cg, newton, true_residual,
};
use minifenl::space::{Serial, Threads};
use minifenl::sparse::{CrsGraph, CrsMatrix, Operator, Spmv};
use std::sync::Arc;
use support::wave;

/// A chunk and a part of the next one.
const N: usize = 4096 + 1234;

/// Items before and behind a part.
const MARGIN: usize = 3;

/// A longer vector with these items in its middle.
fn inside(items: &[f64]) -> Vec<f64> {
    [&[f64::NAN; MARGIN], items, &[f64::NAN; MARGIN]].concat()
}

/// The part of a longer vector.
fn part(whole: &mut [f64]) -> &mut [f64] {
    let end = whole.len() - MARGIN;
    &mut whole[MARGIN..end]
}

/// Checks a part and the margins around it.
fn equal(whole: &[f64], expected: &[f64]) {
    let (before, rest) = whole.split_at(MARGIN);
    let (items, behind) = rest.split_at(expected.len());
    assert!(items == expected && [before, behind].concat().iter().all(|item| item.is_nan()));
}

/// -1, 3 + i / N, -1 on `N` points.
fn matrix() -> CrsMatrix {
    let (mut row_map, mut entries, mut values) = (vec![0], vec![], vec![]);
    for i in 0..N {
        for j in i.saturating_sub(1)..N.min(i + 2) {
            entries.push(j as u32);
            values.push(if i == j { 3.0 + i as f64 / N as f64 } else { -1.0 });
        }
        row_map.push(entries.len() as u64);
    }
    CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, N).unwrap()), values).unwrap()
}

#[test]
fn vector_operations_and_products_work_on_parts() {
    let (space, a, x, y) = (Threads::new(2).unwrap(), matrix(), wave(N, 0.3), wave(N, 0.7));
    let (mut sums, mut parts) = (Reductions::new(&space, N, 1).unwrap(), Reductions::new(&space, N, 1).unwrap());
    let (mut own, mut long, mut from) = (y.clone(), inside(&y), inside(&x));
    let from = &*part(&mut from);
    space.axpy(N, 0.5, &x, &mut own).unwrap();
    space.axpy(N, 0.5, from, part(&mut long)).unwrap();
    equal(&long, &own);
    space.spmv(&a, &x, &mut own).unwrap();
    space.spmv(&a, from, part(&mut long)).unwrap();
    equal(&long, &own);
    space.dot(N, &x, &own, &mut sums, 0).unwrap();
    space.dot(N, from, part(&mut long), &mut parts, 0).unwrap();
    assert_eq!(sums.scalars, parts.scalars);
    let mut array = [1.0, 2.0, 3.0];
    Serial.fill(2, 7.0, &mut array[1..]).unwrap();
    Serial.copy(1, &[5.0], &mut array).unwrap();
    assert_eq!(array, [5.0, 7.0, 7.0]);
    // An operator writes to the part that it is given.
    let (mut x, mut y) = (x, vec![0.0; N]);
    a.apply(&space, &mut x, &mut y).unwrap();
    a.apply(&space, &mut x, part(&mut long)).unwrap();
    equal(&long, &y);
}

#[test]
fn cg_solves_for_a_part_from_a_part() {
    let (space, a, b) = (Threads::new(2).unwrap(), matrix(), wave(N, 0.9));
    let jacobi = &mut Jacobi::new(&space, &a.diagonal().unwrap()).unwrap();
    let params = CgParams::new(1e-10, 200);
    for (variant, name) in CgVariant::ALL {
        let mut work = CgWorkspace::of_variant(&space, N, N, variant).unwrap();
        let (mut own, mut long, mut from) = (vec![0.0; N], inside(&vec![0.0; N]), inside(&b));
        let mut system = LinearSystem { operator: &a, preconditioner: jacobi, comm: &Solo, rhs: &b[..] };
        let expected = cg(&space, &mut system, &mut own, params, &mut work, &mut |_, _| Ok(())).unwrap();
        let residual = true_residual(&space, &system, &own, &mut work).unwrap();
        let rhs = &*part(&mut from);
        let mut system = LinearSystem { operator: &a, preconditioner: jacobi, comm: &Solo, rhs };
        let found = cg(&space, &mut system, part(&mut long), params, &mut work, &mut |_, _| Ok(())).unwrap();
        assert_eq!(
            (found, true_residual(&space, &system, part(&mut long), &mut work).unwrap()),
            (expected, residual),
            "{name}"
        );
        equal(&long, &own);
    }
    // An array as right-hand side, a part of an array as solution.
    let graph = CrsGraph::new(vec![0, 1, 2], vec![0, 1], 2).unwrap();
    let a = CrsMatrix::new(Arc::new(graph), vec![2.0, 4.0]).unwrap();
    let (mut work, mut x) = (CgWorkspace::new(&Serial, 2, 2).unwrap(), [0.0; 3]);
    let mut system = LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &Solo, rhs: &[6.0, 8.0][..] };
    cg(&Serial, &mut system, &mut x[1..], params, &mut work, &mut |_, _| Ok(())).unwrap();
    assert!(x[0] == 0.0 && (x[1] - 3.0).abs() < 1e-9 && (x[2] - 2.0).abs() < 1e-9, "{x:?}");
}

#[test]
fn conditions_ghosts_and_faces_are_set_in_parts() {
    let (space, graph) = (Threads::new(2).unwrap(), matrix().graph().clone());
    let fixed: Vec<u8> = (0..N + 1).map(|node| u8::from(node % 5 == 0)).collect();
    let conditions = Dirichlet::new(&space, &graph, &fixed[1..]).unwrap();
    let same = Dirichlet::new(&space, &graph, &fixed[1..]).unwrap();
    let (values, b, g) = (matrix().into_parts().1, wave(N, 0.4), wave(N, 0.2));
    let [mut one, mut two] = [values.clone(), values].map(|values| CrsMatrix::new(graph.clone(), values).unwrap());
    let (mut own, mut long) = (b.clone(), inside(&b));
    same.apply_with(&space, &mut one, &mut own, &g).unwrap();
    conditions.apply_with(&space, &mut two, part(&mut long), &g).unwrap();
    equal(&long, &own);
    same.apply(&space, &mut one, &mut own).unwrap();
    conditions.apply(&space, &mut two, part(&mut long)).unwrap();
    equal(&long, &own);
    assert_eq!(one.values(), two.values());

    let map = Map::new(N as u64, N, vec![]).unwrap();
    Halo::new(&space, &Solo, &map).unwrap().update(&space, part(&mut long)).unwrap();
    equal(&long, &own);

    let spec = BoxSpec::unit([4, 5, 6], CoordinateMap::None).unwrap();
    let mesh = Mesh::new(&space, BoxPart::new(&spec, 0, 1).unwrap()).unwrap();
    let (mut own, mut long) = (vec![0.0; 120], inside(&[0.0; 120]));
    let nodes = mesh.nodes_on(&[Face::XMax]);
    space.set_nodes(&nodes, &vec![2.5; nodes.len()], &mut own).unwrap();
    space.set_nodes(&nodes, &vec![2.5; nodes.len()], part(&mut long)).unwrap();
    equal(&long, &own);
}

/// x_i^2 = 2.
struct Roots;

impl NonlinearProblem<Threads> for Roots {
    fn rows(&self) -> usize {
        2
    }
    fn assemble(&mut self, x: &mut [f64], residual: &mut [f64]) -> minifenl::Result<()> {
        residual.iter_mut().zip(x).for_each(|(r, x)| *r = *x * *x - 2.0);
        Ok(())
    }
    fn solve(&mut self, _: &[f64], residual: &[f64], delta: &mut [f64], _: Option<f64>) -> minifenl::Result<SolveInfo> {
        // The slope at the root.
        delta.iter_mut().zip(residual).for_each(|(d, r)| *d = r / 8f64.sqrt());
        Ok(SolveInfo::default())
    }
}

#[test]
fn newton_solves_for_a_part() {
    let mut x = [f64::NAN, 1.5, 1.3, f64::NAN];
    let params = NewtonParams::new(1e-12, 50);
    newton(&Serial, &Solo, &mut Roots, &mut x[1..3], params, &mut |_, _| Ok(()), &mut NewtonInfo::default()).unwrap();
    assert!(x[1..3].iter().all(|x| (x - 2f64.sqrt()).abs() < 1e-11) && x[0].is_nan() && x[3].is_nan(), "{x:?}");
}
