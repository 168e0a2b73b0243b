//! The modules of a crate, and what the paths in them mean.
//!
//! Names resolve as in Rust, so far as files need it: child modules, items, `use` (also of what another `use` brought in),
//! globs. A name that a macro makes counts as an item of the module in which it is looked for. Methods are not followed.
//! Items under `#[cfg(test)]` and `#[test]` are left out: a test may use whatever it compares with.

use super::tokens::{Token, tokens};
use std::collections::{BTreeMap, BTreeSet};

/// A module, inline or of a file.
#[derive(Debug, Default)]
struct Module {
    file: usize,
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    uses: Vec<Use>,
    /// Paths outside `use`, and whether a call, a macro or a longer path follows the name.
    paths: BTreeSet<(Vec<String>, bool)>,
}

/// A leaf of a `use`.
#[derive(Debug)]
struct Use {
    path: Vec<String>,
    /// `None` for a glob.
    name: Option<String>,
    is_public: bool,
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
    pub fn new(files: &[(String, String)]) -> Self {
        let mut tree = Tree { files: files.iter().map(|(name, _)| name.clone()).collect(), modules: BTreeMap::new() };
        for (file, (name, text)) in files.iter().enumerate() {
            let path = name.trim_end_matches(".rs").trim_end_matches("/mod");
            let path: Vec<String> = path.split('/').filter(|part| *part != "lib").map(String::from).collect();
            tree.read(path, file, &without_tests(&tokens(text)));
        }
        // A file of tests has no declaration left; nor have the files below it.
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

    fn read(&mut self, path: Vec<String>, file: usize, code: &[Token]) {
        let mut module = Module { file, ..Module::default() };
        let (mut at, mut depth) = (0, 0);
        let word = |at: usize| code.get(at).and_then(Token::word);
        while at < code.len() {
            match (&code[at], word(at + 1)) {
                (Token::Char('{'), _) => depth += 1,
                (Token::Char('}'), _) => depth -= 1,
                (Token::Word(use_), _) if use_ == "use" => {
                    let end = at + code[at..].iter().position(|token| token.is(';')).unwrap_or(code.len() - at);
                    let before = code[..at].last();
                    let is_public = before.and_then(Token::word) == Some("pub") || before.is_some_and(|t| t.is(')'));
                    leaves(&code[at + 1..end], &mut Vec::new(), &mut |path, name| {
                        module.uses.push(Use { path, name, is_public });
                    });
                    at = end;
                }
                // `pub(in path)` names a place, but uses nothing of it.
                (Token::Word(pub_), _) if pub_ == "pub" && names_a_place(&code[at + 1..]) => at = closing(code, at + 1),
                (Token::Word(mod_), Some(name)) if mod_ == "mod" && depth == 0 => {
                    module.children.insert(name.into());
                    if code.get(at + 2).is_some_and(|token| token.is('{')) {
                        let end = closing(code, at + 2);
                        let child = path.iter().cloned().chain([name.to_string()]).collect();
                        self.read(child, file, &code[at + 3..end]);
                        at = end;
                    } else {
                        at += 1;
                    }
                }
                // `*const T` defines nothing.
                (Token::Word(keyword), Some(name)) if defines(keyword, name) && !(at > 0 && code[at - 1].is('*')) => {
                    if depth == 0 {
                        module.items.insert(name.into());
                    }
                    at += 1;
                }
                (Token::Word(rules), _) if rules == "macro_rules" => {
                    module.items.extend(word(at + 2).map(String::from));
                }
                (Token::Word(head), _) => {
                    let is_inside = at > 0 && (code[at - 1].is('.') || code[at - 1] == Token::Colons);
                    let (mut end, mut names) = (at + 1, vec![head.clone()]);
                    while let (Some(Token::Colons), Some(next)) = (code.get(end), word(end + 1)) {
                        names.push(next.into());
                        end += 2;
                    }
                    let next = code.get(end);
                    let is_call = next.is_some_and(|next| next.is('(') || next.is('!') || *next == Token::Colons);
                    if !is_inside {
                        module.paths.insert((names, is_call));
                    }
                    at = end - 1;
                }
                _ => {}
            }
            at += 1;
        }
        self.modules.insert(path, module);
    }

    /// For each file what it uses of others: the other file and a path that names it. The root is left out.
    pub fn edges(&self) -> Vec<BTreeMap<usize, String>> {
        let mut edges = vec![BTreeMap::new(); self.files.len()];
        for (path, module) in self.modules.iter().filter(|(path, _)| !path.is_empty()) {
            let used = module.uses.iter().filter(|used| !used.is_public).map(|used| &used.path);
            let named = module.paths.iter().filter(|(names, is_call)| self.is_use(module, names, *is_call));
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
        let is_imported = module.uses.iter().any(|used| used.name.as_deref().is_none_or(|name| name == head));
        is_module && is_long || is_imported && (is_long || is_call || head.starts_with(char::is_uppercase))
    }

    /// Paths of `super` that leave the module of the root that they stand in, with their file.
    pub fn escapes(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (path, module) in self.modules.iter().filter(|(path, _)| !path.is_empty()) {
            let named = module.paths.iter().map(|(names, _)| names);
            for names in module.uses.iter().map(|used| &used.path).chain(named) {
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
        if module.items.contains(name) {
            return Some(Target::Item(module.file));
        }
        if depth > 8 {
            return None;
        }
        if let Some(used) = module.uses.iter().find(|used| used.name.as_deref() == Some(name)) {
            return self.target(path, &used.path, depth + 1);
        }
        module.uses.iter().filter(|used| used.name.is_none()).find_map(|glob| {
            match self.target(path, &glob.path, depth + 1)? {
                Target::Module(other) if other != path => self.lookup(&other, name, depth + 1),
                _ => None,
            }
        })
    }
}

/// Whether `keyword` defines an item `name`; the names of `const fn` and `static mut` come later.
fn defines(keyword: &str, name: &str) -> bool {
    let is_name = !["async", "extern", "fn", "mut", "unsafe"].contains(&name);
    is_name && ["fn", "struct", "enum", "union", "trait", "type", "const", "static"].contains(&keyword)
}

/// Whether `code` continues a `pub` with the place that sees the item.
fn names_a_place(code: &[Token]) -> bool {
    let word = code.get(1).and_then(Token::word);
    code.first().is_some_and(|token| token.is('(')) && word.is_some_and(|word| PLACES.contains(&word))
}
const PLACES: [&str; 4] = ["crate", "in", "self", "super"];

/// The place of the bracket that closes the one at `open`.
fn closing(code: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in code.iter().enumerate().skip(open) {
        match token {
            Token::Char('{' | '[' | '(') => depth += 1,
            Token::Char('}' | ']' | ')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    code.len()
}

/// The code without items behind an attribute that has the word `test`.
fn without_tests(code: &[Token]) -> Vec<Token> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < code.len() {
        let is_attribute = code[at].is('#') && code.get(at + 1).is_some_and(|token| token.is('['));
        let end = if is_attribute { closing(code, at + 1) } else { at };
        let has = |word| code[at..end].iter().any(|token| token.word() == Some(word));
        if !is_attribute || !has("test") || has("not") {
            kept.push(code[at].clone());
            at += 1;
            continue;
        }
        at = end + 1;
        while at < code.len() && !code[at].is(';') && !code[at].is('{') {
            at = if code[at].is('(') || code[at].is('[') { closing(code, at) } else { at } + 1;
        }
        at = if code.get(at).is_some_and(|token| token.is('{')) { closing(code, at) } else { at } + 1;
    }
    kept
}

/// Calls `leaf` for every path of a `use` tree with the name that it brings in, `None` for a glob.
fn leaves(code: &[Token], prefix: &mut Vec<String>, leaf: &mut impl FnMut(Vec<String>, Option<String>)) {
    let (len, mut at) = (prefix.len(), 0);
    while let Some(token) = code.get(at) {
        match token {
            Token::Word(word) if word == "as" => {
                let name = code.get(at + 1).and_then(Token::word).map(String::from);
                leaf(prefix.clone(), name.or(Some("_".into())));
                prefix.truncate(len);
                return;
            }
            Token::Word(word) if word == "self" && !prefix.is_empty() => {}
            Token::Word(word) => prefix.push(word.clone()),
            Token::Char('*') => {
                leaf(prefix.clone(), None);
                prefix.truncate(len);
                return;
            }
            Token::Char('{') => {
                let (end, mut first, mut depth) = (closing(code, at), at + 1, 0);
                for i in at + 1..=end.min(code.len() - 1) {
                    depth += i32::from(code[i].is('{')) - i32::from(code[i].is('}'));
                    if (code[i].is(',') && depth == 0) || i == end {
                        if first < i {
                            leaves(&code[first..i], prefix, leaf);
                        }
                        first = i + 1;
                    }
                }
                prefix.truncate(len);
                return;
            }
            _ => {}
        }
        at += 1;
    }
    if prefix.len() > len || !prefix.is_empty() && code.iter().any(|token| token.word() == Some("self")) {
        leaf(prefix.clone(), prefix.last().cloned());
    }
    prefix.truncate(len);
}
