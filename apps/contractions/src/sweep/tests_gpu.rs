//! Results on a GPU are checked in its memory: right ones are timed, unwritten and wrong ones are named.

use super::case::Case;
use super::{Peers, Setting, SweepDeck, measure};
use crate::testing::gpu;
use minifenl::run::clock::Effort;
use minifenl::space::lanes::Real;
use minifenl::space::{Cuda, CudaArray, ExecutionSpace, Layout, Threads};

const DECK: &str = r#"
name = "checked"
title = "wrong results"
[[sweep]]
kernels = ["field_field_scalar", "data_data_vector"]
variants = ["flat"]
precisions = ["f32", "f64"]
layouts = ["left", "right"]
host_layouts = []
fields = [[5, 7]]
points = [9]
dims = [[3, 1]]
memory_mib = [4]
"#;

/// One that writes nothing, and one that writes zeros.
struct Wrong;

impl Peers for Wrong {
    fn gpu_names(&self) -> &'static [&'static str] {
        &["lazy", "off"]
    }

    fn on_gpu<T: Real>(
        &self,
        name: &str,
        space: &Cuda,
        _case: &Case,
        _layout: Layout,
        _left: &CudaArray<T>,
        _right: &CudaArray<T>,
        out: &mut CudaArray<T>,
    ) -> minifenl::Result<()> {
        if name == "off" {
            *out = space.zeros(out.len())?;
        }
        Ok(())
    }
}

#[test]
fn wrong_results_are_named_and_not_timed() {
    let Some(space) = gpu("wrong_results_are_named_and_not_timed") else { return };
    let host = Threads::with_current(2).unwrap();
    let effort = Effort { seconds: 0.002, samples: [1, 3] };
    let setting = Setting { host: &host, gpu: Some(&space), effort, copies: [1 << 16, 1 << 20] };
    let table = measure(&SweepDeck::parse(DECK, &Wrong).unwrap(), &setting, &Wrong, &mut |_| {}).unwrap();
    assert_eq!((table.rows.len(), table.wrong()), (24, 16));
    for row in &table.rows {
        let expected = match row.variant.as_str() {
            "flat" => "yes",
            "lazy" => "is not written",
            _ => "is off by",
        };
        assert!(row.checked.contains(expected), "{}: {}", row.variant, row.checked);
        assert_eq!(row.timing.is_some(), row.variant == "flat");
    }
}
