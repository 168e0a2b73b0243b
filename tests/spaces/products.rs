//! Jacobians applied by elements: on `Serial` against the assembled matrix, on threads against `Serial`.

use minifenl::element::ElementType;
use minifenl::element::equations::{
    AdvectedHeat, AdvectedWave, Heat, Jacobian, Model, ModelEquation, Poisson, Scalar, WaveDiffusion, WaveElasticity,
};
use minifenl::fill::{
    ApplyModel, Assemble, AssemblyChoice, Boundary, ContractionCalls, FieldOn, Kernel, StoredSystem, Strategy,
};
use minifenl::graph::{self, BuildGraph};
use minifenl::mesh::Mesh;
use minifenl::space::{MemorySpace, Serial, Threads};
use minifenl::sparse::{Format, MatrixStorage};
use support::noise;

/// A model on distorted elements whose last nodes are ghosts.
pub struct Case {
    pub name: String,
    model: Model,
    element: ElementType,
    mesh: Mesh,
    owned: usize,
    fixed: Vec<u8>,
    unknowns: Vec<f64>,
    x: Vec<f64>,
}

/// Every problem on every volume element; derivatives by dual numbers on some.
pub fn cases() -> Vec<Case> {
    let (direction, wave, phase) = ([0.5, -1.0, 0.25], [1.3, -0.7, 0.9], 0.4);
    let scalar = |equation| ModelEquation::Scalar(equation);
    let equations = [
        ("heat", scalar(Scalar::Heat(Heat::new(0.3)))),
        (
            "advected heat",
            scalar(Scalar::AdvectedHeat(AdvectedHeat {
                conductivity: 0.3,
                velocity: [0.0, 2.0, -1.5],
                profile: [-0.3, 1.0],
            })),
        ),
        ("poisson", scalar(Scalar::Poisson(Poisson { load: 1.5 }))),
        ("diffusion", scalar(Scalar::Wave(WaveDiffusion { direction, wave, phase }))),
        ("advection", scalar(Scalar::Advected(AdvectedWave { direction, velocity: [0.0, 2.0, -1.5], wave, phase }))),
        (
            "elasticity",
            ModelEquation::Elastic(WaveElasticity { lambda: 1.5, mu: 0.7, amplitude: [1.0, -0.5, 0.25], wave, phase }),
        ),
    ];
    let mut cases = Vec::new();
    for (element, element_name) in ElementType::ALL.into_iter().filter(|(element, _)| element.dim() == 3) {
        for (at, (name, equation)) in equations.into_iter().enumerate() {
            let mut mesh = Mesh::of_box(element, [7, 5, 8], [1.0, 1.25, 0.75]).unwrap();
            for x in &mut mesh.node_coord {
                let [a, b, c] = *x;
                *x = [a + 0.04 * (3.0 * b + c).sin(), b + 0.03 * (4.0 * c).cos(), c - 0.05 * (2.0 * a + b).sin()];
            }
            let (nodes, dofs) = (mesh.node_coord.len(), if name == "elasticity" { 3 } else { 1 });
            let jacobian = if (at + element.nodes()).is_multiple_of(3) { Jacobian::Ad } else { Jacobian::Analytic };
            cases.push(Case {
                name: format!("{name} on {element_name}, {jacobian}"),
                model: Model { equation, jacobian },
                element,
                mesh,
                owned: nodes - 11,
                fixed: (0..dofs * nodes).map(|k| u8::from(noise(k + 5) < -0.4)).collect(),
                unknowns: (0..dofs * nodes).map(|k| 1.0 + noise(k)).collect(),
                x: (0..dofs * nodes).map(|k| 2.0 * noise(k + 1000)).collect(),
            });
        }
    }
    cases
}

impl Case {
    fn rows(&self) -> usize {
        self.model.dofs() * self.owned
    }

    /// y and residual from the matrix that `Serial` assembles, with y = x at fixed unknowns.
    pub fn assembled(&self) -> [Vec<f64>; 2] {
        self.assembled_in(&Serial, Format::Crs.into(), (Strategy::Colour, Kernel::Table).into()).0
    }

    /// The same by a kernel on a space from a matrix in a storage, and the calls of contractions.
    pub fn assembled_in<S: BuildGraph + Assemble + Boundary>(
        &self,
        space: &S,
        storage: MatrixStorage,
        choice: AssemblyChoice,
    ) -> ([Vec<f64>; 2], ContractionCalls) {
        let strategy = choice.strategy.unwrap_or(Strategy::Scatter);
        let elem_node = self.mesh.elem_node.upload(space).unwrap();
        let coords = space.upload(&self.mesh.node_coord).unwrap();
        let node_coord = S::Memory::slice(&coords);
        let nodes = graph::build(space, &elem_node, self.owned, graph::Strategy::default()).unwrap();
        let graph = space.dof_graph(nodes, self.model.dofs()).unwrap();
        let fixed = space.upload(&self.fixed).unwrap();
        let conditions = space.dirichlet(&graph.crs, S::Memory::slice(&fixed)).unwrap();
        let mut system = space.stored_system(strategy, storage, graph, conditions).unwrap();
        let on = FieldOn { element: self.element, elem_node: &elem_node, node_coord };
        let mut assembly = space.assembly(choice, &self.model, on, &system).unwrap();
        let (unknowns, mut x) = (space.upload(&self.unknowns).unwrap(), space.upload(&self.x).unwrap());
        let numbers = vec![f64::NAN; self.rows()];
        let (mut residual, mut y) = (space.upload(&numbers).unwrap(), space.upload(&numbers).unwrap());
        let to = S::Memory::slice_mut(&mut residual);
        space.assemble(&mut assembly, node_coord, S::Memory::slice(&unknowns), &mut system, to).unwrap();
        let StoredSystem { matrix, conditions, .. } = &mut system;
        space.apply_dirichlet(conditions, S::values_mut(matrix), to).unwrap();
        space.update(matrix).unwrap();
        S::operator(matrix).apply(space, S::Memory::slice_mut(&mut x), S::Memory::slice_mut(&mut y)).unwrap();
        let mut y = space.download(&y).unwrap();
        let is_fixed = |row: &usize| self.fixed[*row] != 0;
        (0..self.rows()).filter(is_fixed).for_each(|row| y[row] = self.x[row]);
        ([y, space.download(&residual).unwrap()], S::contractions(&assembly))
    }

    /// The number of elements and of unknowns per node.
    #[cfg(feature = "cuda")]
    pub fn sizes(&self) -> [usize; 2] {
        [self.mesh.elem_node.elem_count(), self.model.dofs()]
    }

    /// y and residual by elements.
    pub fn applied<S: ApplyModel>(&self, space: &S, strategy: Strategy) -> [Vec<f64>; 2] {
        let elem_node = self.mesh.elem_node.upload(space).unwrap();
        let coords = space.upload(&self.mesh.node_coord).unwrap();
        let on = FieldOn { element: self.element, elem_node: &elem_node, node_coord: S::Memory::slice(&coords) };
        let fixed = space.upload(&self.fixed).unwrap();
        let mut operator = space.model_operator(strategy, &self.model, on, self.owned, fixed).unwrap();
        let (unknowns, x) = (space.upload(&self.unknowns).unwrap(), space.upload(&self.x).unwrap());
        let numbers = vec![f64::NAN; self.rows()];
        let (mut residual, mut y) = (space.upload(&numbers).unwrap(), space.upload(&numbers).unwrap());
        let coords = S::Memory::slice(&coords);
        space
            .linearise(&mut operator, coords, S::Memory::slice(&unknowns), S::Memory::slice_mut(&mut residual))
            .unwrap();
        space.apply_model(&mut operator, coords, S::Memory::slice(&x), S::Memory::slice_mut(&mut y), None).unwrap();
        let cost = S::apply_cost(&operator);
        assert!(cost.flops > 0 && cost.bytes > 8 * self.rows() as u64, "{}: {cost:?}", self.name);
        [space.download(&y).unwrap(), space.download(&residual).unwrap()]
    }
}

/// Largest difference, relative to the largest expected value; NaN where one is.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(f64::MIN_POSITIVE, |max, x| max.max(x.abs()));
    let larger = |max: f64, d: f64| if d > max || d.is_nan() { d } else { max };
    found.iter().zip(expected).map(|(a, b)| (a - b).abs() / scale).fold(0.0, larger)
}

#[test]
fn products_by_elements_are_those_of_the_assembled_matrix() {
    let threads = Threads::new(3).unwrap();
    for case in cases() {
        let expected = case.assembled();
        for (strategy, name) in Strategy::ALL {
            let (serial, shared) = (case.applied(&Serial, strategy), case.applied(&threads, strategy));
            for (which, what) in ["y", "residual"].into_iter().enumerate() {
                let found = difference(&serial[which], &expected[which]);
                assert!(found < 3e-14, "{}, {name}: {what} differs by {found:e}", case.name);
                let bits = |of: &[f64]| of.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                let is_same = bits(&serial[which]) == bits(&shared[which]);
                let found = difference(&shared[which], &serial[which]);
                assert!(
                    is_same || !strategy.is_reproducible() && found < 1e-14,
                    "{}, {name}: {what} on 3 threads differs by {found:e}",
                    case.name
                );
            }
        }
    }
}

/// Assembled where products read it, or in CRS and copied: the same sums, the same bits.
#[test]
fn a_matrix_is_assembled_in_slices_as_in_crs() {
    let threads = Threads::new(3).unwrap();
    for case in cases() {
        let expected = case.assembled();
        for (strategy, name) in Strategy::ALL {
            for format in [Format::Pattern, Format::Symmetric] {
                if format == Format::Symmetric && case.name.starts_with("advect") {
                    continue;
                }
                let assembled = |keeps_crs| {
                    let storage = MatrixStorage { keeps_crs, ..format.into() };
                    case.assembled_in(&threads, storage, (strategy, Kernel::Table).into()).0
                };
                let (direct, copied) = (assembled(false), assembled(true));
                for (which, what) in ["y", "residual"].into_iter().enumerate() {
                    let found = difference(&direct[which], &expected[which]);
                    assert!(found < 3e-14, "{}, {name}, {format}: {what} differs by {found:e}", case.name);
                    let bits = |of: &[f64]| of.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    assert!(
                        !strategy.is_reproducible() || bits(&direct[which]) == bits(&copied[which]),
                        "{}, {name}, {format}: bits of {what}",
                        case.name
                    );
                }
            }
        }
    }
}

#[test]
fn operators_refuse_arrays_that_do_not_fit() {
    let case = &cases()[0];
    let (elem_node, node_coord) = (&case.mesh.elem_node, &case.mesh.node_coord[..]);
    let operator = |element, fixed: Vec<u8>, owned| {
        let on = FieldOn { element, elem_node, node_coord };
        Serial.model_operator(Strategy::Colour, &case.model, on, owned, fixed)
    };
    let refused = |found: minifenl::Result<_>, part: &str| {
        let text = found.map(drop).unwrap_err().to_string();
        assert!(text.contains(part), "{text}");
    };
    refused(operator(ElementType::Tet4, case.fixed.clone(), 5), "nodes per element");
    refused(operator(case.element, case.fixed[1..].to_vec(), 5), "`fixed`");
    refused(operator(case.element, case.fixed.clone(), 1 << 20), "elem_node (its nodes)");
    let mut operator = operator(case.element, case.fixed.clone(), case.owned).unwrap();
    let mut y = vec![0.0; case.rows()];
    let short = Serial.apply_model(&mut operator, node_coord, &case.x[1..], &mut y, None);
    assert!(short.unwrap_err().to_string().contains("`x`"));
    let short = Serial.apply_model(&mut operator, node_coord, &case.x, &mut y[1..], None);
    assert!(short.unwrap_err().to_string().contains("`y`"));
    let short = Serial.linearise(&mut operator, &node_coord[1..], &case.unknowns, &mut y);
    assert!(short.unwrap_err().to_string().contains("`node_coord`"));
}
