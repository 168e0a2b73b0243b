//! The nonlinear heat equation of Kokkos' MiniFENL: -K laplace(u) + u^2 = 0. Kernels made for it alone take K from [`Heat`], and their
//! tests compare them with this statement.

pub use written_once::{AdvectedHeat, Heat};

#[cfg_attr(feature = "cuda", minifenl_device::device)]
mod written_once {
    use crate::element::equations::{Equation, Field, Slope, Weak};
    use crate::space::lanes::Number;

    /// -K laplace(u) + u^2 = 0.
    #[derive(Clone, Copy, Debug)]
    pub struct Heat {
        /// Conductivity K.
        pub conductivity: f64,
    }

    impl Equation<1> for Heat {
        #[inline(always)]
        fn weak<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let k = N::from(self.conductivity);
            [Weak { flux: u.grad.map(|slope| k * slope), source: u.value * u.value }]
        }

        #[inline(always)]
        fn slopes<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [[Slope<N>; 1]; 1] {
            let (zero, k) = (N::from(0.0), N::from(self.conductivity));
            [[[
                [k, zero, zero, zero],
                [zero, k, zero, zero],
                [zero, zero, k, zero],
                [zero, zero, zero, u.value + u.value],
            ]]]
        }

        #[inline(always)]
        fn derivative<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1], [v]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let k = N::from(self.conductivity);
            [Weak { flux: v.grad.map(|slope| k * slope), source: N::from(2.0) * u.value * v.value }]
        }
    }

    /// -K laplace(u) + velocity . grad u + u^2 = f, f such that a solution (a z + b)^-2 of [`Heat`] solves it: velocity_z times its
    /// derivative.
    #[derive(Clone, Copy, Debug)]
    pub struct AdvectedHeat {
        /// Conductivity K.
        pub conductivity: f64,
        /// Velocity of advection.
        pub velocity: [f64; 3],
        /// a and b.
        pub profile: [f64; 2],
    }

    impl AdvectedHeat {
        /// velocity . grad u
        #[inline(always)]
        fn drift<N: Number>(&self, grad: [N; 3]) -> N {
            let [a, b, c] = self.velocity.map(N::from);
            a * grad[0] + b * grad[1] + c * grad[2]
        }
    }

    impl Equation<1> for AdvectedHeat {
        #[inline(always)]
        fn weak<N: Number>(&self, x: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let (k, [a, b]) = (N::from(self.conductivity), self.profile);
            let root = N::from(a) * x[2] + N::from(b);
            let load = N::from(2.0 * a * self.velocity[2]) / (root * root * root);
            let source = self.drift(u.grad) + load + u.value * u.value;
            [Weak { flux: u.grad.map(|slope| k * slope), source }]
        }

        #[inline(always)]
        fn slopes<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [[Slope<N>; 1]; 1] {
            let (zero, k, [a, b, c]) = (N::from(0.0), N::from(self.conductivity), self.velocity.map(N::from));
            [[[[k, zero, zero, zero], [zero, k, zero, zero], [zero, zero, k, zero], [a, b, c, N::from(2.0) * u.value]]]]
        }

        #[inline(always)]
        fn derivative<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1], [v]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let k = N::from(self.conductivity);
            let source = N::from(2.0) * u.value * v.value + self.drift(v.grad);
            [Weak { flux: v.grad.map(|slope| k * slope), source }]
        }
    }
}

impl Heat {
    /// Makes the equation of conductivity `k`.
    pub const fn new(k: f64) -> Self {
        Heat { conductivity: k }
    }
}
