//! Products with a stored matrix in each format beside those without a matrix, for several problems and elements.

use crate::clock::median;
use crate::rows::{Row, Table};
use minifenl::element::ElementType;
use minifenl::element::equations::{Heat, Jacobian, Model, ModelEquation, Poisson, Scalar, WaveElasticity};
use minifenl::fill::{FieldOn, Kernel, Strategy};
use minifenl::mesh::Mesh;
use minifenl::run::Job;
use minifenl::space::MemorySpace;
use minifenl::sparse::{Format, MatrixStorage};
use minifenl::{Error, Result, graph};

/// Nothing is measured whose matrix has more entries: the assembly alone would take longer than all products.
const MOST_ENTRIES: usize = 3 << 29;

/// The problems: name, model, element, cells along an edge for boxes of about `edge` nodes along an edge, or half as many.
fn cases(edge: usize) -> [(&'static str, Model, ElementType, usize); 4] {
    let model = |equation| Model { equation, jacobian: Jacobian::Analytic };
    let (wave, phase) = ([1.0, 2.0, 3.0], 0.5);
    let elastic = WaveElasticity { lambda: 1.5, mu: 1.0, amplitude: [1.0; 3], wave, phase };
    let elastic = model(ModelEquation::Elastic(elastic));
    [
        ("heat", model(ModelEquation::Scalar(Scalar::Heat(Heat::new(1.0)))), ElementType::Hex8, edge - 1),
        ("poisson", model(ModelEquation::Scalar(Scalar::Poisson(Poisson { load: 1.0 }))), ElementType::Hex27, edge / 2),
        ("elasticity", elastic, ElementType::Hex8, edge / 2 - 1),
        ("elasticity", elastic, ElementType::Hex27, edge / 4),
    ]
}

/// All of them.
pub fn all<S: Job>(space: &S, table: &mut Table, edge: usize) -> Result<()> {
    for (name, model, element, cells) in cases(edge) {
        let mesh = Mesh::of_box(element, [cells; 3], [1.0; 3])?;
        let (nodes, dofs) = (mesh.node_coord.len(), model.dofs());
        let elem_node = mesh.elem_node.upload(space)?;
        let coords = space.upload(&mesh.node_coord)?;
        let coords = S::Memory::slice(&coords);
        let on = FieldOn { element, elem_node: &elem_node, node_coord: coords };
        // Some nodes are fixed, so that conditions are read as in a run.
        let fixed: Vec<u8> = (0..dofs * nodes).map(|k| u8::from(k / dofs % 97 == 0)).collect();
        let unknowns = space.upload(&vec![1.5; dofs * nodes])?;
        let x: Vec<f64> = (0..dofs * nodes).map(|k| (k as f64 * 0.01).sin()).collect();
        let (mut x, mut y) = (space.upload(&x)?, space.zeros::<f64>(dofs * nodes)?);
        let (unknowns, x, y) =
            (S::Memory::slice(&unknowns), S::Memory::slice_mut(&mut x), S::Memory::slice_mut(&mut y));
        let mut residual = space.zeros::<f64>(dofs * nodes)?;
        let what = format!("{name} {element}");
        // Of the matrix in CRS, in every row: values and columns of boxes, whose rows are about as long as inside.
        let per_row = if element == ElementType::Hex27 { 64 } else { 27 } * dofs;
        let bytes = (12 * per_row * dofs * nodes + 24 * dofs * nodes) as u64;
        let mut add = |variant: String, timing, own: u64| {
            let (variant, own) = (format!("{what}, {variant}"), Some(own));
            table.add(Row { group: "matrix-free", variant, is_peer: false, edge, nodes, timing, bytes, own });
        };
        for (strategy, how) in Strategy::on_gpu() {
            let mut operator = space.model_operator(strategy, &model, on, nodes, space.upload(&fixed)?)?;
            space.linearise(&mut operator, coords, unknowns, S::Memory::slice_mut(&mut residual))?;
            let timing = median(space, || space.apply_model(&mut operator, coords, x, y, None))?;
            let cost = S::apply_cost(&operator);
            let rate = 1e-9 * cost.flops as f64 / timing.seconds;
            add(format!("elements, {how}, {rate:.0} GFLOP/s"), timing, cost.bytes);
        }
        if per_row * dofs * nodes > MOST_ENTRIES {
            table.note(format!("{what} in CRS: {} nodes are too many", nodes));
            continue;
        }
        for format in [Format::Crs, Format::Pattern, Format::Symmetric] {
            let nodes_graph = graph::build(space, &elem_node, nodes, graph::Strategy::default())?;
            let graph = space.dof_graph(nodes_graph, dofs)?;
            let conditions = space.dirichlet(&graph.crs, S::Memory::slice(&space.upload(&fixed)?))?;
            let storage = MatrixStorage::from(format);
            let timed = || -> Result<()> {
                let mut system = space.stored_system(S::STRATEGY, storage, graph, conditions)?;
                let mut assembly = space.assembly((S::STRATEGY, Kernel::Table).into(), &model, on, &system)?;
                let residual = S::Memory::slice_mut(&mut residual);
                space.assemble(&mut assembly, coords, unknowns, &mut system, residual)?;
                space.apply_dirichlet(&system.conditions, S::values_mut(&mut system.matrix), residual)?;
                space.update(&mut system.matrix)?;
                drop(assembly);
                let matrix = S::operator(&system.matrix);
                let timing = median(space, || matrix.apply(space, x, y))?;
                add(format!("matrix, {format}"), timing, matrix.bytes() as u64);
                Ok(())
            };
            match timed() {
                Err(error @ (Error::Invalid(_) | Error::TooLarge { .. } | Error::OutOfMemory { .. })) => {
                    eprintln!("{what}, {format}: {error}");
                }
                other => other?,
            }
        }
    }
    Ok(())
}
