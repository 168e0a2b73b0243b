//! Kernel `intrepid` on a GPU: assembly by the nine contractions against the host's assembly.

use super::super::products::cases;
use super::{difference, gpu};
use minifenl::contraction::Variant;
use minifenl::fill::{AssemblyChoice, Kernel, Strategy, Workset};
use minifenl::space::Layout;
use minifenl::sparse::Format;

/// Every problem on every element: many ragged worksets, cells slowest, and the sizes and variants that a run takes.
#[test]
fn contractions_of_worksets_assemble_as_the_host() {
    let Some(space) = gpu("contractions_of_worksets_assemble_as_the_host") else { return };
    let worksets = [
        Workset { cells: Some(37), layout: Some(Layout::Left), variant: Variant::AutoInOrder },
        Workset { cells: Some(64), layout: Some(Layout::Right), variant: Variant::Flat },
        Workset::default(),
    ];
    for case in cases() {
        let (expected, [elems, dofs]) = (case.assembled(), case.sizes());
        for (strategy, workset) in Strategy::on_gpu().flat_map(|(s, _)| worksets.map(|workset| (s, workset))) {
            let name = format!("{}, {strategy}, {workset:?}", case.name);
            let (found, calls) = case.assembled_in(
                &space,
                Format::Crs.into(),
                AssemblyChoice { strategy: Some(strategy), kernel: Kernel::Intrepid, workset },
            );
            for (which, what) in ["y", "residual"].into_iter().enumerate() {
                let by = difference(&found[which], &expected[which]);
                assert!(by < 1e-13, "{name}: {what} differs by {by:e}");
            }
            let (calls, Some(cells)) = (calls.by_name(), workset.cells) else { continue };
            let expected = (dofs * elems.div_ceil(cells)) as u64;
            for contraction in ["field_field_vector", "data_field_vector", "data_field_scalar"] {
                assert_eq!(calls[contraction], expected, "{name}: {contraction}");
            }
            // With heat and advection a source depends on the temperature or its gradient.
            let is_heat = ["heat", "advection"].iter().any(|name| case.name.contains(name));
            let scalar = if is_heat { expected } else { 0 };
            assert_eq!(calls.get("field_field_scalar").copied().unwrap_or(0), scalar, "{name}");
        }
    }
}
