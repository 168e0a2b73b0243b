//! Equations as text: flux and source of the weak form at a point, as expressions.
//!
//! ```text
//! flux = "(1 + k * u**2) * grad_u", source = "-f * sin(pi * x[0])"
//! ```
//! The parser checks numbers and vectors and writes one list of operations for all expressions (`program`), in which equal terms occur
//! once. A second list has their derivatives (`derivatives`). Element kernels run both at each quadrature point, for several elements side
//! by side (`equation`).

mod algebra;
mod derivatives;
mod equation;
mod lexer;
mod names;
mod parser;
mod program;

pub use equation::weak_form;
pub use names::Names;
pub use parser::program;
