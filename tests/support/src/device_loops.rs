//! The text of loops with functions of a user, as the library gives it to NVRTC: for tests of functions without a GPU.

use super::root;

/// A struct of functions: its text and its name.
pub type Functions = [&'static str; 2];

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

fn array(of: &str, count: usize, item: &str) -> String {
    let items = list(count, |k| item.replace('#', &k.to_string()));
    if count == 0 { format!("Array<{of}, 0>{{}}") } else { format!("Array<{of}, {count}>{{{{{items}}}}}") }
}

/// Headers, functions, what the loop defines, and the kernels.
fn text([functions, name]: Functions, defines: &str) -> String {
    let kernels = root().join("kernels");
    let part = |name: &str| std::fs::read_to_string(kernels.join(name)).expect("a kernel file");
    let front = format!("namespace user_text {{\n{functions}\n}}\nusing Statement = user_text::{name};\n");
    let headers = ["common.cuh", "device.cuh", "cells.cuh"].map(part).concat();
    [headers, front, "#define NUMBERS 3\n".into(), defines.into(), part("loops.cu")].concat()
}

/// The text of `for_items`.
pub fn items_text(of: Functions, inputs: usize, outputs: usize) -> String {
    let arrays =
        (0..inputs).map(|k| format!(", const Item* in{k}")).chain((0..outputs).map(|k| format!(", Item* out{k}")));
    let write: String = (0..outputs).map(|k| format!("out{k}[i] = y[{k}]; ")).collect();
    let (read, own) = (array("Item", inputs, "in#[i]"), array("Item", outputs, "out#[i]"));
    let arrays = arrays.collect::<String>();
    text(of, &format!("#define ARRAYS {arrays}\n#define READ {read}\n#define OWN {own}\n#define WRITE {write}\n"))
}

/// The text of `reduce_items` whose order counts or not, or, for `None`, of `scan_items`.
pub fn reduction_text(of: Functions, inputs: usize, commutes: Option<bool>) -> String {
    let (arrays, read) = (list(inputs, |k| format!("const Item* in{k}")), array("Item", inputs, "in#[i]"));
    let commutes = commutes.map_or(String::new(), |commutes| format!("#define COMMUTES {}\n", u8::from(commutes)));
    text(of, &format!("#define ARRAYS , {arrays}\n#define READ {read}\n{commutes}"))
}

/// The text of `for_indices` over so many arrays of numbers, of indices, and of cells of a type of C++.
pub fn indices_text(of: Functions, [numbers, indices, cells]: [usize; 3], cell: &str) -> String {
    let kinds = [("const double", "x", numbers), ("const unsigned", "list", indices), (cell, "cell", cells)];
    let slices = kinds.map(|(of, name, count)| list(count, |k| format!("Slice<{of}> {name}{k}")));
    let arrays = slices.into_iter().filter(|list| !list.is_empty()).collect::<Vec<_>>().join(", ");
    let call = kinds.map(|(of, name, count)| array(&format!("Slice<{of}>"), count, &format!("{name}#"))).join(", ");
    text(of, &format!("#define ARRAYS , {arrays}\n#define CALL {call}\n"))
}
