//! Linear elasticity: -div sigma = f, sigma = lambda tr(eps) I + 2 mu eps, eps = (grad u + grad u^T) / 2.

pub use written_once::{Elasticity, PlaneStrain, WaveElasticity};

#[cfg_attr(feature = "cuda", minifenl_device::device)]
mod written_once {
    use crate::element::equations::{Equation, Field, Slope, Weak};
    use crate::space::lanes::Number;
    use std::array;

    /// Linear elasticity of an isotropic body, three displacements per node.
    #[derive(Clone, Copy, Debug)]
    pub struct Elasticity {
        /// Lame's first parameter.
        pub lambda: f64,
        /// Shear modulus.
        pub mu: f64,
        /// Force per volume.
        pub force: [f64; 3],
    }

    impl Equation<3> for Elasticity {
        #[inline(always)]
        fn weak<N: Number>(&self, _: [N; 3], u: [Field<N>; 3]) -> [Weak<N>; 3] {
            let (lambda, mu) = (N::from(self.lambda), N::from(self.mu));
            let pressure = lambda * (u[0].grad[0] + u[1].grad[1] + u[2].grad[2]);
            array::from_fn(|c| {
                let stress = |axis: usize| {
                    let shear = mu * (u[c].grad[axis] + u[axis].grad[c]);
                    if c == axis { pressure + shear } else { shear }
                };
                Weak { flux: [stress(0), stress(1), stress(2)], source: N::from(-self.force[c]) }
            })
        }

        /// d flux_c,a / d grad_d,b = lambda delta_ca delta_db + mu (delta_cd delta_ab + delta_cb delta_ad).
        #[inline(always)]
        fn slopes<N: Number>(&self, _: [N; 3], _: [Field<N>; 3]) -> [[Slope<N>; 3]; 3] {
            let one = |is: bool| f64::from(u8::from(is));
            let entry = |c: usize, d: usize, a: usize, b: usize| {
                let shear = one(c == d) * one(a == b) + one(c == b) * one(a == d);
                let value = self.lambda * one(c == a) * one(d == b) + self.mu * shear;
                N::from(if a < 3 && b < 3 { value } else { 0.0 })
            };
            array::from_fn(|c| array::from_fn(|d| array::from_fn(|a| array::from_fn(|b| entry(c, d, a, b)))))
        }

        /// The stress of v: the equation is linear.
        #[inline(always)]
        fn derivative<N: Number>(&self, x: [N; 3], _: [Field<N>; 3], v: [Field<N>; 3]) -> [Weak<N>; 3] {
            Elasticity { lambda: self.lambda, mu: self.mu, force: [0.0; 3] }.weak(x, v)
        }
    }

    /// Linear elasticity of a body in plane strain, two displacements per node: [`Elasticity`] without displacement along z.
    #[derive(Clone, Copy, Debug)]
    pub struct PlaneStrain {
        /// Lame's first parameter.
        pub lambda: f64,
        /// Shear modulus.
        pub mu: f64,
        /// Force per volume.
        pub force: [f64; 2],
    }

    impl PlaneStrain {
        #[inline(always)]
        fn body(&self) -> Elasticity {
            Elasticity { lambda: self.lambda, mu: self.mu, force: [self.force[0], self.force[1], 0.0] }
        }
    }

    /// The displacements with that along z.
    #[inline(always)]
    fn in_space<N: Number>(u: [Field<N>; 2]) -> [Field<N>; 3] {
        let zero = N::from(0.0);
        [u[0], u[1], Field { grad: [zero; 3], value: zero }]
    }

    impl Equation<2> for PlaneStrain {
        #[inline(always)]
        fn weak<N: Number>(&self, x: [N; 3], u: [Field<N>; 2]) -> [Weak<N>; 2] {
            let [a, b, _] = self.body().weak(x, in_space(u));
            [a, b]
        }

        #[inline(always)]
        fn slopes<N: Number>(&self, x: [N; 3], u: [Field<N>; 2]) -> [[Slope<N>; 2]; 2] {
            let of_body = self.body().slopes(x, in_space(u));
            array::from_fn(|c| array::from_fn(|d| of_body[c][d]))
        }

        #[inline(always)]
        fn derivative<N: Number>(&self, x: [N; 3], u: [Field<N>; 2], v: [Field<N>; 2]) -> [Weak<N>; 2] {
            let [a, b, _] = self.body().derivative(x, in_space(u), in_space(v));
            [a, b]
        }
    }

    /// Linear elasticity whose force is such that u = amplitude times [`Wave`](super::super::Wave) solves it:
    /// f = ((lambda + mu)(amplitude . w) w + mu |w|^2 amplitude) sin(w . x + phase).
    #[derive(Clone, Copy, Debug)]
    pub struct WaveElasticity {
        /// Lame's first parameter.
        pub lambda: f64,
        /// Shear modulus.
        pub mu: f64,
        /// Direction and size of the displacement.
        pub amplitude: [f64; 3],
        /// Wave vector w.
        pub wave: [f64; 3],
        /// Phase at the origin.
        pub phase: f64,
    }

    impl WaveElasticity {
        #[inline(always)]
        fn body(&self) -> Elasticity {
            Elasticity { lambda: self.lambda, mu: self.mu, force: [0.0; 3] }
        }
    }

    impl Equation<3> for WaveElasticity {
        #[inline(always)]
        fn weak<N: Number>(&self, x: [N; 3], u: [Field<N>; 3]) -> [Weak<N>; 3] {
            let (a, w) = (self.amplitude, self.wave);
            let (across, square) = (a[0] * w[0] + a[1] * w[1] + a[2] * w[2], w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
            let angle = N::from(w[0]) * x[0] + N::from(w[1]) * x[1] + N::from(w[2]) * x[2] + N::from(self.phase);
            let (wave, stress) = (angle.sin(), self.body().weak(x, u));
            array::from_fn(|c| {
                let force = (self.lambda + self.mu) * across * w[c] + self.mu * square * a[c];
                Weak { flux: stress[c].flux, source: -(N::from(force) * wave) }
            })
        }

        #[inline(always)]
        fn slopes<N: Number>(&self, x: [N; 3], u: [Field<N>; 3]) -> [[Slope<N>; 3]; 3] {
            self.body().slopes(x, u)
        }

        #[inline(always)]
        fn derivative<N: Number>(&self, x: [N; 3], u: [Field<N>; 3], v: [Field<N>; 3]) -> [Weak<N>; 3] {
            self.body().derivative(x, u, v)
        }
    }
}

impl WaveElasticity {
    /// Returns the displacement at a point.
    pub fn exact(&self, x: [f64; 3]) -> [f64; 3] {
        let [a, b, c] = self.wave;
        let wave = (a * x[0] + b * x[1] + c * x[2] + self.phase).sin();
        self.amplitude.map(|a| a * wave)
    }
}
