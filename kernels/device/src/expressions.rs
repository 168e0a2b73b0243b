//! Expressions.

use super::context::Context;
use super::types;
use quote::ToTokens;
use syn::{
    BinOp, Block, Error, Expr, ExprCall, ExprMethodCall, ExprRange, ExprStruct, Ident, Lit, Member, PathArguments,
};
use syn::{RangeLimits, Result, Stmt, UnOp};

/// What to write instead of what has no translation.
const EXPECTED: &str = "no translation to CUDA: expected arithmetic, arrays, structs, calls of functions of this module, mathematical \
                        functions, `if`, `for` over a range, or `while`";

/// Functions of numbers: methods in Rust, functions in CUDA.
const FUNCTIONS: [(&str, &str); 18] = [
    ("sqrt", "sqrt"),
    ("exp", "exp"),
    ("ln", "log"),
    ("sin", "sin"),
    ("cos", "cos"),
    ("tan", "tan"),
    ("tanh", "tanh"),
    ("abs", "magnitude"),
    ("signum", "signum"),
    ("powi", "powi"),
    ("powf", "pow"),
    ("min", "smaller"),
    ("max", "larger"),
    ("choose", "choose"),
    ("mul_add", "fma"),
    ("times_plus", "times_plus"),
    ("recip", "recip"),
    ("map", "map"),
];

/// Returns a name that C++ accepts.
pub fn name(of: &Ident) -> String {
    let name = of.to_string();
    match name.as_str() {
        // Words of C++ and macros of the kernels that are names in Rust.
        "auto" | "double" | "float" | "int" | "short" | "long" | "signed" | "unsigned" | "new" | "delete" | "this"
        | "template" | "class" | "operator" | "register" | "switch" | "case" | "default" | "void" | "char"
        | "union" | "and" | "or" | "not" | "xor" | "INLINE" | "KERNEL" | "Array" | "Dual" | "Slice" => {
            format!("{name}_")
        }
        _ => name,
    }
}

/// Whether an expression has no statements inside, so that it is one in C++.
pub fn is_simple(of: &Expr) -> bool {
    match of {
        Expr::If(of) => {
            value_of(&of.then_branch).is_some() && of.else_branch.as_ref().is_some_and(|(_, e)| is_simple(e))
        }
        Expr::Block(of) => of.label.is_none() && value_of(&of.block).is_some(),
        _ => true,
    }
}

/// The value of a block without statements.
fn value_of(of: &Block) -> Option<&Expr> {
    match &of.stmts[..] {
        [Stmt::Expr(value, None)] => match value {
            Expr::Return(_) | Expr::Assign(_) | Expr::Break(_) | Expr::Continue(_) => None,
            Expr::Binary(of) if is_assignment(&of.op) => None,
            value => is_simple(value).then_some(value),
        },
        _ => None,
    }
}

/// Whether an expression is `array::from_fn(...)`, which has no length of its own.
pub fn is_from_fn(of: &Expr) -> bool {
    let Expr::Call(call) = of else { return false };
    matches!(&*call.func, Expr::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "from_fn"))
}

fn all<'a>(of: impl IntoIterator<Item = &'a Expr>, context: &Context) -> Result<String> {
    let parts: Result<Vec<String>> = of.into_iter().map(|part| translate(part, context)).collect();
    Ok(parts?.join(", "))
}

/// Refuses an assignment to a name around a closure: in C++ the closure has a copy of it.
pub fn check_target(of: &Expr, context: &Context) -> Result<()> {
    match of {
        Expr::Path(path) => match path.path.get_ident() {
            Some(ident) if !context.is_own(ident) => {
                let expected = "expected a name of the closure: it cannot change names around it; write a loop";
                Err(Error::new_spanned(of, expected))
            }
            _ => Ok(()),
        },
        Expr::Index(of) => check_target(&of.expr, context),
        Expr::Field(of) => check_target(&of.base, context),
        Expr::Paren(of) => check_target(&of.expr, context),
        other => Err(Error::new_spanned(other, "expected a name, an item of an array or a field")),
    }
}

/// Returns an expression in C++.
pub fn translate(of: &Expr, context: &Context) -> Result<String> {
    match of {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) if number.suffix().starts_with('f') => Ok(format!("{}.0", number.base10_digits())),
            Lit::Int(number) => Ok(number.base10_digits().into()),
            Lit::Float(number) => {
                let digits = number.base10_digits();
                let point = if digits.contains(['.', 'e', 'E']) { "" } else { ".0" };
                Ok(format!("{digits}{point}{}", if number.suffix() == "f32" { "f" } else { "" }))
            }
            Lit::Bool(value) => Ok(value.value.to_string()),
            other => Err(Error::new_spanned(other, "expected a number")),
        },
        Expr::Path(path) => match path.path.get_ident() {
            Some(ident) if ident == "self" => Ok("(*this)".into()),
            Some(ident) => Ok(name(ident)),
            None => match names(of)?.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["Self", constant] => Ok(constant.into()),
                ref path => types::constant(path).map(String::from).ok_or_else(|| Error::new_spanned(of, EXPECTED)),
            },
        },
        Expr::Paren(inner) => Ok(format!("({})", translate(&inner.expr, context)?)),
        Expr::Group(inner) => translate(&inner.expr, context),
        Expr::Reference(inner) if inner.mutability.is_none() => translate(&inner.expr, context),
        Expr::Unary(unary) => {
            let inner = translate(&unary.expr, context)?;
            match unary.op {
                UnOp::Neg(_) => Ok(format!("(-{inner})")),
                UnOp::Not(_) => Ok(format!("opposite({inner})")),
                UnOp::Deref(_) => Ok(inner),
                _ => Err(Error::new_spanned(of, EXPECTED)),
            }
        }
        Expr::Binary(binary) => {
            let (left, right) = (translate(&binary.left, context)?, translate(&binary.right, context)?);
            let sign = sign_of(&binary.op)?;
            if is_assignment(&binary.op) {
                check_target(&binary.left, context)?;
                return Ok(format!("{left} {sign} {right}"));
            }
            Ok(format!("({left} {sign} {right})"))
        }
        Expr::Cast(cast) => {
            Ok(format!("({})({})", types::translate(&cast.ty, context)?, translate(&cast.expr, context)?))
        }
        Expr::Index(index) => {
            let whole = translate(&index.expr, context)?;
            if let Expr::Range(ExprRange {
                start: Some(start), end: Some(end), limits: RangeLimits::HalfOpen(_), ..
            }) = &*index.index
            {
                return Ok(format!("::part({whole}, {}, {})", translate(start, context)?, translate(end, context)?));
            }
            Ok(format!("{whole}[{}]", translate(&index.index, context)?))
        }
        Expr::Field(field) => match &field.member {
            Member::Named(member) => Ok(format!("{}.{}", translate(&field.base, context)?, name(member))),
            Member::Unnamed(_) => Err(Error::new_spanned(of, "expected a named field: tuples have no translation")),
        },
        Expr::Array(array) if array.elems.iter().any(is_from_fn) => Err(Error::new_spanned(
            of,
            "expected values of known type: bind `array::from_fn(...)` by `let` with a type",
        )),
        Expr::Array(array) => Ok(format!("::array({})", all(&array.elems, context)?)),
        Expr::Repeat(repeat) => {
            let (value, length) = (translate(&repeat.expr, context)?, translate(&repeat.len, context)?);
            Ok(format!("::repeat<{length}>({value})"))
        }
        Expr::Struct(made) => structure(made, context),
        Expr::If(branch) if is_simple(of) => {
            let Some((_, other)) = &branch.else_branch else { return Err(Error::new_spanned(of, EXPECTED)) };
            let then =
                value_of(&branch.then_branch).map_or_else(|| Ok(String::new()), |value| translate(value, context))?;
            Ok(format!("({} ? {then} : {})", translate(&branch.cond, context)?, translate(other, context)?))
        }
        Expr::Block(block) if is_simple(of) => {
            value_of(&block.block).map_or_else(|| Ok(String::new()), |value| translate(value, context))
        }
        // Statements inside an expression are a function that is called at once.
        Expr::If(_) | Expr::Block(_) => {
            let inner = Block { brace_token: syn::token::Brace::default(), stmts: vec![Stmt::Expr(of.clone(), None)] };
            Ok(format!("[&] {{\n{}}}()", context.value(|| context.block(&inner, true))?))
        }
        Expr::Closure(closure) => context.lambda(closure),
        Expr::Call(call) => function(call, context),
        Expr::MethodCall(call) => method(call, context),
        other => Err(Error::new_spanned(other, EXPECTED)),
    }
}

/// A value of a struct, its fields in their order.
fn structure(made: &ExprStruct, context: &Context) -> Result<String> {
    let of_name = made.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    let Some(fields) = context.fields(&of_name) else {
        return Err(Error::new_spanned(&made.path, "expected the name of a struct of this module, Field or Weak"));
    };
    if let Some(rest) = &made.rest {
        return Err(Error::new_spanned(rest, "`..` has no translation to CUDA: state every field"));
    }
    let value = |field: &String| {
        let is_this = |given: &&syn::FieldValue| matches!(&given.member, Member::Named(member) if member == field);
        let given = made.fields.iter().find(is_this);
        let given = given.ok_or_else(|| Error::new_spanned(made, format!("field `{field}` is missing")))?;
        translate(&given.expr, context)
    };
    let values: Result<Vec<String>> = fields.iter().map(value).collect();
    Ok(format!("{of_name}{{{}}}", values?.join(", ")))
}

/// The names of a path.
fn names(of: &Expr) -> Result<Vec<String>> {
    let Expr::Path(path) = of else { return Err(Error::new_spanned(of, EXPECTED)) };
    if let Some(segment) = path.path.segments.iter().find(|segment| !matches!(segment.arguments, PathArguments::None)) {
        return Err(Error::new_spanned(&segment.arguments, "`::<>` has no translation to CUDA: state types by `let`"));
    }
    Ok(path.path.segments.iter().map(|segment| segment.ident.to_string()).collect())
}

/// The type of C++ that `T::from` makes.
fn conversion(of_type: &str) -> String {
    types::number(of_type).map_or_else(|| of_type.into(), |number| format!("({number})"))
}

/// A call of a function.
fn function(call: &ExprCall, context: &Context) -> Result<String> {
    if let (true, [closure]) = (is_from_fn(&Expr::Call(call.clone())), &call.args.iter().collect::<Vec<_>>()[..]) {
        return Ok(format!("::from_fn({})", context.for_each(closure, "int")?));
    }
    Ok(format!("{}({})", callee(&call.func, context)?, all(&call.args, context)?))
}

/// What is called by a path.
pub fn callee(of: &Expr, context: &Context) -> Result<String> {
    match names(of)?.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_] => translate(of, context),
        ["Self", function] => Ok(function.into()),
        ["atomic", function @ ("add" | "add_by_exchange" | "add_unshared" | "fetch_add" | "get" | "set")] => {
            Ok(format!("::atomic_{function}"))
        }
        [of_type, "from"] => Ok(conversion(of_type)),
        _ => Err(Error::new_spanned(of, EXPECTED)),
    }
}

/// `array.map(f)`.
fn map(call: &ExprMethodCall, context: &Context) -> Result<String> {
    let (array, Some(function)) = (translate(&call.receiver, context)?, call.args.first()) else {
        return Err(Error::new_spanned(call, "expected `array.map(|item| ...)`"));
    };
    // C++ has no lambda inside `decltype`.
    if array.contains("[=]") || array.contains("[&]") {
        return Err(Error::new_spanned(&call.receiver, "expected a name: bind the array by `let` before `map`"));
    }
    let function = context.for_each(function, &format!("decltype(::item_of({array}))"))?;
    Ok(format!("::map({array}, {function})"))
}

/// A method: a function of numbers, or a function of the struct.
fn method(call: &ExprMethodCall, context: &Context) -> Result<String> {
    if call.method == "map" {
        return map(call, context);
    }
    let (receiver, arguments) = (translate(&call.receiver, context)?, all(&call.args, context)?);
    if call.turbofish.is_some() {
        return Err(Error::new_spanned(&call.turbofish, "`::<>` has no translation to CUDA: state types by `let`"));
    }
    if matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self")) {
        return Ok(format!("{}({arguments})", name(&call.method)));
    }
    let method = call.method.to_string();
    if context.has_method(&method) {
        return Ok(format!("{receiver}.{}({arguments})", name(&call.method)));
    }
    match FUNCTIONS.iter().find(|(in_rust, _)| *in_rust == method) {
        Some((_, function)) if arguments.is_empty() => Ok(format!("::{function}({receiver})")),
        Some((_, function)) => Ok(format!("::{function}({receiver}, {arguments})")),
        None if method == "clone" => Ok(receiver),
        None => {
            let known: Vec<&str> = FUNCTIONS.iter().map(|(in_rust, _)| *in_rust).collect();
            let expected = format!("`{method}` has no translation to CUDA: expected one of {}", known.join(", "));
            Err(Error::new_spanned(&call.method, expected))
        }
    }
}

/// Whether an operator changes its left side.
pub fn is_assignment(op: &BinOp) -> bool {
    matches!(op, BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::MulAssign(_) | BinOp::DivAssign(_))
}

/// The sign of an operator, which is the same in both languages.
fn sign_of(op: &BinOp) -> Result<String> {
    const SIGNS: [&str; 17] =
        ["+", "-", "*", "/", "%", "&&", "||", "==", "!=", "<", "<=", ">", ">=", "+=", "-=", "*=", "/="];
    let sign = op.to_token_stream().to_string();
    let is_known = SIGNS.contains(&&*sign);
    is_known.then_some(sign).ok_or_else(|| Error::new_spanned(op, "this operator has no translation to CUDA"))
}
