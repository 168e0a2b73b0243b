//! The text of loops with functions of a user, as src/space/cuda/loops/text.rs gives it to NVRTC: for tests of functions without a GPU.

use super::root;

/// A struct of functions, as `minifenl::space::DeviceText` states it.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    text: &'static str,
    name: &'static str,
    numbers: usize,
}

impl Functions {
    /// The text and the name of the struct `F`, whose fields are f64 or arrays of f64.
    pub fn of<F>(text: &'static str, name: &'static str) -> Self {
        Functions { text, name, numbers: size_of::<F>() / size_of::<f64>() }
    }
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

fn array(of: &str, count: usize, item: &str) -> String {
    let items = list(count, |k| item.replace('#', &k.to_string()));
    if count == 0 { format!("Array<{of}, 0>{{}}") } else { format!("Array<{of}, {count}>{{{{{items}}}}}") }
}

/// The text of a loop as NVRTC gets it: headers, what stands in front of the kernels, the kernels.
pub fn loop_text(front: &str) -> String {
    let kernels = root().join("kernels");
    let part = |name: &str| std::fs::read_to_string(kernels.join(name)).expect("a kernel file");
    ["common.cuh", "device.cuh", "cells.cuh"].map(part).concat() + front + &part("loops.cu")
}

/// Functions, and what the loop defines.
fn front(Functions { text, name, numbers }: Functions, defines: &str) -> String {
    let statement = format!("namespace user_text {{\n{text}\n}}\nusing Statement = user_text::{name};\n");
    format!("{statement}#define NUMBERS {}\n{defines}", numbers.max(2))
}

/// What stands in front of `for_items`.
pub fn items_front(of: Functions, inputs: usize, outputs: usize) -> String {
    let arrays =
        (0..inputs).map(|k| format!(", const Item* in{k}")).chain((0..outputs).map(|k| format!(", Item* out{k}")));
    let write: String = (0..outputs).map(|k| format!("out{k}[i] = y[{k}]; ")).collect();
    let (read, own) = (array("Item", inputs, "in#[i]"), array("Item", outputs, "out#[i]"));
    let arrays = arrays.collect::<String>();
    front(of, &format!("#define ARRAYS {arrays}\n#define READ {read}\n#define OWN {own}\n#define WRITE {write}\n"))
}

/// What stands in front of `reduce_items` whose order counts or not, or, for `None`, of `scan_items`.
pub fn reduction_front(of: Functions, inputs: usize, commutes: Option<bool>) -> String {
    let (arrays, read) = (list(inputs, |k| format!("const Item* in{k}")), array("Item", inputs, "in#[i]"));
    let commutes = commutes.map_or(String::new(), |commutes| format!("#define COMMUTES {}\n", u8::from(commutes)));
    front(of, &format!("#define ARRAYS , {arrays}\n#define READ {read}\n{commutes}"))
}

/// Parameters and arguments of so many arrays of numbers, of indices, and of cells of a type of C++.
fn slices([numbers, indices, cells]: [usize; 3], cell: &str) -> (String, [String; 3]) {
    let kinds = [("const double", "x", numbers), ("const unsigned", "list", indices), (cell, "cell", cells)];
    let slices = kinds.map(|(of, name, count)| list(count, |k| format!("Slice<{of}> {name}{k}")));
    let arrays = slices.into_iter().filter(|list| !list.is_empty()).collect::<Vec<_>>().join(", ");
    (arrays, kinds.map(|(of, name, count)| array(&format!("Slice<{of}>"), count, &format!("{name}#"))))
}

/// What stands in front of `for_indices` over so many arrays of numbers, of indices, and of cells of a type of C++.
pub fn indices_front(of: Functions, counts: [usize; 3], cell: &str) -> String {
    let (arrays, groups) = slices(counts, cell);
    front(of, &format!("#define ARRAYS , {arrays}\n#define CALL {}\n", groups.join(", ")))
}

/// What stands in front of `for_teams` of so many threads.
pub fn teams_front(of: Functions, counts: [usize; 3], threads: usize) -> String {
    let (arrays, [read, list, cells]) = slices(counts, "double");
    let defines = format!("#define READ {read}\n#define OF {list}\n#define CELLS {cells}\n");
    front(of, &format!("#define TEAM {threads}\n#define ARRAYS , {arrays}\n{defines}"))
}

/// What stands in front of `for_tiles` of so many lanes and numbers of scratch.
pub fn tiles_front(of: Functions, counts: [usize; 3], [lanes, scratch]: [usize; 2]) -> String {
    let (arrays, [read, list, cells]) = slices(counts, "double");
    let defines = format!("#define READ {read}\n#define OF {list}\n#define CELLS {cells}\n");
    front(
        of,
        &format!("#define TILE_LANES {lanes}\n#define TILE_ITEMS {scratch}\n#define ARRAYS , {arrays}\n{defines}"),
    )
}
