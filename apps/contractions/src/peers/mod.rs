//! Other libraries beside ours, in the same run: a GEMM crate on the host, cuBLAS on a GPU.

#[cfg(all(feature = "cuda", feature = "peers"))]
mod cublas;
#[cfg(feature = "peers")]
mod gemm;

use crate::sweep::Peers;
#[cfg(feature = "peers")]
use crate::sweep::case::Case;
#[cfg(all(feature = "cuda", feature = "peers"))]
use minifenl::space::{Cuda, CudaArray};
#[cfg(feature = "peers")]
use minifenl::space::{Layout, Threads, lanes::Real};

/// Those of this build.
#[derive(Debug, Default)]
pub struct Libraries {
    #[cfg(all(feature = "cuda", feature = "peers"))]
    cublas: cublas::Handles,
}

impl Libraries {
    /// Nothing is loaded before it is needed.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Peers for Libraries {
    #[cfg(feature = "peers")]
    fn host_names(&self) -> &'static [&'static str] {
        &["matrixmultiply"]
    }

    #[cfg(feature = "peers")]
    fn on_host<T: Real>(
        &self,
        _: &str,
        space: &Threads,
        case: &Case,
        layout: Layout,
        left: &[T],
        right: &[T],
        out: &mut [T],
    ) -> minifenl::Result<()> {
        gemm::contract(space, case, layout, left, right, out)
    }

    #[cfg(all(feature = "cuda", feature = "peers"))]
    fn gpu_names(&self) -> &'static [&'static str] {
        &["cublas-gemm", "cublas-gemv"]
    }

    #[cfg(all(feature = "cuda", feature = "peers"))]
    fn on_gpu<T: Real>(
        &self,
        name: &str,
        space: &Cuda,
        case: &Case,
        layout: Layout,
        left: &CudaArray<T>,
        right: &CudaArray<T>,
        out: &mut CudaArray<T>,
    ) -> minifenl::Result<()> {
        self.cublas.contract(name, space, case, layout, left, right, out)
    }

    fn absent_names(&self) -> &'static [&'static str] {
        if cfg!(feature = "peers") { &[] } else { &["matrixmultiply", "cublas-gemm", "cublas-gemv"] }
    }
}
