//! Linear diffusion, with a constant or a variable coefficient.

pub use written_once::{AdvectedWave, Diffusion, Poisson, WaveDiffusion};

#[cfg_attr(feature = "cuda", minifenl_device::device)]
mod written_once {
    use crate::element::equations::{Equation, Field, Slope, Weak};
    use crate::space::lanes::Number;

    /// -laplace(u) = f, miniFE's problem for f = 1.
    #[derive(Clone, Copy, Debug)]
    pub struct Poisson {
        /// Right-hand side f.
        pub load: f64,
    }

    impl Equation<1> for Poisson {
        #[inline(always)]
        fn weak<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            [Weak { flux: u.grad, source: N::from(-self.load) }]
        }

        #[inline(always)]
        fn slopes<N: Number>(&self, _: [N; 3], _: [Field<N>; 1]) -> [[Slope<N>; 1]; 1] {
            let (zero, one) = (N::from(0.0), N::from(1.0));
            [[[[one, zero, zero, zero], [zero, one, zero, zero], [zero, zero, one, zero], [zero; 4]]]]
        }

        #[inline(always)]
        fn derivative<N: Number>(&self, _: [N; 3], _: [Field<N>; 1], [v]: [Field<N>; 1]) -> [Weak<N>; 1] {
            [Weak { flux: v.grad, source: N::from(0.0) }]
        }
    }

    /// -div(k(x) grad u) = f(x) with k = 1 + (x . direction)^2, and f such that u = x . x solves it:
    /// f = -div(2 k x) = -6 k - 4 (x . direction)^2.
    #[derive(Clone, Copy, Debug)]
    pub struct Diffusion {
        /// Direction in which the coefficient varies.
        pub direction: [f64; 3],
    }

    impl Equation<1> for Diffusion {
        #[inline(always)]
        fn weak<N: Number>(&self, x: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let [a, b, c] = self.direction.map(N::from);
            let along = a * x[0] + b * x[1] + c * x[2];
            let (square, four) = (along * along, N::from(4.0));
            let k = N::from(1.0) + square;
            let source = N::from(6.0) * k + four * square;
            [Weak { flux: [k * u.grad[0], k * u.grad[1], k * u.grad[2]], source }]
        }
    }

    /// -div(k grad u) = f with k = 1 + (x . direction)^2 and f such that [`Wave`](super::super::Wave) solves it; Poisson's equation for
    /// direction 0. f = k |w|^2 sin(angle) - 2 (x . direction)(direction . w) cos(angle), angle = w . x + phase.
    #[derive(Clone, Copy, Debug)]
    pub struct WaveDiffusion {
        /// Direction in which the coefficient varies.
        pub direction: [f64; 3],
        /// Wave vector w.
        pub wave: [f64; 3],
        /// Phase at the origin.
        pub phase: f64,
    }

    /// a . x
    #[inline(always)]
    fn along<N: Number>(a: [f64; 3], x: [N; 3]) -> N {
        N::from(a[0]) * x[0] + N::from(a[1]) * x[1] + N::from(a[2]) * x[2]
    }

    impl Equation<1> for WaveDiffusion {
        #[inline(always)]
        fn weak<N: Number>(&self, x: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let (d, w) = (self.direction, self.wave);
            let (across, square) = (d[0] * w[0] + d[1] * w[1] + d[2] * w[2], w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
            let (t, angle) = (along(d, x), along(w, x) + N::from(self.phase));
            let k = N::from(1.0) + t * t;
            let source = N::from(2.0 * across) * t * angle.cos() - k * N::from(square) * angle.sin();
            [Weak { flux: u.grad.map(|slope| k * slope), source }]
        }

        #[inline(always)]
        fn slopes<N: Number>(&self, x: [N; 3], _: [Field<N>; 1]) -> [[Slope<N>; 1]; 1] {
            let (zero, t) = (N::from(0.0), along(self.direction, x));
            let k = N::from(1.0) + t * t;
            [[[[k, zero, zero, zero], [zero, k, zero, zero], [zero, zero, k, zero], [zero; 4]]]]
        }

        #[inline(always)]
        fn derivative<N: Number>(&self, x: [N; 3], _: [Field<N>; 1], [v]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let t = along(self.direction, x);
            let k = N::from(1.0) + t * t;
            [Weak { flux: v.grad.map(|slope| k * slope), source: N::from(0.0) }]
        }
    }

    /// [`WaveDiffusion`] with advection: -div(k grad u) + velocity . grad u = f, solved by the same wave, whose matrix is not symmetric.
    #[derive(Clone, Copy, Debug)]
    pub struct AdvectedWave {
        /// Direction in which the coefficient varies.
        pub direction: [f64; 3],
        /// Velocity of advection.
        pub velocity: [f64; 3],
        /// Wave vector w.
        pub wave: [f64; 3],
        /// Phase at the origin.
        pub phase: f64,
    }

    impl Equation<1> for AdvectedWave {
        #[inline(always)]
        fn weak<N: Number>(&self, x: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let (d, v, w) = (self.direction, self.velocity, self.wave);
            let (across, square) = (d[0] * w[0] + d[1] * w[1] + d[2] * w[2], w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
            let drift = v[0] * w[0] + v[1] * w[1] + v[2] * w[2];
            let (t, angle) = (along(d, x), along(w, x) + N::from(self.phase));
            let k = N::from(1.0) + t * t;
            let load = (N::from(2.0 * across) * t - N::from(drift)) * angle.cos() - k * N::from(square) * angle.sin();
            [Weak { flux: u.grad.map(|slope| k * slope), source: load + along(v, u.grad) }]
        }

        #[inline(always)]
        fn slopes<N: Number>(&self, x: [N; 3], _: [Field<N>; 1]) -> [[Slope<N>; 1]; 1] {
            let (zero, t) = (N::from(0.0), along(self.direction, x));
            let (k, [a, b, c]) = (N::from(1.0) + t * t, self.velocity.map(N::from));
            [[[[k, zero, zero, zero], [zero, k, zero, zero], [zero, zero, k, zero], [a, b, c, zero]]]]
        }

        #[inline(always)]
        fn derivative<N: Number>(&self, x: [N; 3], _: [Field<N>; 1], [v]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let t = along(self.direction, x);
            let k = N::from(1.0) + t * t;
            [Weak { flux: v.grad.map(|slope| k * slope), source: along(self.velocity, v.grad) }]
        }
    }
}

impl Diffusion {
    /// Returns the solution at a point.
    pub fn exact(&self, x: [f64; 3]) -> f64 {
        x.iter().map(|x| x * x).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::equations::{Equation, Field};

    /// div(flux) = source for u = x . x, by central differences of the flux.
    #[test]
    fn the_solution_of_diffusion_solves_it() {
        let equation = Diffusion { direction: [0.5, -1.0, 0.25] };
        let weak = |x: [f64; 3]| {
            let u = Field { grad: x.map(|x| 2.0 * x), value: equation.exact(x) };
            equation.weak(x, [u])[0]
        };
        let (x, h) = ([0.3, 0.7, -0.4], 1e-4);
        let divergence: f64 = (0..3)
            .map(|axis| {
                let (mut ahead, mut back) = (x, x);
                ahead[axis] += h;
                back[axis] -= h;
                (weak(ahead).flux[axis] - weak(back).flux[axis]) / (2.0 * h)
            })
            .sum();
        assert!((divergence - weak(x).source).abs() < 1e-6, "{divergence} {}", weak(x).source);
    }
}
