//! A program as an equation: its operations at a point.

use super::program::{Op, Program};
use minifenl::element::equations::{EquationAt, Field, Point, Slope, Weak};
use minifenl::fill::WeakForm;
use minifenl::space::lanes::Number;
use minifenl::{Error, Result};
use smallvec::SmallVec;

/// Returns the weak form of a program that reads `fields` given fields, and the number that it takes: fields behind the last one are not read.
///
/// # Errors
/// [`Error::Invalid`] for other than 1 to 3 unknowns per node.
pub fn weak_form(program: Program, fields: usize) -> Result<(WeakForm, usize)> {
    let is_constant = program.is_constant();
    macro_rules! with_fields {
        ($($count:literal),*) => {{
            $(if fields <= $count {
                let form = match program.terms.len() {
                    1 => WeakForm::one::<$count>(program, is_constant),
                    2 => WeakForm::two::<$count>(program, is_constant),
                    3 => WeakForm::three::<$count>(program, is_constant),
                    other => return Err(Error::Invalid(format!("{other} unknowns per node: expected 1, 2 or 3"))),
                };
                return Ok((form, $count));
            })*
            Err(Error::Invalid(format!("{fields} numbers of coefficients: expected at most 10")))
        }};
    }
    with_fields!(0, 2, 4, 10)
}

/// Results of a list of operations; longer lists have them on the heap.
type Results<N> = SmallVec<[N; 64]>;

/// Returns the results of operations at a point.
// Inlined into code that is compiled for the vectors of the processor, without closures, which LLVM may leave as calls.
#[inline(always)]
fn run<N: Number, const D: usize, const K: usize>(ops: &[Op], at: &Point<N, K>, u: &[Field<N>; D]) -> Results<N> {
    let mut results = Results::<N>::with_capacity(ops.len());
    macro_rules! of {
        ($at:expr) => {
            results[$at as usize]
        };
    }
    for &op in ops {
        let found = match op {
            Op::Constant(bits) => N::from(f64::from_bits(bits)),
            Op::X(axis) => at.x[usize::from(axis)],
            Op::Value(c) => u[usize::from(c)].value,
            Op::Slope(c, axis) => u[usize::from(c)].grad[usize::from(axis)],
            Op::Given(k) => at.given[usize::from(k)].value,
            Op::GivenSlope(k, axis) => at.given[usize::from(k)].grad[usize::from(axis)],
            Op::Negate(a) => -of!(a),
            Op::Add(a, b) => of!(a) + of!(b),
            Op::Subtract(a, b) => of!(a) - of!(b),
            Op::Multiply(a, b) => of!(a) * of!(b),
            Op::Divide(a, b) => of!(a) / of!(b),
            Op::Min(a, b) => of!(a).min(of!(b)),
            Op::Max(a, b) => of!(a).max(of!(b)),
            Op::Power(a, exponent) => of!(a).powf(f64::from_bits(exponent)),
            Op::Of(function, a) => function.of(of!(a)),
            Op::Choose(lead, a, b) => of!(lead).choose(of!(a), of!(b)),
        };
        results.push(found);
    }
    results
}

impl<const D: usize, const K: usize> EquationAt<D, K> for Program {
    #[inline(always)]
    fn weak<N: Number>(&self, at: Point<N, K>, u: [Field<N>; D]) -> [Weak<N>; D] {
        let results = run::<N, D, K>(&self.weak, &at, &u);
        let zero = N::from(0.0);
        let mut weak = [Weak { flux: [zero; 3], source: zero }; D];
        for c in 0..D {
            let [x, y, z, source] = self.terms[c];
            weak[c].flux = [results[x as usize], results[y as usize], results[z as usize]];
            weak[c].source = results[source as usize];
        }
        weak
    }

    #[inline(always)]
    fn slopes<N: Number>(&self, at: Point<N, K>, u: [Field<N>; D]) -> [[Slope<N>; D]; D] {
        let results = run::<N, D, K>(&self.slopes, &at, &u);
        let mut slopes = [[[[N::from(0.0); 4]; 4]; D]; D];
        for derivative in &self.derivatives {
            let ([c, i], [d, j]) = (derivative.of, derivative.by);
            slopes[c][d][i][j] = results[derivative.at as usize];
        }
        slopes
    }
}
