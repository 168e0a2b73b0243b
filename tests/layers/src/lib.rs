//! The tree keeps its order: imports lead to lower layers only, files of a layer use each other without circles, `unsafe`
//! stands where it is reviewed, files stay short, and each kernel file belongs to one layer. Pages name files and counts of the tree.

#![cfg(test)]

mod circles;
mod counts;
mod paths;
mod source;
mod tree;

use circles::circles;
use source::{Code, each_word, parsed, whole};
use std::{fs, path::Path};
use tree::Tree;

/// Layers by name and height. A layer may use itself and lower ones.
const LAYERS: &[(&str, u32)] = &[
    ("run", 9),
    ("solve", 8),
    ("fill", 7),
    ("graph", 6),
    ("mesh", 5),
    ("comm", 4),
    ("sparse", 3),
    ("element", 2),
    ("contraction", 2),
    ("blas", 2),
    ("space", 1),
    ("files", 1),
    ("error", 0),
    ("faults", 0),
];
const UNSAFE: &[&str] = &["space/atomic.rs", "space/memory.rs", "space/prefetch.rs", "space/cuda", "comm/mpi"];
const MAX_LINES: usize = 400;

/// Name and text of a file.
type Source = (String, String);

fn height(layer: &str) -> Option<u32> {
    LAYERS.iter().find(|(name, _)| *name == layer).map(|(_, height)| *height)
}

/// The layer of a file below `src`.
fn layer_of(name: &str) -> &str {
    name.split(['/', '.']).next().unwrap_or("")
}

/// The files below a folder of the repository with one of these extensions, by their names below it.
fn files(dir: &str, extensions: &[&str]) -> Vec<Source> {
    fn walk(root: &Path, dir: &Path, extensions: &[&str], found: &mut Vec<Source>) {
        for entry in fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, extensions, found);
            } else if path.extension().is_some_and(|extension| extensions.iter().any(|known| extension == *known)) {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    let dir = support::root().join(dir);
    walk(&dir, &dir, extensions, &mut found);
    found.sort();
    found
}

/// Layers that paths from `crate` lead to.
fn layers(code: &Code) -> Vec<&str> {
    let paths = code.uses.iter().map(|leaf| &leaf.path).chain(code.paths.keys());
    paths.filter(|path| path[0] == "crate").filter_map(|path| path.get(1).map(String::as_str)).collect()
}

/// Whether a text has this word outside comments and strings.
fn has_word(text: &str, word: &str) -> bool {
    let mut has_it = false;
    each_word(text.parse().expect("Rust"), &mut |found| has_it |= found == word);
    has_it
}

/// Imports of higher layers, `unsafe` where it is not reviewed, long files.
fn misplaced(sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, text) in sources {
        let lines = text.lines().count();
        if lines > MAX_LINES {
            faults.push(format!("{name}: {lines} lines, {MAX_LINES} at most"));
        }
        if has_word(text, "unsafe") && !UNSAFE.iter().any(|place| name.starts_with(place)) {
            faults.push(format!("{name}: unsafe"));
        }
        let layer = layer_of(name);
        if layer == "lib" {
            continue;
        }
        let Some(own) = height(layer) else {
            faults.push(format!("{name}: `{layer}` has no place among the layers"));
            continue;
        };
        for used in layers(&whole(&parsed(name, text))) {
            if used != layer && height(used).is_some_and(|used| used >= own) {
                faults.push(format!("{name} (layer {own}) imports from `{used}` (layer {})", height(used).unwrap()));
            }
        }
    }
    faults
}

/// Circles of files, and paths of `super` out of a layer.
fn entangled(sources: &[Source]) -> Vec<String> {
    let tree = Tree::new(sources);
    let escapes = tree.escapes().into_iter();
    let mut faults: Vec<String> = escapes
        .map(|(file, path)| format!("{}: `{path}` leaves the layer: write `crate::`", tree.files[file]))
        .collect();
    let edges = tree.edges();
    for circle in circles(&edges) {
        let mut fault = format!("a circle of {} files:", circle.len());
        for &from in &circle {
            for (to, path) in edges[from].iter().filter(|(to, _)| circle.contains(to)) {
                fault += &format!("\n    {} -> {} by `{path}`", tree.files[from], tree.files[*to]);
            }
        }
        faults.push(fault);
    }
    faults
}

/// Kernel files without an owner. A `.cu` file belongs to the one layer or program that registers it. A header belongs to the
/// lowest layer that includes it; higher layers may include it, too. `owners` holds the name of a layer or program and its
/// code.
fn unowned(kernels: &[Source], owners: &[(String, Code)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (kernel, _) in kernels {
        // `kernel_file!("name", "common.cuh")`, or `include_str!` of a path.
        let names = |text: &str| {
            kernel == text || kernel.strip_suffix(".cu") == Some(text) || text.ends_with(&format!("kernels/{kernel}"))
        };
        let names_it = |code: &Code| {
            let registered = |called: &str| called == "kernel_file" || called == "include_str";
            code.texts.iter().any(|(called, text)| registered(called) && names(text))
        };
        let mut found: Vec<&str> =
            owners.iter().filter(|(_, code)| names_it(code)).map(|(owner, _)| owner.as_str()).collect();
        found.sort_unstable();
        found.dedup();
        let heights: Vec<Option<u32>> = found.iter().map(|owner| height(owner)).collect();
        let lowest = heights.iter().min();
        let is_header = kernel.ends_with(".cuh");
        let has_one_owner =
            found.len() == 1 || is_header && heights.iter().filter(|height| Some(*height) == lowest).count() == 1;
        if !has_one_owner {
            faults.push(format!("kernels/{kernel} belongs to {found:?}: one layer registers it"));
        }
    }
    faults
}

#[test]
fn layers_unsafe_code_and_lengths_keep_their_places() {
    let sources = files("src", &["rs"]);
    assert!(sources.len() > 10);
    let faults = misplaced(&sources);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_use_each_other_without_circles() {
    let faults = entangled(&files("src", &["rs"]));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_kernel_file_has_one_owner() {
    let kernels = files("kernels", &["cu", "cuh"]);
    assert!(kernels.len() > 10);
    let library = files("src", &["rs"])
        .into_iter()
        .map(|(name, text)| (layer_of(&name).to_string(), whole(&parsed(&name, &text))));
    let programs = files("apps", &["rs"])
        .into_iter()
        .map(|(name, text)| (format!("apps/{}", layer_of(&name)), whole(&parsed(&name, &text))));
    let faults = unowned(&kernels, &library.chain(programs).collect::<Vec<_>>());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A tree made of names and texts.
fn made_up(files: &[(&str, &str)]) -> Vec<Source> {
    files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

#[test]
fn layers_behind_crate_are_found() {
    let text = "use crate::{Error, run::{Deck, x}, mesh}; fn g() { crate::fill::f(); m!(\"crate::no\", crate::blas::A) } // crate::none";
    let code = whole(&parsed("a.rs", text));
    let found: Vec<_> = layers(&code).into_iter().collect();
    assert_eq!(found, ["Error", "run", "run", "mesh", "blas", "fill"]);
}

#[test]
fn imports_of_higher_layers_and_unsafe_code_are_faults() {
    let faults = misplaced(&made_up(&[
        ("mesh/mod.rs", "use crate::space::X;"),
        ("mesh/a.rs", "use crate::{fill::Y, Error};"),
        ("blas/mod.rs", "fn g() { unsafe { f() } } // unsafe"),
        ("cellar/mod.rs", ""),
        ("space/cuda/a.rs", "unsafe fn f() {}"),
        ("error.rs", &"\n".repeat(401)),
    ]));
    assert_eq!(faults.len(), 4, "{faults:?}");
    assert!(faults[0].starts_with("mesh/a.rs") && faults[1] == "blas/mod.rs: unsafe", "{faults:?}");
}

#[test]
fn a_circle_of_files_is_a_fault_however_it_is_written() {
    let lib = ("lib.rs", "mod mesh;");
    let parent = "mod a; mod b; pub use a::A; pub(crate) use b::{B, two as three};";
    for (a, b) in [
        ("use super::b::B; pub struct A;", "use crate::mesh::a::A; pub struct B;"),
        ("use super::B; pub struct A;", "use super::{A as Other}; pub struct B;"),
        ("use super::three; pub struct A;", "fn f() { crate::mesh::A; } fn two() {}"),
        ("use super::*; pub struct A(B);", "use super::a; fn f() -> a::A {} pub struct B;"),
        ("use super::b::{self}; pub struct A;", "mod inner { use super::super::a::A; } pub struct B;"),
        ("use super::b::made; pub struct A;", "use super::A; make!(made);"),
    ] {
        let faults = entangled(&made_up(&[lib, ("mesh/mod.rs", parent), ("mesh/a.rs", a), ("mesh/b.rs", b)]));
        assert_eq!(faults.len(), 1, "{a} {b} {faults:?}");
        assert!(
            faults[0].contains("mesh/a.rs -> mesh/b.rs") && faults[0].contains("mesh/b.rs -> mesh/a.rs"),
            "{faults:?}"
        );
    }
}

#[test]
fn a_module_and_its_children_make_a_circle_if_both_use_the_other() {
    let tree = |parent: &str, child: &str| {
        entangled(&made_up(&[("lib.rs", "mod mesh;"), ("mesh/mod.rs", parent), ("mesh/a.rs", child)]))
    };
    // Declarations and re-exports are no use.
    assert_eq!(
        tree("mod a; pub use a::{A, f}; pub struct P; fn g(f: u32) { f }", "use super::P; pub struct A;").len(),
        0
    );
    assert_eq!(tree("mod a; fn f(x: a::A) {} pub struct P;", "pub struct A;").len(), 0);
    let own_names =
        "mod a; pub use a::{A, f}; trait T { type A; fn f(x: Self::A); const fn f(x: *const u8); } pub struct P;";
    assert_eq!(tree(own_names, "use super::P; pub struct A;").len(), 0);
    assert_eq!(tree("mod a; pub use a::A; fn f(x: *const A) {} pub struct P;", "use super::P; pub struct A;").len(), 1);
    assert_eq!(tree("mod a; fn f(x: a::A) {}", "pub(in super::super) struct A; pub(super) fn f() {}").len(), 0);
    for parent in [
        "mod a; pub use a::A; fn f(x: A) {} pub struct P;",
        "mod a; pub use a::f; fn g() { f() } pub struct P;",
        "mod a; use a::A; pub struct P;",
        "mod a; fn f(x: a::A) {} pub struct P;",
        "mod a; mod inner { pub use super::a::A; } use inner::A; pub struct P;",
    ] {
        assert_eq!(tree(parent, "use super::P; pub struct A;").len(), 1, "{parent}");
    }
}

#[test]
fn tests_may_use_what_they_compare_with() {
    let a = "pub struct A; #[cfg(test)] mod tests { use super::super::b::B; } #[test] fn f() { crate::mesh::b::B; }";
    let b = "use super::a::A; #[cfg(not(test))] pub struct B;";
    let tests = "use super::{a::A, b::B};";
    let parent = "mod a; mod b; #[cfg(test)] mod tests; pub struct P;";
    let files = [
        ("lib.rs", "mod mesh;"),
        ("mesh/mod.rs", parent),
        ("mesh/a.rs", a),
        ("mesh/b.rs", b),
        ("mesh/tests.rs", tests),
    ];
    assert_eq!(entangled(&made_up(&files)), Vec::<String>::new());
}

#[test]
fn super_does_not_leave_a_layer() {
    let tree = |code: &str| {
        let files =
            [("lib.rs", "mod mesh; mod error;"), ("mesh/mod.rs", "mod a;"), ("mesh/a.rs", code), ("error.rs", "")];
        entangled(&made_up(&files)).len()
    };
    assert_eq!(tree("use super::x; mod inner { use super::super::x; }"), 0);
    assert_eq!(tree("use super::super::error::E;"), 1);
    assert_eq!(tree("fn f() { super::super::error::f() }"), 1);
    assert_eq!(tree("use super::{super::error};"), 1);
    assert_eq!(tree("mod inner { use super::super::super::error; }"), 1);
}

#[test]
fn a_kernel_file_belongs_to_one_layer() {
    let kernels = made_up(&[("a.cu", ""), ("a.cuh", ""), ("common.cuh", "")]);
    let owners = |files: &[(&str, &str)]| {
        let owners: Vec<_> =
            files.iter().map(|(owner, text)| (owner.to_string(), whole(&parsed(owner, text)))).collect();
        unowned(&kernels, &owners).len()
    };
    let common = ("space", r#"const C: &str = include_str!("../kernels/common.cuh");"#);
    let a = ("blas", r#"static A: KernelFile = kernel_file!("a", "a.cuh");"#);
    assert_eq!(owners(&[common, a]), 0);
    assert_eq!(owners(&[common, a, ("blas", r#"static A: K = kernel_file!("other", "a.cuh");"#)]), 0);
    assert_eq!(owners(&[common, a, ("mesh", r#"static A: K = kernel_file!("other", "a.cuh");"#)]), 0);
    assert_eq!(owners(&[common, a, ("contraction", r#"static A: K = kernel_file!("other", "a.cuh");"#)]), 1);
    assert_eq!(owners(&[common, a, ("mesh", r#"static A: K = kernel_file!("a");"#)]), 1);
    assert_eq!(owners(&[common]), 2);
    assert_eq!(owners(&[a, ("space", r#"static A: K = f("common.cuh");"#)]), 1);
}
