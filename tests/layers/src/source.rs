//! What a file of Rust says of others: its modules, items and `use`, and the paths in its code.
//!
//! The arguments of macros are read as words, since their grammar is unknown: words joined by `::` are a path.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, File, Item, ItemUse, Macro, Path, UseTree, Visibility};

/// A leaf of a `use`.
#[derive(Debug)]
pub struct Use {
    pub path: Vec<String>,
    /// `None` for a glob.
    pub name: Option<String>,
    pub is_public: bool,
}

/// The code of a module, without its child modules.
#[derive(Debug, Default)]
pub struct Code {
    pub items: BTreeSet<String>,
    pub uses: Vec<Use>,
    /// Paths outside `use`, and whether the path is called, as a function or a macro.
    pub paths: BTreeMap<Vec<String>, bool>,
    /// String literals in the arguments of a macro, after the name of the macro.
    pub texts: Vec<(String, String)>,
}

/// Parses a file.
///
/// # Panics
/// If it is not Rust.
pub fn parsed(name: &str, text: &str) -> File {
    syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the code of a whole file, tests and inline modules included.
pub fn whole(file: &File) -> Code {
    let mut code = Code::default();
    code.visit_file(file);
    code
}

/// Whether an item is compiled for tests only: `#[test]`, `#[cfg(test)]`, but not `#[cfg(not(test))]`.
pub fn is_test(item: &Item) -> bool {
    let attributes: &[Attribute] = match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    };
    attributes.iter().any(|attribute| {
        let mut words = BTreeSet::new();
        words.extend(attribute.path().get_ident().map(ToString::to_string));
        if let Ok(list) = attribute.meta.require_list() {
            each_word(list.tokens.clone(), &mut |word| {
                words.insert(word.to_string());
            });
        }
        words.contains("test") && !words.contains("not")
    })
}

/// The name that an item adds to its module.
pub fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn names(path: &Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// Calls `found` for each word of a stream, however deep.
pub fn each_word(stream: TokenStream, found: &mut dyn FnMut(&str)) {
    for tree in stream {
        match tree {
            TokenTree::Group(group) => each_word(group.stream(), found),
            TokenTree::Ident(word) => found(&word.to_string()),
            _ => {}
        }
    }
}

impl Code {
    fn add_path(&mut self, names: Vec<String>, is_called: bool) {
        *self.paths.entry(names).or_default() |= is_called;
    }

    /// Adds the leaves of a `use`.
    fn add_use(&mut self, tree: &UseTree, prefix: &[String], is_public: bool) {
        let with = |name: &syn::Ident| match name.to_string() {
            // `a::{self}` is `a`.
            name if name == "self" && !prefix.is_empty() => prefix.to_vec(),
            name => [prefix, &[name]].concat(),
        };
        match tree {
            UseTree::Path(tree) => self.add_use(&tree.tree, &with(&tree.ident), is_public),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_use(tree, prefix, is_public)),
            UseTree::Glob(_) => self.uses.push(Use { path: prefix.to_vec(), name: None, is_public }),
            UseTree::Name(leaf) => {
                let path = with(&leaf.ident);
                self.uses.push(Use { name: path.last().cloned(), path, is_public });
            }
            UseTree::Rename(leaf) => {
                self.uses.push(Use { path: with(&leaf.ident), name: Some(leaf.rename.to_string()), is_public });
            }
        }
    }

    /// Reads the arguments of a macro.
    fn read_tokens(&mut self, name: &str, stream: TokenStream) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let is = |at: usize, c: char| matches!(trees.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == c);
        let is_group = |at: usize| matches!(trees.get(at), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Group(group) => {
                    let called = match (at > 1 && is(at - 1, '!')).then(|| &trees[at - 2]) {
                        Some(TokenTree::Ident(called)) => called.to_string(),
                        _ => name.to_string(),
                    };
                    self.read_tokens(&called, group.stream());
                }
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.texts.push((name.to_string(), text.value()));
                    }
                }
                TokenTree::Ident(word) => {
                    let is_inside = at > 0 && (is(at - 1, '.') || is(at - 1, ':') && at > 1 && is(at - 2, ':'));
                    let mut names = vec![word.to_string()];
                    while let (true, true, Some(TokenTree::Ident(next))) =
                        (is(at + 1, ':'), is(at + 2, ':'), trees.get(at + 3))
                    {
                        names.push(next.to_string());
                        at += 3;
                    }
                    if !is_inside {
                        let is_longer = is(at + 1, ':') && is(at + 2, ':');
                        self.add_path(names, is_group(at + 1) || is(at + 1, '!') || is_longer);
                    }
                }
                TokenTree::Punct(_) => {}
            }
            at += 1;
        }
    }
}

impl<'ast> Visit<'ast> for Code {
    fn visit_path(&mut self, path: &'ast Path) {
        self.add_path(names(path), false);
        visit::visit_path(self, path);
    }
    fn visit_expr(&mut self, expression: &'ast Expr) {
        if let Expr::Call(call) = expression
            && let Expr::Path(function) = &*call.func
        {
            self.add_path(names(&function.path), true);
        }
        visit::visit_expr(self, expression);
    }
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add_use(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
    }
    fn visit_macro(&mut self, called: &'ast Macro) {
        let path = names(&called.path);
        self.read_tokens(path.last().map_or("", String::as_str), called.tokens.clone());
        self.add_path(path, true);
    }
    // `pub(in path)` names a module, but uses nothing of it.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}
