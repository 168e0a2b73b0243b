//! Other libraries' products, measured in the same run by a program that has them.

use super::case::Case;
use minifenl::space::lanes::Real;
#[cfg(feature = "cuda")]
use minifenl::space::{Cuda, CudaArray};
use minifenl::space::{Layout, Threads};
use minifenl::{Error, Result};

/// Peers by name; each says of a case that it cannot do why.
pub trait Peers {
    /// On the host.
    fn host_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// One call on the host.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the case does not fit.
    fn on_host<T: Real>(
        &self,
        name: &str,
        _space: &Threads,
        _case: &Case,
        _layout: Layout,
        _left: &[T],
        _right: &[T],
        _out: &mut [T],
    ) -> Result<()> {
        Err(Error::Invalid(format!("no peer {name}")))
    }

    /// On a GPU.
    fn gpu_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// One call on a GPU.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the case does not fit, [`Error::Device`] where the library is missing.
    #[cfg(feature = "cuda")]
    fn on_gpu<T: Real>(
        &self,
        name: &str,
        _space: &Cuda,
        _case: &Case,
        _layout: Layout,
        _left: &CudaArray<T>,
        _right: &CudaArray<T>,
        _out: &mut CudaArray<T>,
    ) -> Result<()> {
        Err(Error::Invalid(format!("no peer {name}")))
    }

    /// Names that decks may have though this build has nothing behind them.
    fn absent_names(&self) -> &'static [&'static str] {
        &[]
    }
}

/// No other library.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPeers;
#[cfg(test)]
impl Peers for NoPeers {}
