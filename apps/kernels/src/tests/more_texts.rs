//! What GPUs compile of teams, series and products that stay in the space, without a GPU.

use crate::functions::{Normalise, Project, RowProduct, Series};
use minifenl::space::DeviceText;
use minifenl::space::cuda::Architecture;

const SERIES: &str = "#define ARRAYS , const Item* in0, Item* out0
#define READ Array<Item, 1>{{in0[i]}}
#define OWN Array<Item, 1>{{out0[i]}}
#define WRITE out0[i] = y[0];
";
const NORMALISE: &str = "#define ARRAYS , Slice<const double> x, Slice<double> v
#define CALL Array<Slice<const double>, 1>{{x}}, Array<Slice<const unsigned>, 0>{}, Array<Slice<double>, 1>{{v}}
";
const PROJECT: &str = "#define ARRAYS , Slice<const double> x, Slice<const double> v, Slice<double> w
#define CALL Array<Slice<const double>, 2>{{x, v}}, Array<Slice<const unsigned>, 0>{}, Array<Slice<double>, 1>{{w}}
";
const ROWS: &str = "#define TEAM 8
#define ARRAYS , Slice<const double> a, Slice<const double> x, Slice<const unsigned> starts, Slice<const unsigned> columns, Slice<double> y
#define READ Array<Slice<const double>, 2>{{a, x}}
#define OF Array<Slice<const unsigned>, 2>{{starts, columns}}
#define CELLS Array<Slice<double>, 1>{{y}}
";

/// The text of a loop as the library compiles it.
fn text<F: DeviceText>(defines: &str) -> String {
    let kernels = support::root().join("kernels");
    let part = |name: &str| std::fs::read_to_string(kernels.join(name)).unwrap();
    let front = format!("namespace user_text {{\n{}\n}}\nusing Statement = user_text::{};\n", F::TEXT, F::NAME);
    let headers = ["common.cuh", "device.cuh", "cells.cuh"].map(part).concat();
    [headers, front, "#define NUMBERS 2\n".into(), defines.into(), part("loops.cu")].concat()
}

#[test]
fn nvrtc_compiles_teams_and_products_that_stay() {
    let texts =
        [text::<Series>(SERIES), text::<Normalise>(NORMALISE), text::<Project>(PROJECT), text::<RowProduct>(ROWS)];
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        let test = "nvrtc_compiles_teams_and_products_that_stay";
        let Some(target) = support::or_skip(test, Architecture::new(architecture), "MINIFENL_NEEDS_NVRTC") else {
            return;
        };
        for text in &texts {
            target.compile("kernels", text).unwrap_or_else(|error| panic!("{architecture}: {error}"));
        }
    }
}
