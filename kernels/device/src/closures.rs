//! Closures: functions of C++ with copies of the names around them. Their parameters have types: NVRTC takes no generic lambdas.

use super::context::Context;
use super::expressions;
use super::{statements, types};
use std::collections::HashSet;
use syn::{Error, Expr, ExprClosure, Pat, Result};

impl Context {
    /// Returns what is called for each item, of type `item`: a closure, a name or a conversion.
    pub fn for_each(&self, of: &Expr, item: &str) -> Result<String> {
        match of {
            Expr::Closure(closure) => translate(closure, Some(item), self),
            Expr::Path(_) => {
                let function = expressions::callee(of, self)?;
                Ok(format!("[=]({item} item) {{\nreturn {function}(item);\n}}"))
            }
            other => Err(Error::new_spanned(other, "expected a closure or the name of a function")),
        }
    }

    /// Returns a closure whose parameters state their types.
    pub fn lambda(&self, closure: &ExprClosure) -> Result<String> {
        translate(closure, None, self)
    }
}

/// Returns a closure in C++. `item` is the type of a parameter whose type is not stated.
fn translate(closure: &ExprClosure, item: Option<&str>, context: &Context) -> Result<String> {
    let (mut parameters, mut unpacked, mut names) = (Vec::new(), String::new(), HashSet::new());
    for (at, parameter) in closure.inputs.iter().enumerate() {
        names.extend(statements::names_of(parameter).into_iter().map(ToString::to_string));
        let (pattern, ty) = match (parameter, item) {
            (Pat::Type(of), _) => (&*of.pat, types::translate(&of.ty, context)?),
            (pattern, Some(item)) => (pattern, item.to_string()),
            (pattern, None) => return Err(Error::new_spanned(pattern, "expected a type: `|i: usize| ...`")),
        };
        let (declared, bound) = statements::parameter(pattern, ty, &format!("parameter_{at}"))?;
        parameters.push(declared);
        unpacked += &bound;
    }
    let body = context.closure(names.clone(), || match &*closure.body {
        Expr::Block(block) => statements::body(&block.block, context, true, names),
        body => Ok(format!("return {};\n", expressions::translate(body, context)?)),
    })?;
    Ok(format!("[=]({}) {{\n{unpacked}{body}}}", parameters.join(", ")))
}
