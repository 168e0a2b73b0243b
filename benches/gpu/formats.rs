//! Products and CG in every storage format of a GPU, and what a format costs before its first product.

use crate::clock::median;
use crate::groups::{self, Case};
use crate::rows::Table;
use minifenl::Result;
use minifenl::fill::{Boundary, StoredSystem};
use minifenl::graph;
use minifenl::mesh::{Face, Mesh, MeshSpace};
use minifenl::run::clock::Timing;
use minifenl::solve::CgVariant;
use minifenl::space::cuda::CudaMemory;
use minifenl::space::{Cuda, ExecutionSpace};
use minifenl::sparse::{
    CrsMatrix, DeviceCrs, Format, Formats, MatrixStorage, Operator, Precision, SlicedEll, Spmv, StoredValue,
};

/// Variants of CG beside the classic one.
pub const ONE_REDUCTION: [(CgVariant, &str); 1] = [(CgVariant::SingleReduction, "single-reduction")];

/// Every format of a matrix, whose rows have this suffix; `spmv`: products and set-up, `cg`: iterations.
pub fn all<V: StoredValue>(
    space: &Cuda,
    table: &mut Table,
    case: &Case,
    (matrix, suffix): (&CrsMatrix<V, CudaMemory>, &str),
    expected: &[f64],
    (spmv, cg): (bool, bool),
) -> Result<()> {
    for (format, name) in Format::ALL {
        let name = format!("{name}{suffix}");
        let mut slices = None;
        if format != Format::Crs {
            let mut made = SlicedEll::<V>::new(space, format == Format::Symmetric, matrix.graph())?;
            if spmv {
                let layout = median(space, || SlicedEll::<V>::new(space, format == Format::Symmetric, matrix.graph()))?;
                table.add(case.row("format", format!("{name}, layout"), layout, 0));
                let values = median(space, || made.update(space, matrix))?;
                table.add(case.row("format", format!("{name}, values"), values, 0));
            }
            made.update(space, matrix)?;
            slices = Some(made);
        }
        let crs = DeviceCrs::from(matrix.try_clone()?);
        let stored: &dyn Operator<Cuda> = slices.as_ref().map_or(&crs, |slices| slices);
        let own = stored.bytes() as u64;
        // Products of crs in f64 have rows by lanes.
        if spmv && (format != Format::Crs || !suffix.is_empty()) {
            let product = |x: &_, y: &mut _| match &slices {
                Some(slices) => slices.spmv(space, x, y),
                None => space.spmv(matrix, x, y),
            };
            groups::spmv(space, table, case, &name, expected, product)?;
            table.own(own);
        }
        if cg {
            let launch = space.single_launch_of(matrix)?;
            groups::cg_iteration(space, table, case, &name, None, (stored, launch.as_deref()))?;
            // Besides the product: p, q, x and r in, x and r out; r and p in, p out.
            table.own(own + 72 * case.nodes() as u64);
        }
        for (variant, cg_name) in ONE_REDUCTION.into_iter().filter(|_| cg && format == Format::default()) {
            let row = format!("{name}, {cg_name}");
            groups::cg_iteration(space, table, case, &row, Some(variant), (stored, None))?;
        }
    }
    Ok(())
}

/// What a format costs a run that assembles in it: layout, and places of elements and conditions, once; rounding after each assembly.
pub fn set_ups(space: &Cuda, table: &mut Table, case: &Case, mesh: &Mesh<CudaMemory>) -> Result<()> {
    for (format, name) in Format::ALL.into_iter().filter(|&(format, _)| format != Format::Crs) {
        let mut seconds = Vec::new();
        let mut system = |storage: MatrixStorage| {
            let graph = graph::build(space, &mesh.elem_node, case.nodes(), graph::Strategy::default())?;
            let fixed = space.on_faces(mesh, [Face::ZMin, Face::ZMax])?;
            let conditions = space.dirichlet(&graph.crs, &fixed)?;
            let before = space.record()?;
            let system = StoredSystem::new(space, storage, true, graph, conditions)?;
            seconds.push(space.record()?.since(&before)?.as_secs_f64());
            Ok::<_, minifenl::Error>(system)
        };
        for _ in 0..5 {
            system(format.into())?;
        }
        let mut rounded = system(MatrixStorage { values: Precision::F32, ..format.into() })?;
        seconds.truncate(5);
        seconds.sort_by(f64::total_cmp);
        let timing = Timing { seconds: seconds[2], samples: 5 };
        table.add(case.row("format", format!("{name}, set-up of a run"), timing, 0));
        // Values as an assembly leaves them: rounding refuses what is too large.
        let len = Cuda::values_mut(&mut rounded.matrix).len();
        *Cuda::values_mut(&mut rounded.matrix) = space.zeros(len)?;
        let values = median(space, || space.update(&mut rounded.matrix).map(drop))?;
        table.add(case.row("format", format!("{name}, f32, values of a run"), values, 0));
    }
    Ok(())
}
