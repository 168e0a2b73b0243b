//! What a translation knows of the module and of the functions around a place.
//!
//! Expressions hold blocks and closures, which hold expressions: they reach these by methods of [`Context`], which `statements.rs` and
//! `closures.rs` define.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use syn::{Error, Fields, GenericParam, Generics, Ident, ImplItem, Item, Result};

/// Names of a module, and where in it the translation is.
#[derive(Default)]
pub struct Context {
    /// Fields of the structs that expressions may make, in their order.
    structs: HashMap<String, Vec<String>>,
    types: HashSet<String>,
    methods: HashSet<String>,
    /// Names bound inside each closure around this place, outermost first.
    closures: RefCell<Vec<HashSet<String>>>,
    /// Number of blocks around this place whose value is used; a closure begins at 0.
    values: Cell<usize>,
    places: Cell<usize>,
}

impl Context {
    /// Collects the structs and type parameters of a module.
    pub fn of(items: &[Item]) -> Result<Self> {
        let names = |names: [&str; 2]| names.map(String::from).to_vec();
        let mut context = Context::default();
        context.structs.insert("Field".into(), names(["grad", "value"]));
        context.structs.insert("Weak".into(), names(["flux", "source"]));
        context.types.extend(["Field", "Weak", "Slope", "Point"].map(String::from));
        for item in items {
            match item {
                Item::Struct(of) => {
                    let Fields::Named(fields) = &of.fields else {
                        return Err(Error::new_spanned(of, "expected a struct with named fields"));
                    };
                    let fields = fields.named.iter().filter_map(|field| field.ident.as_ref().map(Ident::to_string));
                    context.structs.insert(of.ident.to_string(), fields.collect());
                    context.types.insert(of.ident.to_string());
                }
                Item::Fn(of) => context.add_parameters(&of.sig.generics),
                Item::Impl(of) => {
                    for item in &of.items {
                        if let ImplItem::Fn(of) = item {
                            context.add_parameters(&of.sig.generics);
                            context.methods.insert(of.sig.ident.to_string());
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(context)
    }

    fn add_parameters(&mut self, of: &Generics) {
        for parameter in &of.params {
            if let GenericParam::Type(parameter) = parameter {
                self.types.insert(parameter.ident.to_string());
            }
        }
    }

    /// Returns the fields of a struct that may be made.
    pub fn fields(&self, name: &str) -> Option<&[String]> {
        self.structs.get(name).map(Vec::as_slice)
    }

    /// Whether a name is that of a struct or type parameter.
    pub fn has_type(&self, name: &str) -> bool {
        self.types.contains(name)
    }

    /// Whether a struct of this module has a method of this name.
    pub fn has_method(&self, name: &str) -> bool {
        self.methods.contains(name)
    }

    /// Returns a name that stands nowhere else in the text.
    pub fn place(&self) -> String {
        self.places.set(self.places.get() + 1);
        format!("place_{}", self.places.get())
    }

    /// Translates the inside of a closure, which binds these names.
    pub fn closure<T>(&self, names: HashSet<String>, inside: impl FnOnce() -> T) -> T {
        let values = self.values.replace(0);
        self.closures.borrow_mut().push(names);
        let done = inside();
        self.closures.borrow_mut().pop();
        self.values.set(values);
        done
    }

    /// Translates a block whose value is used in an expression.
    pub fn value<T>(&self, inside: impl FnOnce() -> T) -> T {
        self.values.set(self.values.get() + 1);
        let done = inside();
        self.values.set(self.values.get() - 1);
        done
    }

    /// Whether `return` would leave a block whose value is used.
    pub fn is_in_value(&self) -> bool {
        self.values.get() > 0
    }

    /// Notes that the innermost closure binds a name.
    pub fn bind(&self, name: &Ident) {
        if let Some(names) = self.closures.borrow_mut().last_mut() {
            names.insert(name.to_string());
        }
    }

    /// Whether a name may be assigned to: C++ gives closures copies of the names around them.
    pub fn is_own(&self, name: &Ident) -> bool {
        self.closures.borrow().last().is_none_or(|names| names.contains(&name.to_string()))
    }
}
