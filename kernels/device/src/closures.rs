//! Closures: functions of C++ with copies of the names around them.

use super::context::Context;
use super::expressions::{self, name};
use super::{statements, types};
use std::collections::HashSet;
use syn::{Error, Expr, ExprClosure, Pat, Result};

/// Returns a closure in C++.
pub fn translate(closure: &ExprClosure, context: &Context) -> Result<String> {
    let (mut parameters, mut unpacked, mut names) = (Vec::new(), String::new(), HashSet::new());
    for (at, parameter) in closure.inputs.iter().enumerate() {
        names.extend(statements::names_of(parameter).into_iter().map(ToString::to_string));
        match parameter {
            Pat::Ident(of) => parameters.push(format!("auto {}", name(&of.ident))),
            Pat::Type(of) => match &*of.pat {
                Pat::Ident(ident) => {
                    parameters.push(format!("{} {}", types::translate(&of.ty, context)?, name(&ident.ident)));
                }
                other => return Err(Error::new_spanned(other, "expected a name")),
            },
            Pat::Wild(_) => parameters.push("auto".into()),
            pattern => {
                parameters.push(format!("auto parameter_{at}"));
                unpacked += &statements::bind(pattern, &format!("parameter_{at}"))?;
            }
        }
    }
    let body = context.closure(names.clone(), || match &*closure.body {
        Expr::Block(block) => statements::body(&block.block, context, true, names),
        body => Ok(format!("return {};\n", expressions::translate(body, context)?)),
    })?;
    Ok(format!("[=]({}) {{\n{unpacked}{body}}}", parameters.join(", ")))
}
