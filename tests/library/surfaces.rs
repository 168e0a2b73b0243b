//! Equations on meshes of two dimensions and on the boundary of meshes, against dense matrices by hand, the divergence theorem, and
//! solutions that the elements represent or approximate.

use minifenl::contraction::Sum;
use minifenl::element::equations::{Elasticity, Equation, EquationAt, Field, PlaneStrain, Point, Weak};
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{Dirichlet, ElementKernel, EquationKernel, Fill, Given, Parts, Strategy, WithGiven};
use minifenl::mesh::{BoundaryFaces, ElemNode, Mesh, boundary_faces};
use minifenl::solve::{Options, solve};
use minifenl::space::{Serial, Threads, lanes::Number};
use minifenl::{Error, Result, graph, sparse::CrsMatrix};
use std::array::from_fn;

type Coords = Vec<[f64; 3]>;

/// The unit square as n x n cells of elements.
fn square(element: ElementType, n: usize) -> (ElemNode, Coords) {
    let (degree, is_triangle) = (element.degree(), element.of_degree_one() == ElementType::Tri3);
    let edge = degree * n + 1;
    let pieces: &[[[f64; 2]; 2]] =
        if is_triangle { &[[[1.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 1.0]]] } else { &[[[1.0, 0.0], [0.0, 1.0]]] };
    let unit = |x: f64| if is_triangle { x } else { (x + 1.0) / 2.0 };
    let mut table = vec![];
    for (cell, [a, b]) in (0..n * n).flat_map(|cell| pieces.iter().map(move |piece| (cell, piece))) {
        for &[x, y, _] in element.reference_nodes() {
            let at = |axis: usize| (degree as f64 * (unit(x) * a[axis] + unit(y) * b[axis])).round() as usize;
            table.push((degree * (cell % n) + at(0) + edge * (degree * (cell / n) + at(1))) as u32);
        }
    }
    // Nodes of `quad8` are not on all points of the grid.
    let mut points = table.clone();
    points.sort_unstable();
    points.dedup();
    table.iter_mut().for_each(|node| *node = points.binary_search(node).unwrap() as u32);
    let at = |index: usize| index as f64 / (edge - 1) as f64;
    let coords = points.iter().map(|&point| [at(point as usize % edge), at(point as usize / edge), 0.0]);
    (ElemNode::new(table, element.nodes(), points.len()).unwrap(), coords.collect())
}

/// Moves the points inside the square, or all, so that edges curve.
fn curved(coords: &Coords, outside: f64) -> Coords {
    let bump = |x: f64| x * (1.0 - x) + outside;
    let moved = |&[x, y, z]: &[f64; 3]| [x + 0.6 * bump(x) * bump(y), y - 0.4 * bump(x) * bump(y), z];
    coords.iter().map(moved).collect()
}

/// Adds an element kernel to a matrix and a residual of `ND` dofs per element.
fn add<const ND: usize>(
    table: &ElemNode,
    dofs: usize,
    kernel: &impl ElementKernel<ND>,
    (matrix, residual): (&mut CrsMatrix, &mut [f64]),
) -> Result<()> {
    let nodes = graph::build(&Serial, table, table.node_count(), graph::Strategy::default())?;
    let dofs =
        graph::Graph::on_pattern(&Serial, nodes.with_dofs(&Serial, dofs)?.elem.elem_node(), matrix.graph().clone())?;
    let mut fill = Fill::<ND>::new(&Serial, Strategy::default(), &dofs)?;
    fill.assemble_parts(&Serial, kernel, Sum::Into, Parts::Both(matrix, residual))
}

/// The zero matrix on the graph of a table.
fn zero(table: &ElemNode, dofs: usize) -> CrsMatrix {
    let nodes = graph::build(&Serial, table, table.node_count(), graph::Strategy::default()).unwrap();
    CrsMatrix::zero(nodes.with_dofs(&Serial, dofs).unwrap().crs)
}

/// a . grad u as a flux and b u as a source.
struct Linear {
    a: f64,
    b: f64,
}

impl Equation<1> for Linear {
    fn weak<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
        [Weak { flux: u.grad.map(|slope| N::from(self.a) * slope), source: N::from(self.b) * u.value }]
    }
}

/// The matrix of one element by the library.
fn element_matrix<const NN: usize>(element: ElementType, coords: &Coords, equation: &Linear) -> [[f64; NN]; NN] {
    let table = ElemNode::new((0..NN as u32).collect(), NN, NN).unwrap();
    let (tables, u, mut matrix) = (BasisTables::of(element), vec![[0.0]; NN], zero(&table, 1));
    let kernel = EquationKernel::<1, NN, NN>::new(equation, &tables, &table, coords, &u).unwrap();
    add(&table, 1, &kernel, (&mut matrix, &mut [0.0; NN])).unwrap();
    from_fn(|i| from_fn(|j| matrix.get(i, j as u32).unwrap()))
}

fn assert_close<const NN: usize>(found: [[f64; NN]; NN], expected: impl Fn(usize, usize) -> f64, name: &str) {
    for (i, j) in (0..NN).flat_map(|i| (0..NN).map(move |j| (i, j))) {
        assert!((found[i][j] - expected(i, j)).abs() < 1e-13, "{name}, ({i}, {j}): {} {}", found[i][j], expected(i, j));
    }
}

#[test]
fn matrices_of_plane_elements_are_those_by_hand() {
    // A skew triangle: K_ij = area g_i . g_j, M_ij = area (1 + delta_ij) / 12. The plane need not be z = 0.
    let x = [[0.3, -0.2], [2.1, 0.4], [0.9, 1.7]];
    let [e, f] = [1, 2].map(|i: usize| [x[i][0] - x[0][0], x[i][1] - x[0][1]]);
    let double = e[0] * f[1] - e[1] * f[0];
    let g = [[e[1] - f[1], f[0] - e[0]], [f[1], -f[0]], [-e[1], e[0]]].map(|g| g.map(|g| g / double));
    let coords = x.map(|[x, y]| [x, y, 5.0]).to_vec();
    let stiffness = |i: usize, j: usize| double / 2.0 * (g[i][0] * g[j][0] + g[i][1] * g[j][1]);
    let mass = |i: usize, j: usize| double / 24.0 * if i == j { 2.0 } else { 1.0 };
    let tri3 = |a, b| element_matrix::<3>(ElementType::Tri3, &coords, &Linear { a, b });
    assert_close(tri3(1.0, 0.0), stiffness, "tri3");
    assert_close(tri3(0.0, 1.0), mass, "tri3");

    // Rectangles of edges p and q: products of the matrices of lines, of length 2 here and scaled below.
    let line2 = ([[2.0, 1.0], [1.0, 2.0]].map(|row| row.map(|m| m / 3.0)), [[0.5, -0.5], [-0.5, 0.5]]);
    let line3 = (
        [[4.0, -1.0, 2.0], [-1.0, 4.0, 2.0], [2.0, 2.0, 16.0]].map(|row| row.map(|m| m / 15.0)),
        [[7.0, 1.0, -8.0], [1.0, 7.0, -8.0], [-8.0, -8.0, 16.0]].map(|row| row.map(|k| k / 6.0)),
    );
    let (p, q) = (0.7, 1.9);
    let place =
        |element: ElementType| element.reference_nodes().iter().map(|&[x, y, _]| [p * x / 2.0, q * y / 2.0, 0.0]);
    // Function of a line at a coordinate of its node.
    let at = |x: f64| {
        if x < -0.5 {
            0
        } else if x > 0.5 {
            1
        } else {
            2
        }
    };
    let nodes = |element: ElementType, i: usize| {
        let [x, y, _] = element.reference_nodes()[i];
        (at(x), at(y))
    };
    let coords: Coords = place(ElementType::Quad4).collect();
    let entry = |i: usize, j: usize| {
        let ((a, b), (c, d)) = (nodes(ElementType::Quad4, i), nodes(ElementType::Quad4, j));
        line2.1[a][c] * line2.0[b][d] * q / p
            + line2.0[a][c] * line2.1[b][d] * p / q
            + 3.0 * line2.0[a][c] * line2.0[b][d] * p * q / 4.0
    };
    assert_close(element_matrix::<4>(ElementType::Quad4, &coords, &Linear { a: 1.0, b: 3.0 }), entry, "quad4");
    let coords: Coords = place(ElementType::Quad9).collect();
    let entry = |i: usize, j: usize| {
        let ((a, b), (c, d)) = (nodes(ElementType::Quad9, i), nodes(ElementType::Quad9, j));
        line3.1[a][c] * line3.0[b][d] * q / p
            + line3.0[a][c] * line3.1[b][d] * p / q
            + 3.0 * line3.0[a][c] * line3.0[b][d] * p * q / 4.0
    };
    assert_close(element_matrix::<9>(ElementType::Quad9, &coords, &Linear { a: 1.0, b: 3.0 }), entry, "quad9");
    // A mesh of lines along x.
    let coords: Coords = [0.0, p, p / 2.0].map(|x| [x, 0.5, -1.0]).to_vec();
    let entry = |i: usize, j: usize| line3.1[i][j] * 2.0 / p + 3.0 * line3.0[i][j] * p / 2.0;
    assert_close(element_matrix::<3>(ElementType::Line3, &coords, &Linear { a: 1.0, b: 3.0 }), entry, "line3");
}

/// -laplace(u) = 13 u with u = sin(2 x + 3 y), which is given on the boundary: largest error at a node.
fn poisson_error<const NN: usize>(element: ElementType, n: usize) -> f64 {
    struct Load;
    impl EquationAt<1, 0> for Load {
        fn weak<N: Number>(&self, at: Point<N, 0>, [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let angle = N::from(2.0) * at.x[0] + N::from(3.0) * at.x[1];
            [Weak { flux: u.grad, source: N::from(-13.0) * angle.sin() }]
        }
    }
    let (table, grid) = square(element, n);
    let (coords, count) = (curved(&grid, 0.0), grid.len());
    let exact: Vec<f64> = coords.iter().map(|[x, y, _]| (2.0 * x + 3.0 * y).sin()).collect();
    let (tables, u, load) = (BasisTables::of(element), vec![[0.0]; count], WithGiven { equation: &Load, given: [] });
    let space = Threads::new(2).unwrap();
    let graph = graph::build(&space, &table, count, graph::Strategy::default()).unwrap();
    let (mut matrix, mut rhs) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; count]);
    let kernel = EquationKernel::<1, NN, NN>::with_given(&load, &tables, &table, &coords, &u).unwrap();
    let mut fill = Fill::<NN>::new(&space, Strategy::default(), &graph).unwrap();
    fill.assemble(&space, &kernel, &mut matrix, &mut rhs).unwrap();
    rhs.iter_mut().for_each(|rhs| *rhs = -*rhs);
    let fixed: Vec<u8> = grid.iter().map(|x| u8::from(x[..2].iter().any(|&x| x == 0.0 || x == 1.0))).collect();
    let mut u = vec![0.0; count];
    let conditions = Dirichlet::new(&space, &graph.crs, &fixed).unwrap();
    conditions.apply_with(&space, &mut matrix, &mut rhs, &exact).unwrap();
    solve(&space, &matrix, &rhs, &mut u, Options { rtol: 1e-13, ..Options::default() }).unwrap();
    u.iter().zip(&exact).map(|(u, exact)| (u - exact).abs()).fold(0.0, f64::max)
}

#[test]
fn errors_in_the_plane_fall_with_the_order_of_the_elements() {
    fn check<const NN: usize>(element: ElementType) {
        let [coarse, fine] = [8, 16].map(|n| poisson_error::<NN>(element, n));
        let (order, expected) = ((coarse / fine).log2(), element.degree() as f64 + 1.0);
        assert!(order > expected - 0.35 && fine < 5e-3, "{element}: order {order:.2}, errors {coarse:e} {fine:e}");
    }
    check::<3>(ElementType::Tri3);
    check::<6>(ElementType::Tri6);
    check::<4>(ElementType::Quad4);
    check::<8>(ElementType::Quad8);
    check::<9>(ElementType::Quad9);
}

/// A constant flux through the boundary: minus (a . n).
struct Through {
    a: [f64; 3],
}

impl<const K: usize> EquationAt<1, K> for Through {
    fn weak<N: Number>(&self, at: Point<N, K>, _: [Field<N>; 1]) -> [Weak<N>; 1] {
        let [x, y, z] = self.a.map(N::from);
        let through = x * at.normal[0] + y * at.normal[1] + z * at.normal[2];
        [Weak { flux: [N::from(0.0); 3], source: -through }]
    }
}

/// For u = a . x the integrals of grad phi . grad u over the mesh and of phi du/dn over its boundary are equal, node by node, on curved
/// elements, too.
fn check_fluxes<const NN: usize>(element: ElementType, table: &ElemNode, coords: &Coords) {
    let a = if element.dim() == 3 { [1.0, -2.0, 0.5] } else { [1.0, -2.0, 0.0] };
    let count = coords.len();
    let u: Vec<[f64; 1]> = coords.iter().map(|x| [(0..3).map(|axis| a[axis] * x[axis]).sum()]).collect();
    let (tables, laplace) = (BasisTables::of(element), Linear { a: 1.0, b: 0.0 });
    let (mut matrix, mut residual) = (zero(table, 1), vec![0.0; count]);
    let kernel = EquationKernel::<1, NN, NN>::new(&laplace, &tables, table, coords, &u).unwrap();
    add(table, 1, &kernel, (&mut matrix, &mut residual)).unwrap();
    let largest = residual.iter().fold(0.0, |most: f64, r| most.max(r.abs()));
    assert!(largest > 1e-2, "{element}");
    for BoundaryFaces { element: face, elem_node, .. } in &boundary_faces(element, table, &|_| true).unwrap() {
        let (tables, through) = (BasisTables::of(*face), WithGiven { equation: &Through { a }, given: [] });
        macro_rules! on {
            ($nodes:literal) => {{
                let kernel = EquationKernel::<1, $nodes, $nodes>::on_boundary(&through, &tables, elem_node, coords, &u);
                add(elem_node, 1, &kernel.unwrap(), (&mut matrix, &mut residual)).unwrap();
            }};
        }
        match face.nodes() {
            2 => on!(2),
            3 => on!(3),
            4 => on!(4),
            6 => on!(6),
            8 => on!(8),
            _ => on!(9),
        }
    }
    let left = residual.iter().fold(0.0, |most: f64, r| most.max(r.abs()));
    assert!(left < 1e-13, "{element}: {left:e} of {largest:e}");
}

#[test]
fn fluxes_through_the_boundary_balance_those_inside() {
    fn volume<const NN: usize>(element: ElementType) {
        let mesh = Mesh::of_box(element, [2, 3, 2], [1.0; 3]).unwrap();
        // The surface moves, too.
        let moved = mesh.node_coord.iter().map(|&[x, y, z]| [x + 0.2 * y * z, y - 0.15 * x * x, z + 0.1 * x * y]);
        check_fluxes::<NN>(element, &mesh.elem_node, &moved.collect());
    }
    volume::<8>(ElementType::Hex8);
    volume::<20>(ElementType::Hex20);
    volume::<27>(ElementType::Hex27);
    volume::<4>(ElementType::Tet4);
    volume::<10>(ElementType::Tet10);
    volume::<6>(ElementType::Wedge6);
    volume::<15>(ElementType::Wedge15);
    fn plane<const NN: usize>(element: ElementType) {
        let (table, grid) = square(element, 3);
        check_fluxes::<NN>(element, &table, &curved(&grid, 0.2));
    }
    plane::<3>(ElementType::Tri3);
    plane::<6>(ElementType::Tri6);
    plane::<4>(ElementType::Quad4);
    plane::<8>(ElementType::Quad8);
    plane::<9>(ElementType::Quad9);
}

/// h (u - ambient), h given per face: the exchange of heat with the surroundings.
struct Exchange {
    ambient: f64,
}

impl EquationAt<1, 1> for Exchange {
    fn weak<N: Number>(&self, at: Point<N, 1>, [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
        [Weak { flux: [N::from(0.0); 3], source: at.given[0].value * (u.value - N::from(self.ambient)) }]
    }
}

#[test]
fn a_coefficient_per_face_is_integrated_over_its_face() {
    // A tilted unit square of two triangles in space, one of a coefficient of 3 and one of 5: mass matrices by hand.
    let (c, s) = (0.6, 0.8);
    let coords = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(|[x, y]| [x, c * y, s * y]).to_vec();
    let table = ElemNode::new(vec![0, 1, 2, 0, 2, 3], 3, 4).unwrap();
    let (tables, u) = (BasisTables::of(ElementType::Tri3), vec![[2.0], [2.0], [2.0], [2.0]]);
    let exchange = WithGiven { equation: &Exchange { ambient: 1.5 }, given: [Given::elements(&[3.0, 5.0])] };
    let (mut matrix, mut residual) = (zero(&table, 1), vec![0.0; 4]);
    let kernel = EquationKernel::<1, 3, 3>::on_boundary(&exchange, &tables, &table, &coords, &u).unwrap();
    add(&table, 1, &kernel, (&mut matrix, &mut residual)).unwrap();
    let mut expected = [[0.0; 4]; 4];
    for (h, nodes) in [(3.0, [0, 1, 2]), (5.0, [0, 2, 3])] {
        for (i, j) in nodes.into_iter().flat_map(|i| nodes.into_iter().map(move |j| (i, j))) {
            expected[i][j] += h / 24.0 * if i == j { 2.0 } else { 1.0 };
        }
    }
    for (i, row) in expected.iter().enumerate() {
        for (j, &value) in row.iter().enumerate() {
            let found = matrix.get(i, j as u32).unwrap_or(0.0);
            assert!((found - value).abs() < 1e-14, "({i}, {j}): {found} {value}");
        }
        assert!((residual[i] - 0.5 * row.iter().sum::<f64>()).abs() < 1e-14, "{i}: {}", residual[i]);
    }
}

/// Displacements that are linear in x and y have constant stress, and those of the body in space have none along z.
#[test]
fn plane_strain_is_elasticity_without_displacement_along_z() {
    let (lambda, mu) = (1.2, 0.8);
    let (flat, body) =
        (PlaneStrain { lambda, mu, force: [0.3, -0.7] }, Elasticity { lambda, mu, force: [0.3, -0.7, 0.0] });
    fn check<const NN: usize, const N2: usize, const N3: usize>(
        element: ElementType,
        (flat, body): (&PlaneStrain, &Elasticity),
    ) {
        let (table, grid) = square(element, 3);
        let (coords, count, tables) = (curved(&grid, 0.1), grid.len(), BasisTables::of(element));
        let u: Vec<[f64; 2]> = coords.iter().map(|[x, y, _]| [0.1 * x - 0.2 * y, 0.05 + 0.3 * x * y]).collect();
        let in_space: Vec<[f64; 3]> = u.iter().map(|&[a, b]| [a, b, 0.0]).collect();
        let (mut two, mut three) = ((zero(&table, 2), vec![0.0; 2 * count]), (zero(&table, 3), vec![0.0; 3 * count]));
        let kernel = EquationKernel::<2, NN, N2>::new(flat, &tables, &table, &coords, &u).unwrap();
        add(&table, 2, &kernel, (&mut two.0, &mut two.1)).unwrap();
        let kernel = EquationKernel::<3, NN, N3>::new(body, &tables, &table, &coords, &in_space).unwrap();
        add(&table, 3, &kernel, (&mut three.0, &mut three.1)).unwrap();
        for (row, found) in two.1.iter().enumerate() {
            let of_body = |dof: usize| 3 * (dof / 2) + dof % 2;
            assert!((found - three.1[of_body(row)]).abs() < 1e-14, "{element}, {row}");
            for &column in two.0.graph().row(row) {
                let expected = three.0.get(of_body(row), of_body(column as usize) as u32).unwrap();
                let found = two.0.get(row, column).unwrap();
                assert!((found - expected).abs() < 1e-14, "{element}, ({row}, {column}): {found} {expected}");
            }
        }
        // The body in space: nothing couples to z but shear.
        assert!((0..count).all(|node| three.1[3 * node + 2] == 0.0));
    }
    check::<3, 6, 9>(ElementType::Tri3, (&flat, &body));
    check::<9, 18, 27>(ElementType::Quad9, (&flat, &body));
}

#[test]
fn elements_that_do_not_fit_the_mesh_are_refused() {
    let assembled = |element: ElementType, nodes: [u32; 4], coords: &Coords, on_boundary: bool| {
        let table = ElemNode::new(nodes.to_vec(), 4, 4)?;
        let (tables, u) = (BasisTables::of(element), vec![[0.0]; 4]);
        let (laplace, through) =
            (Linear { a: 1.0, b: 0.0 }, WithGiven { equation: &Through { a: [1.0; 3] }, given: [] });
        let kernel = if on_boundary {
            EquationKernel::<1, 4, 4>::on_boundary(&through, &tables, &table, coords, &u)?
        } else {
            EquationKernel::<1, 4, 4>::new(&laplace, &tables, &table, coords, &u)?
        };
        add(&table, 1, &kernel, (&mut zero(&table, 1), &mut [0.0; 4]))
    };
    let flat: Coords = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(|[x, y]| [x, y, 0.5]).to_vec();
    let mut bent = flat.clone();
    bent[2][2] = 0.7;
    let quad4 = ElementType::Quad4;
    let folded = |result: Result<()>| matches!(result, Err(Error::Folded { element: 0, .. }));
    // Counter-clockwise, clockwise, and crossed; the boundary of a body may turn either way.
    for (nodes, in_plane, on_boundary) in
        [([0, 1, 2, 3], true, true), ([0, 3, 2, 1], false, true), ([0, 2, 1, 3], false, false)]
    {
        assert_eq!(folded(assembled(quad4, nodes, &flat, false)), !in_plane, "{nodes:?}");
        assert_eq!(folded(assembled(quad4, nodes, &flat, true)), !on_boundary, "{nodes:?}");
    }
    assert!(assembled(quad4, [0, 1, 2, 3], &bent, true).is_ok());
    let said = |element, coords: &Coords, on_boundary| {
        assembled(element, [0, 1, 2, 3], coords, on_boundary).unwrap_err().to_string()
    };
    assert_eq!(
        said(quad4, &bent, false),
        "EquationKernel: `tables` are of quad4, and nodes 0 and 2 differ in z: expected a mesh of 2 dimensions"
    );
    assert_eq!(said(ElementType::Tet4, &bent, true), "EquationKernel: `tables` are of tet4, expected faces or lines");
    // Lines around a mesh in the plane.
    let lines = |coords: &Coords| {
        let (table, tables) = (ElemNode::new(vec![0, 1, 1, 2], 2, 4).unwrap(), BasisTables::of(ElementType::Line2));
        let through = WithGiven { equation: &Through { a: [1.0; 3] }, given: [] };
        EquationKernel::<1, 2, 2>::on_boundary(&through, &tables, &table, coords, &[[0.0]; 4]).map(|_| ())
    };
    assert!(lines(&flat).is_ok());
    assert_eq!(
        lines(&bent).unwrap_err().to_string(),
        "EquationKernel: `tables` are of line2, and nodes 0 and 2 differ in z: expected the boundary of a mesh of 2 dimensions"
    );
}
