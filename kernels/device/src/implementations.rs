//! Implementations of `minifenl::space::DeviceText` for the structs of a module.

use super::items::methods_of;
use syn::{Error, Expr, ImplItem, Item, ItemStruct, Result, Type, parse_quote};

/// Returns an implementation for each struct that implements a trait.
pub fn of_structs(items: &[Item]) -> Result<Vec<Item>> {
    let structs = items.iter().filter_map(|item| match item {
        Item::Struct(of) => Some(of),
        _ => None,
    });
    structs.filter_map(|of| methods_of_traits(items, of).map(|methods| implementation(of, &methods))).collect()
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

fn implementation(of: &ItemStruct, methods: &[String]) -> Result<Item> {
    let name = &of.ident;
    let text = name.to_string();
    let mut numbers: Vec<Expr> = Vec::new();
    for field in &of.fields {
        let ident = &field.ident;
        let mut items: Expr = parse_quote!([self.#ident]);
        let mut ty = &field.ty;
        while let Type::Array(array) = ty {
            (items, ty) = (parse_quote!(#items.as_flattened()), &array.elem);
        }
        if !matches!(ty, Type::Path(path) if path.path.is_ident("f64")) {
            let expected = "expected f64 or an array of f64: fields are the parameters that a GPU gets";
            return Err(Error::new_spanned(&field.ty, expected));
        }
        numbers.push(items);
    }
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
