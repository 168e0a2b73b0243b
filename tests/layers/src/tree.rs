//! The modules of a crate, and what the paths in them mean.
//!
//! Names resolve as in Rust, so far as files need it: child modules, items, `use` (also of what another `use` brought in),
//! globs. A name that a macro makes counts as an item of the module in which it is looked for. Methods are not followed.
//! Items under `#[cfg(test)]` and `#[test]` are left out: a test may use whatever it compares with.

use super::Source;
use super::source::{Code, is_test, name_of, parsed};
use std::collections::{BTreeMap, BTreeSet};
use syn::Item;
use syn::visit::Visit;

/// A module, inline or of a file.
#[derive(Debug, Default)]
struct Module {
    file: usize,
    children: BTreeSet<String>,
    code: Code,
}

/// What a path means.
#[derive(Clone, Debug, PartialEq)]
enum Target {
    Module(Vec<String>),
    Item(usize),
}

/// All modules of a crate.
#[derive(Debug, Default)]
pub struct Tree {
    /// Names of the files below the root, such as `solve/newton.rs`.
    pub files: Vec<String>,
    modules: BTreeMap<Vec<String>, Module>,
}

impl Tree {
    /// Reads files given by their names below the root and their texts.
    pub fn new(files: &[Source]) -> Self {
        let mut tree = Tree { files: files.iter().map(|(name, _)| name.clone()).collect(), modules: BTreeMap::new() };
        for (file, (name, text)) in files.iter().enumerate() {
            let path = name.trim_end_matches(".rs").trim_end_matches("/mod");
            let path: Vec<String> = path.split('/').filter(|part| *part != "lib").map(String::from).collect();
            tree.read(path, file, &parsed(name, text).items);
        }
        // A file of tests has no declaration; nor have the files below it.
        let known: Vec<Vec<String>> = tree.modules.keys().cloned().collect();
        for path in known {
            let is_declared = (1..=path.len()).all(|len| {
                tree.modules.get(&path[..len - 1]).is_some_and(|parent| parent.children.contains(&path[len - 1]))
            });
            if !is_declared {
                tree.modules.remove(&path);
            }
        }
        tree
    }

    fn read(&mut self, path: Vec<String>, file: usize, items: &[Item]) {
        let mut module = Module { file, ..Module::default() };
        for item in items.iter().filter(|item| !is_test(item)) {
            let Item::Mod(child) = item else {
                module.code.items.extend(name_of(item));
                module.code.visit_item(item);
                continue;
            };
            let name = child.ident.to_string();
            if let Some((_, items)) = &child.content {
                self.read([&path[..], std::slice::from_ref(&name)].concat(), file, items);
            }
            module.children.insert(name);
        }
        self.modules.insert(path, module);
    }

    /// For each file what it uses of others: the other file and a path that names it. The root is left out.
    pub fn edges(&self) -> Vec<BTreeMap<usize, String>> {
        let mut edges = vec![BTreeMap::new(); self.files.len()];
        for (path, module) in self.modules.iter().filter(|(path, _)| !path.is_empty()) {
            let used = module.code.uses.iter().filter(|used| !used.is_public).map(|used| &used.path);
            let named = module.code.paths.iter().filter(|(names, is_call)| self.is_use(module, names, **is_call));
            for names in used.chain(named.map(|(names, _)| names)) {
                let file = match self.target(path, names, 0) {
                    Some(Target::Module(to)) => self.modules.get(&to).map(|module| module.file),
                    Some(Target::Item(file)) => Some(file),
                    None => None,
                };
                let root = self.modules.get(&Vec::new()).map(|root| root.file);
                if let Some(file) = file.filter(|file| *file != module.file && Some(*file) != root) {
                    edges[module.file].entry(file).or_insert_with(|| names.join("::"));
                }
            }
        }
        edges
    }

    /// Whether a path outside `use` means something of another file: it begins at a module, or at a re-exported name. A
    /// variable may have the name of a function, so a single name in small letters must be called.
    fn is_use(&self, module: &Module, names: &[String], is_call: bool) -> bool {
        let head = names[0].as_str();
        let is_long = names.len() > 1;
        let is_module = module.children.contains(head) || ["crate", "self", "super"].contains(&head);
        // A glob may have brought it in, too.
        let is_imported = module.code.uses.iter().any(|used| used.name.as_deref().is_none_or(|name| name == head));
        is_module && is_long || is_imported && (is_long || is_call || head.starts_with(char::is_uppercase))
    }

    /// Paths of `super` that leave the module of the root that they stand in, with their file.
    pub fn escapes(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (path, module) in self.modules.iter().filter(|(path, _)| !path.is_empty()) {
            let named = module.code.paths.keys();
            for names in module.code.uses.iter().map(|used| &used.path).chain(named) {
                let supers =
                    names.iter().skip_while(|name| *name == "self").take_while(|name| *name == "super").count();
                if supers >= path.len() {
                    found.push((module.file, names.join("::")));
                }
            }
        }
        found
    }

    /// What a path in module `from` means; `None` for other crates.
    fn target(&self, from: &[String], names: &[String], depth: usize) -> Option<Target> {
        let (head, rest) = names.split_first()?;
        let mut target = match head.as_str() {
            "crate" => Target::Module(Vec::new()),
            "self" => Target::Module(from.to_vec()),
            "super" => Target::Module(from.split_last()?.1.to_vec()),
            _ => self.lookup(from, head, depth)?,
        };
        for name in rest {
            let Target::Module(path) = &target else { break };
            target = match name.as_str() {
                "super" => Target::Module(path.split_last()?.1.to_vec()),
                "self" => continue,
                _ => match self.lookup(path, name, depth) {
                    Some(target) => target,
                    None => Target::Item(self.modules.get(path)?.file),
                },
            };
        }
        Some(target)
    }

    fn lookup(&self, path: &[String], name: &str, depth: usize) -> Option<Target> {
        let module = self.modules.get(path)?;
        if module.children.contains(name) {
            return Some(Target::Module(path.iter().cloned().chain([name.to_string()]).collect()));
        }
        if module.code.items.contains(name) {
            return Some(Target::Item(module.file));
        }
        if depth > 8 {
            return None;
        }
        if let Some(used) = module.code.uses.iter().find(|used| used.name.as_deref() == Some(name)) {
            return self.target(path, &used.path, depth + 1);
        }
        module.code.uses.iter().filter(|used| used.name.is_none()).find_map(|glob| {
            match self.target(path, &glob.path, depth + 1)? {
                Target::Module(other) if other != path => self.lookup(&other, name, depth + 1),
                _ => None,
            }
        })
    }
}
