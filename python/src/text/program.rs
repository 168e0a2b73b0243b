//! Expressions as a list of operations in the order of their evaluation.

use minifenl::space::lanes::Number;
use std::collections::HashMap;

/// Index of an operation's result.
pub type At = u32;

/// Functions of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    Sin,
    Cos,
    Exp,
    Log,
    Sqrt,
    Tanh,
    Abs,
    /// 1 with the sign of the number.
    Sign,
}

impl Function {
    /// The function of a number.
    #[inline(always)]
    pub fn of<N: Number>(self, number: N) -> N {
        match self {
            Function::Sin => number.sin(),
            Function::Cos => number.cos(),
            Function::Exp => number.exp(),
            Function::Log => number.ln(),
            Function::Sqrt => number.sqrt(),
            Function::Tanh => number.tanh(),
            Function::Abs => number.abs(),
            Function::Sign => number.signum(),
        }
    }
}

/// An operation. Constants are kept as bits, by which they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Constant(u64),
    /// A coordinate.
    X(u8),
    /// Value of a component of the unknown.
    Value(u8),
    /// Derivative of a component along an axis.
    Slope(u8, u8),
    /// Value of a given field.
    Given(u8),
    /// Derivative of a given field along an axis.
    GivenSlope(u8, u8),
    Negate(At),
    Add(At, At),
    Subtract(At, At),
    Multiply(At, At),
    Divide(At, At),
    Min(At, At),
    Max(At, At),
    /// Power by a constant exponent, its bits.
    Power(At, u64),
    Of(Function, At),
    /// The second where the first is 0 or larger, else the third.
    Choose(At, At, At),
}

impl Op {
    /// Operations whose results it reads.
    fn operands(self) -> [Option<At>; 3] {
        match self {
            Op::Constant(_) | Op::X(_) | Op::Value(_) | Op::Slope(..) | Op::Given(_) | Op::GivenSlope(..) => [None; 3],
            Op::Negate(a) | Op::Power(a, _) | Op::Of(_, a) => [Some(a), None, None],
            Op::Add(a, b)
            | Op::Subtract(a, b)
            | Op::Multiply(a, b)
            | Op::Divide(a, b)
            | Op::Min(a, b)
            | Op::Max(a, b) => [Some(a), Some(b), None],
            Op::Choose(lead, a, b) => [Some(lead), Some(a), Some(b)],
        }
    }

    /// The operation with other operands.
    fn map(self, to: impl Fn(At) -> At) -> Self {
        match self {
            Op::Negate(a) => Op::Negate(to(a)),
            Op::Power(a, exponent) => Op::Power(to(a), exponent),
            Op::Of(function, a) => Op::Of(function, to(a)),
            Op::Add(a, b) => Op::Add(to(a), to(b)),
            Op::Subtract(a, b) => Op::Subtract(to(a), to(b)),
            Op::Multiply(a, b) => Op::Multiply(to(a), to(b)),
            Op::Divide(a, b) => Op::Divide(to(a), to(b)),
            Op::Min(a, b) => Op::Min(to(a), to(b)),
            Op::Max(a, b) => Op::Max(to(a), to(b)),
            Op::Choose(lead, a, b) => Op::Choose(to(lead), to(a), to(b)),
            leaf => leaf,
        }
    }
}

/// A derivative that is not zero.
#[derive(Clone, Copy, Debug)]
pub struct Derivative {
    /// Component and term that are differentiated: flux along x, y, z, or source.
    pub of: [usize; 2],
    /// Component of the unknown, and its derivative along x, y, z, or value.
    pub by: [usize; 2],
    pub at: At,
}

/// Flux and source of all components, and their derivatives.
#[derive(Debug)]
pub struct Program {
    /// Operations of flux and source.
    pub weak: Vec<Op>,
    /// Flux along x, y and z, and source of each component.
    pub terms: Vec<[At; 4]>,
    /// Operations of the derivatives.
    pub slopes: Vec<Op>,
    pub derivatives: Vec<Derivative>,
}

impl Program {
    /// Whether fields that are constant in each element give a constant flux and source on linear elements.
    pub fn is_constant(&self) -> bool {
        !self.weak.iter().any(|op| matches!(op, Op::Value(_) | Op::X(_)))
    }

    /// Whether the gradient of a given field is read.
    pub fn reads_gradient(&self, field: usize) -> bool {
        self.weak.iter().any(|op| matches!(op, Op::GivenSlope(of, _) if usize::from(*of) == field))
    }
}

/// Writes a program: an operation that is there already is not written again.
#[derive(Debug, Default)]
pub struct Builder {
    ops: Vec<Op>,
    known: HashMap<Op, At>,
}

impl Builder {
    /// Returns the result of an operation. An operation of constants is a constant, and what adds 0 or multiplies by 1 is left out.
    pub fn push(&mut self, op: Op) -> At {
        let is = |at: At, number: f64| self.known(at) == Some(number);
        let op = match op {
            Op::Add(a, b) if is(b, 0.0) => return a,
            Op::Add(a, b) if is(a, 0.0) => return b,
            Op::Multiply(a, b) if is(b, 1.0) => return a,
            Op::Multiply(a, b) if is(a, 1.0) => return b,
            Op::Subtract(a, b) if is(b, 0.0) => return a,
            Op::Divide(a, b) if is(b, 1.0) => return a,
            // One order, by which equal sums and products are found.
            Op::Add(a, b) => Op::Add(a.min(b), a.max(b)),
            Op::Multiply(a, b) => Op::Multiply(a.min(b), a.max(b)),
            other => other,
        };
        let op = self.folded(op).map_or(op, |value| Op::Constant(value.to_bits()));
        *self.known.entry(op).or_insert_with(|| {
            self.ops.push(op);
            self.ops.len() as At - 1
        })
    }

    /// Operations so far.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    pub fn constant(&mut self, value: f64) -> At {
        self.push(Op::Constant(value.to_bits()))
    }

    /// The number of a constant.
    pub fn known(&self, at: At) -> Option<f64> {
        match self.ops[at as usize] {
            Op::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn folded(&self, op: Op) -> Option<f64> {
        Some(match op {
            Op::Negate(a) => -self.known(a)?,
            Op::Add(a, b) => self.known(a)? + self.known(b)?,
            Op::Subtract(a, b) => self.known(a)? - self.known(b)?,
            Op::Multiply(a, b) => self.known(a)? * self.known(b)?,
            Op::Divide(a, b) => self.known(a)? / self.known(b)?,
            Op::Min(a, b) => self.known(a)?.min(self.known(b)?),
            Op::Max(a, b) => self.known(a)?.max(self.known(b)?),
            Op::Power(a, exponent) => self.known(a)?.powf(f64::from_bits(exponent)),
            Op::Of(function, a) => function.of(self.known(a)?),
            _ => return None,
        })
    }

    /// Returns the operations that results need, whose indices change.
    pub fn needed<'a>(&self, results: impl Iterator<Item = &'a mut At>) -> Vec<Op> {
        let results: Vec<&mut At> = results.collect();
        let mut is_needed = vec![false; self.ops.len()];
        results.iter().for_each(|at| is_needed[**at as usize] = true);
        for at in (0..self.ops.len()).rev() {
            if is_needed[at] {
                self.ops[at].operands().into_iter().flatten().for_each(|of| is_needed[of as usize] = true);
            }
        }
        let (mut ops, mut place) = (vec![], vec![0; self.ops.len()]);
        for at in (0..self.ops.len()).filter(|&at| is_needed[at]) {
            place[at] = ops.len() as At;
            ops.push(self.ops[at].map(|of| place[of as usize]));
        }
        results.into_iter().for_each(|at| *at = place[*at as usize]);
        ops
    }
}
