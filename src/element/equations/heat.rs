//! The nonlinear heat equation of Kokkos' MiniFENL: -K laplace(u) + u^2 = 0. Kernels made for it alone take K from [`Heat`], and their
//! tests compare them with this statement.

pub use written_once::Heat;

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
}

impl Heat {
    /// Makes the equation of conductivity `k`.
    pub const fn new(k: f64) -> Self {
        Heat { conductivity: k }
    }
}
