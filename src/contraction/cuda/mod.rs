//! The nine on a GPU: launches of `kernels/contraction*.cu`.
//!
//! ```text
//! call -> Work (sizes, strides) -> Variant (the named one, or Auto's choice) -> Plan (kernel, grid) -> launch
//! ```
//! A variant that does not apply is refused before anything is launched. All kernels have the same arguments.

mod auto;
mod fixed;
mod plan;
mod variant;
mod work;

use super::shape::{Shape, out_strides};
use super::{Contract, Sum, Task};
use crate::space::cuda::{Argument, Cuda, CudaMemory, Grid, arguments, specialised};
use crate::space::lanes::Real;
use crate::space::{DeviceView, DeviceViewMut};
use crate::{Error, Result};
use plan::Plan;
use work::{Family, Limits, Terms, Work};

pub(crate) use auto::learned;
pub use variant::Variant;

/// A GPU and how it is to contract: takes the place of the space in a call of the nine.
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
        let [to_cell, to_left, to_right] = out_strides(out);
        let item = size_of::<T>();
        let inputs = [(left.address(), &a), (right.address(), &b)];
        let work = Work::new(task.fields, inputs, (out.address(), [to_cell, to_left, to_right]), item);
        if work.sizes.contains(&0) {
            return Ok(());
        }
        let limits = Limits {
            multiprocessors: self.0.device().info().multiprocessors as usize,
            shared: self.0.shared_limit()?,
            dmma: self.0.device().info().capability.0 >= 8,
        };
        let variant = match self.1 {
            named if named.is_auto() => auto::choose(&work, &limits, named == Variant::AutoInOrder),
            named => named,
        };
        let plan = Plan::new(&work, variant, &limits).map_err(|why| refusal(variant, &work, why))?;
        let Work { sizes: [cells, fields_left, fields_right], terms, .. } = work;
        let [outer, middle, inner] = terms.extents;
        let [[a0, a1, a2], [b0, b1, b2]] = terms.strides;
        let arguments: &mut [Argument] = arguments![
            cells as u64,
            fields_left as u64,
            fields_right as u64,
            outer as u64,
            middle as u64,
            inner as u64,
            plan.option as u32,
            u32::from(task.sum == Sum::Into),
            left.argument(),
            a.strides[0] as u64,
            a.strides[1] as u64,
            a0 as u64,
            a1 as u64,
            a2 as u64,
            right.argument(),
            b.strides[0] as u64,
            b.strides[1] as u64,
            b0 as u64,
            b1 as u64,
            b2 as u64,
            out.argument(),
            to_cell as u64,
            to_left as u64,
            to_right as u64,
        ];
        if plan.clears && task.sum == Sum::Overwrite {
            let kernel = if item == 8 { "clear_f64" } else { "clear_f32" };
            self.0.launch(plan.file, kernel, Grid::cover(cells * work.outputs(), 256), arguments)?;
        }
        match &plan.defines {
            None => self.0.launch(plan.file, plan.kernel, plan.grid, arguments),
            Some(defines) => self.0.launch_specialised(plan.file, defines, plan.kernel, plan.grid, arguments),
        }
    }
}

fn refusal(variant: Variant, work: &Work, why: &str) -> Error {
    let [cells, left, right] = work.sizes;
    let family = match work.family {
        Family::FieldField => "field_field",
        Family::DataField => "data_field",
        Family::DataData => "data_data",
    };
    let (terms, bytes) = (work.contracted, work.item);
    Error::Invalid(format!(
        "contraction variant {variant}: not for {family} of {cells} cells, fields {left} x {right}, terms {terms:?}, \
         numbers of {bytes} bytes: {why}"
    ))
}

/// Sizes of trilinear and triquadratic hexahedra: fields, points.
const ELEMENTS: [(usize, usize); 2] = [(8, 8), (27, 27)];

/// Name and text of the kernels as they are compiled for the contractions of finite elements: hexahedra with 8 nodes (all
/// nine) and 27 nodes (not the tensors) in three dimensions, both layouts, f32 and f64. For a look at what compilers make of them, without a GPU.
pub fn element_sources() -> Vec<(String, String)> {
    let limits = Limits { multiprocessors: 132, shared: 99 << 10, dmma: true };
    let mut found = Vec::new();
    for (fields, points) in ELEMENTS {
        for (family, left, right) in
            [(Family::FieldField, fields, fields), (Family::DataField, 1, fields), (Family::DataData, 1, 1)]
        {
            let ranks = [("scalar", [1, 1]), ("vector", [3, 1]), ("tensor", [3, 3])];
            for (rank, dims) in ranks.into_iter().take(if fields == 8 { 3 } else { 2 }) {
                for (item, is_left) in [(4, true), (4, false), (8, true), (8, false)] {
                    let count = points * dims[0] * dims[1];
                    let terms = if is_left {
                        Terms { extents: [points, dims[0], dims[1]], strides: [[8, 64, 512]; 2] }
                    } else {
                        Terms { extents: [1, 1, count], strides: [[0, 0, 1]; 2] }
                    };
                    let work = Work {
                        family,
                        sizes: [1 << 20, left, right],
                        contracted: [points, dims[0], dims[1]],
                        terms,
                        item,
                        alignment: if count.is_multiple_of(16 / item) { 16 } else { item },
                        is_line: true,
                        pairs: fields.is_multiple_of(2),
                        is_output_line: (left * right).is_multiple_of(16 / item),
                        by_cells: is_left,
                    };
                    for (variant, name) in Variant::ALL.into_iter().filter(|(variant, _)| variant.is_specialised()) {
                        let of_layout = is_left == (variant == Variant::FixedLanes);
                        let of_layout = of_layout && (fields > 8 || variant != Variant::FixedBlocked);
                        let Some(plan) = Plan::new(&work, variant, &limits).ok().filter(|_| of_layout) else {
                            continue;
                        };
                        let Some(text) = plan.defines.and_then(|defines| specialised(plan.file, &defines)) else {
                            continue;
                        };
                        let bits = 8 * item;
                        found.push((format!("{name}_{family:?}_{rank}_{fields}x{points}_f{bits}"), text));
                    }
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_for_elements() {
        let sources = element_sources();
        assert!(sources.len() > 60, "{}", sources.len());
        assert!(sources.iter().any(|(name, _)| name == "dmma_FieldField_vector_8x8_f64"));
        assert!(sources.iter().all(|(_, text)| text.contains("#define LEFT")));
    }

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
        let limits = Limits { multiprocessors: 1, shared: 48 << 10, dmma: false };
        for variant in [Variant::Slicing, Variant::Tile8, Variant::Segments, Variant::Dmma, Variant::Adaptive4] {
            let why = Plan::new(&work, variant, &limits).unwrap_err();
            let error = refusal(variant, &work, why).to_string();
            assert!(error.contains(&variant.to_string()) && error.contains("[8, 3, 3]"), "{error}");
        }
        for variant in [Variant::Team1, Variant::Team2, Variant::FixedRows, Variant::FixedLanes] {
            assert!(Plan::new(&work, variant, &limits).is_ok(), "{variant}");
        }
    }
}
