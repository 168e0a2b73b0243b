//! Paths of the repository that pages and comments name exist.

use super::files;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Folders below which a path is meant to be one of the repository.
const FOLDERS: &[&str] =
    &["src", "kernels", "apps", "tests", "benches", "examples", "docs", "inputs", "packaging", ".ci", ".github"];
/// Measured results and reports of studies name the files of their own commit.
const DATED: &[&str] = &["docs/results/20", "docs/scaling/h200", "docs/scaling/cores", "docs/scaling/two-cores"];

/// Files and folders that a page may name, with `/` between components.
fn tree() -> BTreeSet<String> {
    let (mut found, root) = (BTreeSet::new(), support::root());
    let mut folders: Vec<PathBuf> = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_string();
            if ["target", ".git"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            }
            found.insert(name);
        }
    }
    found
}

/// Joins a path to the folder of the file that names it.
fn beside(file: &str, path: &str) -> String {
    let mut joined = Vec::new();
    for part in Path::new(file).parent().unwrap().join(path).components() {
        match part {
            Component::ParentDir => drop(joined.pop()),
            Component::Normal(name) => joined.push(name.to_str().unwrap().to_string()),
            _ => {}
        }
    }
    joined.join("/")
}

/// Returns the paths that a line names and the tree lacks.
fn missing(tree: &BTreeSet<String>, file: &str, line: &str) -> Vec<String> {
    let is_end = |name: &String, path: &str| name.ends_with(&format!("/{path}"));
    let exists = |path: &str| {
        tree.contains(path) || tree.contains(&beside(file, path)) || tree.iter().any(|name| is_end(name, path))
    };
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && !"_./-".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', '/', '-']));
    let is_path = |word: &&str| {
        let is_code = [".rs", ".cu", ".cuh"].iter().any(|end| word.len() > end.len() && word.ends_with(end));
        let first = word.split('/').next().unwrap_or("");
        let is_below = word.contains('/') && FOLDERS.contains(&first);
        is_below || is_code && (word.contains('/') || !word.ends_with(".rs")) && !word.starts_with(['/', '.'])
    };
    // `TARGET` stands for a name.
    let words = words
        .filter(|word| !word.split('/').any(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_uppercase())));
    let mut lost: Vec<String> = words.filter(is_path).filter(|word| !exists(word)).map(String::from).collect();
    if file.ends_with(".md") {
        let links = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
        let links = links.filter(|link| !link.is_empty() && !link.contains(':'));
        lost.extend(links.filter(|link| !tree.contains(&beside(file, link))).map(String::from));
    }
    lost
}

#[test]
fn paths_in_pages_and_comments_exist() {
    let tree = tree();
    let mut lost = Vec::new();
    let pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"];
    let pages = pages.map(|name| (name.into(), std::fs::read_to_string(support::root().join(name)).unwrap()));
    let below = |folder: &&'static str| {
        let texts = files(folder, &["md", "rs", "cu", "cuh"]).into_iter();
        texts.map(|(name, text)| (format!("{folder}/{name}"), text)).collect::<Vec<_>>()
    };
    for (file, text) in pages.into_iter().chain(FOLDERS.iter().flat_map(below)) {
        if DATED.iter().any(|dated| file.starts_with(dated)) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let prose = if file.ends_with(".md") { Some(line) } else { line.trim_start().strip_prefix("//") };
            let words = prose.map_or(vec![], |prose| missing(&tree, &file, prose));
            lost.extend(words.iter().map(|word| format!("{file}:{}: {word}", number + 1)));
        }
    }
    assert!(lost.is_empty(), "no such file:\n{}", lost.join("\n"));
}

#[test]
fn missing_paths_are_found() {
    let tree: BTreeSet<String> = ["src", "src/run", "src/run/mod.rs", "kernels/a.cu"].map(String::from).into();
    let line =
        "see src/run/heat.rs, `b.cu:1` and [it](heat.md), not src/run, run/mod.rs, a.cu, mod.rs or https://x.y/z.rs";
    assert_eq!(missing(&tree, "README.md", line), ["src/run/heat.rs", "b.cu", "heat.md"]);
}
