//! Calls that are wrong, as strangers to the library make them: each ends with an error that names the argument, none with a wrong number.

use minifenl::comm::{Links, Map, Solo};
use minifenl::contraction::Sum;
use minifenl::element::equations::{Elasticity, Poisson};
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{
    Combinations, Coo, DistributedCoo, ElementIndices, ElementKernel, EquationKernel, Fill, FusedKernel,
    IntrepidKernel, Strategy, Workset, Worksets,
};
use minifenl::mesh::{ElemNode, Mesh, Numbering};
use minifenl::solve::{
    CgParams, CgWorkspace, Identity, LinearSystem, Method, NearNull, NewtonInfo, NewtonParams, NonlinearProblem,
    Options, SmoothedAggregation, SolveInfo, cg, newton, solve,
};
use minifenl::space::{Serial, Threads, available_bytes};
use minifenl::sparse::{CrsGraph, CrsMatrix, Format, Formats, HostMatrix, MatrixStorage, Precision};
use minifenl::{Error, FoldPlace, Result, graph};
use std::sync::Arc;

/// Assembles with each strategy and one and two threads; all give the same answer.
fn assembled<const ND: usize>(graph: &graph::Graph, kernel: &impl ElementKernel<ND>) -> Result<Vec<f64>> {
    let assemble = |strategy, threads| -> Result<Vec<f64>> {
        let space = Threads::new(threads)?;
        let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; graph.crs.rows()]);
        Fill::<ND>::new(&space, strategy, graph)?.assemble(&space, kernel, &mut matrix, &mut residual)?;
        Ok(matrix.values().clone())
    };
    let first = assemble(Strategy::Gather, 1);
    for (strategy, threads) in [(Strategy::Gather, 2), (Strategy::Colour, 1), (Strategy::Scatter, 2)] {
        let found = assemble(strategy, threads);
        assert_eq!(found.is_ok(), first.is_ok(), "{strategy}: {:?}", found.err());
    }
    first
}

pub fn build(elem_node: &ElemNode) -> graph::Graph {
    graph::build(&Serial, elem_node, elem_node.node_count(), graph::Strategy::default()).unwrap()
}

/// A box of tetrahedra whose table or coordinates are changed.
fn tetrahedra(change: impl FnOnce(&mut Vec<u32>, &mut Vec<[f64; 3]>)) -> (ElemNode, Vec<[f64; 3]>) {
    let mesh = Mesh::of_box(ElementType::Tet4, [3; 3], [1.0; 3]).unwrap();
    let (mut nodes, mut coords) = (mesh.elem_node.as_slice().to_vec(), mesh.node_coord.clone());
    change(&mut nodes, &mut coords);
    (ElemNode::new(nodes, 4, coords.len()).unwrap(), coords)
}

#[test]
fn inverted_flat_and_broken_elements_are_named() {
    let (tables, poisson) = (BasisTables::of(ElementType::Tet4), Poisson { load: 1.0 });
    /// A change of the mesh, the element that is wrong and the sign of its determinant.
    type Case = (&'static str, fn(&mut Vec<u32>, &mut Vec<[f64; 3]>), u64, fn(f64) -> bool);
    let cases: [Case; 5] = [
        ("first inverted", |nodes, _| nodes.swap(1, 2), 0, |det| det < 0.0),
        ("one of many inverted", |nodes, _| nodes.swap(4 * 37, 4 * 37 + 1), 37, |det| det < 0.0),
        ("last inverted", |nodes, _| nodes.reverse(), 0, |det| det > 0.0),
        (
            "flat",
            |nodes, coords| {
                coords.push(coords[nodes[4 * 11] as usize]);
                nodes[4 * 11 + 3] = coords.len() as u32 - 1;
            },
            11,
            |det| det == 0.0,
        ),
        (
            "NaN",
            |nodes, coords| {
                coords.push([f64::NAN; 3]);
                nodes[4 * 50 + 2] = coords.len() as u32 - 1;
            },
            50,
            f64::is_nan,
        ),
    ];
    for (name, change, elem, has_sign) in cases {
        let (elem_node, coords) = tetrahedra(change);
        let (graph, u) = (build(&elem_node), vec![[0.0]; coords.len()]);
        let worksets = Worksets::new(&tables, elem_node.elem_count(), Workset::default(), 2).unwrap();
        let kernel = EquationKernel::<1, 4, 4>::new(&poisson, &tables, &elem_node, &coords, &u).unwrap();
        let composed = IntrepidKernel::<1, 4, 4>::new(&poisson, &tables, &elem_node, &coords, &u, &worksets).unwrap();
        for found in [assembled(&graph, &kernel), assembled(&graph, &composed)] {
            match found {
                Err(Error::Folded { element, place: FoldPlace::Point(0), determinant }) => {
                    assert!(element == elem && has_sign(determinant), "{name}: {element}, {determinant}");
                }
                // Reversed as a whole, a tetrahedron keeps its orientation.
                Ok(values) if name == "last inverted" => assert!(values.iter().sum::<f64>().abs() < 1e-12),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    let error = Error::Folded { element: 3, place: FoldPlace::Point(0), determinant: -1.0 };
    assert!(
        error.to_string().contains("element 3 is folded or inverted: ")
            && error.to_string().contains("at cubature point 0")
    );
}

#[test]
fn a_kernel_of_other_elements_than_the_graph_is_refused() {
    let (tables, poisson) = (BasisTables::of(ElementType::Tet4), Poisson { load: 1.0 });
    let (elem_node, coords) = tetrahedra(|_, _| ());
    let (graph, u) = (build(&elem_node), vec![[0.0]; coords.len()]);
    let matrix_of = |table: &ElemNode| {
        assembled(&graph, &EquationKernel::<1, 4, 4>::new(&poisson, &tables, table, &coords, &u).unwrap())
    };
    let expected = matrix_of(&elem_node).unwrap();
    // An equal table that was made apart.
    let (equal, _) = tetrahedra(|_, _| ());
    assert_eq!(matrix_of(&equal).unwrap(), expected);
    let (reordered, _) = tetrahedra(|nodes, _| nodes.rotate_left(4));
    let error = matrix_of(&reordered).unwrap_err().to_string();
    assert!(
        error.starts_with("Fill::assemble: the kernel has other elements than the graph: element 0 has"),
        "{error}"
    );
    let (fewer, _) = tetrahedra(|nodes, _| nodes.truncate(4 * 40));
    let error = matrix_of(&fewer).unwrap_err().to_string();
    assert!(error.starts_with("Fill::assemble: `kernel (elements and their dofs)` has extents [40, 4]"), "{error}");

    // Several dofs per node.
    let (solid, tables) = (Elasticity { lambda: 1.0, mu: 1.0, force: [0.0; 3] }, BasisTables::of(ElementType::Hex8));
    let mesh = Mesh::of_box(ElementType::Hex8, [2; 3], [1.0; 3]).unwrap();
    let (graph, u) = (build(&mesh.elem_node).with_dofs(&Serial, 3).unwrap(), vec![[0.0; 3]; 27]);
    let mut nodes = mesh.elem_node.as_slice().to_vec();
    let same = EquationKernel::<3, 8, 24>::new(&solid, &tables, &mesh.elem_node, &mesh.node_coord, &u).unwrap();
    assert!(assembled(&graph, &same).is_ok());
    nodes.swap(8 * 7 - 1, 8 * 7 - 3);
    let other = ElemNode::new(nodes, 8, 27).unwrap();
    let kernel = EquationKernel::<3, 8, 24>::new(&solid, &tables, &other, &mesh.node_coord, &u).unwrap();
    let error = assembled(&graph, &kernel).unwrap_err().to_string();
    assert!(error.contains("element 6 has the nodes ["), "{error}");

    // The fused kernel of the heat equation on hexahedra.
    let (graph, heat) = (build(&mesh.elem_node), minifenl::element::equations::Heat::new(1.0));
    let t = vec![1.0; 27];
    for (table, is_same) in [(&mesh.elem_node, true), (&other, false)] {
        let kernel = FusedKernel::new(table, &mesh.node_coord, &t, heat).unwrap();
        assert_eq!(assembled(&graph, &kernel).is_ok(), is_same);
    }
}

#[test]
fn tables_of_another_element_are_refused() {
    let (elem_node, coords) = tetrahedra(|_, _| ());
    let (poisson, u) = (Poisson { load: 1.0 }, vec![[0.0]; coords.len()]);
    let kernel = |element| {
        let tables = BasisTables::of(element);
        EquationKernel::<1, 4, 4>::new(&poisson, &tables, &elem_node, &coords, &u).map(|_| ())
    };
    assert!(kernel(ElementType::Tet4).is_ok());
    let error = kernel(ElementType::Quad4).unwrap_err().to_string();
    assert!(error.contains("differ in z: expected a mesh of 2 dimensions"), "{error}");
    assert!(kernel(ElementType::Hex8).is_err());
    let error = BasisTables::with_rule(ElementType::Tet4, &ElementType::Hex8.rule()).unwrap_err().to_string();
    assert!(error.contains("the volume of the reference tet4"), "{error}");
}

/// The matrix tridiag(-1, 2, -1).
pub fn line(rows: usize) -> CrsMatrix {
    let columns = |row: usize| row.saturating_sub(1)..(row + 2).min(rows);
    let row_map = std::iter::once(0).chain((0..rows).scan(0, |end, row| {
        *end += columns(row).len() as u64;
        Some(*end)
    }));
    let entries: Vec<u32> = (0..rows).flat_map(|row| columns(row).map(|column| column as u32)).collect();
    let graph = Arc::new(CrsGraph::new(row_map.collect(), entries, rows).unwrap());
    let values = (0..rows).flat_map(|row| columns(row).map(move |column| if column == row { 2.0 } else { -1.0 }));
    CrsMatrix::new(graph, values.collect()).unwrap()
}

#[test]
fn cg_names_the_argument_that_does_not_fit() {
    let a = line(5);
    let solve = |x: usize, rhs: usize, work: usize, tolerance: f64| {
        let (mut x, rhs, mut work) = (vec![0.0; x], vec![1.0; rhs], CgWorkspace::new(&Serial, work, work).unwrap());
        let mut system = LinearSystem { operator: &a, preconditioner: &mut Identity, comm: &Solo, rhs: &rhs[..] };
        let params = CgParams::new(tolerance, 10);
        cg(&Serial, &mut system, &mut x, params, &mut work, &mut |_, _| Ok(())).map(|_| x)
    };
    let x = solve(5, 5, 5, 1e-12).unwrap();
    assert!(x.iter().zip([2.5, 4.0, 4.5, 4.0, 2.5]).all(|(x, exact)| (x - exact).abs() < 1e-12), "{x:?}");
    for (sizes, part) in [
        ([4, 5, 5], "cg: `x` has extents [4], expected [5]"),
        ([6, 5, 5], "cg: `x` has extents [6], expected [5]"),
        ([5, 1, 5], "cg: `rhs` has extents [1], expected [5]"),
        ([5, 9, 5], "cg: `rhs` has extents [9], expected [5]"),
        ([5, 5, 6], "cg: `work (rows and columns of its operator)` has extents [6, 6], expected [5, 5]"),
        ([5, 5, 2], "cg: `work (rows and columns of its operator)` has extents [2, 2], expected [5, 5]"),
    ] {
        assert_eq!(solve(sizes[0], sizes[1], sizes[2], 1e-9).unwrap_err().to_string(), part);
    }
    assert_eq!(solve(5, 5, 5, f64::NAN).unwrap_err().to_string(), "cg: the tolerance is NaN; expected a number");
}

#[test]
fn a_matrix_that_was_not_copied_to_its_format_is_read_as_assembled() {
    let a = line(9);
    for format in [Format::Crs, Format::Pattern, Format::Symmetric] {
        for values in [Precision::F64, Precision::F32] {
            let storage = MatrixStorage { values, ..format.into() };
            let mut stored = HostMatrix::new(&Serial, storage, a.graph().clone()).unwrap();
            let product = |stored: &HostMatrix| {
                let (mut x, mut y) = (vec![1.0; 9], vec![0.0; 9]);
                stored.operator().apply(&Serial, &mut x[..], &mut y[..]).unwrap();
                y
            };
            for scale in [1.0, 3.0] {
                let expected = [scale, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, scale];
                let assembled = Threads::values_mut(&mut stored);
                assembled.iter_mut().zip(a.values()).for_each(|(value, of_line)| *value = scale * of_line);
                assert_eq!(product(&stored), expected, "{format}, before the update");
                Serial.update(&mut stored).unwrap();
                assert_eq!(product(&stored), expected, "{format}, after it");
            }
        }
    }
}

#[test]
fn what_is_outside_a_matrix_is_no_entry() {
    let a = line(3);
    assert_eq!((a.get(1, 2), a.get(0, 2), a.get(9, 0), a.get(0, 9)), (Some(-1.0), None, None, None));
}

/// Arrays that fit one by one, but not together.
#[test]
fn a_plan_of_too_many_rows_is_refused_before_it_is_made() {
    let rows = (available_bytes() / 10) as usize;
    if rows >= u32::MAX as usize {
        println!("more memory than 32 bits of rows need");
        return;
    }
    let error = Coo::new(&Serial, rows, 2, &[0u64], &[0]).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
}

/// Every call that takes arrays: one that is too long, or too short, is named with its operation.
#[test]
fn arrays_of_another_length_are_named() {
    let (pairs, ids, mut matrix) = (
        [[0u32, 0, 1], [0, 1, 1]],
        [[0u64, 0, 1], [0, 1, 1]],
        CrsMatrix::zero(Arc::new(CrsGraph::new(vec![0, 0, 0], vec![], 2).unwrap())),
    );
    let plan = Coo::new(&Serial, 2, 2, &pairs[0], &pairs[1]).unwrap();
    let mut own = plan.matrix::<f64>().unwrap();
    let ties = Combinations::new(3, &[(2, vec![(0, 0.5)])]).unwrap();
    let reduced = ties.pairs(&pairs[0], &pairs[1]).unwrap();
    let mut sums = DistributedCoo::new(&Serial, &Solo, &[0, 1], &ids[0], &ids[1]).unwrap();
    let mut of_sums = sums.matrix().unwrap();
    let (long, once) = ([1.0; 9], Sum::Overwrite);
    let numbering = Numbering::reverse_cuthill_mckee(plan.graph()).unwrap();
    for off in [-1isize, 1] {
        // An array of `count` items and one more or less.
        let wrong = |count: usize| count.checked_add_signed(off).unwrap();
        let (two, three) = (wrong(2), wrong(3));
        let rows = |count: usize| vec![0.0; count];
        for (start, result) in [
            ("Coo::new: `j`", Coo::new(&Serial, 2, 2, &pairs[0], &vec![0; three]).map(drop)),
            ("Coo::set_values: `values`", plan.set_values(&Serial, &long[..three], once, &mut own)),
            ("Coo::sum_entries: `values`", plan.sum_entries(&Serial, &long[..three], once, &mut rows(3))),
            ("Coo::sum_entries: `entries`", plan.sum_entries(&Serial, &long[..3], once, &mut rows(three))),
            ("Coo::sum_rows: `values`", plan.sum_rows(&Serial, &long[..three], once, &mut rows(2))),
            ("Coo::sum_rows: `rows`", plan.sum_rows(&Serial, &long[..3], once, &mut rows(two))),
            ("Combinations::restrict: `full`", ties.restrict(&long[..three], &mut rows(2))),
            ("Combinations::restrict: `reduced`", ties.restrict(&long[..3], &mut rows(two))),
            ("Combinations::expand: `full`", ties.expand(&long[..2], &mut rows(three))),
            ("Combinations::expand: `reduced`", ties.expand(&long[..two], &mut rows(3))),
            ("Combinations::pairs: `j`", ties.pairs(&pairs[0], &vec![0; three]).map(drop)),
            ("ReducedPairs::values: `values`", reduced.values(&long[..three]).map(drop)),
            (
                "DistributedCoo::new: `j`",
                DistributedCoo::new(&Serial, &Solo, &[0, 1], &ids[0], &vec![0; three]).map(drop),
            ),
            ("DistributedCoo::set_values: `values`", sums.set_values(&Serial, &long[..three], once, &mut of_sums)),
            ("DistributedCoo::sum_rows: `values`", sums.sum_rows(&Serial, &long[..three], once, &mut rows(2))),
            ("DistributedCoo::sum_rows: `rows`", sums.sum_rows(&Serial, &long[..3], once, &mut rows(two))),
            (
                "Numbering::renumber: `elem_node`",
                ElemNode::new(vec![0], 1, two).and_then(|t| numbering.renumber(&t)).map(drop),
            ),
            ("Numbering::permute: `data`", numbering.permute(&long[..two]).map(drop)),
        ] {
            let error = result.expect_err(start).to_string();
            assert!(error.starts_with(start), "{start}, {off}: {error}");
        }
    }
    assert!(plan.set_values(&Serial, &long[..3], once, &mut matrix).is_err(), "a matrix on another graph");
    // The largest number is no id, wherever it stands.
    let none = u64::MAX;
    let of_pairs = |owned: &[u64], i: &[u64], j: &[u64]| DistributedCoo::new(&Serial, &Solo, owned, i, j).map(drop);
    let of_elements = |owned: &[u64], rows: [u64; 2], columns: [u64; 2]| {
        let [rows, columns] = [&rows, &columns].map(|indices| ElementIndices { indices, per_elem: 2 });
        DistributedCoo::from_elements(&Serial, &Solo, owned, rows, columns).map(drop)
    };
    for (place, result) in [
        ("owned[1]", of_pairs(&[0, none], &[0], &[0])),
        ("i[2]", of_pairs(&[0], &[0, 0, none], &[0; 3])),
        ("j[1]", of_pairs(&[0], &[0; 2], &[0, none])),
        ("owned[0]", of_elements(&[none], [0; 2], [0; 2])),
        ("rows_of[0, 1]", of_elements(&[0], [0, none], [0; 2])),
        ("columns_of[0, 0]", of_elements(&[0], [0; 2], [none, 0])),
    ] {
        let error = result.expect_err(place).to_string();
        assert!(error.starts_with(&format!("{place} is {none}, which is no global id")), "{place}: {error}");
    }
}

/// Sizes whose product no number holds.
#[test]
fn sizes_that_cannot_be_counted_are_refused() {
    assert!(matches!(NearNull::constants(usize::MAX / 2, 3).unwrap_err(), Error::OutOfMemory { .. }));
    let error = NearNull::new(usize::MAX, 2, vec![1.0]).unwrap_err().to_string();
    let expected = format!("expected a multiple of 2 vectors times {} dofs per node", usize::MAX);
    assert_eq!(error, format!("NearNull::new: 1 `values`; {expected}"));
}

/// An equation whose residual is 1 everywhere.
struct Steady;

impl NonlinearProblem<Threads> for Steady {
    fn rows(&self) -> usize {
        3
    }

    fn assemble(&mut self, _: &mut [f64], residual: &mut [f64]) -> Result<()> {
        residual[..3].fill(1.0);
        Ok(())
    }

    fn solve(&mut self, _: &[f64], rhs: &[f64], delta: &mut [f64], _: Option<f64>) -> Result<SolveInfo> {
        solve(&Serial, &line(3), rhs, delta, Options::default())
    }
}

/// Calls that gave a number, or named the library's insides.
#[test]
fn numbers_that_make_no_sense_are_named() {
    let step = |x: usize, tolerance: f64, absolute: f64| {
        let params = NewtonParams { absolute, ..NewtonParams::new(tolerance, 3) };
        let (mut x, mut info) = (vec![0.0; x], NewtonInfo::default());
        newton(&Serial, &Solo, &mut Steady, &mut x, params, &mut |_, _| Ok(()), &mut info).unwrap_err().to_string()
    };
    assert_eq!(step(2, 1e-9, 0.0), "newton: `x` has extents [2], expected [3]");
    let finite = "expected a finite number that is not negative";
    for value in [f64::NAN, f64::INFINITY, -1e-9] {
        assert_eq!(step(3, value, 0.0), format!("newton: the tolerance is {value}; {finite}"));
        assert_eq!(step(3, 1e-9, value), format!("newton: the absolute tolerance is {value}; {finite}"));
    }

    let a = line(5);
    let of = |options: Options<'_, Threads>| solve(&Serial, &a, &[1.0; 5], &mut [0.0; 5], options);
    let error = of(Options { atol: f64::INFINITY, ..Options::default() }).unwrap_err().to_string();
    assert_eq!(error, format!("solve: atol is inf; {finite}"));
    let error = of(Options { rtol: f64::INFINITY, ..Options::default() }).unwrap_err().to_string();
    assert_eq!(error, format!("solve: rtol is inf; {finite}"));
    // A restart that no memory holds is the longest one.
    let all =
        Options { method: Method::Gmres { restart: usize::MAX }, max_iterations: usize::MAX, ..Options::default() };
    let mut x = vec![0.0; 3];
    solve(&Serial, &line(3), &[1.0; 3], &mut x, all).unwrap();
    assert!(x.iter().zip([1.5, 2.0, 1.5]).all(|(x, exact)| (x - exact).abs() < 1e-6), "{x:?}");

    let weight = Combinations::new(3, &[(0, vec![(1, f64::NAN)])]).unwrap_err().to_string();
    assert_eq!(weight, "combination of dof 0: the weight of dof 1 is NaN, expected a finite number");
    let none = Map::new(6, 6, vec![]).unwrap().expand(0).unwrap_err().to_string();
    assert_eq!(none, "Map::expand: 0 dofs per node: expected 1 or more");

    // Levels of another matrix.
    let (a, b) = (line(900), line(800));
    let (links, map) = (Links::staged(&Solo), Map::new(900, 900, vec![]).unwrap());
    let constants = NearNull::constants(900, 1).unwrap();
    let mut levels = SmoothedAggregation::new(&Serial, &links, (&a, &map), constants).unwrap();
    let error = levels.with_cycle(&b, |_| Ok(())).unwrap_err().to_string();
    assert_eq!(error, "SmoothedAggregation::with_cycle: `finest (rows)` has extents [800], expected [900]");
    levels.with_cycle(&a, |_| Ok(())).unwrap();
}
