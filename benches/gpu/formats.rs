//! Products and CG in every storage format of a GPU, and what a format costs before its first product.

use crate::clock::median;
use crate::groups::{self, Case};
use crate::rows::Table;
use minifenl::Result;
use minifenl::solve::CgVariant;
use minifenl::space::Cuda;
use minifenl::space::cuda::CudaMemory;
use minifenl::sparse::{CrsMatrix, DeviceValue, Format, Product, Storage};

/// Variants of CG beside the classic one.
pub const ONE_REDUCTION: [(CgVariant, &str); 2] =
    [(CgVariant::SingleReduction, "single-reduction"), (CgVariant::Pipelined, "pipelined")];

/// Every format of a matrix, whose rows have this suffix; `spmv`: products and set-up, `cg`: iterations.
pub fn all<V: DeviceValue>(
    space: &Cuda,
    table: &mut Table,
    case: &Case,
    (matrix, suffix): (&CrsMatrix<V, CudaMemory>, &str),
    expected: &[f64],
    (spmv, cg): (bool, bool),
) -> Result<()> {
    for (format, name) in Format::ALL {
        let name = format!("{name}{suffix}");
        let mut storage = Storage::new(space, format, matrix.graph())?;
        if spmv && format != Format::Crs {
            let layout = median(space, || Storage::<V>::new(space, format, matrix.graph()))?;
            table.add(case.row("format", format!("{name}, layout"), layout, 0));
            let values = median(space, || storage.update(space, matrix))?;
            table.add(case.row("format", format!("{name}, values"), values, 0));
        }
        storage.update(space, matrix)?;
        let mut stored = storage.view(matrix);
        let own = stored.bytes() as u64;
        // Products of crs in f64 have rows by lanes.
        if spmv && (format != Format::Crs || !suffix.is_empty()) {
            let product = |x: &_, y: &mut _| stored.spmv(space, 1.0, x, 0.0, y);
            groups::spmv(space, table, case, &name, expected, product)?;
            table.own(own);
        }
        if cg {
            groups::cg_iteration(space, table, case, &name, None, &mut stored)?;
            // Besides the product: p, q, x and r in, x and r out; r and p in, p out.
            table.own(own + 72 * case.nodes() as u64);
        }
        for (variant, cg_name) in ONE_REDUCTION.into_iter().filter(|_| cg && format == Format::default()) {
            let row = format!("{name}, {cg_name}");
            groups::cg_iteration(space, table, case, &row, Some(variant), &mut stored)?;
        }
    }
    Ok(())
}
