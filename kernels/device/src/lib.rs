//! Translates a module of Rust functions to CUDA C++.
//!
//! `#[device] mod name { ... }` marks the module's functions as `#[inline]`, since loops call them once per index, and adds
//! `pub const CUDA: &str`, the same functions as C++ templates. A struct that implements a trait, as `Equation`, also gets
//! `minifenl::space::DeviceText`: its name, the text, and its fields, which are f64 or arrays of f64, as numbers. A struct with
//! `#[repr(C)]` and such fields becomes a `minifenl::space::Item` of arrays. What cannot be translated is an error of the Rust compiler
//! at its place.
//!
//! | Rust | C++ |
//! |---|---|
//! | `fn f<N: Number>(a: N, b: [N; 3]) -> N` | `template <class N> INLINE N f(N a, Array<N, 3> b)` |
//! | `struct S { pub k: f64 }`, `impl S`, `impl Trait for S` | a struct of the same fields with the methods |
//! | `let`, `let mut`, patterns of arrays and tuples, `const` | `auto`, `constexpr` |
//! | `for i in a..b`, `while`, `if`, `return`, `break`, `continue` | the same; `if` and blocks as values |
//! | `+ - * / % ! && \|\|`, comparisons, `+=` and the like, `as` | the same |
//! | `[a, b]`, `[a; n]`, indexing, `.map(\|x\| ...)`, `array::from_fn` | `Array<T, n>` |
//! | `sqrt exp ln sin cos tan tanh abs signum powi powf min max choose mul_add recip` | functions of CUDA and of `kernels/device.cuh` |
//! | `N::from(x)`, `f64::from(x)`, literals | conversions |
//! | `&[f64]`, `&[u32]` | `Slice<const double>`, `Slice<const unsigned>`: an index out of range traps |
//! | `&[AtomicF64]`, `&[AtomicU32]` | `Slice<double>`, `Slice<unsigned>`: an index out of range traps |
//! | `&[Scratch]` | `Slice<Scratch>`, numbers in shared memory |
//! | `&x[a..b]` of a slice | a slice; a range that does not fit traps |
//! | `atomic::add(&cells[i], x)`, `add_by_exchange`, `add_unshared`, `get`, `set` | the same, on the cell |

mod closures;
mod context;
mod expressions;
mod implementations;
mod items;
mod statements;
#[cfg(test)]
mod tests;
mod types;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Attribute, Error, ImplItem, Item, ItemMod, Result, parse_macro_input, parse_quote};

/// Adds `pub const CUDA: &str`, the module's functions as CUDA C++, to a module.
#[proc_macro_attribute]
pub fn device(arguments: TokenStream, module: TokenStream) -> TokenStream {
    let mut module = parse_macro_input!(module as ItemMod);
    let error = extend(!arguments.is_empty(), &mut module).err().map(Error::into_compile_error);
    quote!(#module #error).into()
}

/// Adds the constant and the implementations.
fn extend(has_arguments: bool, module: &mut ItemMod) -> Result<()> {
    if has_arguments {
        return Err(Error::new_spanned(&module.ident, "`device` takes no arguments"));
    }
    let Some((_, items)) = &mut module.content else {
        return Err(Error::new_spanned(&module, "`device` needs a module with its content: `mod name { ... }`"));
    };
    // Without a text the rest is added all the same: its absence would be an error at each place of use.
    let (text, error) = match items::translate(items) {
        Ok(text) => (text, None),
        Err(error) => (String::new(), Some(error)),
    };
    let implementations = implementations::of_structs(items)?;
    items.iter_mut().for_each(inline);
    let constant: Item = parse_quote! {
        /// The functions of this module as CUDA C++.
        #[allow(dead_code)]
        pub const CUDA: &str = #text;
    };
    items.push(constant);
    items.extend(implementations);
    error.map_or(Ok(()), Err)
}

/// Lets loops of other codegen units inline the functions of an item.
fn inline(item: &mut Item) {
    let mark = |attributes: &mut Vec<Attribute>| {
        if !attributes.iter().any(|attribute| attribute.path().is_ident("inline")) {
            attributes.push(parse_quote!(#[inline]));
        }
    };
    match item {
        Item::Fn(of) => mark(&mut of.attrs),
        Item::Impl(block) => block.items.iter_mut().for_each(|item| {
            if let ImplItem::Fn(of) = item {
                mark(&mut of.attrs);
            }
        }),
        _ => {}
    }
}
