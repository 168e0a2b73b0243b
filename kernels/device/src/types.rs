//! Types.

use super::context::Context;
use syn::{Error, Expr, GenericArgument, Lit, PathArguments, Result, ReturnType, Type};

const EXPECTED: &str = "this type has no translation to CUDA: expected a number, bool, an array of known length, a struct of this \
                        module, Field, Weak, or a type parameter";

/// Returns the C++ name of a type of numbers.
pub fn number(name: &str) -> Option<&'static str> {
    Some(match name {
        "f64" => "double",
        "f32" => "float",
        "usize" | "i32" => "int",
        "i64" | "isize" => "long long",
        "u64" => "unsigned long long",
        "u32" => "unsigned",
        "u8" => "unsigned char",
        "bool" => "bool",
        _ => return None,
    })
}

/// Returns a constant of f64.
pub fn constant(path: &[&str]) -> Option<&'static str> {
    Some(match path {
        ["f64", "MAX"] => "1.7976931348623157e308",
        ["f64", "MIN"] => "(-1.7976931348623157e308)",
        ["f64", "MIN_POSITIVE"] => "2.2250738585072014e-308",
        ["f64", "EPSILON"] => "2.220446049250313e-16",
        [.., "f64", "consts", "PI"] => "3.14159265358979323846",
        _ => return None,
    })
}

/// Returns the C++ name of a type.
pub fn translate(of: &Type, context: &Context) -> Result<String> {
    match of {
        Type::Path(path) if path.qself.is_none() => {
            let Some(last) = path.path.segments.last() else {
                return Err(Error::new_spanned(of, EXPECTED));
            };
            let name = last.ident.to_string();
            let name = match number(&name) {
                Some(number) => number.into(),
                None if context.has_type(&name) => name,
                None => return Err(Error::new_spanned(of, EXPECTED)),
            };
            let PathArguments::AngleBracketed(arguments) = &last.arguments else { return Ok(name) };
            let arguments: Result<Vec<String>> = arguments
                .args
                .iter()
                .map(|argument| match argument {
                    GenericArgument::Type(argument) => translate(argument, context),
                    GenericArgument::Const(value) => length(value),
                    other => Err(Error::new_spanned(other, "expected a type or a number")),
                })
                .collect();
            Ok(format!("{name}<{}>", arguments?.join(", ")))
        }
        Type::Array(array) => Ok(format!("Array<{}, {}>", translate(&array.elem, context)?, length(&array.len)?)),
        Type::Reference(reference) if reference.mutability.is_none() => match &*reference.elem {
            Type::Slice(slice) => Ok(format!("Slice<{}>", element(&slice.elem)?)),
            elem => translate(elem, context),
        },
        Type::Paren(inner) => translate(&inner.elem, context),
        other => Err(Error::new_spanned(other, EXPECTED)),
    }
}

/// Returns the C++ name of the items of a slice: numbers that are read only, or cells that threads share.
fn element(of: &Type) -> Result<String> {
    let name = match of {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
        _ => String::new(),
    };
    match number(&name) {
        Some(number) => Ok(format!("const {number}")),
        None if name == "Scratch" => Ok(name),
        None if name == "AtomicF64" => Ok("double".into()),
        None if name == "AtomicU32" => Ok("unsigned".into()),
        None => Err(Error::new_spanned(of, "expected a slice of numbers, of AtomicF64 or of AtomicU32")),
    }
}

/// Returns the C++ name of a function's result.
pub fn result(of: &ReturnType, context: &Context) -> Result<String> {
    match of {
        ReturnType::Default => Ok("void".into()),
        ReturnType::Type(_, of) => translate(of, context),
    }
}

/// Returns the length of an array: a number or the name of a constant.
fn length(of: &Expr) -> Result<String> {
    match of {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => Ok(number.base10_digits().into()),
            _ => Err(Error::new_spanned(of, "expected a whole number")),
        },
        Expr::Path(path) if path.path.get_ident().is_some() => Ok(path.path.segments[0].ident.to_string()),
        Expr::Block(block) if block.block.stmts.len() == 1 => match &block.block.stmts[0] {
            syn::Stmt::Expr(inner, None) => length(inner),
            other => Err(Error::new_spanned(other, "expected a number or a constant")),
        },
        other => Err(Error::new_spanned(other, "expected a number or a constant as length")),
    }
}
