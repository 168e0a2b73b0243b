//! Types that have a twin in CUDA C++.
//!
//! The attribute [`device`](crate::device) implements [`DeviceText`] for the structs of a module that implement a trait:
//!
//! ```
//! use minifenl::space::DeviceText;
//!
//! #[minifenl::device]
//! mod decay {
//!     use minifenl::element::equations::{Equation, Field, Weak};
//!     use minifenl::space::lanes::Number;
//!
//!     /// -k laplace(u) + u = 0
//!     pub struct Decay {
//!         pub k: f64,
//!     }
//!
//!     impl Equation<1> for Decay {
//!         fn weak<N: Number>(&self, _: [N; 3], [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
//!             let k = N::from(self.k);
//!             [Weak { flux: u.grad.map(|slope| k * slope), source: u.value }]
//!         }
//!     }
//! }
//!
//! assert_eq!(decay::Decay::NAME, "Decay");
//! assert_eq!(decay::Decay { k: 0.5 }.parameters(), [0.5]);
//! assert!(decay::CUDA.contains("template <class N>"));
//! ```

/// A type whose functions are also text for a GPU.
pub trait DeviceText {
    /// The name of the struct in the text.
    const NAME: &'static str;
    /// The struct and its functions in CUDA C++, on top of `kernels/device.cuh`.
    const TEXT: &'static str;
    /// The functions of its traits that it states.
    const METHODS: &'static [&'static str];

    /// Returns the fields of the struct as numbers, in their order.
    fn parameters(&self) -> Vec<f64>;
}
