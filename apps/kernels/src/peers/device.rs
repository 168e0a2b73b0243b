//! cuBLAS and cuSPARSE as peers of the suite.

use super::Peers;
use super::cuda::{Libraries, Product};
use cudarc::cusparse::sys::cusparseSpMVAlg_t::CUSPARSE_SPMV_CSR_ALG1;
use minifenl::space::{Cuda, CudaArray};
use minifenl::sparse::CrsMatrix;
use minifenl::{Error, Result};

/// The libraries of a GPU, or none.
#[derive(Debug)]
pub struct DeviceLibraries(Option<Libraries>);

impl DeviceLibraries {
    fn get(&self) -> Result<&Libraries> {
        self.0.as_ref().ok_or_else(|| Error::Device("no cuBLAS or cuSPARSE".into()))
    }
}

impl Peers<Cuda> for DeviceLibraries {
    type Product<'a> = Product<'a>;

    fn new(space: &Cuda) -> (Self, Option<String>) {
        match Libraries::new(space) {
            Ok(libraries) => (DeviceLibraries(Some(libraries)), None),
            Err(error) => (DeviceLibraries(None), Some(format!("cuBLAS and cuSPARSE: {error}"))),
        }
    }

    fn versions(&self) -> Vec<String> {
        let versions = self.0.as_ref().map(|libraries| libraries.versions);
        versions.map_or(vec![], |(sparse, dense)| vec![format!("cuSPARSE {sparse}"), format!("cuBLAS {dense}")])
    }

    fn of_vectors(&self) -> Option<&'static str> {
        self.0.as_ref().map(|_| "cuBLAS")
    }

    fn of_products(&self) -> Option<&'static str> {
        self.0.as_ref().map(|_| "cuSPARSE")
    }

    fn axpy(&self, n: usize, a: f64, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        self.get()?.axpy(n, a, x, y)
    }

    fn dot(&self, n: usize, x: &CudaArray<f64>, y: &CudaArray<f64>) -> Result<f64> {
        self.get()?.dot(n, x, y)
    }

    /// The fastest of its algorithms for matrices in rows by the bench `gpu`.
    fn product<'a>(&'a self, matrix: &'a CrsMatrix) -> Result<Product<'a>> {
        self.get()?.csr(matrix, CUSPARSE_SPMV_CSR_ALG1, true)
    }

    fn apply(&self, product: &Product<'_>, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        product.apply(x, y)
    }
}
