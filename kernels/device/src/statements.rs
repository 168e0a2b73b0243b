//! Statements and blocks.

use super::context::Context;
use super::expressions::{self, name};
use super::types;
use std::collections::HashSet;
use std::fmt::Write;
use syn::{Block, Error, Expr, ExprForLoop, Ident, Local, Pat, RangeLimits, Result, Stmt};

impl Context {
    /// Returns the statements of a block. With `is_value` the last expression is returned.
    pub fn block(&self, of: &Block, is_value: bool) -> Result<String> {
        body(of, self, is_value, HashSet::new())
    }
}

/// [`Context::block`] in which names are bound already, as the arguments of a function are.
pub fn body(of: &Block, context: &Context, is_value: bool, mut bound: HashSet<String>) -> Result<String> {
    let mut out = String::new();
    for (at, statement) in of.stmts.iter().enumerate() {
        let is_last = at + 1 == of.stmts.len();
        match statement {
            Stmt::Local(local) => {
                for ident in names_of(&local.pat) {
                    // C++ has one meaning of a name in a block.
                    if !bound.insert(ident.to_string()) {
                        let expected = "expected a new name: this one is bound before in the same block";
                        return Err(Error::new_spanned(ident, expected));
                    }
                }
                out += &binding(local, context)?;
            }
            Stmt::Expr(expression, None) if is_last && is_value => out += &last(expression, context)?,
            Stmt::Expr(expression, _) => out += &effect(expression, context)?,
            Stmt::Item(syn::Item::Const(of)) => {
                let value = expressions::translate(&of.expr, context)?;
                writeln!(out, "constexpr {} {} = {value};", types::translate(&of.ty, context)?, of.ident)
                    .expect("a string grows");
            }
            other => return Err(Error::new_spanned(other, "expected `let`, `const`, an expression, a loop or `if`")),
        }
    }
    Ok(out)
}

/// The value of a block or function.
fn last(expression: &Expr, context: &Context) -> Result<String> {
    match expression {
        Expr::If(_) | Expr::Block(_) if !expressions::is_simple(expression) => branches(expression, context, true),
        Expr::ForLoop(_) | Expr::While(_) | Expr::Assign(_) | Expr::Return(_) => effect(expression, context),
        Expr::Binary(of) if expressions::is_assignment(&of.op) => effect(expression, context),
        _ => Ok(format!("return {};\n", expressions::translate(expression, context)?)),
    }
}

/// A statement without a value.
fn effect(expression: &Expr, context: &Context) -> Result<String> {
    match expression {
        Expr::If(_) | Expr::Block(_) => branches(expression, context, false),
        Expr::ForLoop(of) => loop_over(of, context),
        Expr::While(of) if of.label.is_none() => {
            let (condition, body) = (expressions::translate(&of.cond, context)?, context.block(&of.body, false)?);
            Ok(format!("while ({condition}) {{\n{body}}}\n"))
        }
        Expr::Assign(of) => {
            expressions::check_target(&of.left, context)?;
            let (left, right) =
                (expressions::translate(&of.left, context)?, expressions::translate(&of.right, context)?);
            Ok(format!("{left} = {right};\n"))
        }
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) if context.is_in_value() => {
            let expected = "expected no `return`, `break` or `continue` in a block whose value is used";
            Err(Error::new_spanned(expression, expected))
        }
        Expr::Return(of) => match &of.expr {
            Some(value) => Ok(format!("return {};\n", expressions::translate(value, context)?)),
            None => Ok("return;\n".into()),
        },
        Expr::Break(of) if of.label.is_none() && of.expr.is_none() => Ok("break;\n".into()),
        Expr::Continue(of) if of.label.is_none() => Ok("continue;\n".into()),
        other => Ok(format!("{};\n", expressions::translate(other, context)?)),
    }
}

/// `for i in a..b`; the end is computed once.
fn loop_over(of: &ExprForLoop, context: &Context) -> Result<String> {
    let counter = match &*of.pat {
        Pat::Ident(counter) => {
            context.bind(&counter.ident);
            name(&counter.ident)
        }
        Pat::Wild(_) => context.place(),
        other => return Err(Error::new_spanned(other, "expected a name: `for i in 0..n`")),
    };
    let range = strip(&of.expr);
    let Expr::Range(range) = range else {
        return Err(Error::new_spanned(range, "expected a range of whole numbers: `for i in 0..n`"));
    };
    let (Some(start), Some(end), None) = (&range.start, &range.end, &of.label) else {
        return Err(Error::new_spanned(of, "expected a range with start and end, without a label: `for i in 0..n`"));
    };
    let sign = if matches!(range.limits, RangeLimits::Closed(_)) { "<=" } else { "<" };
    let (start, end) = (expressions::translate(start, context)?, expressions::translate(end, context)?);
    let (bound, body) = (context.place(), context.block(&of.body, false)?);
    Ok(format!(
        "_Pragma(\"unroll\") for (int {counter} = {start}, {bound} = {end}; {counter} {sign} {bound}; {counter}++) {{\n{body}}}\n"
    ))
}

/// `if` with statements, or a block of its own.
fn branches(expression: &Expr, context: &Context, is_value: bool) -> Result<String> {
    match expression {
        Expr::Block(of) if of.label.is_none() => Ok(format!("{{\n{}}}\n", context.block(&of.block, is_value)?)),
        Expr::If(of) => {
            let condition = expressions::translate(&of.cond, context)?;
            let mut out = format!("if ({condition}) {{\n{}}}\n", context.block(&of.then_branch, is_value)?);
            if let Some((_, other)) = &of.else_branch {
                out += "else ";
                out += &branches(other, context, is_value)?;
            }
            Ok(out)
        }
        other => Err(Error::new_spanned(other, "expected a block without a label")),
    }
}

/// `let`. The value gets a name of its own first, because the name that is bound may stand in it with an earlier meaning.
fn binding(of: &Local, context: &Context) -> Result<String> {
    let Some(init) = &of.init else {
        return Err(Error::new_spanned(of, "expected a value: `let x = ...`"));
    };
    if let Some((_, other)) = &init.diverge {
        return Err(Error::new_spanned(other, "`let ... else` has no translation to CUDA"));
    }
    let (pattern, ty) = match &of.pat {
        Pat::Type(typed) => (&*typed.pat, types::translate(&typed.ty, context)?),
        pattern => (pattern, "auto".to_string()),
    };
    if ty == "auto" && expressions::is_from_fn(&init.expr) {
        return Err(Error::new_spanned(of, "expected a type: `let x: [f64; 3] = array::from_fn(...)`"));
    }
    let mut out = String::new();
    // A tuple of values binds name by name.
    if let (Pat::Tuple(names), Expr::Tuple(values)) = (pattern, &*init.expr)
        && names.elems.len() == values.elems.len()
    {
        // All values are computed before a name is bound, as in Rust.
        let mut bound = String::new();
        for (pattern, value) in names.elems.iter().zip(&values.elems) {
            let place = context.place();
            writeln!(out, "auto {place} = {};", expressions::translate(value, context)?).expect("a string grows");
            bound += &bind(pattern, &place)?;
        }
        out += &bound;
    } else {
        let value = expressions::translate(&init.expr, context)?;
        match pattern {
            Pat::Ident(of) if !has_word(&value, &name(&of.ident)) => {
                out = format!("{ty} {} = {value};\n", name(&of.ident));
            }
            pattern => {
                let place = context.place();
                out = format!("{ty} {place} = {value};\n{}", bind(pattern, &place)?);
            }
        }
    }
    names_of(pattern).into_iter().for_each(|name| context.bind(name));
    Ok(out)
}

/// Whether a word stands in a text.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

/// The names that a pattern binds.
pub fn names_of(pattern: &Pat) -> Vec<&Ident> {
    match pattern {
        Pat::Ident(of) => vec![&of.ident],
        Pat::Type(of) => names_of(&of.pat),
        Pat::Slice(of) => of.elems.iter().flat_map(names_of).collect(),
        Pat::Tuple(of) => of.elems.iter().flat_map(names_of).collect(),
        _ => vec![],
    }
}

/// Returns a parameter of a function, which is called `place` unless it has a name, and the statements that bind the names of its pattern.
pub fn parameter(pattern: &Pat, ty: String, place: &str) -> Result<(String, String)> {
    // A copy of arrays whose index is not constant takes local memory.
    let is_kept = !matches!(pattern, Pat::Ident(of) if of.mutability.is_some());
    let ty = if is_kept && ty.starts_with("Array<Slice<") { format!("const {ty}&") } else { ty };
    Ok(match pattern {
        Pat::Ident(of) => (format!("{ty} {}", name(&of.ident)), String::new()),
        Pat::Wild(_) => (ty, String::new()),
        pattern => (format!("{ty} {place}"), bind(pattern, place)?),
    })
}

/// Binds the names of a pattern to the parts of `place`.
pub fn bind(pattern: &Pat, place: &str) -> Result<String> {
    match pattern {
        Pat::Ident(of) if of.subpat.is_none() => Ok(format!("auto {} = {place};\n", name(&of.ident))),
        Pat::Wild(_) => Ok(String::new()),
        Pat::Type(of) => bind(&of.pat, place),
        Pat::Slice(of) => {
            of.elems.iter().enumerate().map(|(at, pattern)| bind(pattern, &format!("{place}[{at}]"))).collect()
        }
        other => Err(Error::new_spanned(other, "expected a name, `_`, or an array of them")),
    }
}

fn strip(of: &Expr) -> &Expr {
    match of {
        Expr::Paren(inner) => strip(&inner.expr),
        other => other,
    }
}
