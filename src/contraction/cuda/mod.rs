//! The nine contractions on a GPU: launches of `contraction*.cu`.
//!
//! ```text
//! call -> Work (sizes, strides) -> Variant (the selected one, or Auto's choice) -> Launch (kernel, grid)
//! ```
//! A variant that does not apply is refused before any launch. All kernels take the same arguments.

mod auto;
mod check;
mod configure;
mod fixed;
mod kernel_files;
mod launch;
mod work;

use super::shape::{Shape, out_strides};
use super::{Contract, Sum, Task, Variant};
use crate::space::cuda::{Argument, Cuda, CudaMemory, Grid, arguments};
use crate::space::lanes::Real;
use crate::space::{DeviceView, DeviceViewMut};
use crate::{Error, Result};
use configure::configure;
use work::{Limits, Work};

pub use check::Reference;
pub(crate) use kernel_files::KERNEL_FILES;

/// The measured times by which [`Variant::Auto`] chooses, for programs that make or check them.
pub mod tuning {
    pub use super::auto::{Case, Key, SLOWEST, Side, TABLE, cases, chosen_by, header, specialised_text};
    pub use super::work::Family;
}

/// A GPU with a selected variant. Takes the place of the space in a call of one of the nine contractions.
#[derive(Clone, Copy, Debug)]
pub struct With<'a>(pub &'a Cuda, pub Variant);

impl Contract for Cuda {
    type Memory = CudaMemory;

    fn contract<T: Real, const A: usize, const B: usize, const C: usize>(
        &self,
        task: Task,
        left: &DeviceView<'_, T, A>,
        right: &DeviceView<'_, T, B>,
        out: &mut DeviceViewMut<'_, T, C>,
    ) -> Result<()> {
        With(self, Variant::Auto).contract(task, left, right, out)
    }
}

impl Contract for With<'_> {
    type Memory = CudaMemory;

    fn contract<T: Real, const A: usize, const B: usize, const C: usize>(
        &self,
        task: Task,
        left: &DeviceView<'_, T, A>,
        right: &DeviceView<'_, T, B>,
        out: &mut DeviceViewMut<'_, T, C>,
    ) -> Result<()> {
        let [a, b] = [Shape::new(left, task.fields[0]), Shape::new(right, task.fields[1])];
        let item = size_of::<T>();
        let (inputs, output) = ([(left.address(), &a), (right.address(), &b)], (out.address(), out_strides(out)));
        let work = Work::new(task.fields, inputs, output, item);
        if work.sizes.contains(&0) {
            return Ok(());
        }
        let limits = Limits {
            multiprocessors: self.0.device().info().multiprocessors as usize,
            shared: self.0.shared_limit()?,
            ampere: self.0.device().info().capability.0 >= 8,
        };
        let variant = match self.1 {
            named if named.is_auto() => auto::choose(&work, &limits, named == Variant::AutoInOrder),
            named => named,
        };
        let launch = configure(&work, variant, &limits).map_err(|why| refusal(variant, &work, why))?;
        let operand = |side: usize| {
            let ((address, shape), [outer, middle, inner]) = (inputs[side], work.terms.strides[side]);
            words([address as usize, shape.strides[0], shape.strides[1], outer, middle, inner])
        };
        let (address, [to_cell, to_left, to_right]) = output;
        // In the order of `VARIANT` of `kernels/contraction.cuh`.
        let arguments = [
            &words(work.sizes)[..],
            &words(work.terms.extents),
            arguments![launch.option as u32, u32::from(task.sum == Sum::Into)],
            &operand(0),
            &operand(1),
            &words([address as usize, to_cell, to_left, to_right]),
        ];
        let (arguments, defines) = (arguments.concat(), launch.defines.as_deref().unwrap_or_default());
        if launch.clears && task.sum == Sum::Overwrite {
            let kernel = if item == 8 { "clear_f64" } else { "clear_f32" };
            self.0.launch(launch.file, kernel, Grid::cover(work.sizes[0] * work.outputs(), 256), &arguments)?;
        }
        self.0.launch_specialised(launch.file, defines, launch.kernel, launch.grid, &arguments)
    }
}

/// Numbers as arguments of a kernel.
fn words<const N: usize>(numbers: [usize; N]) -> [Argument; N] {
    numbers.map(|number| Argument::from(number as u64))
}

/// Returns the error of a variant that does not apply.
fn refusal(variant: Variant, work: &Work, why: &str) -> Error {
    let [cells, left, right] = work.sizes;
    let family = work.family;
    let (terms, bytes) = (work.contracted, work.item);
    Error::Invalid(format!(
        "contraction variant {variant}: not for {family} of {cells} cells, fields {left} x {right}, terms {terms:?}, \
         numbers of {bytes} bytes: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::work::Family;
    use super::work::Terms;
    use super::*;

    #[test]
    fn a_refusal_names_variant_and_shape() {
        let terms = Terms { extents: [1, 1, 72], strides: [[0, 0, 1]; 2] };
        let work = Work {
            family: Family::DataData,
            sizes: [5, 1, 1],
            contracted: [8, 3, 3],
            terms,
            item: 8,
            alignment: 16,
            is_line: true,
            pairs: false,
            is_output_line: false,
            by_cells: false,
        };
        let limits = Limits { multiprocessors: 1, shared: 48 << 10, ampere: false };
        for variant in [Variant::Slicing, Variant::Tile8, Variant::Segments, Variant::Dmma, Variant::Adaptive4] {
            let why = configure(&work, variant, &limits).unwrap_err();
            let error = refusal(variant, &work, why).to_string();
            assert!(error.contains(&variant.to_string()) && error.contains("[8, 3, 3]"), "{error}");
        }
        for variant in [Variant::Team1, Variant::Team2, Variant::FixedRows, Variant::FixedLanes] {
            assert!(configure(&work, variant, &limits).is_ok(), "{variant}");
        }
    }
}
