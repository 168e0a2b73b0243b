//! Equations of a user, for hosts and GPUs.

pub use bratu::Bratu;
pub use drift::Drift;
pub use energy::Energy;
pub use exchange::Exchange;
pub use layered::Layered;
pub use seepage::Seepage;

#[minifenl::device]
pub mod bratu {
    use minifenl::element::equations::{Equation, Field, Weak};
    use minifenl::space::lanes::Number;

    /// -laplace(u) = lambda e^u
    #[derive(Debug)]
    pub struct Bratu {
        pub lambda: f64,
    }

    impl Equation<1> for Bratu {
        fn weak<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            [Weak { flux: u.grad, source: -N::from(self.lambda) * u.value.exp() }]
        }
    }
}

#[minifenl::device]
pub mod energy {
    use minifenl::element::equations::{Equation, Field, Weak};
    use minifenl::space::lanes::Number;

    /// The minimum of the energy (1 + u^2) (1 + |grad u|^2)^2: symmetric derivatives without zeros, and a flux that is not linear.
    #[derive(Debug)]
    pub struct Energy {}

    impl Equation<1> for Energy {
        fn weak<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let [a, b, c] = u.grad;
            let one = N::from(1.0);
            let (stretch, weight) = (one + a * a + b * b + c * c, one + u.value * u.value);
            let k = N::from(4.0) * weight * stretch;
            [Weak { flux: [k * a, k * b, k * c], source: N::from(2.0) * u.value * stretch * stretch }]
        }
    }
}

/// The same with a drift: derivatives without zeros that are not symmetric.
#[minifenl::device]
pub mod drift {
    use minifenl::element::equations::{Equation, Field, Weak};
    use minifenl::space::lanes::Number;

    #[derive(Debug)]
    pub struct Drift {}

    impl Equation<1> for Drift {
        fn weak<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let [a, b, c] = u.grad;
            let one = N::from(1.0);
            let (stretch, weight) = (one + a * a + b * b + c * c, one + u.value * u.value);
            let k = N::from(4.0) * weight * stretch;
            [Weak { flux: [k * a, k * b, k * c], source: u.value * (a + b + c) }]
        }
    }
}

/// Two unknowns, with what the translation knows: loops, arrays, branches on parameters, closures, functions, shadowed names.
#[minifenl::device]
pub mod layered {
    use minifenl::element::equations::{Equation, Field, Weak};
    use minifenl::space::lanes::Number;
    use std::array;

    pub const LAYERS: usize = 3;
    pub const HEIGHTS: [f64; LAYERS] = [0.25, 0.5, 0.75];

    #[derive(Debug)]
    pub struct Layered {
        pub weights: [f64; LAYERS],
        pub mix: [[f64; 2]; 2],
        pub limit: f64,
    }

    impl Layered {
        const HALF: f64 = 0.5;

        /// sum_k weights_k t^k
        fn strength<N: Number>(&self, t: N) -> N {
            let mut sum = N::from(0.0);
            for k in 0..LAYERS {
                if self.weights[k] == 0.0 {
                    continue;
                }
                let mut term = N::from(self.weights[k]);
                for _ in 0..k {
                    term = term * t;
                }
                sum = sum + term;
            }
            sum
        }

        fn cut(a: f64) -> f64 {
            if a > 1.0 {
                1.0
            } else if a < -1.0 {
                -1.0
            } else {
                let s = a.abs();
                a * s.sqrt()
            }
        }
    }

    fn halvings(of: f64) -> usize {
        let (mut left, mut steps) = (of, 0);
        while left > 1.0 {
            left /= 2.0;
            steps += 1;
        }
        steps
    }

    /// Functions whose derivatives have cases.
    fn bent<N: Number>(root: N, u: N) -> N {
        let (third, shifted) = (N::from(0.3), u - N::from(0.2));
        root.powf(1.25) * shifted.abs() + shifted.tanh().max(third) - u.min(third) * u.signum()
            + shifted.choose(u * root, third)
    }

    impl Equation<2> for Layered {
        fn weak<N: Number>(&self, x: [N; 3], u: [Field<N>; 2]) -> [Weak<N>; 2] {
            let [a, _, c] = HEIGHTS;
            let steps = halvings(self.limit);
            let is_low = steps <= 2;
            let height = if !is_low && self.limit > 0.0 {
                let scale = Self::cut(self.limit) * Self::HALF;
                N::from(scale) * x[2]
            } else {
                x[2].times_plus(N::from(a), N::from(c))
            };
            let mut means = [N::from(0.0); 2];
            for i in 0..2 {
                for j in 0..2 {
                    means[i] = means[i] + N::from(self.mix[i][j]) * u[j].value;
                }
            }
            let roots = means.map(|mean| {
                let one = N::from(1.0);
                {
                    let mean = mean * mean + height * height;
                    (mean + one).sqrt()
                }
            });
            array::from_fn(|c| {
                let k = self.strength(roots[c]);
                let along =
                    |axis: usize| if axis == c { k * u[c].grad[axis] } else { u[1 - c].grad[axis] / roots[1 - c] };
                let flux: [N; 3] = array::from_fn(along);
                Weak {
                    flux,
                    source: (roots[c] * x[c].sin() + N::from(steps as f64)).ln() - u[c].value.cos().exp()
                        + bent(roots[c], u[c].value),
                }
            })
        }
    }
}

/// One unknown and three given fields: the solution of an earlier step, a conductivity and an internal variable.
#[minifenl::device]
pub mod seepage {
    use minifenl::element::equations::{EquationAt, Field, Point, Weak};
    use minifenl::space::lanes::Number;

    #[derive(Debug)]
    pub struct Seepage {
        pub dt: f64,
    }

    impl EquationAt<1, 3> for Seepage {
        fn weak<N: Number>(&self, at: Point<N, 3>, [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let [old, k, inner] = at.given;
            let strength = k.value * (N::from(1.0) + u.value * u.value);
            let [a, b, c] = u.grad;
            let [d, e, f] = old.grad;
            let flux = [strength * a + d, strength * b + inner.value * e, strength * c - f];
            [Weak { flux, source: (u.value - old.value) / N::from(self.dt) + at.x[0] * inner.value * u.value.sin() }]
        }
    }
}

/// Exchange of two unknowns with surroundings on a boundary, and pressure along the normal; derivatives by hand.
#[minifenl::device]
pub mod exchange {
    use minifenl::element::equations::{EquationAt, Field, Point, Slope, Weak};
    use minifenl::space::lanes::Number;

    #[derive(Debug)]
    pub struct Exchange {
        pub ambient: f64,
    }

    impl EquationAt<2, 1> for Exchange {
        fn weak<N: Number>(&self, at: Point<N, 1>, u: [Field<N>; 2]) -> [Weak<N>; 2] {
            let [h] = at.given;
            let along = u[0].grad.map(|slope| h.value * slope);
            let none = N::from(0.0);
            let (out, pressure) = (at.normal[0] + at.x[2] * at.normal[2], u[1].value * at.normal[1]);
            [
                Weak { flux: along, source: h.value * (u[0].value - N::from(self.ambient)) + out },
                Weak { flux: [none, none, none], source: pressure + h.grad[0] },
            ]
        }

        fn slopes<N: Number>(&self, at: Point<N, 1>, _: [Field<N>; 2]) -> [[Slope<N>; 2]; 2] {
            let [h] = at.given;
            let none = N::from(0.0);
            let mut slopes = [[[[none; 4]; 4]; 2]; 2];
            for axis in 0..4 {
                slopes[0][0][axis][axis] = h.value;
            }
            slopes[1][1][3][3] = at.normal[1];
            slopes
        }
    }
}
