//! Numbers and vectors of expressions, and what operators mean for them.

use super::program::{At, Builder, Function, Op};

/// Largest integer exponent that becomes products.
const PRODUCTS: f64 = 16.0;

/// A number or a vector of three.
#[derive(Clone, Copy)]
pub enum Value {
    Number(At),
    Vector([At; 3]),
}

impl Builder {
    /// A vector of an operation per axis.
    pub fn vector(&mut self, op: impl Fn(u8) -> Op) -> Value {
        Value::Vector([0, 1, 2].map(|axis| self.push(op(axis))))
    }

    /// The operation of a number, or of each item of a vector.
    pub fn each(&mut self, value: Value, op: impl Fn(At) -> Op) -> Value {
        match value {
            Value::Number(at) => Value::Number(self.push(op(at))),
            Value::Vector(items) => Value::Vector(items.map(|at| self.push(op(at)))),
        }
    }

    pub fn dot(&mut self, a: [At; 3], b: [At; 3]) -> At {
        let products = [0, 1, 2].map(|axis| self.push(Op::Multiply(a[axis], b[axis])));
        let sum = self.push(Op::Add(products[0], products[1]));
        self.push(Op::Add(sum, products[2]))
    }

    /// Joins two values by an operator, or says why it has no meaning.
    pub fn join(&mut self, sign: &str, a: Value, b: Value) -> Result<Value, String> {
        let op = match sign {
            "+" => Op::Add,
            "-" => Op::Subtract,
            "*" => Op::Multiply,
            "/" => Op::Divide,
            _ => {
                return match (a, b) {
                    (Value::Number(a), Value::Number(b)) => Ok(Value::Number(self.power(a, b))),
                    _ => Err("**: expected numbers, found a vector".into()),
                };
            }
        };
        match (a, b, sign) {
            (Value::Number(a), b, _) if matches!(b, Value::Number(_)) || sign == "*" => Ok(self.each(b, |b| op(a, b))),
            (Value::Vector(_), Value::Number(b), "*" | "/") => Ok(self.each(a, |a| op(a, b))),
            (Value::Vector(a), Value::Vector(b), "+" | "-") => {
                Ok(Value::Vector([0, 1, 2].map(|axis| self.push(op(a[axis], b[axis])))))
            }
            (Value::Vector(_), Value::Vector(_), "*") => Err("two vectors: expected dot(a, b)".into()),
            _ => {
                let [a, b] =
                    [a, b].map(|value| if matches!(value, Value::Number(_)) { "a number" } else { "a vector" });
                Err(format!("{a} {sign} {b} has no meaning"))
            }
        }
    }

    /// Products for small integer exponents, which are exact where a is negative or zero.
    fn power(&mut self, a: At, exponent: At) -> At {
        let Some(number) = self.known(exponent) else {
            let log = self.push(Op::Of(Function::Log, a));
            let product = self.push(Op::Multiply(exponent, log));
            return self.push(Op::Of(Function::Exp, product));
        };
        if number == 0.5 {
            return self.push(Op::Of(Function::Sqrt, a));
        }
        if number.fract() != 0.0 || number.abs() > PRODUCTS {
            return self.push(Op::Power(a, number.to_bits()));
        }
        let one = self.constant(1.0);
        let (mut product, mut square, mut left) = (None, a, number.abs() as u32);
        while left > 0 {
            if left & 1 == 1 {
                product = Some(product.map_or(square, |product| self.push(Op::Multiply(product, square))));
            }
            left >>= 1;
            if left > 0 {
                square = self.push(Op::Multiply(square, square));
            }
        }
        let product = product.unwrap_or(one);
        if number < 0.0 { self.push(Op::Divide(one, product)) } else { product }
    }
}
