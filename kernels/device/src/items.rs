//! Items of a module: structs, functions, constants, implementations.

use super::context::Context;
use super::{expressions, statements, types};
use quote::ToTokens;
use std::fmt::Write;
use syn::{Error, Expr, FnArg, GenericParam, Ident, ImplItem, Item, ItemImpl, ItemStruct, Result, Signature, Type};

/// Returns the items as C++: names of structs, constants, declarations of functions, structs with their methods, functions.
pub fn translate(items: &[Item]) -> Result<String> {
    let context = Context::of(items)?;
    let (mut names, mut constants, mut declared) = (String::new(), String::new(), String::new());
    let (mut structs, mut functions) = (String::new(), String::new());
    for item in items {
        match item {
            Item::Use(_) => {}
            Item::Const(of) => constants += &constant(&of.ident, &of.ty, &of.expr, "", &context)?,
            Item::Fn(of) => {
                let (head, body) = function(&of.sig, &of.block, &context, false)?;
                declared += &format!("{head};\n");
                functions += &format!("{head} {body}");
            }
            Item::Struct(of) => {
                names += &format!("struct {};\n", of.ident);
                structs += &structure(of, items, &context)?;
            }
            Item::Impl(of) => {
                let known = matches!(&*of.self_ty, Type::Path(path) if path.path.get_ident().is_some_and(|name| {
                    items.iter().any(|item| matches!(item, Item::Struct(of) if of.ident == *name))
                }));
                if !known {
                    return Err(Error::new_spanned(&of.self_ty, "expected a struct of this module"));
                }
            }
            other => {
                let expected = "expected a struct, an implementation, a function, a constant or `use`";
                return Err(Error::new_spanned(other, expected));
            }
        }
    }
    Ok([names, constants, declared, structs, functions].concat())
}

fn structure(of: &ItemStruct, items: &[Item], context: &Context) -> Result<String> {
    if !of.generics.params.is_empty() {
        return Err(Error::new_spanned(&of.generics, "expected a struct without parameters"));
    }
    let mut out = format!("struct {} {{\n", of.ident);
    for field in &of.fields {
        let ty = types::translate(&field.ty, context)?;
        let name = field.ident.as_ref().map(expressions::name).unwrap_or_default();
        writeln!(out, "    {ty} {name};").expect("a string grows");
    }
    for block in items.iter().filter_map(|item| methods_of(item, &of.ident.to_string())) {
        for item in &block.items {
            match item {
                ImplItem::Fn(of) => {
                    let (head, body) = function(&of.sig, &of.block, context, true)?;
                    out += &format!("{head} {body}");
                }
                ImplItem::Type(of) => {
                    writeln!(out, "using {} = {};", of.ident, types::translate(&of.ty, context)?)
                        .expect("a string grows");
                }
                ImplItem::Const(of) => out += &constant(&of.ident, &of.ty, &of.expr, "static ", context)?,
                other => return Err(Error::new_spanned(other, "expected a function, a type or a constant")),
            }
        }
    }
    Ok(out + "};\n")
}

/// The implementation if it is of the struct.
pub fn methods_of<'a>(item: &'a Item, name: &str) -> Option<&'a ItemImpl> {
    match item {
        Item::Impl(block) => match &*block.self_ty {
            Type::Path(path) if path.path.is_ident(name) => Some(block),
            _ => None,
        },
        _ => None,
    }
}

/// A constant. One that is an array is stored on the device; other constants are values only.
fn constant(name: &Ident, of_type: &Type, value: &Expr, storage: &str, context: &Context) -> Result<String> {
    let storage = match of_type {
        Type::Array(_) if !storage.is_empty() => {
            return Err(Error::new_spanned(of_type, "expected a number: constant arrays stand in the module"));
        }
        Type::Array(_) => "static __device__ ",
        _ => storage,
    };
    let (of_type, value) = (types::translate(of_type, context)?, expressions::translate(value, context)?);
    Ok(format!("{storage}constexpr {of_type} {name} = {value};\n"))
}

/// Returns the declaration of a function, or of a method of a struct, and its body.
fn function(of: &Signature, block: &syn::Block, context: &Context, is_method: bool) -> Result<(String, String)> {
    let mut parameters = Vec::new();
    for parameter in &of.generics.params {
        match parameter {
            GenericParam::Type(parameter) => parameters.push(format!("class {}", parameter.ident)),
            GenericParam::Const(parameter) => parameters.push(format!("int {}", parameter.ident)),
            GenericParam::Lifetime(_) => {}
        }
    }
    let template = if parameters.is_empty() { String::new() } else { format!("template <{}> ", parameters.join(", ")) };
    let (mut arguments, mut unpacked, mut has_self) = (Vec::new(), String::new(), false);
    for (at, argument) in of.inputs.iter().enumerate() {
        match argument {
            FnArg::Receiver(receiver) if ["self", "& self"].contains(&&*receiver.to_token_stream().to_string()) => {
                has_self = true;
            }
            FnArg::Receiver(receiver) => return Err(Error::new_spanned(receiver, "expected `&self` or `self`")),
            FnArg::Typed(argument) => {
                let ty = types::translate(&argument.ty, context)?;
                let (declared, bound) = statements::parameter(&argument.pat, ty, &format!("argument_{at}"))?;
                arguments.push(declared);
                unpacked += &bound;
            }
        }
    }
    let (name, result) = (expressions::name(&of.ident), types::result(&of.output, context)?);
    let (before, after) = match (is_method, has_self) {
        (false, _) => ("INLINE ", ""),
        (true, false) => ("static __device__ __forceinline__ ", ""),
        (true, true) => ("__device__ __forceinline__ ", " const"),
    };
    let inputs = of.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(argument) => Some(statements::names_of(&argument.pat)),
        FnArg::Receiver(_) => None,
    });
    let bound = inputs.flatten().map(ToString::to_string).collect();
    let body = statements::body(block, context, true, bound)?;
    let head = format!("{template}{before}{result} {name}({}){after}", arguments.join(", "));
    Ok((head, format!("{{\n{unpacked}{body}}}\n")))
}
