//! Derivatives of a program by gradient and value of each unknown, operation by operation.

use super::program::{At, Builder, Derivative, Function, Op, Program};

/// Returns the program of flux and source, `terms`, with those of their derivatives that are not zero.
///
/// Exact, except at kinks of `abs`, `min` and `max`, where it is the derivative of one side.
pub fn derivatives(mut builder: Builder, mut terms: Vec<[At; 4]>) -> Program {
    let (mut derivatives, count) = (vec![], builder.ops().len());
    for d in 0..terms.len() {
        for j in 0..4 {
            let variable = if j < 3 { Op::Slope(d as u8, j as u8) } else { Op::Value(d as u8) };
            let slopes = by(&mut builder, count, variable);
            for (c, terms) in terms.iter().enumerate() {
                for (i, &term) in terms.iter().enumerate() {
                    let at = slopes.get(term as usize).copied().flatten();
                    derivatives.extend(at.map(|at| Derivative { of: [c, i], by: [d, j], at }));
                }
            }
        }
    }
    let slopes = builder.needed(derivatives.iter_mut().map(|derivative| &mut derivative.at));
    let weak = builder.needed(terms.as_flattened_mut().iter_mut());
    Program { weak, terms, slopes, derivatives }
}

/// Returns the derivatives of the first `count` operations by a variable; `None` is zero.
fn by(builder: &mut Builder, count: usize, variable: Op) -> Vec<Option<At>> {
    let mut slopes: Vec<Option<At>> = Vec::with_capacity(count);
    for at in 0..count {
        let op = builder.ops()[at];
        let of = |operand: At| slopes[operand as usize];
        let slope = match op {
            _ if op == variable => Some(builder.constant(1.0)),
            Op::Negate(a) => of(a).map(|da| builder.push(Op::Negate(da))),
            Op::Add(a, b) => sum(builder, of(a), of(b)),
            Op::Subtract(a, b) => match (of(a), of(b)) {
                (Some(da), Some(db)) => Some(builder.push(Op::Subtract(da, db))),
                (da, None) => da,
                (None, Some(db)) => Some(builder.push(Op::Negate(db))),
            },
            Op::Multiply(a, b) => {
                let left = of(a).map(|da| builder.push(Op::Multiply(da, b)));
                let right = of(b).map(|db| builder.push(Op::Multiply(a, db)));
                sum(builder, left, right)
            }
            // (da - (a / b) db) / b
            Op::Divide(a, b) => {
                let right = of(b).map(|db| builder.push(Op::Multiply(at as At, db)));
                let above = match (of(a), right) {
                    (Some(da), Some(right)) => Some(builder.push(Op::Subtract(da, right))),
                    (da, None) => da,
                    (None, Some(right)) => Some(builder.push(Op::Negate(right))),
                };
                above.map(|above| builder.push(Op::Divide(above, b)))
            }
            Op::Min(a, b) => {
                let lead = builder.push(Op::Subtract(at as At, b));
                choose(builder, lead, [of(b), of(a)])
            }
            Op::Max(a, b) => {
                let lead = builder.push(Op::Subtract(a, at as At));
                choose(builder, lead, [of(a), of(b)])
            }
            Op::Power(a, exponent) => of(a).map(|da| {
                let exponent = f64::from_bits(exponent);
                let power = builder.push(Op::Power(a, (exponent - 1.0).to_bits()));
                let exponent = builder.constant(exponent);
                let slope = builder.push(Op::Multiply(exponent, power));
                builder.push(Op::Multiply(slope, da))
            }),
            Op::Of(function, a) => of(a).map(|da| {
                let slope = of_function(builder, function, a, at as At);
                builder.push(Op::Multiply(slope, da))
            }),
            Op::Choose(lead, a, b) => choose(builder, lead, [of(a), of(b)]),
            Op::Constant(_) | Op::X(_) | Op::Value(_) | Op::Slope(..) | Op::Given(_) | Op::GivenSlope(..) => None,
        };
        slopes.push(slope);
    }
    slopes
}

fn sum(builder: &mut Builder, a: Option<At>, b: Option<At>) -> Option<At> {
    match (a, b) {
        (Some(a), Some(b)) => Some(builder.push(Op::Add(a, b))),
        (a, b) => a.or(b),
    }
}

/// The derivative of a function at `a`, where it has the value `at`.
fn of_function(builder: &mut Builder, function: Function, a: At, at: At) -> At {
    let mut of = |function| builder.push(Op::Of(function, a));
    match function {
        Function::Sin => of(Function::Cos),
        Function::Cos => {
            let sine = of(Function::Sin);
            builder.push(Op::Negate(sine))
        }
        Function::Exp => at,
        Function::Log => {
            let one = builder.constant(1.0);
            builder.push(Op::Divide(one, a))
        }
        Function::Sqrt => {
            let half = builder.constant(0.5);
            builder.push(Op::Divide(half, at))
        }
        Function::Tanh => {
            let (one, square) = (builder.constant(1.0), builder.push(Op::Multiply(at, at)));
            builder.push(Op::Subtract(one, square))
        }
        Function::Abs => of(Function::Sign),
        Function::Sign => builder.constant(0.0),
    }
}

/// The first slope where `lead` is 0 or larger, else the second.
// Chosen, not weighted with 0 and 1: 0 times an infinite slope is NaN.
fn choose(builder: &mut Builder, lead: At, slopes: [Option<At>; 2]) -> Option<At> {
    if slopes[0] == slopes[1] {
        return slopes[0];
    }
    let [first, second] = slopes.map(|slope| slope.unwrap_or_else(|| builder.constant(0.0)));
    Some(builder.push(Op::Choose(lead, first, second)))
}
