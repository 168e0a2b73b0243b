//! Derivatives of a program by gradient and value of each unknown, operation by operation.

use super::program::{At, Builder, Derivative, Function, Op, Program};

/// Returns the program of flux and source, `terms`, with those of their derivatives that are not zero.
///
/// A derivative is exact but where `abs`, `min` and `max` have none; there it is one of those on both sides.
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
            Op::Min(a, b) => select(builder, [b, a], [of(b), of(a)], [a, b]),
            Op::Max(a, b) => select(builder, [a, b], [of(a), of(b)], [a, b]),
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

/// The slope of the first where a > b, and of the second where a < b.
fn select(builder: &mut Builder, which: [At; 2], slopes: [Option<At>; 2], [a, b]: [At; 2]) -> Option<At> {
    if which[0] == which[1] {
        return slopes[0];
    }
    if slopes == [None; 2] {
        return None;
    }
    let (lead, half) = (builder.push(Op::Subtract(a, b)), builder.constant(0.5));
    let sign = builder.push(Op::Of(Function::Sign, lead));
    let sign = builder.push(Op::Multiply(half, sign));
    let weights = [builder.push(Op::Add(half, sign)), builder.push(Op::Subtract(half, sign))];
    let [first, second] = [0, 1].map(|k| slopes[k].map(|slope| builder.push(Op::Multiply(weights[k], slope))));
    sum(builder, first, second)
}
