//! Implementations for the structs of a module: `minifenl::space::DeviceText` and `minifenl::space::Item`.

use super::items::methods_of;
use syn::{Error, Expr, Field, ImplItem, Item, ItemStruct, Meta, Result, Type, parse_quote};

/// Returns the implementations: a text for each struct that implements a trait, an item of arrays for each with `#[repr(C)]`.
pub fn of_structs(items: &[Item]) -> Result<Vec<Item>> {
    let mut all = Vec::new();
    for item in items {
        let Item::Struct(of) = item else { continue };
        if let Some(methods) = methods_of_traits(items, of) {
            all.push(text(of, &methods)?);
        }
        if listed(of, "repr") == "C" {
            all.push(item_of_arrays(of)?);
        }
    }
    Ok(all)
}

/// What the attributes of this name hold.
fn listed(of: &ItemStruct, name: &str) -> String {
    let lists = of.attrs.iter().filter(|attribute| attribute.path().is_ident(name));
    let lists = lists.filter_map(|attribute| match &attribute.meta {
        Meta::List(list) => Some(list.tokens.to_string()),
        _ => None,
    });
    lists.collect()
}

/// The names of the functions of the traits that a struct implements; `None` if it implements none.
fn methods_of_traits(items: &[Item], of: &ItemStruct) -> Option<Vec<String>> {
    let blocks = items.iter().filter_map(|item| methods_of(item, &of.ident.to_string()));
    let mut blocks = blocks.filter(|block| block.trait_.is_some()).peekable();
    blocks.peek()?;
    let methods = blocks.flat_map(|block| &block.items).filter_map(|item| match item {
        ImplItem::Fn(of) => Some(of.sig.ident.to_string()),
        _ => None,
    });
    Some(methods.collect())
}

/// A field as a slice of numbers.
fn numbers(field: &Field) -> Result<Expr> {
    let ident = &field.ident;
    let mut items: Expr = parse_quote!([self.#ident]);
    let mut ty = &field.ty;
    while let Type::Array(array) = ty {
        (items, ty) = (parse_quote!(#items.as_flattened()), &array.elem);
    }
    if matches!(ty, Type::Path(path) if path.path.is_ident("f64")) {
        return Ok(items);
    }
    let expected = "expected f64 or an array of f64: fields are the parameters that a GPU gets";
    Err(Error::new_spanned(&field.ty, expected))
}

fn text(of: &ItemStruct, methods: &[String]) -> Result<Item> {
    let name = &of.ident;
    let text = name.to_string();
    let numbers = of.fields.iter().map(numbers).collect::<Result<Vec<Expr>>>()?;
    Ok(parse_quote! {
        impl ::minifenl::space::DeviceText for #name {
            const NAME: &'static str = #text;
            const TEXT: &'static str = CUDA;
            const METHODS: &'static [&'static str] = &[#(#methods),*];

            fn parameters(&self) -> Vec<f64> {
                <[&[f64]]>::concat(&[#(&#numbers),*])
            }
        }
    })
}

/// The fields are numbers one behind the other, in C++ too, and the derived default is zeros: what `Item` promises.
fn item_of_arrays(of: &ItemStruct) -> Result<Item> {
    let derived = listed(of, "derive");
    if !["Clone", "Copy", "Debug", "Default", "PartialEq"].iter().all(|name| derived.contains(name)) {
        let expected =
            "expected #[derive(Clone, Copy, Debug, Default, PartialEq)]: with #[repr(C)] it is an item of arrays";
        return Err(Error::new_spanned(&of.ident, expected));
    }
    of.fields.iter().try_for_each(|field| numbers(field).map(drop))?;
    let (name, types) = (&of.ident, of.fields.iter().map(|field| &field.ty));
    let fields = of.fields.iter().map(|field| &field.ident);
    Ok(parse_quote! {
        #[allow(unsafe_code)]
        const _: () = {
            // Refuses another type that this module calls `f64`.
            trait Number {}
            impl Number for ::core::primitive::f64 {}
            impl<T: Number, const N: usize> Number for [T; N] {}
            const fn check<T: Number>(_: &T) {}
            const fn fields(of: &#name) {
                #(check::<#types>(&of.#fields);)*
            }
            // SAFETY: fields of f64 without padding, and the derived default is zeros.
            unsafe impl ::minifenl::space::Item for #name {}
        };
    })
}
