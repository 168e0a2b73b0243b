//! What GPUs compile, without a GPU: the functions in the loops of the layer, and the kernels by hand.

use crate::functions::{
    Add, AddByExchange, AddUnshared, Axpby, Centroid, Dot, Full, Half, HalfUnshared, Prefix, Ramp, Scale, Triad,
};
use crate::native::TEXT;
use minifenl::space::DeviceText;
use minifenl::space::cuda::Architecture;

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

fn array(of: &str, count: usize, item: &str) -> String {
    let items = list(count, |k| item.replace('#', &k.to_string()));
    if count == 0 { format!("Array<{of}, 0>{{}}") } else { format!("Array<{of}, {count}>{{{{{items}}}}}") }
}

/// The text of a loop as the library compiles it: its headers, the functions, what the loop defines, the kernels.
fn text<F: DeviceText>(defines: &str) -> String {
    let kernels = support::root().join("kernels");
    let part = |name: &str| std::fs::read_to_string(kernels.join(name)).unwrap();
    let front = format!("namespace user_text {{\n{}\n}}\nusing Statement = user_text::{};\n", F::TEXT, F::NAME);
    let headers = ["common.cuh", "device.cuh", "cells.cuh"].map(part).concat();
    [headers, front, "#define NUMBERS 3\n".into(), defines.into(), part("loops.cu")].concat()
}

fn items<F: DeviceText>(inputs: usize) -> String {
    let arrays =
        list(inputs, |k| format!("const Item* in{k}")) + if inputs > 0 { ", Item* out0" } else { "Item* out0" };
    let (read, own) = (array("Item", inputs, "in#[i]"), array("Item", 1, "out#[i]"));
    text::<F>(&format!(
        "#define ARRAYS , {arrays}\n#define READ {read}\n#define OWN {own}\n#define WRITE out0[i] = y[0];\n"
    ))
}

fn reduction<F: DeviceText>(inputs: usize, commutes: &str) -> String {
    let (arrays, read) = (list(inputs, |k| format!("const Item* in{k}")), array("Item", inputs, "in#[i]"));
    text::<F>(&format!("#define ARRAYS , {arrays}\n#define READ {read}\n{commutes}"))
}

fn indices<F: DeviceText>(numbers: usize, lists: usize) -> String {
    let kinds = [("const double", "x", numbers), ("const unsigned", "list", lists), ("double", "cell", 1)];
    let slices = kinds.map(|(of, name, count)| list(count, |k| format!("Slice<{of}> {name}{k}")));
    let arrays = slices.into_iter().filter(|list| !list.is_empty()).collect::<Vec<_>>().join(", ");
    let call = kinds.map(|(of, name, count)| array(&format!("Slice<{of}>"), count, &format!("{name}#"))).join(", ");
    text::<F>(&format!("#define ARRAYS , {arrays}\n#define CALL {call}\n"))
}

#[test]
fn nvrtc_compiles_the_functions_and_the_kernels_by_hand() {
    let texts = [
        items::<Ramp>(0),
        items::<Scale>(0),
        items::<Axpby>(1),
        items::<Triad>(2),
        reduction::<Dot>(2, "#define COMMUTES 1\n"),
        reduction::<Centroid>(4, "#define COMMUTES 1\n"),
        reduction::<Prefix>(1, ""),
        indices::<Add>(0, 1),
        indices::<AddByExchange>(0, 1),
        indices::<AddUnshared>(0, 1),
        indices::<Full>(1, 2),
        indices::<Half>(1, 2),
        indices::<HalfUnshared>(1, 2),
        TEXT.into(),
    ];
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        let test = "nvrtc_compiles_the_functions_and_the_kernels_by_hand";
        let Some(target) = support::or_skip(test, Architecture::new(architecture), "MINIFENL_NEEDS_NVRTC") else {
            return;
        };
        for text in &texts {
            target.compile("kernels", text).unwrap_or_else(|error| panic!("{architecture}: {error}"));
        }
    }
}
